"""The outcome of a training: layers, gradients, weights and predictions, measured at its end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from webnnm.core.shapes import count
from webnnm.graph.elaboration.initialise import WEIGHTS
from webnnm.runtime.state import ModelState
from webnnm.runtime.testing.objectives import assess_all, has_reports
from webnnm.trainer.sampled_rows import Arrays, SampledRows, run_on, sampled_rows, types_of
from webnnm.training.forward import OutputLoss
from webnnm.training.outcome_step import outcome_step
from webnnm.training.probe_step import ROW

MOST_ROWS = 256
"""Enough for a class of 3 % of the rows to have some; a small part of the cost of an epoch."""
MOST_NUMBERS = 2**22
"""The maximum number of layer results computed, unless a training batch has more."""


async def measure_outcome(
    state: ModelState, losses: Mapping[str, OutputLoss], before: Arrays, *, seed: int, batch: int
) -> dict[str, Any]:
    """Measure a trained model on up to 256 training rows; return plain values.

    - `rows`: their number; `loss`: their loss, divided by the loss of an uninformed prediction.
    - `dead`, `saturated`: layer → share of its dead units, of its saturated values.
    - `gradients`: weight → root mean square of its gradient; `moved`: weight → the norm of its
      change since `before`, divided by its norm there.
    - `outputs`: name → a summary of the report on its predictions; `held_out`: the same for as many
      rows that were not trained on, and `subset`, the subset of those, "" if there are none.

    `batch` is the number of rows of a training step. Streams and outputs with very many classes are
    not measured: {}.
    """
    binding = state.binding()
    if binding.streams or not has_reports(state.objectives()):
        return {}
    most = max(batch, min(MOST_ROWS, MOST_NUMBERS // _numbers_per_row(state)))
    rows = sampled_rows(state, losses, "training", seed, most)
    step = outcome_step(
        state.trained_network,
        losses,
        rows=rows.count,
        sequence=state.sequence,
        masks=types_of(rows.masks),
        targets=types_of(rows.targets),
    )
    dataset = binding.dataset
    subset = next((part for part in ("validation", "testing") if dataset.size(part)), "")
    parts = [rows]
    if subset:
        parts.append(sampled_rows(state, losses, subset, seed, rows.count))
    trained, *others = await run_on(state, await state.backend.compile(step.graph), parts)
    figures = dict(zip(step.names, trained.pop(ROW).values(), strict=True))

    def named(prefix: str) -> dict[str, float]:
        return {n.removeprefix(prefix): v for n, v in figures.items() if n.startswith(prefix)}

    def told(part: SampledRows, outputs: Arrays) -> dict[str, Any]:
        found = {name: outputs[name].rows(range(part.count)) for name in part.targets}
        compared = found, part.targets, part.masks
        reports = assess_all(binding, state.objectives(), losses, *compared)
        return {name: _in_short(report) for name, report in reports.items()}

    return {
        "rows": rows.count,
        "loss": figures["loss"],
        "dead": named("dead/"),
        "saturated": named("saturated/"),
        "gradients": named("norm/"),
        "moved": _moved(state, before),
        "outputs": told(rows, trained),
        "held_out": told(parts[1], others[0]) if subset else {},
        "subset": subset,
    }


def _numbers_per_row(state: ModelState) -> int:
    """Return how many numbers the layers compute per row."""
    total = 0
    for layer in state.network.layers:
        for features in layer.features:
            length = state.sequence.get(features.sequence, 1) if features.sequence else 1
            total += length * count(features.sizes())
    return max(1, total)


def _moved(state: ModelState, before: Arrays) -> dict[str, float]:
    """Return ‖after − before‖/‖before‖ for the trained weights."""
    parameters = state.parameters
    if not before:
        return {}
    found: dict[str, float] = {}
    for p in state.network.parameters:
        if p.trainable and p.role in WEIGHTS:
            old, new = before[p.name].values(), parameters.value(p.name).values()
            length = math.hypot(*old)
            if length:
                found[p.name] = math.dist(old, new) / length
    return found


def _in_short(report: Any) -> dict[str, Any]:
    """Return the part of a report that shows whether its output learnt anything."""
    if hasattr(report, "r2"):
        return {"r2": report.r2}
    if hasattr(report, "reports"):  # several labels: how often each is present, and is predicted
        return {
            "labels": list(report.labels),
            "support": list(report.support),
            "predicted": [no[1] + yes[1] for no, yes in report.counts],
            "hits": [yes[1] for _, yes in report.counts],
            "several": True,
        }
    return {
        "labels": list(report.labels),
        "support": list(report.support),
        "predicted": [sum(column) for column in zip(*report.counts, strict=True)],
        "hits": [row[number] for number, row in enumerate(report.counts)],
    }
