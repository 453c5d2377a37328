"""The learning rate of every step: warm-up, then a curve (spec E.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """A schedule over `epochs` epochs of `batches` steps; `warmup_epochs` 0 chooses 5 %.

    >>> s = Schedule(kind="cosine", rate=1.0, epochs=4, batches=5, warmup_epochs=1)
    >>> [round(s.at(t), 3) for t in (1, 5, 12, 20)]
    [0.2, 1.0, 0.552, 0.0]
    """

    kind: str
    rate: float
    epochs: int
    batches: int
    warmup_epochs: int = 0
    min_rate: float = 0.0

    @property
    def total(self) -> int:
        """T, the number of steps."""
        return self.epochs * self.batches

    @property
    def warmup(self) -> int:
        """W, the number of warm-up steps; none for a single epoch."""
        if self.epochs == 1:
            return 0
        return self.batches * (self.warmup_epochs or max(1, int(0.05 * self.epochs)))

    def at(self, step: int) -> float:
        """Return the learning rate of step t, counted from 1."""
        if step <= self.warmup:
            return self.rate * step / self.warmup
        rest = self.total - self.warmup
        progress = (step - self.warmup) / rest if rest else 1.0
        return SCHEDULES[self.kind](self, progress)


def _cosine(schedule: Schedule, progress: float) -> float:
    span = schedule.rate - schedule.min_rate
    return schedule.min_rate + 0.5 * span * (1 + math.cos(math.pi * progress))


SCHEDULES: Mapping[str, Callable[[Schedule, float], float]] = {
    "cosine": _cosine,
    "constant": lambda schedule, _progress: schedule.rate,
}
