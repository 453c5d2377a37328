"""Tables as named columns, whose cells are numbers or words."""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from webnnm.core.errors import DataError, suggestion
from webnnm.core.shapes import is_integer
from webnnm.data.dialect import Dialect
from webnnm.data.number_detection import WHOLE, detect_numbers, is_code
from webnnm.data.number_format import PLAIN, NumberFormat

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "nat", "<na>", "?"})
"""What stands for a missing number, in lower case. Among words only empty cells are missing."""

MOSTLY_NUMBERS = 0.9
"""If more of the cells than this are numbers, a word among them stands for a missing number."""

_MONTHS = "jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez"
DATE = re.compile(
    r"(\d{4}([-/.])\d\d?\2\d\d?|\d\d?([-/.])\d\d?\3\d{4}|\d\d?/\d\d?/\d\d"
    rf"|[0-3]\d\.[01]\d\.\d\d|\d\d?[ .-]+({_MONTHS})[a-z]*[ ,.-]+\d\d(\d\d)?"
    rf"|({_MONTHS})[a-z]*[ .]+\d\d?,? +\d{{4}})([ T,].*)?",
    re.IGNORECASE,
)
"""What the text of a date looks like."""

FIRST_CELLS = 100
"""So many cells are looked at before all are."""

FEW_WORDS, MANY_NUMBERS = 3, 10
"""So few different words among so many different numbers may stand for missing ones."""

NAMED = 20
"""The maximum number of columns that a message lists."""

HALF = re.compile(r"[\ud800-\udfff]")
"""Halves of characters, which represent bytes that are not text."""

MOST_COLUMNS = 100_000
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
    def row_count(self) -> int:
        """The number of rows."""
        return len(self.columns[0]) if self.columns else 0

    def place(self, row: int, column: int) -> str:
        """Return the position of a cell in words."""
        number = row + self.first_row
        line = self.lines[row] if self.lines else number
        where = f"row {number}" if line == number else f"row {number} (line {line})"
        return f"{where}, column {self.names[column]}"

    def index(self, column: str | int) -> int:
        """Return the index of a column, given by its name or by its position as in a list.

        Raises `DataError` NNM710 if there is none.
        """
        if column in self.names:
            return self.names.index(str(column))
        if is_integer(column) and -len(self.names) <= column < len(self.names):
            return column % len(self.names)
        hint = suggestion(str(column), self.names) or f"available: {', '.join(self.names[:NAMED])}"
        raise DataError("NNM710", f'no column "{column}"', hint=hint)


@dataclass(frozen=True, slots=True)
class Column:
    """The cells of a column, read as numbers or as words.

    Attributes: `name`; `numbers`, NaN where missing, or None for words; `words`, None where
    missing, or () for numbers; `missing`, the rows without a value; `number_format`, how the
    numbers are written, and a `note` on another way to read them.
    """

    name: str
    numbers: array[float] | None
    words: Sequence[str | None]
    missing: Sequence[int]
    number_format: NumberFormat = PLAIN
    note: str = ""

    def known_words(self, rows: Sequence[int]) -> list[str]:
        """Return the words of some rows, without missing cells."""
        return [word for row in rows if (word := self.words[row]) is not None]

    def of_rows(self, rows: Sequence[int]) -> Column:
        """Return the column of some rows, in ascending order."""
        missing = set(self.missing)
        return Column(
            self.name,
            self.numbers and array("d", [self.numbers[row] for row in rows]),
            [self.words[row] for row in rows] if self.words else (),
            [place for place, row in enumerate(rows) if row in missing],
            self.number_format,
            self.note,
        )


def table_of(value: Any) -> Table:
    """Return a table of columns: a dict, or an object with `columns` and `value[column]` (pandas).

    >>> table_of({"width": [1, 2], "kind": ["a", "b"]}).names
    ('width', 'kind')
    >>> table_of([{"width": 1, "kind": "a"}, {"width": 2, "kind": "b"}]).columns[0]
    [1, 2]

    Rows count from 0. Raises `DataError` NNM702 for columns of unequal lengths, or for something
    that is not a table.
    """
    if isinstance(value, Table):
        return value
    if hasattr(value, "to_py"):  # a proxy of JavaScript
        value = value.to_py()
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
        value = _columns_of(cast("Sequence[Any]", value))
    source: Any = value
    keys = source if isinstance(value, Mapping) else column_keys(source)
    if keys is None:
        raise DataError(
            "NNM702",
            f"{type(source).__name__} is not a table",
            hint="give a dict, name → values, a list of dicts, or an object with columns such as a "
            "DataFrame",
        )
    keys = list(keys)
    names = tuple(map(str, keys))
    check_writable(names, lambda place: f"the name of column {place}")
    if twice := repeated(names):
        raise DataError("NNM702", f'two columns are called "{twice[0]}"')
    columns = tuple(_cells(name, source[key]) for name, key in zip(names, keys, strict=True))
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


def _columns_of(rows: Sequence[Any]) -> dict[Any, list[Any]]:
    """Return name → cells of rows that are dicts. Raises `DataError` NNM702 if names differ."""
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping) or row.keys() != rows[0].keys():
            found = ", ".join(map(str, row)) if isinstance(row, Mapping) else repr(row)
            raise DataError(
                "NNM702", f"row {number} has {found}, row 0 has {', '.join(map(str, rows[0]))}"
            )
    return {name: [row[name] for row in rows] for name in rows[0]}


def column_keys(value: Any) -> Sequence[Any] | None:
    """Return the column keys of a data frame, None for anything but a data frame.

    Raises `DataError` NNM702 for a lazy one, whose rows are still to be computed.
    """
    # Asking a lazy frame itself would compute its columns.
    if hasattr(value, "collect") and hasattr(type(value), "columns"):
        kind = type(value).__name__
        raise DataError("NNM702", f"a {kind} holds no rows yet", hint="call its collect() first")
    # Arrow calls the names `column_names`, pandas and Polars `columns`.
    return getattr(value, "column_names", getattr(value, "columns", None))


def read_column(
    table: Table, index: int, numeric: bool | None = None, like: NumberFormat | None = None
) -> Column:
    """Read a column as numbers or as words; by default as numbers if most cells are numbers.

    >>> read_column(Table(("a",), (["1", "", "2.5"],)), 0).numbers
    array('d', [1.0, nan, 2.5])
    >>> read_column(Table(("a",), (["1.200,50 €", "3,5 €"],)), 0).numbers
    array('d', [1200.5, 3.5])
    >>> read_column(Table(("a",), (["red", ""],)), 0).words
    ['red', None]

    How the numbers are written is found from all cells; `like` is how those of the same column were
    written elsewhere, and decides if there is doubt. Raises `DataError` NNM713 for a word among
    numbers, for numbers that may be read in two ways, and for dates, NNM707 for a number that is
    not finite.
    """
    name, cells = table.names[index], table.columns[index]
    if numeric is False:
        return _of_words(table, index)
    numbers, number_format, note = _all_numbers(cells), PLAIN, ""
    if numbers is None or _needs_care(cells, table.dialect, like):
        number_format, note = _find_format(table, index, numeric, like)
        if number_format is None:
            return _of_words(table, index)
        known = dict[str, float | None]()
        found = [_parse(cell, number_format, known) for cell in cells]
        words = [row for row, number in enumerate(found) if number is None]
        gaps = sum([number != number for number in found])
        count = len(found) - len(words) - gaps
        if numeric is None and count <= len(words):
            _check_dates(name, [cells[row] for row in words])
            _check_gaps(name, cells, found)
            return _of_words(table, index)
        if words:
            raise DataError(
                "NNM713",
                f'{table.place(words[0], index)} is "{cells[words[0]]}", not a number',
                hint=_remedy(str(cells[words[0]]), count / len(cells)),
            )
        numbers = array("d", [math.nan if number is None else number for number in found])
    _check_finite(table, index, numbers)
    missing = [row for row, number in enumerate(numbers) if number != number]
    if numeric is None and len(missing) == len(numbers):  # nothing says what it is
        return _of_words(table, index)
    return Column(name, numbers, (), missing, number_format, note)


def _needs_care(cells: Sequence[Any], dialect: Dialect | None, like: NumberFormat | None) -> bool:
    """Return whether cells that `float` reads may mean something else."""
    commas = (dialect and dialect.decimal == ",") or (like and like.decimal == ",")
    texts = _texts(cells)
    if dialect and dialect.missing_values:
        return bool(texts)
    if commas and any("." in text for text in texts):
        return True
    # Most columns of numbers show with their first cells that they are no codes.
    first = [text for text in texts[:FIRST_CELLS] if text.strip().lower() not in MISSING]
    return all(WHOLE(text.strip()) for text in first) and is_code(
        [text for text in texts if text.strip().lower() not in MISSING]
    )


def _texts(cells: Sequence[Any]) -> Sequence[str]:
    """Return the cells that are text."""
    if {*map(type, cells)} == {str}:
        return cast("Sequence[str]", cells)
    return [cell for cell in cells if isinstance(cell, str)]


def _find_format(
    table: Table, index: int, numeric: bool | None, like: NumberFormat | None
) -> tuple[NumberFormat | None, str]:
    """Return how the numbers of a column are written, None for words, with a note."""
    cells, dialect = table.columns[index], table.dialect
    texts = _texts(cells)
    told = dialect is not None and "decimal" in dialect.told
    decimal = dialect.decimal if dialect else ""
    if like is not None and not told:
        decimal = like.decimal
    words = missing_words(dialect) | {*(like.missing if like else ())}
    found = detect_numbers(texts, words, decimal=decimal, told=told)
    if found.problem:
        hint = found.hint
        if numeric is None:
            hint += "; categorical=[column] takes the cells as words"
        raise DataError("NNM713", f"column {table.names[index]}: {found.problem}", hint=hint)
    own = tuple(sorted(words - MISSING))
    if found.number_format is not None:
        extra = found.number_format.missing
        return replace(found.number_format, missing=tuple(sorted({*own, *extra}))), found.note
    known = [text for text in texts if text.strip().lower() not in words]
    if numeric is None and known and len(texts) == len(cells) and is_code(known):
        return None, ""
    return replace(PLAIN, missing=own), ""


def _parse(cell: Any, number_format: NumberFormat, known: dict[str, float | None]) -> float | None:
    """Return the number in a cell; `known` are those that were read before."""
    if not isinstance(cell, str):
        return as_number(cell)
    if cell not in known:
        number = number_format.parse(cell)
        if number is None and (number_format.decimal == "." or cell.strip().lower() in MISSING):
            number = as_number(cell)
        known[cell] = number
    return known[cell]


def missing_words(dialect: Dialect | None) -> frozenset[str]:
    """Return the words, in lower case, that stand for missing numbers."""
    return MISSING | {word.strip().lower() for word in (dialect.missing_values if dialect else ())}


def _check_finite(table: Table, index: int, numbers: array[float]) -> None:
    """Refuse numbers that float32 does not hold (NNM707)."""
    narrow = array("f", numbers)
    for infinite in (math.inf, -math.inf):
        if infinite in narrow:
            row = narrow.index(infinite)
            raise DataError(
                "NNM707",
                f'{table.place(row, index)} is "{table.columns[index][row]}", which is not finite '
                "in float32",
                hint="drop the row, or replace the value with a finite number",
            )


def _check_dates(name: str, cells: Sequence[Any]) -> None:
    """Refuse dates (NNM713): as words, each would be a category that no new row has."""
    if cells and all(DATE.fullmatch(str(cell).strip()) for cell in cells):
        raise DataError(
            "NNM713",
            f'column "{name}" holds dates, such as {cells[0]}',
            hint="replace them with numbers, such as days since the first, the month or the hour; "
            "categorical=[column] treats each date as a category",
        )


def _check_gaps(name: str, cells: Sequence[Any], found: Sequence[float | None]) -> None:
    """Refuse numbers among very few words, which may stand for missing ones (NNM713)."""
    words = Counter(
        [str(c).strip() for c, number in zip(cells, found, strict=True) if number is None]
    )
    numbers = {number for number in found if number is not None and number == number}
    if len(words) <= FEW_WORDS and len(numbers) >= MANY_NUMBERS:
        shown = ", ".join(f'"{word}" ({times})' for word, times in words.most_common())
        raise DataError(
            "NNM713",
            f"column {name} has {len(numbers)} different numbers, and {shown}",
            hint=f'missing_values=["{next(iter(words))}"] takes such cells as empty; '
            "categorical=[column] takes all as words",
        )


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


def repeated(names: Sequence[str]) -> list[str]:
    """Return the names that occur more than once in a list.

    >>> repeated(["a", "b", "a"])
    ['a']
    """
    return [name for name, times in Counter(names).items() if times > 1]


def _all_numbers(cells: Sequence[Any]) -> array[float] | None:
    """Read cells at full speed, None if one of them is not a number in plain spelling."""
    try:
        numbers = array("d", map(float, cells))
    except (OverflowError, TypeError, ValueError):
        return None
    return None if "_" in "".join(_texts(cells)) else numbers


def _of_words(table: Table, index: int) -> Column:
    gone = {word.strip() for word in table.dialect.missing_values} if table.dialect else ()
    words = [_word(cell) for cell in table.columns[index]]
    if gone:
        words = [None if word in gone else word for word in words]
    check_writable(words, lambda row: table.place(row, index))
    missing = [row for row, word in enumerate(words) if word is None]
    return Column(table.names[index], None, words, missing)


def check_writable(words: Sequence[str | None], place: Callable[[int], str]) -> None:
    """Refuse half a character (a lone surrogate), which no file can hold (NNM713)."""
    for number, word in enumerate(words):
        if word and not word.isascii() and HALF.search(word):
            raise DataError(
                "NNM713",
                f"{place(number)} has an unpaired surrogate: {word!r}",
                hint="read the file in the encoding that it was written in",
            )


def _word(cell: Any) -> str | None:
    word = str(cell).strip()
    # NaN, None and the like are values that libraries use; as text they may be words.
    gone = not word or (not isinstance(cell, str) and word.lower() in MISSING)
    return None if gone else word


def _cells(name: str, column: Any) -> list[Any]:
    if str(getattr(column, "dtype", "")).startswith(("datetime64", "timedelta64")):
        column = column.astype(str)  # tolist() would give nanoseconds
    for method in ("tolist", "to_list", "to_pylist", "to_py"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise DataError("NNM702", f'column "{name}" is {column!r}', hint="give a list of values")
    return list(cast("Iterable[Any]", column))


def _remedy(word: str, numbers: float) -> str:
    if as_number(word.replace(",", ".")) is not None:
        return "write numbers with a decimal point"
    if numbers > MOSTLY_NUMBERS:
        return "leave cells without a number empty, and set missing='mean'"
    return "correct the cell; categorical=[column] treats all cells of a column as categories"
