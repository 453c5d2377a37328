"""The learning rate of every step: warm-up, then a curve (spec E.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from typing import Any

ONE_CYCLE_RISE = 0.3
"""The share of a one-cycle schedule in which the rate rises (Smith & Topin 2018)."""
ONE_CYCLE_START = 1 / 25
"""Where a one-cycle schedule starts, as a share of its maximum rate."""

EXPONENTIAL_END = 1e-3
"""Where an exponential schedule without a floor ends, as a share of its rate."""
PLATEAU = 10
"""Epochs without improvement until a "plateau" schedule lowers the rate."""
STEPPED_SCHEDULES = ("step", "plateau")
"""The kinds of schedules that read `step_epochs` and `step_factor`."""
DROPS = ("drops", "dropped")


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """A schedule over `epochs` epochs of `batches` steps.

    >>> s = Schedule(kind="cosine", rate=1.0, epochs=4, batches=5, warmup_epochs=1)
    >>> [round(s.at(t), 3) for t in (1, 5, 12, 20)]
    [0.2, 1.0, 0.552, 0.0]

    `rate` is the maximum learning rate, `min_rate` the floor. `warmup_epochs` 0 means 5% of the
    epochs, for "onecycle" 30%. A "step" schedule multiplies by `step_factor` every `step_epochs`,
    "plateau" after that many epochs without improvement; `drops` is how often it did, most recently
    after epoch `dropped`.
    """

    kind: str
    rate: float
    epochs: int
    batches: int
    warmup_epochs: int = 0
    min_rate: float = 0.0
    step_epochs: int = 0
    step_factor: float = 0.1
    drops: int = 0
    dropped: int = 0

    @property
    def total(self) -> int:
        """T, the number of steps."""
        return self.epochs * self.batches

    @cached_property
    def warmup(self) -> int:
        """W, the number of warm-up steps; none for a single epoch."""
        if self.warmup_epochs:
            return self.batches * self.warmup_epochs
        if self.kind == "onecycle":
            return int(ONE_CYCLE_RISE * self.total)
        return self.batches * max(1, int(0.05 * self.epochs)) if self.epochs > 1 else 0

    def to_dict(self) -> dict[str, Any]:
        """Return what a checkpoint keeps: kind, T, W and lr, and for "plateau" its drops."""
        values = {"kind": self.kind, "T": self.total, "W": self.warmup, "lr": self.rate}
        return values | ({n: getattr(self, n) for n in DROPS} if self.kind == "plateau" else {})

    def after(self, epoch: int, best: int) -> Schedule:
        """Return the schedule after an epoch, if the best one so far was `best`."""
        epochs_waited = epoch - max(best, self.dropped)
        if self.kind != "plateau" or epochs_waited < (self.step_epochs or PLATEAU):
            return self
        return replace(self, drops=self.drops + 1, dropped=epoch)

    def at(self, step: int) -> float:
        """Return the learning rate of step t, counted from 1; after the end, the last rate."""
        return self.rates(step, 1)[0]

    def rates(self, first: int, count: int) -> list[float]:
        """Return the learning rates of `count` steps."""
        curve, total, warmup = SCHEDULES[self.kind], self.total, self.warmup
        rest = max(1, total - warmup)
        steps: Iterable[int] = map(min, range(first, first + count), repeat(total))
        return [
            curve(self, (step - warmup) / rest, step) if step > warmup else self._warm_up(step)
            for step in steps
        ]

    def _warm_up(self, step: int) -> float:
        share = step / self.warmup
        if self.kind == "onecycle":
            return self.rate * (1 - (1 - ONE_CYCLE_START) * _half_cosine(share))
        return self.rate * share


def _half_cosine(progress: float) -> float:
    """Return ½(1 + cos πs), which falls from 1 to 0."""
    return 0.5 * (1 + math.cos(math.pi * progress))


def _cosine(schedule: Schedule, progress: float, _step: int) -> float:
    return schedule.min_rate + (schedule.rate - schedule.min_rate) * _half_cosine(progress)


def _linear(schedule: Schedule, progress: float, _step: int) -> float:
    return schedule.rate - (schedule.rate - schedule.min_rate) * progress


def _exponential(schedule: Schedule, progress: float, _step: int) -> float:
    last = schedule.min_rate or schedule.rate * EXPONENTIAL_END
    return schedule.rate * (last / schedule.rate) ** progress


def _step(schedule: Schedule, _progress: float, step: int) -> float:
    every = schedule.step_epochs or math.ceil(schedule.epochs / 3)
    return _drop(schedule, (step - 1) // schedule.batches // every)


def _drop(schedule: Schedule, drops: int) -> float:
    return max(schedule.min_rate, schedule.rate * schedule.step_factor**drops)


SCHEDULES: Mapping[str, Callable[[Schedule, float, int], float]] = {
    "cosine": _cosine,
    "constant": lambda schedule, _progress, _step: schedule.rate,
    "linear": _linear,
    "exponential": _exponential,
    "step": _step,
    "onecycle": _cosine,
    "plateau": lambda schedule, _progress, _step: _drop(schedule, schedule.drops),
}
"""The curves after the warm-up: functions of the schedule, the progress 0 … 1, and the step."""
