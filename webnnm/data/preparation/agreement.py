"""How well the nearest training rows of a row predict its target."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nsmallest

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count
from webnnm.data.classes import get_row_classes
from webnnm.data.dataset import Dataset
from webnnm.data.field import Field
from webnnm.data.preparation.draws import draw_numbers
from webnnm.data.preparation.standardize import MIN_STD, compute_moments

NEIGHBOURS = 5
MIN_ROWS = 50
"""With fewer training rows, what their neighbours say is chance."""
MAX_ROWS, MAX_ASKED, MIN_ASKED = 600, 200, 50
"""So many training rows are compared, and for so many of them neighbours are found."""
MAX_VALUES = 3_000_000
"""The number of values compared: a twentieth of a second on a desktop. Of wider rows, only some
columns are."""
MAX_TARGETS = 16
"""The largest number of quantities that one row may have as its target."""

Point = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well the nearest rows predict the targets of rows with a number of features.

    `unexplained` is the share of rows of another class than most of the five nearest rows, of
    quantities the share of the variance that the mean of these rows does not explain.
    """

    features: int
    unexplained: float
    classes: bool

    def __str__(self) -> str:
        percent = f"{max(0.0, 1 - self.unexplained):.0%}"
        if self.classes:
            return f"the nearest neighbours agree in {percent} of rows"
        return f"the nearest neighbours explain {percent} of the variance"


def measure_agreement(dataset: Dataset) -> Agreement | None:
    """Measure how well the nearest training rows predict the target of a row.

    >>> rows = [[k / 100] for k in range(100)]
    >>> print(measure_agreement(Dataset(rows, [int(x > 0.5) for [x] in rows], split=(1, 0, 0))))
    the nearest neighbours agree in 98% of rows

    Columns count in units of their standard deviation. None if there are fewer than 50 training
    rows, if an input has no fixed number of measurements, or if there is not one class or a few
    quantities per row.
    """
    training = dataset.rows("training")
    if len(training) < MIN_ROWS or not all(map(_is_measured, dataset.inputs.values())):
        return None
    compared = draw_numbers(0, "compared", len(training), min(MAX_ROWS, len(training)))
    rows = [training[k] for k in compared]
    inputs, outputs = dataset.take(rows)
    targets = _get_targets(dataset, outputs)
    if targets is None:
        return None
    features = sum(count(field.shape) for field in dataset.inputs.values())
    points = _make_points(list(inputs.values()), features, len(rows))
    asked = draw_numbers(0, "asked", len(rows), min(MAX_ASKED, len(rows)))
    asked = asked[:: max(1, -(-len(asked) * len(rows) * len(points[0]) // MAX_VALUES))]
    nearest = [_find_nearest(points, row) for row in asked]
    if isinstance(targets[0], int):
        votes = (Counter(targets[k] for k in near).most_common(1)[0][0] for near in nearest)
        wrong = sum(vote != targets[row] for vote, row in zip(votes, asked, strict=True))
        return Agreement(features, wrong / len(asked), classes=True)
    return Agreement(features, _measure_unexplained(targets, asked, nearest), classes=False)


def _is_measured(field: Field) -> bool:
    return field.kind == "continuous" and is_float(field.dtype) and not field.sequence


def _get_targets(
    dataset: Dataset, outputs: dict[str, HostArray]
) -> Sequence[int] | Sequence[Point] | None:
    """Return the class of every row, or its quantities."""
    classes = get_row_classes(dataset.outputs, outputs)
    if classes is not None:
        return None if min(classes) < 0 else classes
    [(block, field), *others] = dataset.outputs.items()
    size = count(field.shape)
    if others or not _is_measured(field) or not 0 < size <= MAX_TARGETS:
        return None
    flat = outputs[block].values()
    return [tuple(flat[k : k + size]) for k in range(0, len(flat), size)]


def _make_points(inputs: Sequence[HostArray], features: int, rows: int) -> list[Point]:
    """Return rows as points, each column in units of its standard deviation."""
    kept = max(1, min(features, MAX_VALUES // (MIN_ASKED * rows)))
    chosen = draw_numbers(0, "columns", features, kept)
    columns: list[list[float]] = []
    first = 0
    for values in inputs:
        flat, size = values.values(), count(values.shape[1:])
        columns += [list(flat[k - first :: size]) for k in chosen if first <= k < first + size]
        first += size
    for column in columns:
        _, std = compute_moments(column)
        unit = 1 / std if std > MIN_STD else 0.0
        column[:] = [value * unit for value in column]
    return list(zip(*columns, strict=True))


def _find_nearest(points: Sequence[Point], row: int) -> list[int]:
    """Return the nearest points to one of them, the nearest first, without itself."""
    point = points[row]
    distances = [math.dist(point, other) for other in points]
    distances[row] = math.inf
    return nsmallest(NEIGHBOURS, range(len(points)), key=distances.__getitem__)


def _measure_unexplained(
    targets: Sequence[Point], asked: Sequence[int], nearest: Sequence[Sequence[int]]
) -> float:
    """Return the share of the variance that the mean of the nearest rows does not explain."""
    deviations: list[float] = []
    errors: list[float] = []
    for values in zip(*targets, strict=True):
        mean, _ = compute_moments([values[row] for row in asked])
        for row, near in zip(asked, nearest, strict=True):
            deviations.append((values[row] - mean) ** 2)
            errors.append((values[row] - math.fsum(values[k] for k in near) / len(near)) ** 2)
    total = math.fsum(deviations)
    return math.fsum(errors) / total if total else 0.0
