"""Finds testing rows whose columns, or channels of pictures, are in another order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from webnnm.data.preparation.standardize import compute_moments
from webnnm.expert.examination.neighbours import MIN_ROWS, RANDOM_METHODS
from webnnm.expert.examination.rows import Column, Rows
from webnnm.expert.examination.subsets import find_levels, limit_rows
from webnnm.expert.facts.facts import Suspicion

MIN_DISTANCE, MAX_DISTANCE = 5.0, 3.0
"""Standard errors by which a mean, or the logarithm of a deviation, differs from that of the same
column, and from that of another one that it comes from: by chance one column in a million is as far
from itself, and one in 200 as near to one of two others if all are alike."""

MAX_COLUMNS = 256


class _Moments(NamedTuple):
    """The mean of a column, its deviation, and of how many rows they are."""

    mean: float
    std: float
    rows: int


def find_swaps(rows: Rows) -> Suspicion | None:
    """Find columns that are others in testing: two or more differ, and each is like another one."""
    if rows.method in RANDOM_METHODS or rows.series:
        return None
    if min(len(rows.subsets["testing"]), len(rows.training)) < MIN_ROWS:
        return None
    columns: Sequence[Column] = rows.columns
    if not columns:
        rows = limit_rows(rows)
        columns = find_levels(rows)
    if not 1 < len(columns) <= MAX_COLUMNS:
        return None
    trained = [_measure(column.take_raw(rows.training)) for column in columns]
    tested = [_measure(column.take_raw(rows.subsets["testing"])) for column in columns]
    moved = [
        index
        for index, pair in enumerate(zip(trained, tested, strict=True))
        if _distance(*pair) > MIN_DISTANCE
    ]
    origins = {index: _find_origin(tested[index], trained, moved) for index in moved}
    if len(moved) < 2 or {*origins.values()} != {*moved}:
        return None
    texts = [
        f"{columns[index].name} in testing (mean {tested[index].mean:.4g}, deviation "
        f"{tested[index].std:.4g}) is like {columns[origin].name} in training "
        f"({trained[origin].mean:.4g}, {trained[origin].std:.4g})"
        for index, origin in origins.items()
        if origin is not None
    ]
    return Suspicion("; ".join(texts[:3]), {"columns": len(texts)})


def _measure(values: Sequence[float]) -> _Moments:
    return _Moments(*compute_moments(values), len(values))


def _find_origin(moments: _Moments, trained: Sequence[_Moments], moved: list[int]) -> int | None:
    """Return the one column that is like this one, None without or with several."""
    alike = [other for other in moved if _distance(trained[other], moments) < MAX_DISTANCE]
    return alike[0] if len(alike) == 1 else None


def _distance(one: _Moments, other: _Moments) -> float:
    """Return by how many standard errors means, or logarithms of deviations, differ."""
    if not one.std or not other.std:
        return 0.0 if one == other else math.inf
    error = math.sqrt(one.std**2 / one.rows + other.std**2 / other.rows)
    spread = math.sqrt(0.5 / one.rows + 0.5 / other.rows)
    return max(abs(one.mean - other.mean) / error, abs(math.log(one.std / other.std)) / spread)
