"""Tables as named columns."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, cast

from webnnm.core.awaiting import check_awaited
from webnnm.core.errors import DataError, suggestion
from webnnm.core.shapes import is_integer
from webnnm.data.tables.exchange import convert_frame

if TYPE_CHECKING:
    from webnnm.data.tables.dialect import Dialect

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "nat", "<na>", "?"})
"""What stands for a missing number, in lower case. Among words only empty cells are missing."""

MAX_LISTED = 20
"""The maximum number of columns that a message lists."""

POSITION = re.compile(r"-?[0-9]{1,9}")

HALF = re.compile(r"[\ud800-\udfff]")
"""Halves of characters, which represent bytes that are not text."""

MAX_COLUMNS = 100_000
"""A table with more columns is one whose rows or cells are separated differently."""


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns of equal length, with cells as they were read: text, numbers, None.

    >>> table = Table(("a", "b"), (["1", "2"], ["x", "y"]), first_row=2)
    >>> table.place(0, 1)
    'row 2, column b'

    Attributes: `names` of the columns; `columns`, the cells of each; `first_row`, the number that
    messages give to the first row; `lines`, the line of a file in which each row begins, or none;
    `dialect`, how its text was written, None if it was none.
    """

    names: tuple[str, ...]
    columns: tuple[Sequence[Any], ...]
    first_row: int = 0
    lines: Sequence[int] = ()
    dialect: Dialect | None = None

    @property
    def has_header(self) -> bool:
        """Whether a row of its file names the columns, or it came with names."""
        return self.first_row != 1

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return len(self.columns[0]) if self.columns else 0

    def place(self, row: int, column: int) -> str:
        """Return the position of a cell in words."""
        number = row + self.first_row
        line = self.lines[row] if self.lines else number
        where = f"row {number}" if line == number else f"row {number} (line {line})"
        return f"{where}, column {self.names[column]}"

    def take(self, rows: Sequence[int]) -> Table:
        """Return the table of some rows, which are still placed in the lines of the whole one.

        >>> Table(("a",), (["1", "", "3"],), first_row=2).take([0, 2]).place(1, 0)
        'row 3 (line 4), column a'
        """
        cells = tuple([column[row] for row in rows] for column in self.columns)
        lines = [self.lines[row] if self.lines else row + self.first_row for row in rows]
        return Table(self.names, cells, self.first_row, lines, self.dialect)

    def index(self, column: str | int) -> int:
        """Return the index of a column, given by its name or by its position as in a list.

        Digits that are no name are a position. Raises `DataError` NNM710 if there is none.
        """
        if column in self.names:
            return self.names.index(str(column))
        if isinstance(column, str) and POSITION.fullmatch(column):
            column = int(column)
        if is_integer(column) and -len(self.names) <= column < len(self.names):
            return column % len(self.names)
        hint = (
            suggestion(str(column), self.names)
            or f"available: {', '.join(self.names[:MAX_LISTED])}"
        )
        raise DataError("NNM710", f'no column "{column}"', hint=hint)


def as_table(value: Any) -> Table:
    """Return a table of columns: a dict, an object with `columns` and `value[column]` (pandas), or
    a data frame of any library that exchanges them.

    >>> as_table({"width": [1, 2], "kind": ["a", "b"]}).names
    ('width', 'kind')
    >>> as_table([{"width": 1, "kind": "a"}, {"width": 2, "kind": "b"}]).columns[0]
    [1, 2]

    Rows count from 0. Raises `DataError` NNM702 for columns of unequal lengths, or for something
    that is not a table.
    """
    if isinstance(value, Table):
        return value
    check_awaited(value, "the table", "table = …")
    value = convert_frame(value)
    if hasattr(value, "to_py"):  # a proxy of JavaScript
        value = value.to_py()
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
        value = _dicts_to_columns(cast("Sequence[Any]", value))
    source: Any = value
    keys = source if isinstance(value, Mapping) else get_column_keys(source)
    if keys is None:
        hint = "give a dict, name → values, a list of dicts, or an object with columns such as a "
        hint += "DataFrame"
        if isinstance(value, (str, bytes, PurePath)):
            hint = "await CSVDataset.create(path=…), or text= for the text of a table"
        raise DataError("NNM702", f"{type(source).__name__} is not a table", hint=hint)
    keys = list(keys)
    names = tuple(map(str, keys))
    check_writable(names, lambda index: f"the name of column {index}")
    if duplicates := find_duplicates(names):
        raise DataError("NNM702", f'two columns are called "{duplicates[0]}"')
    columns = tuple(_to_cells(name, source[key]) for name, key in zip(names, keys, strict=True))
    for name, cells in zip(names, columns, strict=True):
        if len(cells) != len(columns[0]):
            raise DataError(
                "NNM702",
                f'column "{name}" has {len(cells)} rows, column "{names[0]}" {len(columns[0])}',
            )
        if cells and isinstance(cells[0], (list, tuple)):
            raise DataError(
                "NNM702",
                f'column "{name}" holds lists',
                hint="use Dataset, which takes arrays of any shape",
            )
    return Table(names, columns)


def _dicts_to_columns(rows: Sequence[Any]) -> dict[Any, list[Any]]:
    """Return name → cells of rows that are dicts. Raises `DataError` NNM702 if names differ."""
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping) or row.keys() != rows[0].keys():
            actual = ", ".join(map(str, row)) if isinstance(row, Mapping) else repr(row)
            raise DataError(
                "NNM702", f"row {number} has {actual}, row 0 has {', '.join(map(str, rows[0]))}"
            )
    return {name: [row[name] for row in rows] for name in rows[0]}


def get_column_keys(value: Any) -> Sequence[Any] | None:
    """Return the column keys of a data frame, None for anything but a data frame.

    Raises `DataError` NNM702 for a lazy one, whose rows are still to be computed.
    """
    # Asking a lazy frame itself would compute its columns.
    if hasattr(value, "collect") and hasattr(type(value), "columns"):
        kind = type(value).__name__
        raise DataError("NNM702", f"a {kind} holds no rows yet", hint="call its collect() first")
    # Arrow calls the names `column_names`, pandas and Polars `columns`.
    return getattr(value, "column_names", getattr(value, "columns", None))


def as_number(cell: Any) -> float | None:
    """Return the number in a cell, NaN for a missing one, None for a word.

    >>> as_number(" 2.5 "), as_number("?"), as_number("two")
    (2.5, nan, None)
    """
    try:
        if not (isinstance(cell, str) and "_" in cell):  # Python's own 1_000
            return float(cell)
    except OverflowError:  # an integer beyond all floats
        return -math.inf if str(cell)[:1] == "-" else math.inf
    except (TypeError, ValueError):
        pass
    return math.nan if str(cell).strip().lower() in MISSING else None


def find_duplicates(names: Sequence[str]) -> list[str]:
    """Return the names that occur more than once in a list.

    >>> find_duplicates(["a", "b", "a"])
    ['a']
    """
    return [name for name, times in Counter(names).items() if times > 1]


def check_writable(texts: Sequence[str | None], describe: Callable[[int], str]) -> None:
    """Refuse half a character (a lone surrogate), which no file can hold (NNM713)."""
    for number, text in enumerate(texts):
        if text and not text.isascii() and HALF.search(text):
            raise DataError(
                "NNM713",
                f"{describe(number)} has an unpaired surrogate: {text!r}",
                hint="read the file in the encoding that it was written in",
            )


def _to_cells(name: str, column: Any) -> list[Any]:
    if str(getattr(column, "dtype", "")).startswith(("datetime64", "timedelta64")):
        column = column.astype(str)  # tolist() would give nanoseconds
    for method in ("tolist", "to_list", "to_pylist", "to_py"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise DataError("NNM702", f'column "{name}" is {column!r}', hint="give a list of values")
    return list(cast("Iterable[Any]", column))
