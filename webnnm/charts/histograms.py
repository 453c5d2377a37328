"""The chart of the distributions of weights, gradients or activations, optionally over time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from webnnm.charts.chart import Chart
from webnnm.charts.theme import STRAIGHT
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.thinning import thin

BINS = 40
MAX_NUMBERS = 2**16
"""How many numbers of a tensor are counted: enough for the shape, and fast without NumPy."""
Tensors = Mapping[str, Any]


def histograms(weights: Tensors | Mapping[int, Tensors], *, bins: int = BINS) -> Chart:
    """Return the histogram of each tensor; for snapshots by epoch, a heat map over time.

    >>> histograms({"w": [[-1.0, 0.0], [0.5, 1.0]]}).description
    'Distribution of w: from -1 to 1, mean 0.125.'

    - `weights`: name → numbers, such as `model.param_arrays()`, or `gradients` and `activations` of
      `await inspect_model(model)`; or epoch → the same.
    - `bins`: the number of bins, of equal width.

    If a tensor has more than 65,536 numbers, only every second, third, … one is counted, so that
    at most that many remain; numbers that are not finite are left out. Raises `DataError` NNM705
    without a tensor.
    """
    if not isinstance(weights, Mapping):
        kind = type(weights).__name__
        raise DataError(
            "NNM702", f"a {kind} holds no tensors by name", hint="pass model.param_arrays()"
        )
    times: dict[int, Tensors] = {}
    for key, value in weights.items():
        if isinstance(key, int):
            times[key] = value
    over_time = bool(times)
    shots = times or {0: {str(name): value for name, value in weights.items()}}
    last = shots[max(shots)]
    if not last:
        raise DataError("NNM705", "no weights to show", hint="give a dict, name → numbers")
    rows: list[dict[str, Any]] = []
    parts = [f"Distributions at {len(times)} epochs."] if len(times) > 1 else list[str]()
    for name in last:
        numbers = {epoch: _finite(shot[name]) for epoch, shot in shots.items() if name in shot}
        low = min((n for values_of_epoch in numbers.values() for n in values_of_epoch), default=0.0)
        high = max(
            (n for values_of_epoch in numbers.values() for n in values_of_epoch), default=0.0
        )
        for epoch, values in numbers.items():
            rows += _count_bins(name, epoch, values, low, high, bins)
        latest = numbers[max(numbers)]
        mean = math.fsum(latest) / max(len(latest), 1)
        ends = f"from {min(latest, default=0):.3g} to {max(latest, default=0):.3g}"
        parts.append(f"Distribution of {name}: {ends}, mean {mean:.3g}.")
    low, high = {"field": "low", "type": "quantitative", "bin": "binned"}, {"field": "high"}
    if over_time:
        mark: dict[str, Any] = {"type": "rect"}
        share = {"field": "share", "type": "quantitative", "legend": None, "scale": STRAIGHT}
        encoding: dict[str, Any] = {
            "x": {"field": "epoch", "type": "ordinal", "axis": {"labelOverlap": True}},
            "y": {**low, "title": "value"},
            "y2": high,
            "color": share,
        }
    else:
        mark = {"type": "bar", "binSpacing": 0}
        count = {"field": "count", "type": "quantitative", "title": "count"}
        encoding = {"x": {**low, "title": "value"}, "x2": high, "y": count}
    return Chart(
        {
            "description": " ".join(parts),
            "data": {"name": "weights", "values": rows},
            "columns": 3,
            "facet": {"field": "tensor", "type": "nominal", "sort": None, "title": None},
            "spec": {"width": 180, "height": 110, "mark": mark, "encoding": encoding},
            "resolve": {"scale": {"x": "independent", "y": "independent"}},
        }
    )


def _finite(values: Any) -> Sequence[float]:
    numbers = HostArray.of(values).values()
    thinned = thin(numbers, MAX_NUMBERS)
    return [number for number in map(float, thinned) if math.isfinite(number)]


def _count_bins(
    name: str, epoch: int, values: Iterable[float], low: float, high: float, bins: int
) -> Iterable[dict[str, Any]]:
    width = (high - low) / bins or 1.0
    counts = [0] * bins
    total = 0
    for value in values:
        counts[min(int((value - low) / width), bins - 1)] += 1
        total += 1
    for k, count in enumerate(counts):
        edges = {"low": low + k * width, "high": low + (k + 1) * width}
        facts = {"tensor": name, "epoch": epoch, "count": count, "share": count / max(total, 1)}
        yield facts | edges
