"""Reading comma-separated text (RFC 4180) into a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Literal

from webnnm.core.errors import DataError
from webnnm.data.columns import (
    MISSING,
    MOST_COLUMNS,
    Table,
    as_number,
    check_writable,
    repeated,
)

Header = bool | Literal["auto"]

DELIMITERS = ",;\t|"
"""Common separators of cells."""


def read_csv(
    text: str,
    *,
    delimiter: str = ",",
    header: Header = "auto",
    known: Collection[str | int] = (),
) -> Table:
    """Return the columns of a text whose cells are separated by commas or another character.

    >>> table = read_csv('width,kind\\n# a comment\\n1.5,"big, red"\\n')
    >>> table.names, table.columns
    (('width', 'kind'), (('1.5',), ('big, red',)))

    Quoting follows RFC 4180; blank lines and lines that start with `#` are skipped, and spaces
    around a cell are ignored. `header` says whether the first row names the columns. "auto" decides
    that it does if it contains all `known` names; if one of its cells is not a number although most
    cells of the column are; or if none of its cells is repeated in its column, although all other
    cells of some column are, as labels are. Columns without a name are called column_1, column_2 …
    `delimiter` "auto" is the one of , ; tab | that divides the first lines into the most cells,
    with the same number in each. Raises `DataError` NNM713 with row and column for quotes that do
    not match and for rows of unequal length, NNM704 for unknown options.
    """
    if not isinstance(header, bool) and header != "auto":
        raise DataError("NNM704", f"header is {header!r}", hint='True, False or "auto"')
    if delimiter == "auto":
        from webnnm.data.delimiters import found_delimiter

        delimiter = found_delimiter(text, DELIMITERS)
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        raise DataError("NNM704", f"delimiter is {delimiter!r}", hint="one character, such as ';'")
    rows: list[Sequence[str]] = []
    lines: list[int] = []
    for line, cells in _records(text, delimiter):
        if len(cells) > MOST_COLUMNS:
            raise DataError(
                "NNM713",
                f"row {len(rows) + 1} has {len(cells):,} cells, more than {MOST_COLUMNS:,}",
                hint="a row ends at the end of its line; delimiter= sets what separates cells",
            )
        rows.append(cells)
        lines.append(line)
    if not rows:
        return Table((), ())
    width = len(rows[0])
    if header is True or (header == "auto" and _is_header(rows, known)):
        names = [name.strip() for name in rows.pop(0)]
        del lines[0]
        if twice := repeated([name for name in names if name]):
            places = [str(place) for place, name in enumerate(names, 1) if name == twice[0]]
            raise DataError("NNM713", f'row 1 names columns {" and ".join(places)} "{twice[0]}"')
        check_writable(names, lambda place: f"row 1, column {place + 1}")
        first_row = 2
    else:
        names, first_row = [""] * width, 1
    names = [name or f"column_{place}" for place, name in enumerate(names, 1)]
    _check_widths(Table(tuple(names), (), first_row, lines), rows)
    columns = tuple(zip(*rows, strict=True)) or ((),) * width
    return Table(tuple(names), columns, first_row, lines)


def _records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line where each record begins, and its cells."""
    import csv
    from io import StringIO

    record: list[str] = []
    blanks = " \r\n" if delimiter == "\t" else None
    line, number = 0, 1

    def feed() -> Iterator[str]:
        nonlocal line
        for content in StringIO(text.removeprefix("\ufeff"), newline=""):
            line += 1
            # Inside quotes a line is part of a cell, whatever it looks like.
            if record or (content.strip(blanks) and not content.startswith("#")):
                record.append(content)
                yield content

    # Before Python 3.13 a blank may be both, and from then on it must not.
    reader: Iterator[list[str]] = csv.reader(
        feed(), delimiter=delimiter, skipinitialspace=delimiter != " ", strict=True
    )
    try:
        for cells in reader:
            yield line - len(record) + 1, cells
            record.clear()
            number += 1
    except csv.Error as error:
        start = line - len(record) + 1
        where = f"row {number}" if start == number else f"row {number} (line {start})"
        column, cause = _quoting_fault("".join(record), delimiter)
        raise DataError(
            "NNM713",
            f"{where}, column {column}: {cause or error}",
            hint='a quoted cell is "…" from end to end, and a quote inside it is doubled',
        ) from error


def _quoting_fault(record: str, delimiter: str) -> tuple[int, str]:
    """Return the number of the column whose quotes are wrong, and what is wrong."""
    blanks = "" if delimiter == " " else " *"
    quoted = re.compile(blanks + r'"[^"]*(?:""[^"]*)*("?)')
    place, column = 0, 1
    while True:
        found = quoted.match(record, place)
        if found and not found[1]:
            return column, "its quote is not closed"
        if found and record[found.end() :][:1] not in ("", delimiter, "\r", "\n"):
            return column, f'"{record[found.end()]}" follows the closing quote'
        place = record.find(delimiter, found.end() if found else place) + 1
        if not place:
            return column, ""
        column += 1


def _is_header(rows: Sequence[Sequence[str]], known: Collection[Any]) -> bool:
    first = [cell.strip() for cell in rows[0]]
    names = [name for name in known if isinstance(name, str)]
    if names and all(name in first for name in names):
        return True
    for column, cell in enumerate(first):
        if cell.lower() in MISSING or as_number(cell) is not None:
            continue
        below = [as_number(row[column]) for row in rows[1:] if column < len(row)]
        numbers = [number for number in below if number == number]  # NaN: missing
        words = numbers.count(None)
        if len(numbers) > 2 * words:
            return True
    return _is_above_labels(first, rows[1:])


def _is_above_labels(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Return whether cells are above words that are repeated, and are not repeated themselves."""
    if any(not cell or as_number(cell) is not None for cell in first):
        return False
    again = False
    for column, cell in enumerate(first):
        counts = Counter(row[column].strip() for row in below if column < len(row))
        if cell in counts:
            return False
        again = again or (len(counts) > 1 and min(counts.values()) > 1)
    return again


def _check_widths(table: Table, rows: Sequence[Sequence[str]]) -> None:
    width = len(table.names)
    for row, cells in enumerate(rows):
        if len(cells) < width:
            raise DataError(
                "NNM713",
                f"{table.place(row, len(cells))} is missing: the row has {len(cells)} cells, "
                f"row 1 has {width}",
                hint="empty cells need their delimiters too",
            )
        if len(cells) > width:
            where = table.place(row, width - 1).rpartition(",")[0]
            raise DataError(
                "NNM713",
                f"{where}, column {width + 1} is one too many: the row has {len(cells)} cells, "
                f"row 1 has {width}",
                hint='put quotes around a cell that contains a delimiter: "…"',
            )
