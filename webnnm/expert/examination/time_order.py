"""Finds rows in order of time, which a random split mixes: each goes on from the one before."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from webnnm.expert.examination.columns import is_row_number
from webnnm.expert.examination.neighbours import (
    RANDOM_METHODS,
    find_three_nearest,
    make_points,
)
from webnnm.expert.examination.order import (
    EXAMINED_ROWS,
    MIN_LOSS_OF_SCORE,
    NEAR_IN_ORDER,
    score_neighbours,
    spread_evenly,
)
from webnnm.expert.examination.rows import Column, Rows
from webnnm.expert.examination.statistics import correlation, orthonormalise, residuals
from webnnm.expert.facts.facts import Suspicion

MIN_ROWS, MAX_ROWS = 100, 1000
"""So many consecutive rows are compared with the next ones."""

MIN_COLUMNS, MAX_COLUMNS = 3, 32
"""Fewer columns of many values form a curve, along which neighbours are alike by nature."""

MIN_MEMORY = 0.4
"""The least correlation of a target with that of the next row, beyond what the columns explain: the
row before then predicts 16% of it."""

MIN_MEMORY_OF_COLUMN = 0.5

MIN_STANDARD_ERRORS = 4.0
"""Of the correlation of independent rows, 1/√n: by chance in one of 30,000 sets."""


def find_time_order(rows: Rows) -> Suspicion | None:
    """Find a target and columns that go on from row to row, where the split is random."""
    if rows.method not in RANDOM_METHODS or not rows.subsets["testing"] or rows.target is None:
        return None
    size = min(MAX_ROWS, len(rows.target))
    columns = [column for column in rows.columns if len({*column.values[:size]}) > size / 10]
    if len(columns) < MIN_COLUMNS or len(rows.columns) > MAX_COLUMNS or size < MIN_ROWS:
        return None
    labels = [float(value) for value in rows.target[:size]]
    if rows.classes:
        common = Counter(labels).most_common(1)[0][0]
        labels = [float(label == common) for label in labels]
    if _is_sorted(labels) or any(_is_sorted_by(column, rows) for column in columns):
        return None
    going_on = [column for column in columns if is_in_time_order(column.values[:size])]
    values = [column.values[:size] for column in rows.columns]
    memory = measure_memory(residuals(labels, values, size))
    least = max(MIN_MEMORY, MIN_STANDARD_ERRORS / math.sqrt(size))
    if not going_on or memory < least or len(orthonormalise(values)) < MIN_COLUMNS:
        return None
    if not _is_known_by_order(rows):
        return None
    return Suspicion(
        f"what the columns leave of the target has a correlation of {memory:.2f} with that of the "
        f"next row, and {going_on[0].name} goes on from row to row too: rows in order of time, "
        "which the split separates",
        {"memory": memory, "columns": len(going_on)},
    )


def _is_known_by_order(rows: Rows) -> bool:
    """Return whether the nearest rows predict the target, and those of other times do not.

    Rows of the same season or place are alike whenever they were measured.
    """
    assert rows.target is not None
    sample = sorted(rows.sample)
    points = make_points(rows, sample, EXAMINED_ROWS)
    if points is None or len(points) < EXAMINED_ROWS:
        return True
    tried = spread_evenly(len(points))
    positions = [index / len(points) for index in range(len(points))]
    labels = [rows.target[row] for row in sample]
    near, far = find_three_nearest(points, tried, positions, NEAR_IN_ORDER)
    score = score_neighbours(rows, tried, near, labels)
    score_apart = score_neighbours(rows, tried, far, labels)
    return score - max(0.0, score_apart) >= MIN_LOSS_OF_SCORE


def measure_memory(values: Sequence[float]) -> float:
    """Return the correlation of values with the next ones.

    >>> round(measure_memory([0.0, 1.0, 2.0, 3.0, 2.0, 1.0, 0.0]), 2)
    0.45
    """
    return correlation(values[1:], values[:-1])


def is_in_time_order(values: Sequence[float]) -> bool:
    """Return whether values go on from one to the next, and were not sorted.

    >>> import math
    >>> is_in_time_order([math.sin(n / 9) for n in range(200)])
    True
    """
    least = max(MIN_MEMORY_OF_COLUMN, MIN_STANDARD_ERRORS / math.sqrt(max(1, len(values))))
    return len(values) > 2 and measure_memory(values) >= least and not _is_sorted(values)


def _is_sorted(values: Sequence[float]) -> bool:
    """Return whether values go up, or down, all the way; or in one step, as sorted classes do."""
    return all(a <= b for a, b in pairwise(values)) or all(a >= b for a, b in pairwise(values))


def _is_sorted_by(column: Column, rows: Rows) -> bool:
    """Return whether the rows were sorted by a column that is not itself a time."""
    if column.name in rows.days or is_row_number(column):
        return False
    return _is_sorted(column.values[:MAX_ROWS])
