"""What the columns of a table seem to be, before anybody decides what to learn from them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from webnnm.core.errors import DataError
from webnnm.data.tables.column_reading import Column, read_column
from webnnm.data.tables.columns import MISSING, Table, as_number, as_table
from webnnm.data.tables.date_format import describe_range
from webnnm.data.tables.number_detection import detect_numbers
from webnnm.data.tables.number_format import PLAIN

Content = Literal["number", "date", "category", "text", "empty"]

MAX_VALUES = 50
"""Words with more distinct values than this are texts."""
MAX_LISTED = 8
"""Words of a column that its description lists."""
MAX_DOUBTED = 1000
"""So many cells show whether a point may also mark thousands."""
REPEATED = 2
"""Words that occur less often than this on average are texts, or names of single rows."""


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """What was found in a column.

    >>> rows = {"width": [1.5, "", 3, 2], "colour": ["red", "blue", "red", "red"]}
    >>> width, colour = describe_table(rows)
    >>> width.content, width.missing, width.low, width.high
    ('number', 1, 1.5, 3.0)
    >>> str(colour)
    'colour: category, red (3), blue (1)'

    Attributes: `name`; `content`, "number", "date", "category", "text" for words that hardly
    repeat, such as names and remarks, or "empty"; `missing`, the cells without a value; `low` and
    `high`, the bounds of numbers; `values`, words and how often each one occurs, the most frequent
    first; `problem`, why the column cannot be used as it is, or ""; `written`, how its numbers are,
    if not as in programs, or from when to when its dates are; `note`, another way to read them, or
    why digits are taken as words.
    """

    name: str
    content: Content
    missing: int = 0
    low: float = math.nan
    high: float = math.nan
    values: tuple[tuple[str, int], ...] = ()
    problem: str = ""
    written: str = ""
    note: str = ""

    def __str__(self) -> str:
        parts: list[str] = [self.content]
        if self.content == "number":
            parts.append(f"{self.low:g} … {self.high:g}")
        if self.content == "category":
            parts += [f"{category} ({times})" for category, times in self.values[:MAX_LISTED]]
            more = len(self.values) - MAX_LISTED
            parts += [f"{more} more"] * (more > 0)
        if self.content == "text":
            parts.append(f"{len(self.values)} different")
        if self.missing:
            parts.append(f"{self.missing} missing")
        if self.written:
            parts.append(self.written)
        ends = [", ".join(parts), self.problem, self.note]
        return f"{self.name}: {'; '.join(filter(None, ends))}"


def describe_table(table: Any) -> list[ColumnDescription]:
    """Return what the columns of a table seem to be.

    >>> for column in describe_table({"id": ["a7", "b3"], "age": [31, 45]}):
    ...     print(column)
    id: text, 2 different
    age: number, 31 … 45

    `table` is what `TableDataset` takes: a dict from column name to values, a data frame, or what
    `read_csv` returned. No table is refused because of its cells: a word among numbers, and dates
    and numbers that may be read in two ways are reported as the `problem` of their column. Raises
    `DataError` NNM702 for anything that is not a table.

    How numbers are written is found by column: decimal commas, thousands, currencies, percent,
    units, brackets for negative ones, and words for missing ones. Digits with leading zeros, such
    as post codes, are words.
    """
    table = as_table(table)
    return [describe_column(table, index) for index in range(len(table.names))]


def describe_column(table: Table, index: int, *, as_words: bool = False) -> ColumnDescription:
    """Return what a column of a table seems to be, even of numbers if they are taken `as_words`."""
    try:
        column, problem = read_column(table, index, False if as_words else None), ""
    except DataError as error:
        hint = f": {error.hint}" if error.hint else ""
        column, problem = read_column(table, index, False), f"{error.message}{hint}"
    name, missing = column.name, len(column.missing)
    if column.numbers is not None:
        numbers = [number for number in column.numbers if number == number]
        if not numbers:
            problem = f"column {name} has no value in any row"
            return ColumnDescription(name, "empty", missing, problem=problem)
        if column.date_format is not None:
            return ColumnDescription(name, "date", missing, written=describe_range(numbers))
        written = "" if column.number_format == PLAIN else str(column.number_format)
        note = column.note or _find_other_reading(table.columns[index][:MAX_DOUBTED])
        return ColumnDescription(
            name, "number", missing, min(numbers), max(numbers), written=written, note=note
        )
    return _describe_words(column, missing, problem)


def _find_other_reading(cells: Sequence[Any]) -> str:
    """Return another way to read numbers that have a decimal point, or ""."""
    return detect_numbers([cell for cell in cells if isinstance(cell, str)], MISSING).note


def _describe_words(column: Column, missing: int, problem: str) -> ColumnDescription:
    words = [text for text in column.words if text is not None]
    if all(number != number for number in map(as_number, words)):  # marks for missing values
        problem = f"column {column.name} has no value in any row"
        return ColumnDescription(column.name, "empty", len(column.words), problem=problem)
    counts = tuple(Counter(words).most_common())
    note = ""
    if not problem and all(as_number(text) is not None for text in words):
        note = f"{words[0]} is taken as a word: its digits are a code"
    repeats = len(counts) <= MAX_VALUES and len(words) >= REPEATED * len(counts)
    content: Content = "category" if repeats else "text"
    return ColumnDescription(
        column.name, content, missing, values=counts, problem=problem, note=note
    )
