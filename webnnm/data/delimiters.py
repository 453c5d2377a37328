"""Detects what separates the cells of a text."""

from __future__ import annotations

import csv
from itertools import islice

TRIED_LINES = 20
"""How many lines are examined."""


def found_delimiter(text: str, marks: str) -> str:
    """Return the character that separates the cells of a text.

    >>> found_delimiter("width;kind\\n1,5;a\\n2,5;b", ",;")
    ';'

    It is the one that divides the first lines into the most cells, the same number in each; if none
    does, the one that most of these lines have: rows of unequal length are an error, which is
    reported with its position.
    """
    plain = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    lines = [*islice(plain, TRIED_LINES)]
    best, most = "", 1
    for mark in marks:
        widths = {len(cells) for cells in csv.reader(lines, delimiter=mark) if cells}
        if len(widths) == 1 and max(widths) > most:
            best, most = mark, max(widths)
    return best or max(marks, key=lambda mark: sum(mark in line for line in lines))
