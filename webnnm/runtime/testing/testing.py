"""The test of a model: losses and scores over a subset of its dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from webnnm.evaluation.result import TestResult
from webnnm.runtime.state import ModelState
from webnnm.runtime.testing.evaluator import PREDICTION_BATCH, Arrays, Evaluation, Evaluator
from webnnm.runtime.testing.objectives import assess_all, has_reports
from webnnm.training.forward import get_label_forms

if TYPE_CHECKING:
    from webnnm.evaluation.result import Report


@dataclass(frozen=True, slots=True)
class SubsetEvaluation:
    """The evaluation of all rows of a subset, with their targets and masks."""

    evaluation: Evaluation
    targets: Arrays
    masks: Arrays

    @property
    def rows(self) -> int:
        """How many rows the subset has."""
        return len(next(iter(self.targets.values())))


async def test(state: ModelState, subset: str) -> TestResult:
    """Evaluate a model on a subset. Raises `DataError` NNM705 if it is empty or unknown."""
    result = await evaluate_subset(state, subset)
    losses = result.evaluation.losses
    reports: dict[str, Report] = {}
    if has_reports(state.objectives()):
        reports = assess_all(
            state.binding(),
            state.objectives(),
            state.losses(),
            result.evaluation.outputs,
            result.targets,
            result.masks,
            subset=subset,
            intervals=state.data_facts().intervals,
        )
    return TestResult(sum(losses.values()), losses, result.rows, subset, reports)


async def evaluate_subset(state: ModelState, subset: str) -> SubsetEvaluation:
    """Compute losses over a subset, and the outputs of its rows if reports need them.

    Raises `DataError` NNM705 if it is empty or unknown.
    """
    binding, losses = state.binding(), state.losses()
    inputs, targets, masks = await binding.whole(subset, get_label_forms(losses))
    rows = len(next(iter(targets.values())))
    reported = has_reports(state.objectives())
    usual = max(PREDICTION_BATCH if reported else 1, binding.dataset.batch_size)
    batch = min(rows, state.batch_size or usual)
    evaluator = await Evaluator.open(
        state.trained_network,
        state.backend,
        losses,
        batch=batch,
        sequence=state.sequence,
        masks=masks,
    )
    try:
        evaluator.take(inputs, targets, masks)
        evaluation = await evaluator.run(state.parameters.tensors, outputs=reported)
    finally:
        evaluator.close()
    return SubsetEvaluation(evaluation, targets, masks)
