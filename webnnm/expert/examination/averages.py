"""What is suspicious about columns that were computed from the target: its means over groups."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from webnnm.data.preparation.standardize import compute_moments
from webnnm.expert.examination.columns import MIN_ROWS
from webnnm.expert.examination.rows import Column, Rows
from webnnm.expert.facts.facts import Suspicion

MIN_VALUES = 10
"""Fewer values may be the means of their rows by chance."""

MIN_REPEATED_SHARE, MIN_MEAN_SHARE = 0.5, 0.95
"""Shares: of rows that share their value with others, and of these, of rows whose value is the
mean."""

TOLERANCE = 0.01
"""The rounding error of a mean, in deviations of the column, or of a target that varies less."""

MIN_DEVIATION = 0.1
"""Deviation of the target within groups, relative to all; below it the column gives the target
away."""

REMEDY = (
    "Compute it from training rows only, for each of them without itself; or leave it out, and "
    "pass the group as a category."
)


def find_target_means(rows: Rows) -> Suspicion | None:
    """Find columns whose value is the mean of the target of all rows that have this value."""
    target = list_target_numbers(rows)
    if target is None or len(rows.training) < MIN_ROWS:
        return None
    texts: list[str] = []
    for column in rows.columns:
        for numbers, which in ((rows.subsets["full"], "all"), (rows.training, "training")):
            groups = _means(column, target, numbers)
            if groups:
                what = "class" if rows.classes else "target"
                texts.append(
                    f"{column.name} is the mean of the {what} over {which} rows with the same "
                    f"value, for {groups} values"
                )
                break
    return Suspicion("; ".join(texts[:5]), {"columns": len(texts)}, REMEDY) if texts else None


def list_target_numbers(rows: Rows) -> Sequence[float] | None:
    """Return the target in units of the data, or which of two classes a row has; else None."""
    if rows.quantity is not None:
        return rows.quantity.take_raw(range(len(rows.quantity.values)))
    if rows.target is None or {*rows.target} != {0, 1}:
        return None
    return rows.target


def _means(column: Column, target: Sequence[float], numbers: Sequence[int]) -> int:
    """Return how many groups of rows have the mean of their targets for a value, 0 if few do."""
    values = column.take(numbers)
    if len({*values}) > (1 - MIN_REPEATED_SHARE / 2) * len(values):
        return 0
    groups: dict[float, list[float]] = defaultdict(list)
    for row, value in zip(numbers, values, strict=True):
        groups[value].append(target[row])
    repeated = {value: group for value, group in groups.items() if len(group) > 1}
    grouped = sum(map(len, repeated.values()))
    if len(repeated) < MIN_VALUES or grouped < MIN_REPEATED_SHARE * len(numbers):
        return 0
    spread = compute_moments([target[row] for row in numbers])[1]
    near = TOLERANCE * min(compute_moments(values)[1] * column.scale, spread)
    means = within = 0.0
    for value, group in repeated.items():
        mean, std = compute_moments(group)
        within += len(group) * std**2
        means += len(group) * (abs(mean - column.raw(value)) <= near)
    varied = math.sqrt(within / grouped) > MIN_DEVIATION * spread
    return len(repeated) if varied and means >= MIN_MEAN_SHARE * grouped else 0
