"""Losses and metrics on the validation subset, while parameters are trained (spec E.10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from webnnm.backends.base import DeviceTensor
from webnnm.evaluator import Evaluator
from webnnm.objectives import assess_all
from webnnm.training.forward import OutputLoss, label_forms

if TYPE_CHECKING:
    from webnnm.model import NNModel

SMALLEST_BATCH = 64
"""Rows of a batch at least: without gradients there is room for more than in training."""


class Validation:
    """Evaluates a model on its validation subset, again and again; `close` frees what it holds."""

    def __init__(self, model: NNModel, losses: Mapping[str, OutputLoss], batch: int) -> None:
        self._model = model
        self._losses = losses
        self._batch = batch
        self._evaluator: Evaluator | None = None

    async def run(
        self, parameters: Mapping[str, DeviceTensor]
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Return the loss of every output, and the metrics by name."""
        model, losses = self._model, self._losses
        binding = model.binding()
        inputs, targets, masks = await binding.whole("validation", label_forms(losses))
        if self._evaluator is None:
            rows = len(next(iter(targets.values())))
            self._evaluator = await Evaluator.open(
                model.network,
                model.backend,
                losses,
                batch=min(rows, max(self._batch, SMALLEST_BATCH)),
                sequence=model.sequence,
                masks=masks,
            )
        found = await self._evaluator.run(inputs, targets, parameters, masks, outputs=True)
        metrics: dict[str, float] = {}
        found_in = found.outputs, targets, masks
        reports = assess_all(binding, model.objectives(), losses, *found_in)
        for name, report in reports.items():
            word = "r2" if hasattr(report, "r2") else "accuracy"
            value = getattr(report, word, None)
            if value is not None:
                metrics[word if len(losses) == 1 else f"{name} {word}"] = value
        return found.losses, metrics

    def close(self) -> None:
        """Free the graph and the tensors of the evaluation."""
        if self._evaluator is not None:
            self._evaluator.close()
