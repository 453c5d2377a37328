"""Finds labels that are in another row than the one they belong to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from operator import mul
from typing import NamedTuple

from webnnm.core.thinning import thin
from webnnm.expert.examination.rows import Rows
from webnnm.expert.examination.statistics import normalise
from webnnm.expert.facts.facts import Suspicion

OFFSETS = (1, -1, 2, -2, 3, -3)
"""How many rows further the label of a row is looked for."""

MIN_ROWS, MAX_ROWS = 80, 600
MAX_COLUMNS, MAX_KINDS = 64, 3
"""Rows that are compared, columns, and the most frequent classes."""

UNRELATED, RELATED = 0.01, 1e-7
"""Chances, over all columns together, of the relation that there is: none, as in 99% of sets
without one, and one beyond doubt."""


SAME = 0.999
"""Columns that have the label of the row before, as in a forecast, are not out of place."""


class _Part(NamedTuple):
    """Rows whose neighbours in the order of the data are there too, and their columns."""

    numbers: Sequence[int]
    columns: Sequence[Sequence[float]]


def find_displaced_labels(rows: Rows) -> Suspicion | None:
    """Find labels that are related to the columns of a row near by, and not to their own; in all
    rows, or from the middle on."""
    if rows.target is None or not 0 < len(rows.columns) <= MAX_COLUMNS or rows.series:
        return None
    available = {*rows.subsets["full"]}
    reach = range(-max(OFFSETS), max(OFFSETS) + 1)
    numbers = [row for row in sorted(available) if all(row + step in available for step in reach)]
    half = numbers[len(numbers) // 2 :]
    for centres, where in ((numbers, ""), (half, f" from row {half[0]} on" if half else "")):
        if len(centres) < MIN_ROWS:
            continue
        part = _take_columns(rows, thin(centres, MAX_ROWS))
        own = _relate(rows, part, 0)
        if _chance(own, part) < UNRELATED:
            continue
        for offset in OFFSETS:
            relation = _relate(rows, part, offset)
            if _chance(relation, part) < RELATED and relation < SAME:
                if _follow_each_other(rows, part):
                    return None
                return _describe(offset, where, relation, own)
    return None


def _take_columns(rows: Rows, numbers: Sequence[int]) -> _Part:
    """Return columns, and how far they are from their middle, with a norm of 1."""
    columns: list[list[float]] = []
    for column in rows.columns:
        vector = normalise(column.take(numbers))
        columns += [vector, normalise([value**2 for value in vector])]
    return _Part(numbers, columns)


def _follow_each_other(rows: Rows, part: _Part) -> bool:
    """Return whether columns are related to those of the next row: what was measured before is in
    later rows, too, and so may be their label."""
    before = part.columns[::2]
    after = [normalise(column.take([row + 1 for row in part.numbers])) for column in rows.columns]
    relation = max(abs(math.fsum(map(mul, one, other))) for one in before for other in after)
    return len(before) * _chance(relation, part) < UNRELATED


def _relate(rows: Rows, part: _Part, offset: int) -> float:
    """Return the largest correlation of a column with the labels so many rows further."""
    assert rows.target is not None
    labels = [float(rows.target[row + offset]) for row in part.numbers]
    kinds = [kind for kind, _ in Counter(labels).most_common(MAX_KINDS)] if rows.classes else []
    targets = [[float(label == kind) for label in labels] for kind in kinds] or [labels]
    return max(
        abs(math.fsum(map(mul, target, column)))
        for target in map(normalise, targets)
        for column in part.columns
    )


def _chance(relation: float, part: _Part) -> float:
    """Return how often unrelated columns seem as much related (normal approximation)."""
    return len(part.columns) * math.erfc(relation * math.sqrt(len(part.numbers) / 2))


def _describe(offset: int, where: str, relation: float, own: float) -> Suspicion:
    """Return what was found, and how to move the labels back."""
    far = "one row" if abs(offset) == 1 else f"{abs(offset)} rows"
    side, way = ("after", "up") if offset > 0 else ("before", "down")
    return Suspicion(
        f"labels{where} are {far} {side} the row that they belong to: columns are related to the "
        f"label {far} {side} (correlation {relation:.2f}), and not to their own ({own:.2f})",
        {"offset": offset, "correlation": relation},
        f"Move the labels{where} {way} by {far}, and look for a row that was skipped, or a heading "
        "that was read as one.",
        0.9,
    )
