"""Parses JSON that may come from anywhere: strictly, and within bounds."""

from __future__ import annotations

import json
import math
import re
from typing import Any

MAX_NESTING = 16
"""The deepest nesting of brackets; files of weights and settings have three levels."""
MAX_VALUES = 1_000_000
"""How many values a text may hold: at a few bytes of text each, they could fill a page's memory."""
_MARKS = re.compile(r'\\.|[][{},"]', re.DOTALL)
"""Matches strings, brackets and commas, one at a time, so that scanning takes time linear in the
text, whatever it is."""
_STEPS = {"[": 1, "{": 1, ",": 0, "]": -1, "}": -1}
"""The change of depth after a mark."""


def parse_json(text: str, max_values: float | None = None, *, infinite: bool = False) -> Any:
    """Return the value of a JSON text; raises `ValueError` if it is invalid or nested too deeply.

    Numbers that are not finite are invalid, too, unless `infinite` allows Infinity, and so are more
    than `max_values` values, by default `MAX_VALUES`.

    >>> parse_json('{"a": [1]}')
    {'a': [1]}
    """
    limit = MAX_VALUES if max_values is None else max_values
    depth = values = 0
    inside = False
    for mark in _MARKS.finditer(text):
        inside ^= mark[0] == '"'
        if inside or (step := _STEPS.get(mark[0])) is None:
            continue
        depth += step
        values += step >= 0
        if depth > MAX_NESTING:  # which would exhaust the stack of a page and end its Python
            raise ValueError("it is nested too deeply")
        if values > limit:
            raise ValueError(f"it holds more than {limit:,} values")
    value = json.loads(
        text,
        object_pairs_hook=_distinct,
        parse_float=_finite,
        parse_constant=_infinite if infinite else _finite,
    )
    if "\\u" in text:  # through which it may hold half a character, which cannot be encoded again
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):  # NaN, Infinity, 1e999
        raise ValueError(f"{text[:20]} is not a finite number")
    return number


def _infinite(text: str) -> float:
    return _finite(text) if text == "NaN" else float(text)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("it contains a name twice")
    return content
