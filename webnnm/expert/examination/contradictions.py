"""What is suspicious about equal rows: different classes, unless rows are equal by chance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from webnnm.data.preparation.quality import FEW, NARROW
from webnnm.expert.examination.rows import Rows
from webnnm.expert.facts.facts import Suspicion

MAX_SHARE = 0.01
"""A few rows with the same numbers are measured by chance."""

MIN_EXPECTED = 0.01
"""Rows are equal by chance if so many others, or more, would have the same numbers in columns that
know nothing of each other. Of measurements without frequent values, such as those that missing
cells were filled with, it is one over the number of rows."""

MIN_SHARE_BY_CHANCE = 0.9


def find_contradictions(rows: Rows) -> Suspicion | None:
    """Find equal rows with different classes, unless rows are equal by chance."""
    if rows.target is None or not rows.classes:
        return None
    target = rows.target
    different = len(target) - sum([len(equal_rows) - 1 for equal_rows in rows.equal])
    narrow = 0 < len(rows.columns) <= NARROW
    if narrow and all(len({*column.values}) < FEW * different for column in rows.columns):
        return None
    conflicts = [
        equal_rows for equal_rows in rows.equal if len({target[row] for row in equal_rows}) > 1
    ]
    if sum(map(len, conflicts)) <= MAX_SHARE * len(target):
        return None
    by_chance = _are_by_chance(rows, conflicts)
    conflicts = [equal for equal, chance in zip(conflicts, by_chance, strict=True) if not chance]
    share = sum(map(len, conflicts)) / len(target)
    if share <= MAX_SHARE:
        return None
    example = ", ".join(map(str, conflicts[0][:3]))
    return Suspicion(
        f"{share:.1%} of the rows are equal to a row of another class, such as rows {example}",
        {"share": share},
    )


def find_equal_by_chance(rows: Rows) -> Suspicion | None:
    """Find rows that are equal because they share frequent numbers, as cells that were filled in
    do."""
    by_chance = _are_by_chance(rows, rows.equal)
    equal = sum(map(len, rows.equal))
    share = sum([len(group) for group, chance in zip(rows.equal, by_chance, strict=True) if chance])
    if not equal or share < MIN_SHARE_BY_CHANCE * equal:
        return None
    return Suspicion("rows are equal by chance", {"share": share / equal})


def _are_by_chance(rows: Rows, groups: Sequence[Sequence[int]]) -> list[bool]:
    """Return for each group of equal rows whether it is to be expected, by how often its numbers
    are in other rows; False if rows have more than columns."""
    columns = rows.columns
    if not columns or {column.block for column in columns} != {*rows.inputs}:
        return [False] * len(groups)
    in_groups = {row for group in rows.equal for row in group}
    others = [row for row in range(len(columns[0].values)) if row not in in_groups]
    frequencies = [_Frequencies(column.take(others)) for column in columns]

    def expect_equal(group: Sequence[int]) -> float:
        shares = (
            frequency.get_share(column.values[group[0]])
            for column, frequency in zip(columns, frequencies, strict=True)
        )
        return len(columns[0].values) * math.prod(shares)

    return [expect_equal(group) >= MIN_EXPECTED for group in groups]


class _Frequencies:
    """How often the numbers of a column are in rows that are equal to no other one."""

    def __init__(self, values: Sequence[float]) -> None:
        self.counts = Counter(values)
        self.size = max(2, len(values))
        rare = [n for n in self.counts.values() if n < max(2.0, MAX_SHARE * self.size)]
        self.usual = sum([n * (n - 1) for n in rare]) / (self.size * (self.size - 1))

    def get_share(self, value: float) -> float:
        """Return the share of rows with a number; of one in no such row, how often two agree."""
        return max(self.counts[value] / self.size, self.usual)
