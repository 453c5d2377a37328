"""Finds the rows of a dataset that are equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from hashlib import blake2b

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import FORMATS

MAX_BYTES = 128
"""The bytes in the middle of a row by which rows are told apart first: few rows that have the same
are not equal, and only those are read as a whole."""


def group_equal_rows(*sides: Mapping[str, HostArray]) -> list[list[int]]:
    """Return the numbers of rows with the same numbers, by groups.

    >>> group_equal_rows({"x": HostArray.of([[1, 2], [3, 4], [1, 2]])})
    [[0, 2]]
    """
    arrays = _list_arrays(sides)
    alike = _group(range(len(arrays[0])), [*zip(*map(_cut_rows, arrays), strict=True)])
    if all(_count_row_bytes(values) <= MAX_BYTES for values in arrays):
        return alike
    return _split_groups(alike, arrays)


def split_equal_rows(
    groups: Iterable[Sequence[int]], *sides: Mapping[str, HostArray]
) -> list[list[int]]:
    """Return the rows of groups that are equal in further arrays too, by groups.

    >>> split_equal_rows([[0, 1, 3]], {"y": HostArray.of([5, 6, 6, 5])})
    [[0, 3]]
    """
    return _split_groups(groups, _list_arrays(sides))


def number_distinct(texts: Iterable[str | None]) -> list[int]:
    """Return a number for each text, the same for equal ones, 0 for None.

    >>> number_distinct(["a", None, "b", "a"])
    [1, 0, 2, 1]
    """
    numbers: dict[str | None, int] = {None: 0}
    return [numbers.setdefault(text, len(numbers)) for text in texts]


def _list_arrays(sides: Iterable[Mapping[str, HostArray]]) -> list[HostArray]:
    return [_align_rows(values) for side in sides for values in side.values()]


def _split_groups(groups: Iterable[Sequence[int]], arrays: Sequence[HostArray]) -> list[list[int]]:
    return [
        rows
        for candidates in groups
        for rows in _group(candidates, [_digest_row(arrays, row) for row in candidates])
    ]


def _align_rows(values: HostArray) -> HostArray:
    """Return the same numbers in whole bytes: 4-bit rows may share one."""
    if values.dtype in FORMATS:
        return values
    return HostArray.of(values, "int8" if values.dtype == "int4" else "uint8")


def _group(rows: Sequence[int], keys: Sequence[Hashable]) -> list[list[int]]:
    """Return the rows that share a key, without those that have one of their own."""
    counts = Counter(keys)
    rows_by_key: dict[Hashable, list[int]] = {key: [] for key, n in counts.items() if n > 1}
    for row, key in zip(rows, keys, strict=True) if rows_by_key else ():
        if key in rows_by_key:
            rows_by_key[key].append(row)
    return [*rows_by_key.values()]


def _cut_rows(values: HostArray) -> list[bytes]:
    """Return some bytes in the middle of every row."""
    width = _count_row_bytes(values)
    start = max(0, width - MAX_BYTES) // 2
    size, memory = min(width, MAX_BYTES), values.data
    firsts = [row * width + start for row in range(len(values))]
    return [bytes(memory[first : first + size]) for first in firsts]


def _count_row_bytes(values: HostArray) -> int:
    return len(values.data) // max(1, len(values))


def _digest_row(arrays: Iterable[HostArray], row: int) -> bytes:
    """Return bytes that are equal for equal rows, and only for those."""
    digest = blake2b(digest_size=16)
    for values in arrays:
        width = _count_row_bytes(values)
        digest.update(values.data[row * width : (row + 1) * width])
    return digest.digest()
