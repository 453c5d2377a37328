"""Reads the cells of a column as numbers or as words."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from webnnm.core.errors import DataError
from webnnm.data.tables.columns import MISSING, Table, as_number, check_writable
from webnnm.data.tables.date_format import (
    YEAR_FIRST,
    DateFormat,
    Order,
    detect_format,
    looks_like_date,
)
from webnnm.data.tables.dialect import Dialect
from webnnm.data.tables.number_detection import WHOLE, detect_numbers, is_code
from webnnm.data.tables.number_format import COMMAS, PLAIN, NumberFormat

MOSTLY_NUMBERS = 0.9
"""If more of the cells than this are numbers, a word among them stands for a missing number."""

FIRST_CELLS = 100
"""So many cells are looked at before all are."""

FEW_WORDS, MANY_NUMBERS = 3, 10
"""So few different words among so many different numbers may stand for missing ones."""


@dataclass(frozen=True, slots=True)
class Column:
    """The cells of a column, read as numbers, dates or words.

    Attributes: `name`; `numbers`, NaN where missing, or None for words; `words`, None where
    missing, or () for numbers; `missing`, the rows without a value; `number_format`, how the
    numbers are written, and a `note` on another way to read them; `date_format`, how the dates are
    written whose days since 1970 the numbers are, or None.
    """

    name: str
    numbers: array[float] | None
    words: Sequence[str | None]
    missing: Sequence[int]
    number_format: NumberFormat = PLAIN
    note: str = ""
    date_format: DateFormat | None = None

    def get_words(self, rows: Sequence[int]) -> list[str]:
        """Return the words of some rows, without missing cells."""
        return [text for row in rows if (text := self.words[row]) is not None]

    def take(self, rows: Sequence[int]) -> Column:
        """Return the column of some rows, in ascending order."""
        missing = set(self.missing)
        return Column(
            self.name,
            self.numbers and array("d", [self.numbers[row] for row in rows]),
            [self.words[row] for row in rows] if self.words else (),
            [index for index, row in enumerate(rows) if row in missing],
            self.number_format,
            self.note,
            self.date_format,
        )


def read_column(
    table: Table,
    index: int,
    numeric: bool | None = None,
    like: NumberFormat | None = None,
    order: Order | None = None,
) -> Column:
    """Read a column as numbers or as words; by default as numbers if most cells are numbers, and as
    dates if all are.

    >>> read_column(Table(("a",), (["1", "", "2.5"],)), 0).numbers
    array('d', [1.0, nan, 2.5])
    >>> read_column(Table(("a",), (["1.200,50 €", "3,5 €"],)), 0).numbers
    array('d', [1200.5, 3.5])
    >>> read_column(Table(("a",), (["red", ""],)), 0).words
    ['red', None]

    How the numbers are written is found from all cells; `like` is how those of the same column were
    written elsewhere, and decides if there is doubt, as `order` does for dates. Raises `DataError`
    NNM713 for a word among numbers, and for numbers and dates that may be read in two ways, NNM707
    for a number that is not finite.
    """
    name, cells = table.names[index], table.columns[index]
    if numeric is False:
        return _read_as_words(table, index)
    numbers, number_format, note = _read_plain_numbers(cells), PLAIN, ""
    if numbers is None or _needs_care(cells, table.dialect, like):
        number_format, note = _find_format(table, index, numeric, like)
        if number_format is None:
            return _read_as_words(table, index)
        parsed = dict[str, float | None]()
        values = [_parse(cell, number_format, parsed) for cell in cells]
        words = [row for row, number in enumerate(values) if number is None]
        missing_count = sum([number != number for number in values])
        count = len(values) - len(words) - missing_count
        if numeric is None and count <= len(words):
            dates = _find_dates(table, index, words, order)
            if dates is not None:
                return dates
            _check_gaps(name, cells, values)
            return _read_as_words(table, index)
        if words:
            raise DataError(
                "NNM713",
                f'{table.place(words[0], index)} is "{cells[words[0]]}", not a number',
                hint=_suggest_fix(str(cells[words[0]]), count / len(cells)),
            )
        numbers = array("d", [math.nan if number is None else number for number in values])
    _check_finite(table, index, numbers)
    missing = [row for row, number in enumerate(numbers) if number != number]
    if numeric is None and len(missing) == len(numbers):  # nothing says what it is
        return _read_as_words(table, index)
    return Column(name, numbers, (), missing, number_format, note)


def _needs_care(cells: Sequence[Any], dialect: Dialect | None, like: NumberFormat | None) -> bool:
    """Return whether cells that `float` reads may mean something else."""
    commas = (dialect and dialect.decimal == ",") or (like and like.decimal == ",")
    texts = _select_texts(cells)
    if dialect and dialect.missing_values:
        return bool(texts)
    if commas and any("." in text for text in texts):
        return True
    # Most columns of numbers show with their first cells that they are no codes.
    first = [text for text in texts[:FIRST_CELLS] if text.strip().lower() not in MISSING]
    return all(WHOLE(text.strip()) for text in first) and is_code(
        [text for text in texts if text.strip().lower() not in MISSING]
    )


def _select_texts(cells: Sequence[Any]) -> Sequence[str]:
    """Return the cells that are text."""
    if {*map(type, cells)} == {str}:
        return cast("Sequence[str]", cells)
    return [cell for cell in cells if isinstance(cell, str)]


def _find_format(
    table: Table, index: int, numeric: bool | None, like: NumberFormat | None
) -> tuple[NumberFormat | None, str]:
    """Return how the numbers of a column are written, None for words, with a note."""
    cells, dialect = table.columns[index], table.dialect
    texts = _select_texts(cells)
    forced = dialect is not None and "decimal" in dialect.told
    decimal = dialect.decimal if dialect else ""
    if like is not None and not forced:
        decimal = like.decimal
    words = get_missing_markers(dialect) | {*(like.missing if like else ())}
    detection = detect_numbers(texts, words, decimal=decimal, forced=forced)
    if detection.problem:
        hint = detection.hint
        if numeric is None:
            hint += "; categorical=[column] takes the cells as words"
        raise DataError("NNM713", f"column {table.names[index]}: {detection.problem}", hint=hint)
    declared = tuple(sorted(words - MISSING))
    if detection.number_format is not None:
        extra = detection.number_format.missing
        return replace(
            detection.number_format, missing=tuple(sorted({*declared, *extra}))
        ), detection.note
    present = [text for text in texts if text.strip().lower() not in words]
    if numeric is None and present and len(texts) == len(cells) and is_code(present):
        return None, ""
    # So that what is no number is blamed, not the numbers beside it.
    formats = [replace(one, missing=declared) for one in (like or PLAIN, PLAIN, COMMAS)]
    counts = [sum([one.parse(text) is not None for text in present]) for one in formats]
    return formats[counts.index(max(counts)) if numeric else 1], ""


def _parse(cell: Any, number_format: NumberFormat, parsed: dict[str, float | None]) -> float | None:
    """Return the number in a cell; `parsed` are those that were read before."""
    if not isinstance(cell, str):
        return as_number(cell)
    if cell not in parsed:
        number = number_format.parse(cell)
        if number is None and (number_format.decimal == "." or cell.strip().lower() in MISSING):
            number = as_number(cell)
        parsed[cell] = number
    return parsed[cell]


def get_missing_markers(dialect: Dialect | None) -> frozenset[str]:
    """Return the words, in lower case, that stand for missing numbers."""
    return MISSING | {text.strip().lower() for text in (dialect.missing_values if dialect else ())}


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


def _find_dates(
    table: Table, index: int, present: Sequence[int], order: Order | None
) -> Column | None:
    """Return a column as dates if the cells of the rows that are `present` are; the others would be
    mistakes.
    """
    cells = [table.columns[index][row] for row in present]
    first = cells[:FIRST_CELLS]
    if 2 * sum(map(looks_like_date, first)) < len(first):
        return None
    dates = [text for text in dict.fromkeys(map(str, cells)) if looks_like_date(text)]
    if len(dates) <= MOSTLY_NUMBERS * len({*map(str, cells)}):
        return None
    decimal = table.dialect.decimal if table.dialect else ""
    where = f"column {table.names[index]}"
    date_format = detect_format(where, dates, order=order, decimal=decimal)
    if date_format is None:
        day_first, month_first = (
            next(text for text in dates if DateFormat(other).parse(text) is None)
            for other in ("mdy", "dmy")
        )
        raise DataError(
            "NNM713",
            f'{where}: "{day_first}" has the day first, "{month_first}" the month',
            hint=f"write dates as {YEAR_FIRST.example}; categorical=[column] takes all as words",
        )
    return read_dates(table, index, date_format)


def read_dates(table: Table, index: int, date_format: DateFormat) -> Column:
    """Read a column as dates in a known format.

    >>> read_dates(Table(("a",), (["1970-01-03", ""],)), 0, DateFormat()).numbers
    array('d', [2.0, nan])

    Raises `DataError` NNM713 for a cell that is not a date.
    """
    markers = get_missing_markers(table.dialect)
    days = array("d")
    parsed: dict[str, float | None] = {}
    for row, cell in enumerate(table.columns[index]):
        text = str(cell).strip()
        if text not in parsed:
            missing = text.lower() in markers
            parsed[text] = math.nan if missing else date_format.parse(text)
        number = parsed[text]
        if number is None:
            raise DataError(
                "NNM713",
                f'{table.place(row, index)} is "{cell}", not a date',
                hint=f"write dates as {date_format.example}; missing_values=[…] names words for "
                "missing ones, categorical=[column] takes all as words",
            )
        days.append(number)
    missing = [row for row, day in enumerate(days) if day != day]
    return Column(table.names[index], days, (), missing, date_format=date_format)


Locate = Callable[[int], str]
"""Returns the position in words of the cell of a column in a row."""


def locate_cell(locate: Locate | None, row: int, name: str) -> str:
    """Return the position of a cell in words; without a table, rows count from 0."""
    return f"row {row}, column {name}" if locate is None else locate(row)


def missing_cell_error(locate: Locate | None, column: Column) -> DataError:
    """Return the error for a cell that is empty where none was when an encoder was fitted."""
    return DataError(
        "NNM713",
        f"{locate_cell(locate, column.missing[0], column.name)} is empty",
        hint="give a value, or leave the row out: no cell was empty when the encoder was fitted",
    )


def _check_gaps(name: str, cells: Sequence[Any], values: Sequence[float | None]) -> None:
    """Refuse numbers among very few words, which may stand for missing ones (NNM713)."""
    words = Counter(
        [str(c).strip() for c, number in zip(cells, values, strict=True) if number is None]
    )
    numbers = {number for number in values if number is not None and number == number}
    if len(words) <= FEW_WORDS and len(numbers) >= MANY_NUMBERS:
        shown = ", ".join(f'"{text}" ({times})' for text, times in words.most_common())
        raise DataError(
            "NNM713",
            f"column {name} has {len(numbers)} different numbers, and {shown}",
            hint=f'missing_values=["{next(iter(words))}"] takes such cells as empty; '
            "categorical=[column] takes all as words",
        )


def _read_plain_numbers(cells: Sequence[Any]) -> array[float] | None:
    """Read cells at full speed, None if one of them is not a number in plain spelling."""
    try:
        numbers = array("d", map(float, cells))
    except (OverflowError, TypeError, ValueError):
        return None
    return None if "_" in "".join(_select_texts(cells)) else numbers


def _read_as_words(table: Table, index: int) -> Column:
    markers = {text.strip() for text in table.dialect.missing_values} if table.dialect else ()
    words = [_to_word(cell) for cell in table.columns[index]]
    if markers:
        words = [None if text in markers else text for text in words]
    check_writable(words, lambda row: table.place(row, index))
    missing = [row for row, text in enumerate(words) if text is None]
    return Column(table.names[index], None, words, missing)


def _to_word(cell: Any) -> str | None:
    text = str(cell).strip()
    # NaN, None and the like are values that libraries use; as text they may be words.
    is_missing = not text or (not isinstance(cell, str) and text.lower() in MISSING)
    return None if is_missing else text


def _suggest_fix(text: str, number_share: float) -> str:
    if as_number(text.replace(",", ".")) is not None:
        return "write numbers with a decimal point"
    if number_share > MOSTLY_NUMBERS:
        return "leave cells without a number empty, and set missing='mean'"
    return "correct the cell; categorical=[column] treats all cells of a column as categories"
