"""Finds numbers that stand for missing values within the range of a column.

Rows that have one are like average rows, not like those with the numbers next to it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from webnnm.core.readable import show_number
from webnnm.core.thinning import thin
from webnnm.data.preparation.standardize import compute_moments
from webnnm.expert.examination.rows import Column, Rows
from webnnm.expert.examination.statistics import correlation, ranks, standard_errors

MIN_SHARE, MIN_CELLS = 0.02, 20
"""A placeholder is in this share of the rows, and in this many."""

MAX_SHARE = 0.7
"""A number that more rows have is the usual case, and the others are the exception."""

MIN_EXCESS = 5
"""A placeholder is so many times as frequent as any other number of the column."""

MIN_DISTINCT = 20
"""With fewer other numbers a column holds kinds, or counts, and a frequent one is one of these."""

MIN_ROWS_BESIDE = 60
"""In fewer rows the effect of a column is not known."""

CHANCE = 0.01
"""How often a set without placeholders has one by chance, over all comparisons together."""

MAX_ERRORS = 2.5
"""Standard errors between rows of a placeholder and the average of the others: more in 1.2% of
placeholders."""

MIN_ERRORS_BESIDE, MIN_NEAREST = 2.0, 0.7
"""Standard errors between rows of a placeholder and the nearest third of the others; the nearest
tenth is at least this part as far off: an effect that turns back is not taken for a placeholder."""

NEAR, NEAREST = 3, 10
"""The rows with the nearest numbers are this part of all others, and of these the nearest ones."""

MIN_GAP, GAP = 0.1, 50
"""A placeholder at the end of the range is so many deviations from all but this part of the others:
amounts of 0, and numbers cut off at a limit, have others right next to them."""

MAX_KINDS, MAX_RESPONSES, MAX_COLUMNS = 5, 12, 64
"""Classes, and other columns, that tell what rows are like."""


class Placeholder(NamedTuple):
    """A number of a column, as the model receives it, that stands for missing values."""

    column: Column
    value: float
    share: float

    def describe(self) -> str:
        """Return what was found, in the units of the data."""
        raw = show_number(self.column.raw(self.value))
        return (
            f"{self.share:.0%} of {self.column.name} are {raw}, and these rows are like average "
            f"ones, not like those with numbers next to {raw}"
        )


def find_placeholders(rows: Rows) -> list[Placeholder]:
    """Return the frequent numbers of continuous columns that stand for missing values."""
    numbers = rows.sample
    if len(numbers) < MIN_ROWS_BESIDE + MIN_CELLS or len(rows.columns) > MAX_COLUMNS:
        return []
    pairs = ((column, _find_frequent(column, numbers)) for column in rows.columns)
    frequent = {id(column): (column, value) for column, value in pairs if value is not None}
    if not frequent:
        return []
    responses = list(_list_responses(rows, {key: value for key, (_, value) in frequent.items()}))
    limit = standard_errors(CHANCE / max(1, len(frequent) * len(responses)))
    placeholders: list[Placeholder] = []
    for key, (column, value) in frequent.items():
        values = column.take(numbers)
        comparisons = [
            _compare(values, value, response) for owner, response in responses if owner != key
        ]
        answers = [one for one in comparisons if one is not None]
        alike = all(abs(one.from_mean) <= limit for one in answers)
        if alike and any(one.is_placeholder(limit) for one in answers):
            placeholders.append(Placeholder(column, value, values.count(value) / len(values)))
    return placeholders


def leave_out_frequent(rows: Rows) -> Rows:
    """Return the rows without those that have a frequent whole number of a continuous column."""
    usual = [(column, _find_frequent(column, rows.sample)) for column in rows.columns]
    subsets = {
        name: [
            row
            for row in numbers
            if all(value is None or column.values[row] != value for column, value in usual)
        ]
        for name, numbers in rows.subsets.items()
    }
    return replace(rows, subsets=subsets)


def _find_frequent(column: Column, numbers: Sequence[int]) -> float | None:
    """Return the whole number of a continuous column that is far more frequent than all others."""
    values = column.take(numbers)
    (value, number), *rest = Counter(values).most_common(2)
    least = max(MIN_CELLS, MIN_SHARE * len(values), MIN_EXCESS * (rest[0][1] if rest else 0))
    others = sorted([other for other in values if other != value])
    if not least <= number <= MAX_SHARE * len(values) or len({*others}) < MIN_DISTINCT:
        return None
    raw = column.raw(value)
    if abs(raw - round(raw)) > 1e-5 * max(1.0, abs(raw)):
        return None
    few, deviation = len(others) // GAP, compute_moments(others)[1]
    gap = max(others[few] - value, value - others[-1 - few])
    at_end = not others[few] < value < others[-1 - few]
    return None if at_end and gap < MIN_GAP * deviation else value


def _list_responses(
    rows: Rows, frequent: dict[int, float]
) -> Iterator[tuple[int, list[float | None]]]:
    """Return what tells how rows are: target or classes, and other columns, whose own placeholders
    count as unknown."""
    if rows.target is not None:
        target = [float(rows.target[row]) for row in rows.sample]
        if rows.classes:
            kinds = [kind for kind, _ in Counter(target).most_common(MAX_KINDS)]
            for kind in kinds[: 1 if len({*target}) == 2 else MAX_KINDS]:
                yield 0, [float(label == kind) for label in target]
        else:
            yield 0, [*ranks(target)]
    for column in thin(rows.columns, MAX_RESPONSES):
        values = column.take(rows.sample)
        own = frequent.get(id(column))
        ranked = [
            rank if value != own else None
            for value, rank in zip(values, ranks(values), strict=True)
        ]
        yield id(column), ranked


class _Comparison(NamedTuple):
    """How far the mean response of rows with a number is from that of all others, from the line of
    the others at that number, from the nearest third of them, in standard errors; and how far from
    the nearest tenth, as a share of that from the third."""

    from_mean: float
    from_line: float
    from_near: float
    nearest: float

    def is_placeholder(self, limit: float) -> bool:
        """Return whether the rows are like the average, and unlike those next to them."""
        return (
            abs(self.from_mean) <= MAX_ERRORS
            and self.from_line >= limit
            and self.from_near >= MIN_ERRORS_BESIDE
            and self.nearest >= MIN_NEAREST
        )


def _compare(
    values: Sequence[float], value: float, response: Sequence[float | None]
) -> _Comparison | None:
    """Return how the response of rows with a number differs from that of others."""
    pairs = [(v, r) for v, r in zip(values, response, strict=True) if r is not None]
    marked = [r for v, r in pairs if v == value]
    others = sorted([(abs(v - value), v, r) for v, r in pairs if v != value])
    if len(others) < MIN_ROWS_BESIDE or len(marked) < MIN_CELLS:
        return None
    middle, spread = compute_moments([v for _, v, _ in others])
    usual, deviation = compute_moments([r for *_, r in others])
    mean, own = compute_moments(marked)
    noise = max(own, deviation)
    if not spread or not noise:
        return None
    away = (value - middle) / spread
    slope = correlation([v for _, v, _ in others], [r for *_, r in others]) * deviation
    error = noise * math.sqrt(1 / len(marked) + 1 / len(others))
    error_of_line = noise * math.sqrt(1 / len(marked) + (1 + away**2) / len(others))
    near, nearest = (
        compute_moments([r for *_, r in others[: len(others) // part]])[0] - mean
        for part in (NEAR, NEAREST)
    )
    side = -1 if slope * away < 0 else 1
    error_of_near = noise * math.sqrt(1 / len(marked) + NEAR / len(others))
    return _Comparison(
        (mean - usual) / error,
        side * (usual + slope * away - mean) / error_of_line,
        side * near / error_of_near,
        nearest / near if near else 0.0,
    )
