"""Divides the rows of a table by what one of its columns says."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from webnnm.core.errors import DataError
from webnnm.core.random import Purpose, Stream
from webnnm.data.split import PARTS, Rows, require_parts, split_rows
from webnnm.data.tables.column_reading import read_column
from webnnm.data.tables.columns import Table


def divide_rows(
    table: Table,
    rows: Sequence[int],
    split: Sequence[Any],
    *,
    groups: str | int | None,
    order_by: str | int | None,
    seed: int,
) -> Rows:
    """Return three lists of positions in `rows`, those of the table that are used.

    >>> table = Table(("who", "day"), (["a", "b", "a", "c"], [4, 3, 2, 1]))
    >>> divide_rows(table, range(4), (0.5, 0, 0.5), groups=None, order_by="day", seed=0)
    ([2, 3], [], [0, 1])
    >>> divide_rows(table, range(4), (0.5, 0, 0.5), groups="who", order_by=None, seed=0)
    ([0, 2], [], [1, 3])

    `split` holds shares or counts, as for `split_rows`. Raises `DataError` NNM704 for lists of rows
    and for both columns at once, NNM710 for an unknown column, NNM713 for an empty cell.
    """
    if not all(isinstance(part, (int, float)) for part in require_parts(split)):
        hint = "split=(0.7, 0, 0.3): the column says which rows belong together"
        raise DataError("NNM704", "groups and order_by divide shares, not lists of rows", hint=hint)
    if groups is not None and order_by is not None:
        hint = "order_by= forecasts what comes later, groups= what was never seen"
        raise DataError("NNM704", "groups and order_by at once", hint=hint)
    if order_by is not None:
        return _divide_in_order(table, rows, split, table.index(order_by))
    assert groups is not None
    return _divide_groups(table, rows, split, table.index(groups), seed)


def _divide_in_order(table: Table, rows: Sequence[int], split: Sequence[Any], index: int) -> Rows:
    column = read_column(table, index)
    if column.numbers is None:
        message = f"column {column.name}, which orders the rows, holds words"
        raise DataError("NNM713", message, hint="name a column of dates or numbers")
    numbers = column.numbers
    _require_cells(table, index, [row for row in rows if numbers[row] != numbers[row]])
    ordered = sorted(range(len(rows)), key=lambda position: numbers[rows[position]])
    sizes = [len(part) for part in split_rows(len(rows), split, method="sequential")]
    values = [numbers[rows[position]] for position in ordered]
    parts: list[list[int]] = []
    start = 0
    for number, (name, size) in enumerate(zip(PARTS, sizes, strict=True)):
        end = max(start, sum(sizes[: number + 1]))
        # Rows of one value are not divided.
        while size and any(sizes[number + 1 :]) and values[end - 1 : end] == values[end : end + 1]:
            end += 1
        if size and start == end:
            message = f"column {column.name} has too few different values: none is left for {name}"
            raise DataError("NNM705", message, hint="leave the subset out, or divide otherwise")
        parts.append(sorted(ordered[start:end]))
        start = end
    training, validation, testing = parts
    return training, validation, testing


def _divide_groups(
    table: Table, rows: Sequence[int], split: Sequence[Any], index: int, seed: int
) -> Rows:
    """Give whole groups, the largest first, to the subset that lacks most rows."""
    cells = read_column(table, index, False).words
    _require_cells(table, index, [row for row in rows if cells[row] is None])
    positions: dict[Hashable, list[int]] = {}
    for position, row in enumerate(rows):
        positions.setdefault(cells[row], []).append(position)
    sizes = [len(part) for part in split_rows(len(rows), split, method="sequential")]
    groups = list(positions.values())
    order = Stream(seed, Purpose.SPLITTING).permutation(len(groups))
    parts: Rows = ([], [], [])
    for group in sorted((groups[number] for number in order), key=len, reverse=True):
        lacking = [size - len(part) for size, part in zip(sizes, parts, strict=True)]
        parts[lacking.index(max(lacking))].extend(group)
    empty = [
        name for name, size, part in zip(PARTS, sizes, parts, strict=True) if size and not part
    ]
    if empty:
        name = table.names[index]
        message = f"column {name} has {len(groups)} groups: none is left for {empty[0]}"
        raise DataError("NNM705", message, hint="leave the subset out, or group by another column")
    training, validation, testing = map(sorted, parts)
    return training, validation, testing


def _require_cells(table: Table, index: int, missing: Sequence[int]) -> None:
    if missing:
        where = table.place(missing[0], index)
        raise DataError("NNM713", f"{where} is empty", hint="drop the row, or fill the cell")
