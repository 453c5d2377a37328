"""Divides a text into the cells of its rows."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from itertools import islice
from typing import Any

from webnnm.core.errors import DataError
from webnnm.data.tables.dialect import Dialect

Rows = list[list[str]]

SLICE = 1000
"""Rows that are read at a time: milliseconds."""


class RecordReader:
    """Reads the rows of a text a slice at a time, and counts its lines.

    >>> reader = RecordReader("a,b\\n# no\\n1,2", Dialect(comment="#"), lambda line: True)
    >>> [*reader], reader.comments
    ([([['a', 'b'], ['1', '2']], [1, 3])], 1)

    Yields rows with the lines in which they begin, without blank lines. A line that begins with the
    comment sign of the dialect is left out if `is_comment` says so. Raises `DataError` NNM713 with
    row, line and column for quotes that do not match, and for cells that are too long.
    """

    def __init__(self, text: str, dialect: Dialect, is_comment: Callable[[str], bool]) -> None:
        self.text, self.dialect, self.is_comment = text, dialect, is_comment
        self.comments = 0

    def __iter__(self) -> Iterator[tuple[Rows, Sequence[int]]]:
        lines = StringIO(self.text, newline="")
        if self.dialect.comment or self.dialect.delimiter == "\t":
            yield from self._with_care(lines)
            return
        reader = self._reader(lines)
        line, number = 1, 1
        while True:
            try:
                rows = list(islice(reader, SLICE))
            except csv.Error:  # tell where
                yield from self._fault(line, number)
                return
            if not rows:
                return
            begins: Sequence[int] = range(line, line + len(rows))
            if reader.line_num - line + 1 != len(rows):
                begins = _find_first_lines(rows, line)
            line = reader.line_num + 1
            if min(map(len, rows)) < 2 and any(map(_is_blank, rows)):
                kept = [k for k, row in enumerate(rows) if not _is_blank(row)]
                rows, begins = [rows[k] for k in kept], [begins[k] for k in kept]
            number += len(rows)
            if rows:
                yield rows, begins

    def _reader(self, lines: Iterable[str]) -> Any:
        delimiter = self.dialect.delimiter
        return csv.reader(
            lines,
            delimiter=delimiter,
            quotechar=self.dialect.quote,
            skipinitialspace=delimiter != " ",
            strict=True,
        )

    def _with_care(
        self, lines: Iterable[str], skipped: int = 0, number: int = 1
    ) -> Iterator[tuple[Rows, Sequence[int]]]:
        """Read line by line, since some lines are no rows."""
        record: list[str] = []
        delimiter, sign = self.dialect.delimiter, self.dialect.comment
        blanks = " \r\n" if delimiter == "\t" else None
        line = skipped

        def feed() -> Iterator[str]:
            nonlocal line
            for content in lines:
                line += 1
                # Inside quotes a line is part of a cell, whatever it looks like.
                if not record:
                    if not content.strip(blanks):
                        continue
                    if sign and content.startswith(sign) and self.is_comment(content):
                        self.comments += 1
                        continue
                record.append(content)
                yield content

        reader = self._reader(feed())
        rows: Rows = []
        begins: list[int] = []
        try:
            for cells in reader:
                begins.append(line - len(record) + 1)
                rows.append(cells)
                record.clear()
                number += 1
                if len(rows) == SLICE:
                    yield rows, begins
                    rows, begins = list[list[str]](), list[int]()
        except csv.Error as error:
            raise _quote_error(
                "".join(record), self.dialect, line - len(record) + 1, number, error
            ) from error
        if rows:
            yield rows, begins

    def _fault(self, line: int, number: int) -> Iterator[tuple[Rows, Sequence[int]]]:
        """Read the rows from a line on anew, up to the one that raises."""
        lines = islice(StringIO(self.text, newline=""), line - 1, None)
        return self._with_care(lines, line - 1, number)


def _is_blank(row: list[str]) -> bool:
    """Return whether a line holds nothing but blanks."""
    return len(row) < 2 and not (row and row[0].strip())


def _find_first_lines(rows: Rows, line: int) -> list[int]:
    """Return the lines in which rows begin, some of which take several."""
    begins: list[int] = []
    for row in rows:
        begins.append(line)
        line += 1 + sum([len(re.findall(r"\r\n|\r|\n", cell)) for cell in row])
    return begins


def _quote_error(
    record: str, dialect: Dialect, line: int, number: int, error: csv.Error
) -> DataError:
    where = f"row {number}" if line == number else f"row {number} (line {line})"
    column, cause = _find_quoting_fault(record, dialect.delimiter, dialect.quote)
    quote = dialect.quote
    hint = f"a quoted cell is {quote}…{quote} from end to end, and a quote inside it is doubled"
    if not cause and "limit" in str(error):
        cause = f"the cell has more than {csv.field_size_limit():,} characters"
        hint = "shorten it, or leave its column out of the file"
    return DataError("NNM713", f"{where}, column {column}: {cause or error}", hint=hint)


def _find_quoting_fault(record: str, delimiter: str, quote: str) -> tuple[int, str]:
    """Return the number of the column whose quotes are wrong, and what is wrong."""
    blanks = "" if delimiter == " " else " *"
    quoted = re.compile(f"{blanks}{quote}[^{quote}]*(?:{quote}{quote}[^{quote}]*)*({quote}?)")
    offset, column = 0, 1
    while True:
        match = quoted.match(record, offset)
        if match and not match[1]:
            return column, "its quote is not closed"
        if match and record[match.end() :][:1] not in ("", delimiter, "\r", "\n"):
            return column, f'"{record[match.end()]}" follows the closing quote'
        begin = match.end() if match else offset
        offset = record.find(delimiter, begin) + 1
        if not offset or (not match and offset - begin > csv.field_size_limit()):
            return column, ""
        column += 1
