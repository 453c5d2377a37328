"""The test of a model: losses and scores over a subset of its dataset."""

from __future__ import annotations

from webnnm.evaluation.result import TestResult
from webnnm.runtime.state import ModelState
from webnnm.runtime.testing.evaluator import PREDICTION_BATCH, Evaluator
from webnnm.runtime.testing.objectives import assess_all, has_reports
from webnnm.training.forward import get_label_forms


async def test(state: ModelState, subset: str) -> TestResult:
    """Evaluate a model on a subset. Raises `DataError` NNM705 if it is empty or unknown."""
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
    compared = evaluation.outputs, targets, masks
    objectives = state.objectives()
    reports = assess_all(binding, objectives, losses, *compared, subset=subset) if reported else {}
    return TestResult(sum(evaluation.losses.values()), evaluation.losses, rows, subset, reports)
