"""Columns that are the values of one series at different times, as a window over it has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from webnnm.data.preparation.standardize import compute_moments
from webnnm.expert.examination.rows import Rows

MAX_PAIRS = 60
"""This many pairs of consecutive rows show whether the values of a column move into another."""

MIN_SHARE = 0.9
"""This share of them: a few files may follow each other in a table."""

MAX_COLUMNS = 64
TOLERANCE = 1e-4
"""In deviations; float32 leaves 1e-6 of a value."""


class Lags(NamedTuple):
    """Columns of one series: the names of all, the latest one, and whether the target is its next
    value."""

    names: frozenset[str]
    latest: str
    continued: bool


def find_lags(rows: Rows) -> Lags | None:
    """Return the columns whose value is in another column one row later, in rows of a table."""
    size = len(rows.columns[0].values) if rows.columns else 0
    if not 1 < len(rows.columns) <= MAX_COLUMNS or size < 2 * MAX_PAIRS:
        return None
    numbers = range(0, size - 1, -(-(size - 1) // MAX_PAIRS))
    here = {column.name: column.take_raw(numbers) for column in rows.columns}
    spreads = {name: compute_moments(values)[1] for name, values in here.items()}
    later = [number + 1 for number in numbers]
    after = {column.name: column.take_raw(later) for column in rows.columns}
    # What hardly changes from row to row is the same as other such columns.
    changing = [
        name
        for name, std in spreads.items()
        if not _is_nearly_equal(here[name], after[name], TOLERANCE * std)
    ]
    moves = {
        name: [
            next_name
            for next_name in changing
            if name != next_name
            and _is_nearly_equal(here[name], after[next_name], TOLERANCE * spreads[name])
        ]
        for name in changing
    }
    names = {name for name, others in moves.items() if others}
    names |= {next_name for others in moves.values() for next_name in others}
    if not names:
        return None
    # The latest values move into other columns, and no column moves into them.
    reached = {next_name for others in moves.values() for next_name in others}
    latest = sorted(names - reached)
    target = rows.quantity
    continued = target is not None and any(
        _is_nearly_equal(target.take_raw(numbers), after[name], TOLERANCE * spreads[name])
        for name in latest
    )
    return Lags(frozenset(names), latest[0] if len(latest) == 1 else "", continued)


def _is_nearly_equal(one: Sequence[float], other: Sequence[float], slack: float) -> bool:
    """Return whether two columns have the same values, but for a few."""
    allowed = (1 - MIN_SHARE) * len(one)
    for a, b in zip(one, other, strict=True):
        if abs(a - b) > slack:
            allowed -= 1
            if allowed < 0:
                return False
    return True
