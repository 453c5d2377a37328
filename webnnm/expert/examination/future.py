"""Finds columns of a series that were computed from the target of the row and of rows around it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import mul
from typing import NamedTuple

from webnnm.expert.examination.averages import list_target_numbers
from webnnm.expert.examination.rows import Column, Rows
from webnnm.expert.examination.statistics import (
    combination,
    measure_step,
    normalise,
    orthonormalise,
)
from webnnm.expert.facts.facts import Suspicion

REACH = 6
"""How many rows before and after are looked at: windows of up to 13 rows."""

MIN_ROWS, MAX_ROWS = 80, 300
MAX_COLUMNS = 64

MIN_EXPLAINED = 0.99
"""What a combination of targets explains at least of a column that was computed from them."""

MAX_RESIDUAL, MAX_RESIDUAL_OF_TARGET = 0.35, 0.22
"""The residual of a computed column, in steps of its digits and of those of the target: rounding
leaves 0.29 of one step, and of a mean of two or more less than 0.21. A sensor that is smoother than
the target leaves more."""

MAX_EXPLAINED_BY_OTHERS = 0.99
"""The target alone explains the column (E615), or earlier ones do, which are known."""

MIN_F = 64.0
"""The F statistic of the target of the row, given those around it: eight standard errors."""

REMEDY = "Compute it from the rows before alone; or leave the column out."


class _Window(NamedTuple):
    """The targets of rows by how many rows further they are, as orthonormal vectors: of all others
    than that of the row itself, and what these leave of it."""

    numbers: Sequence[int]
    lags: Mapping[int, Sequence[float]]
    others: Sequence[Sequence[float]]
    last: Sequence[float]


def find_future_means(rows: Rows) -> Suspicion | None:
    """Find columns that are linear combinations of the targets of the row and of those around."""
    target = list_target_numbers(rows)
    if target is None or rows.series or not 1 < len(rows.columns) <= MAX_COLUMNS:
        return None
    window = _collect_targets(rows, target)
    if window is None:
        return None
    digits = measure_step([target[row] for row in window.numbers])
    names = [column.name for column in rows.columns if _is_computed(column, window, digits)]
    if not names or len(names) > len(rows.columns) / 2:
        return None
    what = "is a combination" if len(names) == 1 else "are combinations"
    return Suspicion(
        f"{', '.join(names[:5])} {what} of the target of the row and of those in up to {REACH} "
        "rows around it, but for rounding",
        {"columns": len(names)},
        REMEDY,
    )


def _collect_targets(rows: Rows, target: Sequence[float]) -> _Window | None:
    """Return the targets around rows that follow each other, as orthonormal vectors."""
    available = {*rows.subsets["full"]}
    reach = range(-REACH, REACH + 1)
    numbers = [row for row in sorted(available) if all(row + step in available for step in reach)]
    if len(numbers) < MIN_ROWS:
        return None
    # Rows next to each other have targets in common: a stretch shows as much as all of them.
    numbers = numbers[:MAX_ROWS]
    lags = {step: [target[row + step] for row in numbers] for step in reach}
    others = orthonormalise(lags[step] for step in reach if step)
    _, rest, length = combination(normalise(lags[0]), others)
    if length < 1e-3:
        return None
    return _Window(numbers, lags, others, [value / length for value in rest])


def _is_computed(column: Column, window: _Window, digits: float) -> bool:
    """Return whether a column was computed from targets, that of the row among them."""
    values = column.take_raw(window.numbers)
    vector = normalise(values)
    if not any(vector):
        return False
    by_others = _explain(vector, window.others)
    by_own = math.fsum(map(mul, vector, window.last)) ** 2
    rest = max(1e-12, 1 - by_others - by_own)
    freedom = len(values) - len(window.others) - 2
    if 1 - rest < MIN_EXPLAINED or by_own / rest * freedom < MIN_F:
        return False
    for steps in ([0], range(-REACH, 0)):
        basis = orthonormalise(window.lags[step] for step in steps)
        if _explain(vector, basis) > MAX_EXPLAINED_BY_OTHERS:
            return False
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / freedom)
    by_rounding = math.hypot(MAX_RESIDUAL * measure_step(values), MAX_RESIDUAL_OF_TARGET * digits)
    return math.sqrt(rest) * spread <= max(by_rounding, 1e-5 * (abs(mean) + spread))


def _explain(vector: Sequence[float], basis: Sequence[Sequence[float]]) -> float:
    """Return the share of the variance that a basis explains."""
    return 1 - combination(vector, basis)[2] ** 2
