"""The test of a model: losses and scores over a subset of its dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webnnm.evaluation import TestResult
from webnnm.evaluator import Evaluator
from webnnm.objectives import assess_all
from webnnm.prediction import PREDICTION_BATCH
from webnnm.training.forward import label_forms

if TYPE_CHECKING:
    from webnnm.model import NNModel


async def tested(model: NNModel, subset: str) -> TestResult:
    """Evaluate a model on a subset. Raises `DataError` NNM705 for an empty or unknown one."""
    binding, losses = model.binding(), model.losses()
    inputs, targets, masks = await binding.whole(subset, label_forms(losses))
    rows = len(next(iter(targets.values())))
    batch = min(rows, model.batch_size or max(PREDICTION_BATCH, binding.dataset.batch_size))
    evaluator = await Evaluator.open(
        model.network,
        model.backend,
        losses,
        batch=batch,
        sequence=model.sequence,
        masks=masks,
    )
    try:
        evaluator.take(inputs, targets, masks)
        found = await evaluator.run(model.parameters.tensors, outputs=True)
    finally:
        evaluator.close()
    found_in = found.outputs, targets, masks
    reports = assess_all(binding, model.objectives(), losses, *found_in)
    return TestResult(sum(found.losses.values()), found.losses, rows, subset, reports)
