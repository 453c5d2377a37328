"""The test of a model: losses and scores over a subset of its dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from webnnm.evaluation.result import TestResult
from webnnm.runtime.state import ModelState
from webnnm.runtime.testing.evaluator import PREDICTION_BATCH, Arrays, Evaluation, Evaluator
from webnnm.runtime.testing.objectives import assess_all, has_reports
from webnnm.training.forward import get_label_forms
from webnnm.training.losses import LOSSES

if TYPE_CHECKING:
    from webnnm.evaluation.baselines import Baselines
    from webnnm.evaluation.result import Report

HELD_OUT = ("validation", "testing")
"""The subsets whose rows are not trained on."""


@dataclass(frozen=True, slots=True)
class SubsetEvaluation:
    """The evaluation of all rows of a subset, with their inputs, targets and masks."""

    evaluation: Evaluation
    inputs: Arrays
    targets: Arrays
    masks: Arrays

    @property
    def rows(self) -> int:
        """How many rows the subset has."""
        return len(next(iter(self.targets.values())))


async def test(state: ModelState, subset: str, *, baselines: bool = True) -> TestResult:
    """Evaluate a model on a subset, beside `baselines` if its rows are not trained on.

    Raises `DataError` NNM705 if it is empty or unknown.
    """
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
    simple: dict[str, Baselines] = {}
    if baselines and reports and subset in HELD_OUT and _has_built_in_losses(state):
        from webnnm.runtime.testing.simple_comparison import compare_with_baselines

        evaluated = result.evaluation.outputs, result.inputs, result.targets, result.masks
        simple = compare_with_baselines(state, state.losses(), *evaluated)
    return TestResult(sum(losses.values()), losses, result.rows, subset, reports, simple)


def _has_built_in_losses(state: ModelState) -> bool:
    """Return whether the last training, if it is known, minimised no function of the user."""
    trained = state.checkpoint.losses if state.checkpoint is not None else {}
    return all(loss["loss"] in LOSSES for loss in trained.values())


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
    return SubsetEvaluation(evaluation, inputs, targets, masks)
