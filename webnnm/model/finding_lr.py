"""The learning rate range test: a short training at rates that rise from step to step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from webnnm.core.awaiting import require_await
from webnnm.core.errors import DataError
from webnnm.evaluation.epoch import BatchRecord
from webnnm.evaluation.rate_range import RateRange, smooth
from webnnm.model.cross_validating import read_copy_settings
from webnnm.model.keywords import read_hyperparameters

if TYPE_CHECKING:
    from webnnm.model.keywords import Hyperparameters
    from webnnm.model.nnmodel import NNModel

DIVERGED = 4.0
"""The test ends when the smoothed loss is this many times the lowest."""
FEWEST = 10
"""Steps whose loss says nothing about its course."""


@require_await
async def find_lr(
    model: NNModel,
    hyperparameters: Mapping[str, Any] | None = None,
    *,
    low: float = 1e-6,
    high: float = 10.0,
    steps: int = 100,
    **more: Unpack[Hyperparameters],
) -> RateRange:
    """Measure the loss at learning rates from `low` to `high`, and suggest one (range test).

    >>> found = await find_lr(model)  # doctest: +SKIP
    >>> found.suggestion  # doctest: +SKIP
    0.012
    >>> await model.train(lr=found.suggestion)  # doctest: +SKIP

    A copy of the model is trained for about `steps` steps, with a rate that grows by the same
    factor at each step, until the loss is four times its lowest value (Smith 2017, "Cyclical
    learning rates for training neural networks"). The suggestion is the rate in the middle of
    the longest range where the smoothed loss falls. The hyperparameters are those of `train`;
    this model does not change.

    Raises `DataError` NNM704 for invalid bounds or fewer than ten steps, NNM714 without a
    dataset, and what `train` raises.
    """
    settings = read_hyperparameters(hyperparameters, more, "find_lr", "find_lr(model, epochs=20)")
    state = model.state
    dataset = state.binding().dataset
    if not 0 < low < high < math.inf or steps < FEWEST:
        raise DataError(
            "NNM704",
            f"find_lr from {low:g} to {high:g} in {steps} steps",
            hint=f"0 < low < high, and at least {FEWEST} steps",
        )
    rates: list[float] = []
    losses: list[float] = []

    def watch(record: BatchRecord) -> bool:
        if record.lr >= low and math.isfinite(record.loss):  # what is below warms up
            rates.append(record.lr)
            losses.append(record.loss)
        curve = smooth(losses)[FEWEST - 1 :]  # averages of fewer batches say little
        return not curve or curve[-1] <= DIVERGED * min(curve)

    batch = settings.batch_size or state.batch_size or dataset.batch_size
    epochs = -(-steps // -(-dataset.size("training") // batch))
    config = {**read_copy_settings(state), "dataset": dataset}
    explicit = settings.explicit_values()
    course = {"lr": low, "min_lr": high, "schedule": "exponential", "epochs": epochs + 1}
    kept = {"seeds": 0, "restore_best": False, "validation_split": 0.0, "progress": "off"}
    with state.occupancy.by("a range test"):
        async with await type(model).create(config) as copy:
            await copy.load_params(state.parameters.values())
            try:
                await copy.train({**explicit, **course, **kept, "on_batch": watch})
            except DataError as error:
                if error.code != "NNM708" or len(losses) < FEWEST:  # as far as it got
                    raise
    return RateRange(tuple(rates), tuple(losses))
