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

MAX_COLUMNS, MAX_CLASSES = 256, 10


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
    every = _Group("", rows.training, rows.subsets["testing"])
    suspicions = (_compare(columns, group) for group in [[every], _list_classes(rows)] if group)
    return next(filter(None, suspicions), None)


class _Group(NamedTuple):
    """Rows that are compared: all of them, or those of a class, as `name` says."""

    name: str
    training: Sequence[int]
    testing: Sequence[int]


def _list_classes(rows: Rows) -> list[_Group]:
    """Return the training and testing rows of each class: means over all classes may be the same,
    where each colour is that of as many rows."""
    if rows.target is None or not rows.classes:
        return []
    groups: list[_Group] = []
    for kind in sorted({rows.target[row] for row in rows.training})[:MAX_CLASSES]:
        training, testing = (
            [row for row in rows.subsets[subset] if rows.target[row] == kind]
            for subset in ("training", "testing")
        )
        if min(len(training), len(testing)) < MIN_ROWS:
            return []
        groups.append(_Group(f" of class {kind:g}", training, testing))
    return groups


def _compare(columns: Sequence[Column], groups: Sequence[_Group]) -> Suspicion | None:
    """Find columns that are others in testing, in all groups of rows."""
    trained = [[_measure(column, group.training) for group in groups] for column in columns]
    tested = [[_measure(column, group.testing) for group in groups] for column in columns]
    moved = [
        index
        for index, pair in enumerate(zip(trained, tested, strict=True))
        if _distance(*pair) > MIN_DISTANCE
    ]
    origins = {index: _find_origin(tested[index], trained, moved) for index in moved}
    if len(moved) < 2 or {*origins.values()} != {*moved}:
        return None
    texts: list[str] = []
    for index, origin in origins.items():
        if origin is None:
            continue
        pairs = [*zip(trained[index], tested[index], strict=True)]
        farthest = max(range(len(groups)), key=lambda group: _measure_distance(*pairs[group]))
        here, there = tested[index][farthest], trained[origin][farthest]
        texts.append(
            f"{columns[index].name} in testing{groups[farthest].name} (mean {here.mean:.4g}, "
            f"deviation {here.std:.4g}) is like {columns[origin].name} in training "
            f"({there.mean:.4g}, {there.std:.4g})"
        )
    return Suspicion("; ".join(texts[:3]), {"columns": len(texts)})


def _measure(column: Column, numbers: Sequence[int]) -> _Moments:
    return _Moments(*compute_moments(column.take_raw(numbers)), len(numbers))


def _find_origin(
    moments: Sequence[_Moments], trained: Sequence[Sequence[_Moments]], moved: Sequence[int]
) -> int | None:
    """Return the one column that is like this one, None without or with several."""
    alike = [other for other in moved if _distance(trained[other], moments) < MAX_DISTANCE]
    return alike[0] if len(alike) == 1 else None


def _distance(one: Sequence[_Moments], other: Sequence[_Moments]) -> float:
    """Return the largest number of standard errors by which groups of two columns differ."""
    return max(_measure_distance(a, b) for a, b in zip(one, other, strict=True))


def _measure_distance(one: _Moments, other: _Moments) -> float:
    """Return by how many standard errors means, or logarithms of deviations, differ."""
    if not one.std or not other.std:
        return 0.0 if one == other else math.inf
    error = math.sqrt(one.std**2 / one.rows + other.std**2 / other.rows)
    spread = math.sqrt(0.5 / one.rows + 0.5 / other.rows)
    return max(abs(one.mean - other.mean) / error, abs(math.log(one.std / other.std)) / spread)
