"""Finds testing or validation rows that were made by interpolation between rows of their class."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from webnnm.core.thinning import thin
from webnnm.expert.examination.rows import Column, Rows
from webnnm.expert.examination.statistics import measure_step
from webnnm.expert.facts.facts import Suspicion

MIN_COLUMNS, MAX_COLUMNS = 3, 32
MIN_DISTINCT = 0.5
"""Columns of many values, in which three rows are on one line by chance once in a million sets."""

MAX_TRIED, MAX_OTHERS = 20, 600
MIN_TRIED = 8
"""Testing rows of each class that are tried, and rows of the class that they may lie between. If
the first eight do not, the share is below 0.3 but in one of twenty sets."""

EXACT, MAX_ANGLE = 2e-5, 0.01
"""How exactly three rows are on one line, in float32, and where columns are rounded."""

MAX_CHANCE = 1e-7
"""How often two rows are in opposite directions by chance: there are 180,000 pairs."""

MIN_SHARE, MAX_SHARE_ELSEWHERE = 0.3, 0.1
"""The share of interpolated rows in a class, and in some other one: rows on a grid, or along a
track, are on lines in all classes."""


WIDER, MAX_MORE = 3.0, 0.25
"""On lines so many times as wide there are hardly more rows: by chance there would be nine times as
many, or more, where columns depend on each other so that rows spread in few dimensions."""


def find_interpolated_rows(rows: Rows) -> Suspicion | None:
    """Find a class whose testing, or validation, rows lie exactly between two rows of the class."""
    if rows.target is None or not rows.classes:
        return None
    least = MIN_DISTINCT * len(rows.training)
    columns = [column for column in rows.columns if len({*column.take(rows.training)}) > least]
    if not MIN_COLUMNS <= len(columns) <= MAX_COLUMNS:
        return None
    suspicions = (_find_in_subset(rows, columns, name) for name in ("testing", "validation"))
    return next(filter(None, suspicions), None)


def _find_in_subset(rows: Rows, columns: Sequence[Column], subset: str) -> Suspicion | None:
    assert rows.target is not None
    tested = {*rows.subsets[subset]}
    members: dict[float, list[int]] = {}
    for row in rows.subsets["full"] if tested else ():
        members.setdefault(rows.target[row], []).append(row)
    error = max(measure_step(c.take_raw(rows.sample)) / (abs(c.scale) or 1.0) for c in columns)
    limit = min(MAX_ANGLE, MAX_CHANCE ** (1 / (len(columns) - 1)))
    shares: dict[float, float] = {}
    checks: dict[float, _Lines] = {}
    for label, numbers in members.items():
        tried = thin([row for row in numbers if row in tested], MAX_TRIED)
        if len(tried) < MIN_TRIED:
            continue
        others = thin(numbers, MAX_OTHERS)
        points = {row: [column.values[row] for column in columns] for row in {*others, *tried}}
        checks[label] = _Lines(points, tried, others, error, limit)
        shares[label] = checks[label].measure_share(1.0)
    if not shares or min(shares.values()) > MAX_SHARE_ELSEWHERE:
        return None
    label = max(shares, key=shares.__getitem__)
    if shares[label] < MIN_SHARE:
        return None
    if checks[label].measure_share(WIDER) > shares[label] + MAX_MORE:
        return None
    return Suspicion(
        f"{shares[label]:.0%} of the {subset} rows of class {label:g} lie exactly on the line "
        "between two other rows of the class: they were interpolated before the split, as SMOTE "
        "does it",
        {"share": shares[label]},
    )


class _Lines(NamedTuple):
    """Rows of a class that may lie between two others, and how exactly that can be told."""

    points: Mapping[int, Sequence[float]]
    tried: Sequence[int]
    others: Sequence[int]
    error: float
    limit: float

    def measure_share(self, width: float) -> float:
        """Return the share of rows that lie on a line between two others, so many times as wide."""
        between: list[bool] = []
        for row in self.tried:
            near = [self.points[other] for other in self.others if other != row]
            between.append(_is_between(self.points[row], near, self.error, self.limit, width))
            if len(between) == MIN_TRIED and not any(between):
                break
        return sum(between) / len(between)


def _is_between(
    point: Sequence[float],
    others: Sequence[Sequence[float]],
    error: float,
    limit: float,
    width: float,
) -> bool:
    """Return whether a point is on the line between two of the others: these are in opposite
    directions, within `limit` and what rounding by `error` may turn them."""
    sides: list[tuple[list[float], float]] = []
    for other in others:
        step = [b - a for a, b in zip(point, other, strict=True)]
        length = math.hypot(*step)
        angle = EXACT + error / length if length > 1e-3 else math.inf
        if angle <= limit:
            sides.append(([value / length for value in step], width * angle))
    sides.sort()
    first = [unit[0] for unit, _ in sides]
    for unit, angle in sides:
        opposite = [-value for value in unit]
        start = bisect_left(first, opposite[0] - 2 * angle)
        end = bisect_right(first, opposite[0] + 2 * angle)
        if any(math.dist(one, opposite) < angle + other for one, other in sides[start:end]):
            return True
    return False
