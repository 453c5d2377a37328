"""The learning rate range test: a short training at rates that rise from step to step."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from webnnm.core.errors import DataError
from webnnm.evaluation.epoch import BatchRecord
from webnnm.evaluation.rate_range import RateRange, smoothed
from webnnm.model.cross_validating import fold_settings
from webnnm.runtime.state import ModelState

DIVERGED = 4.0
"""The test ends when the smoothed loss is this many times the lowest."""
FEWEST = 10
"""Steps whose loss says nothing about its course."""


async def found_lr(
    state: ModelState,
    create: Callable[[Mapping[str, Any]], Awaitable[Any]],
    given: Mapping[str, Any],
    low: float,
    high: float,
    steps: int,
) -> RateRange:
    """Return the losses of a copy of the model at rising rates, see `NNModel.find_lr`.

    `create` makes the copy, as `NNModel.create` does.
    """
    if not 0 < low < high < math.inf or steps < FEWEST:
        raise DataError(
            "NNM704",
            f"find_lr from {low:g} to {high:g} in {steps} steps",
            hint=f"0 < low < high, and at least {FEWEST} steps",
        )
    dataset = state.binding().dataset
    rates: list[float] = []
    losses: list[float] = []

    def watch(record: BatchRecord) -> bool:
        if record.lr >= low and math.isfinite(record.loss):  # what is below warms up
            rates.append(record.lr)
            losses.append(record.loss)
        curve = smoothed(losses)[FEWEST - 1 :]  # averages of fewer batches say little
        return not curve or curve[-1] <= DIVERGED * min(curve)

    batch = given.get("batch_size") or state.batch_size or dataset.batch_size
    epochs = -(-steps // -(-dataset.size("training") // batch))
    settings = {**fold_settings(state), "dataset": dataset}
    async with await create(settings) as copy:
        copy.take_parameters(state.parameters.values())
        course = {"lr": low, "min_lr": high, "schedule": "exponential", "epochs": epochs + 1}
        kept = {"seeds": 0, "restore_best": False, "validation_split": 0.0, "progress": "off"}
        try:
            await copy.train({**given, **course, **kept, "on_batch": watch})
        except DataError as error:
            if error.code != "NNM708" or len(losses) < FEWEST:  # as far as it got
                raise
    return RateRange(tuple(rates), tuple(losses))
