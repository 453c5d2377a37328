"""Calibrates the intervals of quantile forecasts on the validation part after a training."""

from __future__ import annotations

from typing import Any

from webnnm.data.series.intervals import fit_intervals
from webnnm.runtime.state import ModelState
from webnnm.runtime.testing.testing import evaluate_subset

NO_ROWS = (
    "the intervals are not calibrated: there are no validation rows → "
    "split=(0.7, 0.1, 0.2), or validation_split=0.1"
)


async def calibrate_intervals(state: ModelState) -> str:
    """Keep the margins with which the intervals hold in validation; return why not, or "".

    They are in the units in which the model's predictions come.
    """
    binding = state.binding()
    dataset: Any = binding.dataset
    if not dataset.size("validation"):
        return NO_ROWS
    result = await evaluate_subset(state, "validation")
    (name,) = result.targets
    outputs, targets = result.evaluation.outputs[name], result.targets[name]
    field = binding.outputs[name].field
    if field in binding.target_standardization:
        undo = binding.target_standardization[field].undo
        outputs, targets = undo(outputs), undo(targets)
    levels, horizon = dataset.series.quantiles, dataset.series.horizon
    actual = targets.values()[:: len(levels)]
    state.keep_intervals({name: fit_intervals([*outputs.values()], actual, levels, horizon)})
    return ""
