"""Losses and metrics on the validation subset during a training (spec E.10)."""

from __future__ import annotations

from collections.abc import Mapping

from webnnm.backends.base import DeviceTensor
from webnnm.data.binding.binding import DataBinding
from webnnm.evaluation.result import find_metric
from webnnm.runtime.state import ModelState
from webnnm.runtime.testing.evaluator import Arrays, Evaluator
from webnnm.runtime.testing.objectives import assess_all, has_reports
from webnnm.training.forward import OutputLoss, get_label_forms

SMALLEST_BATCH = 64
"""The fewest rows of a batch: without gradients, more fit into memory than in training."""


class Validation:
    """Evaluates a model on its validation subset, again and again; `close` frees what it holds.

    The rows are uploaded to the device once, those of a stream each time.
    """

    def __init__(self, state: ModelState, losses: Mapping[str, OutputLoss], batch: int) -> None:
        self._state = state
        self._losses = losses
        self._batch = batch
        self._evaluator: Evaluator | None = None
        self._rows: tuple[Arrays, Arrays] | None = None

    async def run(
        self, parameters: Mapping[str, DeviceTensor]
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Return the loss of every output, and the metrics by name."""
        state, losses = self._state, self._losses
        binding = state.binding()
        if self._rows is None or binding.streams:  # which may yield other rows each time
            self._rows = await self._take_rows(binding)
        assert self._evaluator is not None
        reported = has_reports(state.objectives())
        evaluation = await self._evaluator.run(parameters, outputs=reported)
        targets, masks = self._rows
        metrics: dict[str, float] = {}
        if not reported:
            return evaluation.losses, metrics
        compared = evaluation.outputs, targets, masks
        reports = assess_all(binding, state.objectives(), losses, *compared)
        for name, report in reports.items():
            metric = find_metric(report)
            value = getattr(report, metric, None)
            if value is not None:
                metrics[metric if len(losses) == 1 else f"{name} {metric}"] = value
        return evaluation.losses, metrics

    async def _take_rows(self, binding: DataBinding) -> tuple[Arrays, Arrays]:
        """Pass the subset to the evaluator, and return the labels and the masks of its rows."""
        state, losses = self._state, self._losses
        inputs, targets, masks = await binding.whole("validation", get_label_forms(losses))
        if self._evaluator is None:
            rows = len(next(iter(targets.values())))
            room = SMALLEST_BATCH if has_reports(state.objectives()) else 1
            self._evaluator = await Evaluator.open(
                state.trained_network,
                state.backend,
                losses,
                batch=min(rows, max(self._batch, room)),
                sequence=state.sequence,
                masks=masks,
            )
        self._evaluator.take(inputs, targets, masks)
        if not binding.streams:
            await self._evaluator.hold()
        return targets, masks

    def close(self) -> None:
        """Free the graph and the tensors of the evaluation."""
        if self._evaluator is not None:
            self._evaluator.close()
