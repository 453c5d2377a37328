"""Finds what separates and quotes the cells of a text, and which of its lines are comments."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from itertools import islice

from webnnm.data.tables.dialect import Dialect
from webnnm.data.tables.number_format import parse_shape

DELIMITERS = ",;\t|"
"""Common separators of cells."""
SIGNS = ("#", "%", "//")
"""Common beginnings of lines that are no rows."""

SPREADSHEET_ERRORS = ("#N/A", "#NA", "#NULL!", "#VALUE!", "#DIV/0!", "#REF!", "#NAME?", "#NUM!")
"""Cells that look like comments."""

TRIED_LINES = 100
TRIED_CHARACTERS = 1 << 17
LONGEST_CELL = 200
"""Longer cells are texts, which may contain any mark."""

_SEPARATOR = re.compile(r'"?sep=(.)"?[ ;,\t]*(\r\n|\r|\n|$)', re.IGNORECASE)
_OTHER = re.compile(r"[;\t|](?! )|(?<! ),(?! )")
"""A mark that separates cells rather than words."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a text divides into cells.

    Attributes: `delimiter`, `quote`, the `comment` sign or "", `is_comment`, which says whether a
    line that begins with it is left out; `width`, how many cells most rows have.
    """

    delimiter: str
    quote: str
    comment: str
    is_comment: Callable[[str], bool]
    width: int


def read_separator_line(text: str) -> tuple[str, str]:
    """Return what Excel's first line says to separate cells, and the text after it.

    >>> read_separator_line("sep=;\\na;b")
    (';', 'a;b')
    """
    match = _SEPARATOR.match(text)
    return (match[1], text[match.end() :]) if match else ("", text)


def find_layout(
    text: str,
    dialect: Dialect,
    known: Collection[str] = (),
    *,
    like: Dialect | None = None,
) -> Layout:
    """Find delimiter, quote and comment sign, as far as they are not told.

    >>> find_layout("width;kind\\n1,5;a\\n2,5;b", Dialect(delimiter="auto", quote="auto")).delimiter
    ';'

    `dialect` has "auto" for what is to be found; `known` are names that a header must have; `like`
    is how a table was written to which this one probably is similar.
    """
    lines = _sample_lines(text)
    signs = SIGNS if dialect.comment == "auto" else tuple(filter(None, [dialect.comment]))
    plain = [line for line in lines if not line.startswith(signs)] if signs else lines
    delimiter, quote, width = _find_best(plain, dialect, known, like)
    if width == 1 and dialect.comment == "auto" and len(plain) < len(lines):
        delimiter, quote, width = _find_best(lines, dialect, known, like)
    if dialect.comment != "auto":
        return Layout(delimiter, quote, dialect.comment, lambda line: True, width)
    for sign in SIGNS:
        if text.startswith(sign) or f"\n{sign}" in text or f"\r{sign}" in text:
            signed = [line for line in _iterate_lines(text) if line.startswith(sign)]
            signed = [line for line in signed if not line.startswith(SPREADSHEET_ERRORS)]
            if not signed:
                continue
            rows = _are_rows(sign, signed, plain, delimiter, quote, width)
            return Layout(
                delimiter, quote, sign, _make_is_comment(sign, rows, delimiter, quote, width), width
            )
    return Layout(delimiter, quote, "", lambda line: False, width)


def _sample_lines(text: str) -> list[str]:
    """Return the first lines that are not blank, without one that is cut."""
    part = text[:TRIED_CHARACTERS]
    lines = [line for line in islice(_iterate_lines(part), TRIED_LINES) if line.strip(" \r\n")]
    if len(part) < len(text) and len(lines) > 1 and not lines[-1].endswith(("\r", "\n")):
        lines.pop()
    return lines


def _iterate_lines(text: str) -> Iterator[str]:
    return iter(StringIO(text, newline=""))


def split(lines: Iterable[str], delimiter: str, quote: str) -> list[list[str]]:
    """Return the cells of lines, as far as they can be read."""
    reader = csv.reader(
        lines, delimiter=delimiter, quotechar=quote, skipinitialspace=delimiter != " "
    )
    rows: list[list[str]] = []
    with suppress(csv.Error):  # a cell that is too long: the reader tells where
        rows.extend(cells for cells in reader if cells)
    return rows


def _find_best(
    lines: list[str], dialect: Dialect, known: Collection[str], like: Dialect | None
) -> tuple[str, str, int]:
    """Return the delimiter and the quote with which rows are most alike, and how wide they are."""
    delimiters = [*DELIMITERS] if dialect.delimiter == "auto" else [dialect.delimiter]
    if like is not None and dialect.delimiter == "auto" and like.delimiter not in delimiters:
        delimiters.append(like.delimiter)
    quotes = ['"', "'"] if dialect.quote == "auto" else [dialect.quote]
    if "'" in quotes and len(quotes) > 1 and sum([line.count("'") for line in lines]) < 4:
        quotes.remove("'")
    best: tuple[float, str, str, int] = (-1.0, delimiters[0], quotes[0], 1)
    for quote in quotes:
        for delimiter in delimiters:
            score, width = _score_rows(split(lines, delimiter, quote), quote, known)
            if like is not None and (delimiter, quote) == (like.delimiter, like.quote):
                score += 0.01
            if score > best[0] + 1e-9:
                best = (score, delimiter, quote, width)
    if best[3] == 1 and dialect.delimiter == "auto":
        rows = split(lines, " ", '"')
        score, width = _score_rows(rows, '"', known)
        numbers = [parse_shape(cell) for row in rows for cell in row]
        if score > 0.999 and width > 1 and 2 * len([one for one in numbers if one]) > len(numbers):
            return " ", '"', width
    return best[1], best[2], best[3]


def _score_rows(rows: list[list[str]], quote: str, known: Collection[str]) -> tuple[float, int]:
    """Return how well rows are divided, and how many cells most have."""
    if not rows:
        return 0.0, 1
    width, times = max(Counter(map(len, rows)).items(), key=lambda item: (item[1], item[0]))
    if width == 1:
        return 0.0, 1
    cells = [cell for row in rows for cell in row[:LONGEST_CELL]]
    clean = sum([_is_clean(cell, quote) for cell in cells]) / len(cells)
    names = {cell.strip() for cell in rows[0]}
    bonus = 2.0 if known and all(name in names for name in known) else 0.0
    return times / len(rows) * clean**2 + bonus, width


def _is_clean(cell: str, quote: str) -> bool:
    """Return whether a cell seems to be whole, and only one."""
    cell = cell.strip()
    other = "'" if quote == '"' else '"'
    if cell[:1] == other or (cell[-1:] == other and other == '"'):
        return False
    if quote in cell and (cell[0] == quote or cell[-1] == quote):
        return False
    if not cell or len(cell) > LONGEST_CELL or not _OTHER.search(cell):
        return True
    return parse_shape(cell) is not None


def _are_rows(
    sign: str, signed: list[str], plain: list[str], delimiter: str, quote: str, width: int
) -> bool:
    """Return whether lines that begin with a comment sign are rows, as far as they are as wide."""
    if width == 1:
        return any(line[len(sign) : len(sign) + 1].strip() for line in signed)
    full = [line for line in signed[:TRIED_LINES] if _count_cells(line, delimiter, quote) == width]
    if not full:
        return False
    others = [row[0] for row in split(plain, delimiter, quote) if len(row) == width]
    numbers = [cell for cell in others if parse_shape(cell)]
    return not (numbers and 2 * len(numbers) >= len(others) - 1)  # the first may be a name


def _count_cells(line: str, delimiter: str, quote: str) -> int:
    rows = split([line], delimiter, quote)
    return len(rows[0]) if rows else 0


def _make_is_comment(
    sign: str, rows: bool, delimiter: str, quote: str, width: int
) -> Callable[[str], bool]:
    """Return what says whether a line that begins with a comment sign is left out."""
    if not rows:
        return lambda line: not line.startswith(SPREADSHEET_ERRORS)
    after = (" ", "\t", "\r", "\n", sign[0], "")

    def is_comment(line: str) -> bool:
        if line.startswith(SPREADSHEET_ERRORS):
            return False
        # A narrow line without a blank after the sign is a row that lacks cells.
        narrow = width > 1 and _count_cells(line, delimiter, quote) != width
        return (narrow or width == 1) and line[len(sign) : len(sign) + 1] in after

    return is_comment
