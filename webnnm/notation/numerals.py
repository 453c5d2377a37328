"""How numbers are spelled in the notation."""

from __future__ import annotations

import math
import re
from typing import TypeVar

_DECIMAL = re.compile(r"([+-])?(?:(\d+)|(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?)", re.ASCII)
_RADIX = re.compile(r"0(?:[xX][0-9A-Fa-f]+|[oO][0-7]+|[bB][01]+)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)%", re.ASCII)
_INFINITY = {"Infinity": math.inf, "+Infinity": math.inf, "-Infinity": -math.inf}
_BASES = {"x": 16, "o": 8, "b": 2}
_LIMIT = 2**1024 - 2**970
"""The smallest integer that float64 cannot hold; no data type holds it either."""


Value = TypeVar("Value", int, float)


class NumberTooLarge(ValueError):
    """A literal beyond the range of float64."""


def read_number(text: str) -> int | float | None:
    """Return the value of a numeric literal, or None if the text is not a number.

    >>> read_number("-.5"), read_number("0x10"), read_number("1e-3"), read_number("1.2.3")
    (-0.5, 16, 0.001, None)

    Raises `NumberTooLarge` for finite literals that float64 cannot hold.
    """
    if len(text) < 20 and text.isascii() and text.isdecimal():
        return int(text)
    if match := _DECIMAL.fullmatch(text):
        sign, digits = match.groups()
        if digits is None:
            return _in_range(float(text))
        # Python limits the length of the text, leading zeros included.
        digits = digits.lstrip("0") or "0"
        value = int(digits) if len(digits) < 310 else _LIMIT
        return _in_range(-value if sign == "-" else value)
    if _RADIX.fullmatch(text):
        return _in_range(int(text[2:], _BASES[text[1].lower()]))
    return _INFINITY.get(text)


def read_percent(text: str) -> int | float | None:
    """Return the number in front of the percent sign, or None if the text is not a percentage.

    >>> read_percent("50%"), read_percent("12.5%"), read_percent("-1%")
    (50, 12.5, None)
    """
    match = _PERCENT.fullmatch(text)
    return read_number(match[1]) if match else None


def write_number(value: int | float) -> str:
    """Return the canonical spelling: the shortest one that reads back equal.

    >>> [write_number(value) for value in (16, 0.5, 1e-05, 1e16, float("-inf"))]
    ['16', '0.5', '1e-5', '1e16', '-Infinity']
    """
    if isinstance(value, int):
        return str(value)
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    mantissa, letter, exponent = repr(value).partition("e")
    return mantissa + letter + str(int(exponent)) if letter else mantissa


def write_percent(value: int | float) -> str:
    """Return the canonical percentage, which never has an exponent.

    >>> write_percent(50), write_percent(1e-7)
    ('50%', '0.0000001%')
    """
    digits = write_number(value)
    if "e" in digits:
        from decimal import Decimal

        digits = format(Decimal(digits), "f")
        # Without a point it would read back as an integer.
        digits += "" if "." in digits else ".0"
    return digits + "%"


def _in_range(value: Value) -> Value:
    if not -_LIMIT < value < _LIMIT:
        raise NumberTooLarge
    return value
