"""The outcome of a training: layers, gradients, weights and predictions, measured at its end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.shapes import count
from webnnm.data.preparation.standardize import RESHAPING
from webnnm.graph.elaboration.initialise import WEIGHTS
from webnnm.runtime.state import ModelState
from webnnm.runtime.testing.objectives import assess_all, has_reports
from webnnm.runtime.testing.simple_comparison import compare_with_baselines
from webnnm.trainer.sampled_rows import Arrays, SampledRows, get_types, run_on_rows, sample_rows
from webnnm.training.forward import OutputLoss
from webnnm.training.losses import LOSSES
from webnnm.training.outcome_step import build_outcome_step
from webnnm.training.probe_step import ROW

MAX_ROWS = 256
"""Enough for a class of 3% of the rows to have some; a small part of the cost of an epoch."""
MAX_NUMBERS = 2**22
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
    - `baselines`: output → what simple models reach on those, as `Baselines.to_dict` returns it.

    A quantity under MAE, HUL or QUL has besides its `r2` the share of that loss that is explained,
    `d2`; under a custom loss it has neither. Where logarithms or normal scores are learnt, `r2` is
    theirs, and `reshaped` is true.

    `batch` is the number of rows of a training step. Streams and outputs with very many classes are
    not measured: {}.
    """
    binding = state.binding()
    if binding.streams or not has_reports(state.objectives()):
        return {}
    max_rows = max(batch, min(MAX_ROWS, MAX_NUMBERS // _count_numbers_per_row(state)))
    rows = sample_rows(state, losses, "training", seed, max_rows)
    step = build_outcome_step(
        state.trained_network,
        losses,
        rows=rows.count,
        sequence=state.sequence,
        masks=get_types(rows.masks),
        targets=get_types(rows.targets),
    )
    dataset = binding.dataset
    subset = next((part for part in ("validation", "testing") if dataset.size(part)), "")
    parts = [rows]
    if subset:
        parts.append(sample_rows(state, losses, subset, seed, rows.count))
    trained, *others = await run_on_rows(state, await state.backend.compile(step.graph), parts)
    figures = dict(zip(step.names, trained.pop(ROW).values(), strict=True))

    def select(prefix: str) -> dict[str, float]:
        return {n.removeprefix(prefix): v for n, v in figures.items() if n.startswith(prefix)}

    def summarize(part: SampledRows, outputs: Arrays) -> dict[str, Any]:
        predictions = {name: outputs[name].rows(range(part.count)) for name in part.targets}
        comparison = predictions, part.targets, part.masks
        reports = assess_all(binding, state.objectives(), losses, *comparison)
        summaries = {name: _summarize(report) for name, report in reports.items()}
        for name in [name for name in summaries if "r2" in summaries[name] and not part.masks]:
            scaled = binding.target_standardization.get(binding.outputs[name].field)
            reshaped = scaled is not None and scaled.scale in RESHAPING
            pair = predictions[name], part.targets[name]
            summaries[name] |= _explain(losses[name], *pair, reshaped=reshaped)
        return summaries

    return {
        "rows": rows.count,
        "loss": figures["loss"],
        "dead": select("dead/"),
        "saturated": select("saturated/"),
        "gradients": select("norm/"),
        "moved": _relative_changes(state, before),
        "outputs": summarize(rows, trained),
        "held_out": summarize(parts[1], others[0]) if subset else {},
        "subset": subset,
        "baselines": _compare(state, losses, parts[1], others[0]) if subset else {},
    }


def _compare(
    state: ModelState, losses: Mapping[str, OutputLoss], part: SampledRows, outputs: Arrays
) -> dict[str, Any]:
    """Return what simple models reach on the rows, by output, beside the model."""
    predictions = {name: outputs[name].rows(range(part.count)) for name in part.targets}
    compared = compare_with_baselines(
        state, losses, predictions, part.inputs, part.targets, part.masks
    )
    return {name: baselines.to_dict() for name, baselines in compared.items()}


def _count_numbers_per_row(state: ModelState) -> int:
    """Return how many numbers the layers compute per row."""
    total = 0
    for layer in state.network.layers:
        for features in layer.features:
            length = state.sequence.get(features.sequence, 1) if features.sequence else 1
            total += length * count(features.sizes())
    return max(1, total)


def _relative_changes(state: ModelState, before: Arrays) -> dict[str, float]:
    """Return ‖after − before‖/‖before‖ for the trained weights."""
    parameters = state.parameters
    if not before:
        return {}
    changes: dict[str, float] = {}
    for p in state.network.parameters:
        if p.trainable and p.role in WEIGHTS:
            old, new = before[p.name].values(), parameters.value(p.name).values()
            norm = math.hypot(*old)
            if norm:
                changes[p.name] = math.dist(old, new) / norm
    return changes


def _explain(
    loss: OutputLoss, outputs: HostArray, targets: HostArray, *, reshaped: bool
) -> dict[str, Any]:
    """Return the share of its own loss that a quantity explains, where R² is that of another."""
    if loss.loss.name not in LOSSES:
        return {"r2": None}
    if outputs.shape != targets.shape:
        return {}
    if not loss.loss.robust:
        return {"r2": _explain_squares(outputs, targets), "reshaped": True} if reshaped else {}
    from webnnm.evaluation.explained_loss import MEDIAN, measure_explained_loss

    alpha = loss.settings.alpha if loss.loss.name == "QUL" else None
    levels = alpha if isinstance(alpha, Sequence) else (MEDIAN if alpha is None else alpha,)
    return {"d2": measure_explained_loss(outputs, targets, levels)}


def _explain_squares(outputs: HostArray, targets: HostArray) -> float:
    """Return the mean R² of the elements of a row, in the units that are learnt."""
    from webnnm.evaluation.regression_report import deviation

    predicted, actual = outputs.values(), targets.values()
    width = len(actual) // targets.shape[0]
    elements = [deviation(predicted[n::width], actual[n::width]) for n in range(width)]
    return math.fsum(element.r2 for element in elements) / width


def _summarize(report: Any) -> dict[str, Any]:
    """Return the part of a report that shows whether its output learnt anything."""
    if hasattr(report, "r2"):
        return {"r2": report.r2}
    if hasattr(report, "map_50"):  # boxes: several in a picture
        names = ("labels", "support", "predicted", "hits")
        return {**{name: list(getattr(report, name)) for name in names}, "several": True}
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
