"""Which rows belong to training, validation and testing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from webnnm.core.errors import DataError, suggestion
from webnnm.core.random import Purpose, Stream
from webnnm.core.shapes import as_python, is_integer

Method = Literal["stratified", "random", "sequential"]
Rows = tuple[list[int], list[int], list[int]]
"""The rows of training, validation and testing."""

METHODS: tuple[Method, ...] = get_args(Method)
PARTS = ("training", "validation", "testing")

_BILLION = 10**9
"""Shares are rounded to billionths, so that 0.15 of 50 rows is exactly a tie."""


@dataclass(frozen=True, slots=True)
class Split:
    """How to split a dataset: the options of `split_rows` that do not depend on the rows.

    >>> Split((2, 0, 1), method="sequential").rows(4)
    ([0, 1], [], [2])
    """

    parts: Sequence[Any]
    seed: int = 0
    method: Method = "stratified"

    def rows(self, row_count: int, classes: Sequence[int] | None = None) -> Rows:
        """Divide rows, by their classes if these are known."""
        return split_rows(
            row_count, self.parts, method=self.method, classes=classes, seed=self.seed
        )

    def resolve_method(self, classes: Sequence[int] | None) -> Method | Literal["explicit"]:
        """Return the method by which `rows` divides: "explicit" if it is given lists of rows."""
        if not all(isinstance(part, (int, float)) for part in require_parts(self.parts)):
            return "explicit"
        return "random" if self.method == "stratified" and classes is None else self.method


def split_rows(
    row_count: int,
    split: Sequence[Any],
    *,
    method: Method = "stratified",
    classes: Sequence[int] | None = None,
    seed: int = 0,
) -> Rows:
    """Divide rows into training, validation and testing (spec G.3); each part is in file order.

    >>> training, validation, testing = split_rows(6, (0.5, 0, 0.5), classes=[0, 1] * 3)
    >>> len(training), len(validation), len(testing)
    (4, 0, 2)
    >>> split_rows(4, (2, 0, 1), method="sequential")
    ([0, 1], [], [2])

    `split` holds three shares that add up to 1, or three counts (rows beyond them are left out),
    or three lists of row numbers, which are used as they are. `classes` gives the class of every
    row; "stratified" without it is "random". Raises `DataError` NNM704 for an impossible split.
    """
    if method not in METHODS:
        hint = suggestion(str(method), METHODS) or f"one of {', '.join(METHODS)}"
        raise DataError("NNM704", f'unknown split method "{method}"', hint=hint)
    if seed is not None and not is_integer(seed):
        raise DataError("NNM704", f"seed is {seed!r}", hint="an integer")
    split = require_parts(split)
    if not all(isinstance(part, (int, float)) for part in split):
        return _check_row_lists(row_count, split)
    if any(not 0 <= part < math.inf for part in split):
        raise DataError(
            "NNM704",
            f"split {tuple(split)} has a part that is negative or not finite",
            hint="give training, validation and testing, such as (0.7, 0, 0.3)",
        )
    stream = Stream(seed, Purpose.SPLITTING)
    groups = group_by_class(row_count, classes if method == "stratified" else None)
    if method != "sequential":
        groups = [[group[i] for i in stream.permutation(len(group))] for group in groups]
    if sum(split) > 1 + 1e-6:
        return _split_by_counts(row_count, split, groups)
    if abs(sum(split) - 1) > 1e-6:
        raise DataError(
            "NNM704",
            f"the shares of split {tuple(split)} add up to {sum(split):g}",
            hint="shares add up to 1; counts are integers",
        )
    parts: Rows = ([], [], [])
    for group in groups:
        first = 0
        for part, size in zip(parts, _apportion(len(group), split), strict=True):
            part += group[first : first + size]
            first += size
    training, validation, testing = map(sorted, parts)
    return training, validation, testing


def require_parts(split: Any) -> Sequence[Any]:
    """Return the three parts of a split. Raises `DataError` NNM704 if it has another number.

    >>> require_parts([0.7, 0, 0.3])
    (0.7, 0, 0.3)
    """
    hint = "give training, validation and testing, such as (0.7, 0, 0.3)"
    if isinstance(split, (str, bytes, Mapping)) or not isinstance(split, Iterable):
        raise DataError("NNM704", f"split is {split!r}", hint=hint)
    parts = tuple(map(as_python, cast("Iterable[Any]", split)))
    if len(parts) != len(PARTS):
        raise DataError("NNM704", f"split has {len(parts)} parts", hint=hint)
    return parts


def fold_rows(
    row_count: int, k: int, *, classes: Sequence[int] | None = None, seed: int = 0
) -> list[list[int]]:
    """Deal rows to k folds of equal size with equal shares of every class, in file order.

    >>> fold_rows(6, 3, classes=[0, 0, 0, 1, 1, 1])
    [[1, 5], [2, 4], [0, 3]]

    Sizes differ by at most one row, and so do the counts of each class. Raises `DataError`
    NNM704 for fewer than two folds or more folds than rows.
    """
    if not is_integer(k) or not 2 <= k <= row_count:
        raise DataError("NNM704", f"{k} folds for {row_count} rows", hint=f"2 … {row_count} folds")
    stream = Stream(seed, Purpose.SPLITTING, "folds")
    # Dealt one by one across classes without starting over: no fold collects all remainders.
    dealt = [
        group[i]
        for group in group_by_class(row_count, classes)
        for i in stream.permutation(len(group))
    ]
    return [sorted(dealt[fold::k]) for fold in range(k)]


def group_by_class(row_count: int, classes: Sequence[int] | None) -> list[list[int]]:
    """Return the rows of each class, in the order of the classes; all in one without classes.

    >>> group_by_class(3, [1, 0, 1])
    [[1], [0, 2]]
    """
    if classes is None:
        return [list(range(row_count))]
    groups: dict[int, list[int]] = {number: [] for number in sorted(set(classes))}
    for row, number in enumerate(classes):
        groups[number].append(row)
    return list(groups.values())


def _apportion(total: int, shares: Sequence[float]) -> list[int]:
    """Divide a number by the largest-remainder rule, ties to the earlier part."""
    portions = [total * round(share * _BILLION) for share in shares]
    sizes = [portion // _BILLION for portion in portions]
    by_remainder = sorted(range(len(shares)), key=lambda part: -(portions[part] % _BILLION))
    for part in by_remainder[: total - sum(sizes)]:
        sizes[part] += 1
    return sizes


def _split_by_counts(row_count: int, counts: Sequence[float], groups: list[list[int]]) -> Rows:
    """Cut exact counts from the rows, with the classes spread evenly over them."""
    if any(part != int(part) for part in counts) or sum(counts) > row_count:
        raise DataError(
            "NNM704",
            f"split {tuple(counts)} does not fit {row_count} rows",
            hint=f"give shares that add up to 1, or counts that add up to {row_count} at most",
        )
    # Row j of n of its class is placed at (j + ½)/n: every stretch has all classes in proportion.
    placed = [
        ((2 * j + 1) / (2 * len(group)), number, row)
        for number, group in enumerate(groups)
        for j, row in enumerate(group)
    ]
    order = [row for _, _, row in sorted(placed)]
    first, second = int(counts[0]), int(counts[0] + counts[1])
    last = int(sum(counts))
    return sorted(order[:first]), sorted(order[first:second]), sorted(order[second:last])


def _check_row_lists(row_count: int, lists: Sequence[Any]) -> Rows:
    parts: list[list[int]] = []
    seen: dict[int, str] = {}
    for name, rows in zip(PARTS, lists, strict=True):
        if isinstance(rows, (int, float)) and rows != 0:
            raise DataError("NNM704", f"split mixes the number {rows} with lists of rows")
        part: list[int] = [] if isinstance(rows, (int, float)) else _to_row_numbers(name, rows)
        for row in part:
            if not 0 <= row < row_count:
                raise DataError("NNM704", f"{name}: row {row} of 0 … {row_count - 1}")
            if row in seen:
                raise DataError("NNM704", f"row {row} is in both {seen[row]} and {name}")
            seen[row] = name
        parts.append(part)
    training, validation, testing = parts
    return training, validation, testing


def _to_row_numbers(name: str, rows: Any) -> list[int]:
    items: list[Any] = list(rows) if hasattr(rows, "__iter__") else [rows]
    if isinstance(rows, str) or not all(is_integer(row) for row in items):
        shown = repr(items)[:80]
        raise DataError("NNM704", f"{name} is {shown}", hint="a list of row numbers from 0")
    return [int(row) for row in items]
