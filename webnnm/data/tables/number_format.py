"""How the numbers of a column are written: decimal mark, thousands marks, currency, unit."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

SPACES = "\u00a0\u202f\u2009\u2007"
"""Blanks that do not break a line, which separate thousands as an ordinary one does."""

SAME = str.maketrans(
    {**dict.fromkeys(SPACES, " "), "\u2019": "'", "\u2212": "-"}
    | {"\u066b": ".", "\u066c": ",", "\uff0e": ".", "\uff0c": ",", "\uff0d": "-", "\uff0b": "+"}
)
"""Different characters that mean the same: blanks, apostrophes, minus signs, Arabic and full-width
marks."""

DIGIT = re.compile(r"\d")
"""Matches a digit of any script."""

CURRENCIES = (
    *("$", "€", "£", "¥", "₹", "₽", "₩", "₺", "₫", "₴", "₪", "₱", "฿", "zł", "Kč", "kr", "kr."),
    *("R$", "US$", "A$", "C$", "HK$", "NZ$", "S$", "Rs", "Rs.", "Fr.", "sFr.", "SFr."),
    *("USD", "EUR", "GBP", "CHF", "JPY", "CNY", "RMB", "INR", "BRL", "RUB", "SEK", "NOK", "DKK"),
    *("PLN", "CZK", "HUF", "AUD", "CAD", "NZD", "HKD", "SGD", "KRW", "MXN", "ZAR", "TRY", "ILS"),
)
"""Signs and codes of money, before or after a number."""

_MONEY = "|".join(map(re.escape, sorted(CURRENCIES, key=len, reverse=True)))
_SHAPE = re.compile(
    rf"(?P<open>\()?(?P<sign>[+-])? *(?P<before>{_MONEY})? *(?P<inner>[+-])?"
    r"(?P<body>[0-9][0-9.,' ]*|[.,][0-9]+)(?P<exponent>[eE][+-]?[0-9]{1,3})?(?P<after>[+-])?"
    r"(?P<unit> *[^\s0-9.,'()+\-\"#][^0-9.,'()+\-\"]{0,11})?(?P<close>\))?"
)


@dataclass(frozen=True, slots=True)
class NumberShape:
    """The parts of a number as it is written.

    >>> parse_shape("-$1,200.50")
    NumberShape(negative=True, body='1,200.50', exponent='', unit='', currency='$')

    Attributes: whether it is `negative`; its digits with their marks (`body`); the `exponent`, the
    `unit` (also a percent sign) and the `currency`, or "".
    """

    negative: bool
    body: str
    exponent: str
    unit: str
    currency: str


def parse_shape(cell: str) -> NumberShape | None:
    """Return the parts of a number with any decimal and thousands marks, None for a word.

    >>> parse_shape("(1.234,5 €)").negative, parse_shape("1.2.3.4 a 5")
    (True, None)
    """
    match = _SHAPE.fullmatch(_to_ascii_digits(cell.translate(SAME)).strip())
    if match is None:
        return None
    signs = [match[part] for part in ("sign", "inner", "after") if match[part]]
    brackets = bool(match["open"])
    if brackets != bool(match["close"]) or len(signs) + brackets > 1:
        return None
    unit = (match["unit"] or "").strip()
    currency = match["before"] or ""
    if unit in CURRENCIES:
        if currency:
            return None
        unit, currency = "", unit
    body = match["body"].rstrip(" ")
    return NumberShape(brackets or "-" in signs, body, match["exponent"] or "", unit, currency)


def _to_ascii_digits(text: str) -> str:
    """Return a text with the digits of other scripts as 0 … 9."""
    return text if text.isascii() else DIGIT.sub(lambda match: str(int(match[0])), text)


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How the numbers of a column are written.

    >>> NumberFormat(",", ".").parse("1.234,5"), NumberFormat(missing=("-",)).parse("-")
    (1234.5, nan)
    >>> print(NumberFormat(",", ".", currency="€"))
    decimal commas, thousands marked by "." and "€"

    Attributes: `decimal`, "." or ","; `thousands`, "", ",", ".", "'" or " "; `unit`, what follows
    each number, such as "%" or "kg"; `currency`, its sign or code; `missing`, words without a
    number, in lower case, besides the usual ones.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    currency: str = ""
    missing: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        parts = ["decimal commas"] if self.decimal == "," else []
        mark = "a blank" if self.thousands == " " else f'"{self.thousands}"'
        signs = [f'"{sign}"' for sign in (self.currency, self.unit) if sign]
        signs = [f"thousands marked by {mark}", *signs] if self.thousands else signs
        parts += [" and ".join(signs)] if signs else []
        missing = ", ".join(f'"{text}"' for text in self.missing)
        return ", ".join([*parts, f"{missing} for missing"] if missing else parts)

    @property
    def plain(self) -> bool:
        """Whether Python's `float` reads these numbers."""
        return self == PLAIN

    def parse(self, cell: str) -> float | None:
        """Return the number in a cell, NaN for a missing one, None for anything else."""
        if cell.strip().lower() in self.missing:
            return math.nan
        shape = parse_shape(cell)
        if shape is None or not _compile_body(self.decimal, self.thousands).fullmatch(shape.body):
            return None
        if (shape.unit or self.unit) != self.unit or (shape.currency and not self.currency):
            return None
        digits = shape.body.replace(self.thousands, "") if self.thousands else shape.body
        value = float(digits.replace(self.decimal, ".") + shape.exponent)
        return -value if shape.negative else value


PLAIN = NumberFormat()
"""That of Python's `float`."""

COMMAS = NumberFormat(",")
"""That of most of Europe, without thousands marks."""


@cache
def _compile_body(decimal: str, thousands: str) -> re.Pattern[str]:
    """Return what digits with these marks look like; groups may be Indian: 12,34,567."""
    point, mark = re.escape(decimal), re.escape(thousands)
    integer_part = rf"(?:\d+|\d{{1,3}}(?:{mark}\d{{3}})+|\d{{1,2}}(?:{mark}\d{{2}})+{mark}\d{{3}})"
    if not thousands:
        integer_part = r"\d+"
    return re.compile(rf"(?:{integer_part}(?:{point}\d*)?|{point}\d+)", re.ASCII)


def format_to_dict(number_format: NumberFormat) -> dict[str, Any]:
    """Return a format as JSON values, without defaults.

    >>> format_to_dict(NumberFormat(",", unit="%"))
    {'decimal': ',', 'unit': '%'}
    """
    values: dict[str, Any] = {
        "decimal": number_format.decimal,
        "thousands": number_format.thousands,
        "unit": number_format.unit,
        "currency": number_format.currency,
        "missing": list(number_format.missing),
    }
    usual = {"decimal": "."}
    return {name: value for name, value in values.items() if value and usual.get(name) != value}


def format_from_dict(record: Mapping[str, Any]) -> NumberFormat:
    """Return the format that `format_to_dict` described. Raises `ValueError` for anything else."""
    values = {name: record.get(name, "") for name in ("thousands", "unit", "currency")}
    decimal, missing = record.get("decimal", "."), tuple(record.get("missing", ()))
    if decimal not in (".", ",") or values["thousands"] not in ("", ",", ".", "'", " "):
        raise ValueError(f"numbers with the marks {decimal!r} and {values['thousands']!r}")
    if not all(isinstance(text, str) for text in (*values.values(), *missing)):
        raise ValueError("a unit or a missing value is not a text")
    return NumberFormat(decimal, missing=missing, **values)
