"""Tables written in random dialects: read back to the same values, or refused by name."""

from __future__ import annotations

import base64
import gzip
import json
import math
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.frame import Target
from webnnm import DataError, describe_table, read_csv
from webnnm.data.tables.column_reading import read_column

Case = dict[str, Any]
"""The `file` in base64; `names` of the columns or null; `columns`, what each holds."""

# Writing.

SPACES = ("\u00a0", "\u202f", " ")
THOUSANDS = {".": ("", "", "", ",", "'", *SPACES), ",": ("", "", ".", ".", "'", "\u2019", *SPACES)}
ENCODINGS = (
    *("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"),
    *("cp1252", "latin-1"),
)
PLAIN_WORDS = ("red", "blue", "green", "two words", "x-ray", "T", "F", "yes", "no", "A1", "b/c")
ODD_WORDS = (
    *("K\u00f6ln", "Z\u00fcrich", "\u00e9t\u00e9", "a,b", "x;y", "say, no", "p|q", 'say "no"'),
    *("it's", "#ff0000", "#00aa11", "#tag", "% of all", "//path", "two\nlines", "n/a", "-", "?"),
)
MISSING_WORDS = (
    "",
    "",
    "NA",
    "n/a",
    "NaN",
    "null",
    "-",
    "--",
    "?",
    "#N/A",
    "N/A",
    "\u2014",
    "k.A.",
)
MARKS = ("", "", "", "", "$", " \u20ac", "%", " %", " kg", "CHF ", "\u00a3")


def group(digits: str, mark: str) -> str:
    """Write digits in groups of three."""
    parts: list[str] = []
    while len(digits) > 3:
        digits, last = digits[:-3], digits[-3:]
        parts.insert(0, last)
    return mark.join([digits, *parts])


def write_number(value: float, style: dict[str, Any]) -> str:
    """Write a number as a style has it."""
    digits = f"{abs(value):.{style['places']}f}"
    whole, _, fraction = digits.partition(".")
    if style["thousands"]:
        whole = group(whole, style["thousands"])
    body = whole + (style["decimal"] + fraction if fraction else "")
    mark = style["mark"]
    if mark in ("$", "CHF ", "\u00a3"):
        body = mark + body
    elif mark:
        body += mark
    if value >= 0 or not float(digits):
        return body
    if style["negative"] == "brackets":
        return f"({body})"
    return body + "-" if style["negative"] == "after" and not mark else "-" + body


@st.composite
def number_columns(draw: st.DrawFn, rows: int, decimal: str) -> dict[str, Any]:
    """Draw a column of numbers, with what each cell says."""
    style = {
        "decimal": decimal,
        "thousands": draw(st.sampled_from(THOUSANDS[decimal])),
        "places": draw(st.sampled_from([0, 0, 1, 2, 2, 3, 4])),
        "mark": draw(st.sampled_from(MARKS)),
        "negative": draw(st.sampled_from(["before", "before", "before", "brackets", "after"])),
    }
    size = draw(st.sampled_from([10, 1_000, 10_000, 10_000_000]))
    low = draw(st.sampled_from([0, -size, size // 10]))
    word = draw(st.sampled_from(MISSING_WORDS))
    gaps = draw(st.sampled_from([0.0, 0.0, 0.0, 0.1, 0.3]))
    random = draw(st.randoms(use_true_random=False))
    cells: list[str] = []
    values: list[float | None] = []
    for _ in range(rows):
        if random.random() < gaps:
            cells.append(word)
            values.append(None)
            continue
        value = round(random.uniform(low, size), style["places"])
        cells.append(write_number(value, style))
        values.append(value or 0.0)
    return {"kind": "number", "cells": cells, "values": values}


@st.composite
def word_columns(draw: st.DrawFn, rows: int) -> dict[str, Any]:
    """Draw a column of words, or of codes made of digits."""
    random = draw(st.randoms(use_true_random=False))
    kind = draw(st.sampled_from(["plain", "plain", "odd", "codes", "colours"]))
    if kind == "codes":
        cells = [f"{random.randrange(100_000):05d}" for _ in range(rows - 1)] + ["00123"]
    elif kind == "colours":
        cells = [f"#{random.randrange(1 << 24):06x}" for _ in range(rows)]
    else:
        words = draw(
            st.lists(
                st.sampled_from(PLAIN_WORDS if kind == "plain" else (*PLAIN_WORDS, *ODD_WORDS)),
                min_size=2,
                max_size=6,
                unique=True,
            )
        )
        cells = [random.choice(words) for _ in range(rows)]
        cells[0] = words[0] if words[0] not in ("-", "?", "n/a") else "red"
    return {"kind": "words", "cells": cells, "values": cells}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a table and the dialect that it is written in."""
    rows = draw(st.sampled_from([2, 3, 5, 12, 12, 40]))
    decimal = draw(st.sampled_from([".", ","]))
    columns: list[dict[str, Any]] = [draw(number_columns(rows, decimal))]
    for _ in range(draw(st.integers(1, 4))):
        more = draw(st.sampled_from(["number", "number", "words"]))
        one = number_columns(rows, decimal) if more == "number" else word_columns(rows)
        columns.insert(draw(st.integers(0, len(columns))), draw(one))
    header = draw(st.sampled_from([True, True, True, False]))
    words = ["width", "price", "kind", "Gr\u00f6\u00dfe"]
    names = [f"{draw(st.sampled_from(words))} {k}" for k in range(len(columns))]
    names = names if header else None
    lines = [list(row) for row in zip(*(column["cells"] for column in columns), strict=True)]
    delimiter = draw(st.sampled_from([",", ",", ";", ";", "\t", "|"]))
    quote = draw(st.sampled_from(['"', '"', '"', "'"]))
    quoting = draw(st.sampled_from(["needed", "needed", "needed", "words", "all"]))
    ending = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    after = draw(st.sampled_from(["", "", "", delimiter]))

    def write(cell: str, is_word: bool) -> str:
        needed = any(letter in cell for letter in (delimiter, quote, "\n"))
        if quoting == "all" or needed or (quoting == "words" and is_word):
            return quote + cell.replace(quote, quote * 2) + quote
        return cell

    kinds = [column["kind"] == "words" for column in columns]
    texts = [
        delimiter.join(write(cell, word) for cell, word in zip(line, kinds, strict=True)) + after
        for line in ([names] if names else []) + lines
    ]
    sign = draw(st.sampled_from(["#", "#", "%", "//"]))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 3]))):
        place = draw(st.sampled_from([0, 0, len(texts) // 2, len(texts)]))
        texts.insert(place, f"{sign} {draw(st.sampled_from(['measured by hand', 'of 2024']))}")
    if draw(st.sampled_from([False] * 5 + [True])):
        texts.insert(0, f"sep={delimiter}")
    text = ending.join(texts) + draw(st.sampled_from(["", ending, ending, ending * 2]))
    encoding = draw(st.sampled_from(ENCODINGS))
    try:
        data = text.encode(encoding)
    except UnicodeEncodeError:
        data = text.encode("utf-8")
    if draw(st.sampled_from([False] * 9 + [True])):
        data = gzip.compress(data, mtime=0)
    expected = [{"kind": column["kind"], "values": column["values"]} for column in columns]
    return {"file": base64.b64encode(data).decode(), "names": names, "columns": expected}


# Reading.


def check(case: Case) -> str:
    """Read a table without being told anything of its dialect, and compare every cell."""
    data = base64.b64decode(case["file"])
    try:
        table = read_csv(data)
    except DataError as error:
        return f"refused {error.code}: {' '.join(error.message.split()[:3])}"
    expected = case["columns"]
    if "rows end in a delimiter" in table.dialect.notes and not any(
        value is not None for value in expected[-1]["values"]
    ):  # a last column that is empty is none
        expected = expected[: len(table.names)]
    rows = len(expected[0]["values"])
    assert len(table.names) == len(expected), f"{table.names} for {len(expected)} columns"
    assert table.row_count == rows, f"{table.row_count} rows for {rows}; {table.dialect}"
    if case["names"] and table.first_row == 2:
        assert list(table.names) == case["names"][: len(expected)]
    assert table.first_row == 2 or not case["names"], "the header is a row"
    asked = 0
    for index, (column, described) in enumerate(zip(expected, describe_table(table), strict=True)):
        if described.problem:
            asked += 1
            continue
        compare(table, index, column, described)
    return f"asked about {asked}" if asked else "read"


def compare(table: Any, index: int, expected: dict[str, Any], described: Any) -> None:
    """Compare a column, whose reading was not doubted, with what was written."""
    known = [value for value in expected["values"] if value not in (None, "")]
    column = read_column(table, index)
    if expected["kind"] == "words":
        assert column.numbers is None, f"{table.names[index]}: words became numbers, {known[:5]}"
        words = [word.strip() or None for word in expected["values"]]
        assert list(column.words) == words, f"{list(column.words)[:9]} for {words[:9]}"
        return
    if not known:
        return
    assert column.numbers is not None, f"numbers became words: {list(column.words)[:9]}"
    for found, value in zip(column.numbers, expected["values"], strict=True):
        same = math.isnan(found) if value is None else math.isclose(found, value, abs_tol=1e-12)
        told = bool(described.note)
        assert same or told, f"{found} for {value} in {table.names[index]}: {described}"


TARGET = Target(
    name="dialects",
    cases=cases(),
    check=check,
    save=lambda case: json.dumps(case, indent=1),
    load=json.loads,
    suffix=".json",
    examples=150,
)
