"""Finds testing rows that were made by interpolation between rows of their class."""

from __future__ import annotations

import math
from collections.abc import Sequence

from webnnm.core.thinning import thin
from webnnm.expert.examination.rows import Rows
from webnnm.expert.facts.facts import Suspicion

MIN_COLUMNS, MAX_COLUMNS = 3, 32
MIN_DISTINCT = 0.5
"""Columns of many values, in which three rows are on one line by chance once in a million sets."""

MAX_TRIED, MAX_OTHERS = 20, 600
MIN_TRIED = 8
"""Testing rows of each class that are tried, and rows of the class that they may lie between."""

EXACT = 2e-5
"""How exactly three rows are on one line, in float32."""

MIN_SHARE, MAX_SHARE_ELSEWHERE = 0.3, 0.1
"""The share of interpolated rows in a class, and in some other one: rows on a grid, or along a
track, are on lines in all classes."""


def find_interpolated_rows(rows: Rows) -> Suspicion | None:
    """Find a class whose testing rows lie exactly between two other rows of the class."""
    if rows.target is None or not rows.classes:
        return None
    least = MIN_DISTINCT * len(rows.training)
    columns = [column for column in rows.columns if len({*column.take(rows.training)}) > least]
    if not MIN_COLUMNS <= len(columns) <= MAX_COLUMNS:
        return None
    members: dict[float, list[int]] = {}
    for row in rows.subsets["full"]:
        members.setdefault(rows.target[row], []).append(row)
    tested = {*rows.subsets["testing"]}
    shares: dict[float, float] = {}
    for label, numbers in members.items():
        tried = [row for row in numbers if row in tested]
        tried = thin(tried, MAX_TRIED)
        if len(tried) < MIN_TRIED:
            continue
        others = thin(numbers, MAX_OTHERS)
        points = {row: [column.values[row] for column in columns] for row in {*others, *tried}}
        between = [
            _is_between(points[row], [points[o] for o in others if o != row]) for row in tried
        ]
        shares[label] = sum(between) / len(between)
    if not shares or min(shares.values()) > MAX_SHARE_ELSEWHERE:
        return None
    label = max(shares, key=shares.__getitem__)
    if shares[label] < MIN_SHARE:
        return None
    return Suspicion(
        f"{shares[label]:.0%} of the testing rows of class {label:g} lie exactly on the line "
        "between two other rows of the class: they were interpolated before the split, as SMOTE "
        "does it",
        {"share": shares[label]},
    )


def _is_between(point: Sequence[float], others: Sequence[Sequence[float]]) -> bool:
    """Return whether a point is on the line between two of the others."""
    sides: dict[tuple[int, ...], list[list[float]]] = {}
    for other in others:
        step = [b - a for a, b in zip(point, other, strict=True)]
        length = math.hypot(*step)
        if length < 1e-3:
            continue
        unit = [value / length for value in step]
        places = [round(value * 1000) for value in unit[:3]]
        opposite = [round(-value * 1000) for value in unit[:3]]
        for one in sides.get(tuple(opposite), ()):
            if math.dist(one, [-value for value in unit]) < EXACT:
                return True
        sides.setdefault(tuple(places), []).append(unit)
    return False
