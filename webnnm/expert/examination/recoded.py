"""Finds categories that were numbered anew for testing rows: a code is another category there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from webnnm.data.preparation.standardize import compute_moments
from webnnm.expert.examination.neighbours import RANDOM_METHODS
from webnnm.expert.examination.rows import Column, Rows
from webnnm.expert.facts.facts import Suspicion

MIN_CATEGORIES, MAX_CATEGORIES = 4, 60
MIN_ROWS = 60
MIN_TIMES = 5
"""So many rows tell the mean of a category."""

MIN_ROWS_OF_CODE = 8
"""Testing rows per category: fewer agree with many others."""

ERRORS, ERRORS_OF_FIT = 6.0, 3.0
"""Standard errors by which the means of codes differ between training and testing: by chance once
in a million; and those of the categories that are found instead, more in 0.1%."""

ABSENT = 1e9
"""What it costs to take a category for one that training has not."""


class _Codes(NamedTuple):
    """Categories as the model receives them: each row's number, and the names of all numbers."""

    name: str
    numbers: Sequence[int]
    names: Sequence[str]


class _Group(NamedTuple):
    """The targets of the rows of a category: their mean, their variance, and how many they are."""

    mean: float
    variance: float
    size: int


def find_recoded_categories(rows: Rows) -> Suspicion | None:
    """Find columns of 0 and 1, or whole numbers, whose last codes are not in testing, as the others
    are those of other categories."""
    target, tested = rows.target, rows.subsets["testing"]
    if target is None or rows.method in RANDOM_METHODS or rows.series:
        return None
    if min(len(tested), len(rows.training)) < MIN_ROWS:
        return None
    for codes in [*_list_blocks(rows), *_list_numbers(rows)]:
        present = {codes.numbers[row] for row in tested}
        size = len(codes.names)
        absent = [code for code in range(size) if code not in present]
        are_last = bool(absent) and absent == [*range(size - len(absent), size)]
        if not are_last or not 3 <= len(present) <= len(tested) / MIN_ROWS_OF_CODE:
            continue
        for labels in _list_targets(rows):
            pairs = _match(codes, rows.training, tested, labels)
            if pairs is not None:
                return _describe(codes, absent, pairs)
    return None


def _list_targets(rows: Rows) -> Iterator[Sequence[float]]:
    """Return the target, or for each of a few classes whether it is that."""
    assert rows.target is not None
    if not rows.classes:
        yield rows.target
        return
    for kind in sorted({rows.target[row] for row in rows.training})[:5]:
        yield [float(label == kind) for label in rows.target]


def _list_blocks(rows: Rows) -> Iterator[_Codes]:
    """Return columns next to each other of which one is 1 in every row, and the others are 0."""
    numbers = [*rows.training, *rows.subsets["testing"]]
    start = 0
    columns = rows.columns
    while start < len(columns):
        end, taken = start, set[int]()
        while end < len(columns) and len(taken) < len(numbers):
            ones = _find_ones(columns[end], numbers)
            if ones is None or not taken.isdisjoint(ones):
                break
            taken |= ones
            end += 1
        while (
            end < len(columns)
            and len(taken) == len(numbers)
            and _find_ones(columns[end], numbers) == set()
        ):
            end += 1
        if len(taken) == len(numbers) and MIN_CATEGORIES <= end - start <= MAX_CATEGORIES:
            block = columns[start:end]
            codes = [0] * len(columns[start].values)
            for code, column in enumerate(block):
                for row in _find_ones(column, numbers) or ():
                    codes[row] = code
            yield _Codes(block[0].name, codes, [column.name for column in block])
            start = end
        else:
            start += 1


def _find_ones(column: Column, numbers: Sequence[int]) -> set[int] | None:
    """Return the rows in which a column is 1, None if it has other numbers than 0 and 1."""
    ones: set[int] = set()
    for row in numbers:
        raw = column.raw(column.values[row])
        if abs(raw - 1) < 1e-4:
            ones.add(row)
        elif abs(raw) > 1e-4:
            return None
    return ones


def _list_numbers(rows: Rows) -> Iterator[_Codes]:
    """Return columns of whole numbers from 0 or 1."""
    numbers = [*rows.training, *rows.subsets["testing"]]
    for column in rows.columns:
        raw = column.take_raw(numbers)
        rounded = [round(value) for value in raw]
        low, high = min(rounded), max(rounded)
        if low not in (0, 1) or not MIN_CATEGORIES <= high - low + 1 <= MAX_CATEGORIES:
            continue
        if all(abs(a - b) < 1e-4 for a, b in zip(raw, rounded, strict=True)):
            codes = [0] * len(column.values)
            for row, code in zip(numbers, rounded, strict=True):
                codes[row] = code - low
            names = [f"{code} of {column.name}" for code in range(low, high + 1)]
            yield _Codes(column.name, codes, names)


def _match(
    codes: _Codes, trained: Sequence[int], tested: Sequence[int], labels: Sequence[float]
) -> list[tuple[int, int]] | None:
    """Return which code of testing is which of training, in the same order, if that fits and equal
    codes do not; else None."""
    size = len(codes.names)
    before, after = (_group(codes, numbers, labels) for numbers in (trained, tested))
    used = [code for code in range(size) if code in after]
    costs = {
        (new, old): _difference(after[new], before.get(old)) for new in used for old in range(size)
    }
    own = math.fsum(min(costs[code, code], ABSENT) for code in used)
    best = _align(used, size, costs)
    cost = math.fsum(costs[pair] for pair in best)
    degrees, error = len(used), math.sqrt(2 * len(used))
    if own < degrees + ERRORS * error or cost > degrees + ERRORS_OF_FIT * error:
        return None
    return best


def _group(codes: _Codes, numbers: Sequence[int], labels: Sequence[float]) -> dict[int, _Group]:
    """Return the targets of categories that have enough rows, with one variance for all."""
    members: dict[int, list[float]] = {}
    for row in numbers:
        members.setdefault(codes.numbers[row], []).append(labels[row])
    moments = {
        code: (*compute_moments(some), len(some))
        for code, some in members.items()
        if len(some) >= MIN_TIMES
    }
    total = sum(size for *_, size in moments.values()) - len(moments)
    variance = math.fsum(std**2 * size for _, std, size in moments.values()) / max(1, total)
    return {code: _Group(mean, variance, size) for code, (mean, _, size) in moments.items()}


def _difference(one: _Group, other: _Group | None) -> float:
    """Return the square of the standard errors between the means of two groups."""
    if other is None:
        return ABSENT
    error = one.variance / one.size + other.variance / other.size
    return (one.mean - other.mean) ** 2 / error if error else ABSENT


def _align(
    tested: Sequence[int], size: int, costs: dict[tuple[int, int], float]
) -> list[tuple[int, int]]:
    """Return the pairs of codes in rising order whose sum of differences is least."""
    rows: list[list[tuple[float, list[tuple[int, int]]]]] = [[(0.0, [])] * (size + 1)]
    for new in tested:
        line: list[tuple[float, list[tuple[int, int]]]] = [(math.inf, [])]
        for old in range(size):
            cost, pairs = rows[-1][old]
            taken = (cost + costs[new, old], [*pairs, (new, old)])
            line.append(min(line[-1], taken, key=lambda pair: pair[0]))
        rows.append(line)
    return rows[-1][-1][1]


def _describe(codes: _Codes, absent: Sequence[int], pairs: Sequence[tuple[int, int]]) -> Suspicion:
    """Return what was found."""
    moved = [(new, old) for new, old in pairs if new != old]
    examples = ", ".join(
        f"{codes.names[new]} in testing is like {codes.names[old]} in training"
        for new, old in moved[:3]
    )
    last = ", ".join(codes.names[code] for code in absent[:5])
    verb = "is" if len(absent) == 1 else "are"
    return Suspicion(
        f"{last} {verb} never used in testing, and the codes before stand for other categories "
        f"there, by their targets: {examples}",
        {"codes": len(moved)},
    )
