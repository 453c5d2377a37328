"""Schedules as functions of the step: the learning rates that `NNModel.train` uses."""

from __future__ import annotations

from functools import cached_property
from typing import overload

from webnnm.core.errors import DataError
from webnnm.eager.array import Array
from webnnm.eager.creation import asarray
from webnnm.eager.device import Device
from webnnm.eager.dtypes import int32
from webnnm.eager.elementwise import clip
from webnnm.eager.manipulation import take
from webnnm.eager.scopes import TRACES
from webnnm.eager.types import astype
from webnnm.training.schedules import Schedule
from webnnm.training.settings import parse_settings


def schedule(
    kind: str = "cosine",
    *,
    lr: float,
    epochs: int,
    batches: int = 1,
    warmup_epochs: int = 0,
    min_lr: float = 0.0,
    step_epochs: int | None = None,
    step_factor: float = 0.1,
) -> LearningRate:
    """Return the learning rate as a function of the step, for `optimizer(…, lr=…)`.

    >>> from webnnm import schedule
    >>> rate = schedule("cosine", lr=1.0, epochs=4, batches=5, warmup_epochs=1)
    >>> [round(rate(step), 3) for step in (1, 5, 12, 20)]
    [0.2, 1.0, 0.552, 0.0]

    - `kind`: "cosine", "constant", "linear", "exponential", "step" or "onecycle", as `schedule` of
      `NNModel.train`, which has the other arguments under the same names.
    - `batches`: the number of steps in an epoch. If it is left out, `epochs` counts steps.

    Steps are counted from 1: integers give floats, arrays give float32 arrays, also in traced
    functions. After the last step the rate stays constant.

    Raises `DataError` NNM704 for values out of range, and for "plateau", which depends on losses:
    pass the current rate to `update` of the optimizer.
    """
    if str(kind).lower() == "plateau":
        raise DataError(
            "NNM704",
            'a schedule "plateau" depends on losses, not on the step alone',
            hint="pass the rate: optimizer.update(gradients, state, params, lr=rate)",
        )
    settings = parse_settings(
        {
            "schedule": kind,
            "lr": lr,
            "epochs": epochs,
            "warmup_epochs": warmup_epochs,
            "min_lr": min_lr,
            "step_epochs": step_epochs,
            "step_factor": step_factor,
        }
    ).finish_without_data()
    if batches < 1:
        raise DataError("NNM704", f"an epoch of {batches} batches", hint="it has at least one")
    return LearningRate(settings.make_schedule(batches))


class LearningRate:
    """The learning rates of a schedule by step, as `schedule` returns them."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._tables: dict[Device, Array] = {}

    @overload
    def __call__(self, step: int) -> float: ...
    @overload
    def __call__(self, step: Array) -> Array: ...
    def __call__(self, step: int | Array) -> float | Array:
        """Return the rate of a step, or of each step of an array."""
        if not isinstance(step, Array):
            return self._schedule.at(step)
        index = clip(astype(step, int32) - 1, 0, self._schedule.total - 1)
        return take(self._table(step.device), index)

    @cached_property
    def _rates(self) -> list[float]:
        return self._schedule.rates(1, self._schedule.total)

    def _table(self, device: Device) -> Array:
        """Return the rates of all steps, which stay on the device; each trace has its own."""
        if TRACES:
            return asarray(self._rates)
        table = self._tables.get(device)
        if table is None:
            table = self._tables[device] = asarray(self._rates, device=device)
        return table

    def __repr__(self) -> str:
        s = self._schedule
        return f"LearningRate({s.kind}, lr={s.rate:g}, steps={s.total})"
