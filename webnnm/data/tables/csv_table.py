"""Reading the text of a table (RFC 4180 and its many relatives) into columns."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from webnnm.core.errors import DataError
from webnnm.data.tables.column_reading import get_missing_markers
from webnnm.data.tables.columns import (
    MAX_COLUMNS,
    Table,
    as_number,
    check_writable,
    find_duplicates,
)
from webnnm.data.tables.csv_records import RecordReader
from webnnm.data.tables.date_format import looks_like_date
from webnnm.data.tables.dialect import Dialect, check_missing_values, check_options
from webnnm.data.tables.dialect_detection import find_layout, read_separator_line, split
from webnnm.data.tables.endings import TEXTS
from webnnm.data.tables.number_detection import EXTRA_MISSING, find_decimal_mark
from webnnm.data.tables.number_format import parse_shape
from webnnm.data.tables.table_bytes import check_text, decode_table

Header = bool | Literal["auto"]

HEADER_ROWS = 2000
"""At most this many rows are compared with the first, to see whether it names the columns."""
MARK_ROWS = 200
"""So many rows show which decimal mark a table has."""


def read_csv(source: Any, **options: Any) -> Table:
    """Return the columns of a text whose cells are separated by commas or another character.

    >>> table = read_csv('width;kind\\n# a comment\\n1,5;"big; red"\\n')
    >>> table.names, table.columns
    (('width', 'kind'), (('1,5',), ('big; red',)))
    >>> print(table.dialect)
    cells separated by ";", decimal commas, 1 line that begins with "#" left out

    `source` is a text, the bytes of a file, a `Path`, or an open file. How it is written is found,
    and is the `dialect` of the table, unless it is given:

    - `delimiter`: "auto", or what separates cells: the one of , ; tab | that divides the first
      lines best, or Excel's line `sep=;` names.
    - `header`: whether the first row names the columns. "auto" decides that it does if it contains
      all `known` names; if one of its cells is not a number although most cells of the column are;
      or if none of its cells occurs again in its column, although every other cell of some column
      does, as labels do. A comment line above the rows that has a word for each column names them
      too (`numpy.savetxt`). Columns without a name are called column_1, column_2 …
    - `encoding`: "auto", or that of bytes: UTF-8, UTF-16, or cp1252. gzip is unpacked.
    - `quote`: "auto", or what stands around cells: `"` or `'`. Inside, it is doubled.
    - `comment`: "auto", or a sign: lines that begin with it are left out; "" for none. "auto"
      leaves out lines that begin with #, % or //, unless they are rows as wide as others, of a
      first column that holds no numbers.
    - `decimal`: "auto", or the decimal mark of all numbers, "." or ",". "auto" decides by column:
      see `describe_table`.
    - `missing_values`: words that stand for missing cells, besides empty ones.
    - `like`: the `Dialect` of a table to which this one is similar, which "auto" follows.

    Blank lines are skipped, and spaces around a cell ignored. Raises `DataError` NNM713 with row,
    line and column for quotes that do not match, for cells that are too long and rows of unequal
    length, and for files in another format, NNM704 for unknown options, NNM715 for a file that
    cannot be read.
    """
    reading = read_slices(source, **options)
    while True:
        try:
            next(reading)
        except StopIteration as end:
            return end.value


def read_slices(
    source: Any,
    *,
    delimiter: str = "auto",
    header: Header = "auto",
    encoding: str = "auto",
    quote: str = "auto",
    comment: str = "auto",
    decimal: str = "auto",
    missing_values: Sequence[str] = (),
    known: Collection[str | int] = (),
    like: Dialect | None = None,
) -> Generator[int, None, Table]:
    """Read a table as `read_csv` does; yields the number of rows after each slice of them.

    A page draws itself in between.
    """
    refuse_file_name(source, TEXTS, "read_csv")
    if not isinstance(header, bool) and header != "auto":
        raise DataError("NNM704", f"header is {header!r}", hint='True, False or "auto"')
    check_options(delimiter, quote, comment, decimal)
    missing = check_missing_values(missing_values)
    names = [name for name in known if isinstance(name, str)]
    explicit = frozenset(
        name
        for name, value in (("delimiter", delimiter), ("encoding", encoding), ("quote", quote),
                            ("comment", comment), ("decimal", decimal))
        if value != "auto"
    )  # fmt: skip
    if like is not None:
        decimal = like.decimal if decimal == "auto" and "decimal" in like.told else decimal
        missing = missing or like.missing_values
        comment = like.comment if comment == "auto" and "comment" in like.told else comment
    dialect = Dialect(
        delimiter=delimiter,
        quote=quote,
        comment=comment,
        decimal="" if decimal == "auto" else decimal,
        missing_values=missing,
        told=explicit | (like.told & {"decimal", "comment"} if like else frozenset()),
    )
    text, dialect = _decode_source(source, encoding, dialect, like)
    if '="' in text and dialect.quote in ("auto", '"'):
        text = _FORMULA_TEXT.sub(r'\1"\2"', text)
    separator, text = read_separator_line(text)
    if separator and delimiter == "auto":
        dialect = replace(dialect, delimiter=separator)
    layout = find_layout(text, dialect, names, like=like)
    dialect = replace(
        dialect, delimiter=layout.delimiter, quote=layout.quote, comment=layout.comment
    )
    records = RecordReader(text, dialect, layout.is_comment)
    columns = _Columns(header, names, dialect, _read_commented_names(text, dialect, layout.width))
    for rows, lines in records:
        columns.add(rows, lines)
        yield len(columns.lines)
    return columns.table(records.comments)


def refuse_file_name(source: Any, suffixes: tuple[str, ...], reader: str) -> None:
    """Refuse the name of a file where its text belongs (NNM713)."""
    if isinstance(source, str) and source.endswith(suffixes) and len(source.splitlines()) == 1:
        message = f'"{source[-60:]}" is the name of a file, not the text of a table'
        raise DataError("NNM713", message, hint=f"{reader}(Path({source!r}))")


_FORMULA_TEXT = re.compile(r'(^|[,;\t|])="([^"\r\n]*)"(?=[,;\t|\r\n]|\Z)', re.MULTILINE)
"""Matches cells that a spreadsheet is to take as text, ="12.5", which stand for what is quoted."""


def _decode_source(
    source: Any, encoding: str, dialect: Dialect, like: Dialect | None
) -> tuple[str, Dialect]:
    """Return the text of a source, and how it was encoded."""
    source = read_source(source)
    if isinstance(source, str):
        source = source.removeprefix("\ufeff")
        check_text(source)
        return source, dialect
    try:
        data = bytes(memoryview(source))
    except TypeError as error:
        kind = type(source).__name__
        hint = "give a text, bytes, a Path or an open file"
        raise DataError("NNM702", f"{kind} is not the text of a table", hint=hint) from error
    if like is not None and encoding == "auto" and "encoding" in like.told:
        encoding = like.encoding
    decoded = decode_table(data, encoding)
    return decoded.text, replace(dialect, encoding=decoded.encoding, compressed=decoded.compressed)


def read_source(source: Any) -> Any:
    """Return the content of a path or an open file, and anything else as it is.

    Raises `DataError` NNM715 if it cannot be read.
    """
    if isinstance(source, Path):
        try:
            return source.read_bytes()
        except OSError as error:
            raise DataError("NNM715", f'"{source}" cannot be read: {error}') from error
    return source.read() if hasattr(source, "read") else source


class _Columns:
    """Collects the cells of rows by column, and checks how many each row has."""

    def __init__(
        self, header: Header, known: Sequence[str], dialect: Dialect, commented: list[str]
    ) -> None:
        self.header, self.known, self.dialect = header, known, dialect
        self.commented = commented
        self.names: list[str] = []
        self.columns: list[list[str]] = []
        self.lines: list[int] = []
        self.first_row = 1
        self.width = 0
        self.trailing = False

    def add(self, rows: list[list[str]], lines: Sequence[int]) -> None:
        """Take further rows."""
        if not self.width:
            self._begin(rows, lines)
            rows, lines = rows[self.first_row - 1 :], lines[self.first_row - 1 :]
        if self.trailing:
            rows = [row[:-1] if len(row) > self.width and not row[-1] else row for row in rows]
        if {*map(len, rows)} - {self.width}:
            self._refuse(rows, lines)
        self.lines += lines
        for column, cells in zip(self.columns, zip(*rows, strict=True), strict=bool(rows)):
            column += cells

    def _begin(self, rows: list[list[str]], lines: Sequence[int]) -> None:
        """Decide by the first rows how wide the table is, and whether it has a header."""
        first = rows[0]
        if len(first) > MAX_COLUMNS:
            raise DataError(
                "NNM713",
                f"row 1 has {len(first):,} cells, more than {MAX_COLUMNS:,}",
                hint="a row ends at the end of its line; delimiter= sets what separates cells",
            )
        self.width = len(first)
        below = rows[1:HEADER_ROWS]
        # Rows that end in a delimiter have an empty cell too many; so may the header.
        self.trailing = bool(below) and all(
            len(row) == self.width + 1 and not row[-1] for row in below
        )
        if self.header is True or (
            self.header == "auto" and _is_header([first, *below], self.known)
        ):
            self.names = [name.strip() for name in first]
            self.first_row = 2
            self.commented = []
        elif len(self.commented) == self.width and self.header == "auto":
            self.names = self.commented
        else:
            self.commented = []
        source = "the comment above the rows" if self.names is self.commented else "row 1"
        if duplicates := find_duplicates([name for name in self.names if name]):
            positions = [
                str(index) for index, name in enumerate(self.names, 1) if name == duplicates[0]
            ]
            raise DataError(
                "NNM713", f'{source} names columns {" and ".join(positions)} "{duplicates[0]}"'
            )
        check_writable(self.names, lambda index: f"{source}, column {index + 1}")
        self.columns = [[] for _ in range(self.width)]

    def _refuse(self, rows: Sequence[Sequence[str]], lines: Sequence[int]) -> None:
        """Say which row has another number of cells than the first."""
        table = Table(self._fill_names(), (), self.first_row, [*self.lines, *lines])
        _check_widths(table, rows, len(self.lines), self.dialect)

    def _fill_names(self) -> tuple[str, ...]:
        names = self.names or [""] * self.width
        return tuple(name or f"column_{index}" for index, name in enumerate(names, 1))

    def table(self, comments: int) -> Table:
        """Return the table of all rows."""
        names, columns = self._fill_names(), self.columns
        notes: list[str] = []
        ends = self.trailing
        if (
            self.width > 1
            and len(self.lines) > 1
            and (bool(self.commented) or not (self.names and self.names[-1]))
            and not any(map(str.strip, columns[-1]))
        ):
            if self.commented:  # its words are no names
                self.names, self.commented = list[str](), list[str]()
                names = self._fill_names()
            names, columns, ends = names[:-1], columns[:-1], True
        if ends:
            notes.append("rows end in a delimiter")
        if self.commented:
            comments -= 1
            notes.append("the comment line above the rows names the columns")
        dialect = replace(
            self.dialect,
            comments=comments,
            comment=self.dialect.comment if comments or "comment" in self.dialect.told else "",
            header=self.first_row == 2,
            notes=tuple(notes),
        )
        dialect = replace(dialect, decimal=dialect.decimal or _detect_decimal(columns, dialect))
        lines = self.lines
        if lines and lines[-1] - lines[0] + 1 == len(lines):
            lines = range(lines[0], lines[-1] + 1)
        return Table(names, tuple(map(tuple, columns)), self.first_row, lines, dialect)


def _read_commented_names(text: str, dialect: Dialect, width: int) -> list[str]:
    """Return the names in the last of the comment lines at the beginning, if it has them."""
    from io import StringIO

    last = ""
    if dialect.comment:
        for line in StringIO(text, newline=""):
            if line.strip() and not line.startswith(dialect.comment):
                break
            last = line if line.strip() else last
    comment = last.removeprefix(dialect.comment).strip()
    cells = split([comment], dialect.delimiter, dialect.quote) if comment else []
    for names in (*cells, comment.split()):
        names = [name.strip() for name in names]
        if len(names) == width > 1 and all(names) and not any(map(parse_shape, names)):
            return names
    return []


def _detect_decimal(columns: Sequence[Sequence[str]], dialect: Dialect) -> str:
    """Return the decimal mark that columns of numbers have, "" if they differ or are plain."""
    samples = [column[:MARK_ROWS] for column in columns]
    if not any("," in cell for sample in samples for cell in sample):
        return ""
    words = get_missing_markers(dialect)
    marks = {find_decimal_mark(sample, words) for sample in samples} - {""}
    return marks.pop() if len(marks) == 1 else ""


def _parse_number(cell: str) -> float | None:
    """Return the number of a cell, NaN for a missing one, None for a word.

    Dates, and numbers in notations that `float` does not read, are 0: they only are no words.
    """
    if cell.strip().lower() in EXTRA_MISSING:
        return math.nan
    number = as_number(cell)
    if number is None and (parse_shape(cell) is not None or looks_like_date(cell)):
        return 0.0
    return number


def _is_header(rows: Sequence[Sequence[str]], known: Collection[Any]) -> bool:
    first = [cell.strip() for cell in rows[0]]
    names = [name for name in known if isinstance(name, str)]
    if names and all(name in first for name in names):
        return True
    below = [[_parse_number(cell) for cell in row] for row in rows[1:]]
    if below and not any(n is None or n == n for row in below for n in row):  # all is missing
        named = first[:-1] if len(first) > 1 and not first[-1] else first
        return all(cell and _parse_number(cell) is None for cell in named)
    for column, cell in enumerate(first):
        if _parse_number(cell) is not None:
            continue
        numbers = [row[column] for row in below if column < len(row)]
        numbers = [number for number in numbers if number == number]  # NaN: missing
        words = numbers.count(None)
        if len(numbers) > 2 * words:
            return True
        # A name above nothing but missing values; a single empty cell says nothing.
        marked = any(row[column : column + 1] not in ([], [""]) for row in rows[1:])
        if below and not numbers and (marked or len(below) > 1):
            return True
    return _is_above_labels(first, rows[1:])


def _is_above_labels(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Return whether cells are above words that are repeated, and are not repeated themselves."""
    if any(not cell or _parse_number(cell) is not None for cell in first):
        return False
    again = False
    for column, cell in enumerate(first):
        counts = Counter(row[column].strip() for row in below if column < len(row))
        if cell in counts:
            return False
        again = again or (len(counts) > 1 and min(counts.values()) > 1)
    return again


def _check_widths(
    table: Table, rows: Sequence[Sequence[str]], first: int, dialect: Dialect
) -> None:
    width = len(table.names)
    for row, cells in enumerate(rows, first):
        if len(cells) < width:
            amount = f"{len(cells)} cell{'s' * (len(cells) != 1)}"
            raise DataError(
                "NNM713",
                f"{table.place(row, len(cells))} is missing: the row has {amount}, "
                f"row 1 has {width}",
                hint="empty cells need their delimiters too",
            )
        if len(cells) > width:
            where = table.place(row, width - 1).rpartition(",")[0]
            mark = dialect.delimiter
            raise DataError(
                "NNM713",
                f"{where}, column {width + 1} is one too many: the row has {len(cells)} cells, "
                f"row 1 has {width}",
                hint=f"put quotes around a cell that contains {mark!r}; lines above the header and "
                "below the rows belong in comments",
            )
