"""How the dates of a column are written: the order of day, month and year."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Literal, get_args

from webnnm.core.errors import DataError

Order = Literal["ymd", "dmy", "mdy"]

ORDERS: tuple[Order, ...] = get_args(Order)

MONTHS = {
    "jan": 1,
    "feb": 2,
    "mar": 3,
    "apr": 4,
    "may": 5,
    "jun": 6,
    "jul": 7,
    "aug": 8,
    "sep": 9,
    "oct": 10,
    "nov": 11,
    "dec": 12,
    "mär": 3,
    "mai": 5,
    "okt": 10,
    "dez": 12,
}
"""First letters of months in English and German."""

_NAME = (
    rf"(?P<name>{'|'.join(MONTHS)})(?:uary|uar|ruary|ruar|ch|z|il|e|i|y|ust|t|tember|ober|ember)?"
)
_TIME = (
    r"(?:(?:[T,] *| +)(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<seconds>\d\d(?:\.\d+)?))?"
    r"(?: *(?P<half>[ap])\.?m\.?)?(?: *(?:Z|UTC|[+-]\d\d:?\d\d))?)?"
)
_DATES = tuple(
    re.compile((pattern + _TIME).replace(r"\d", "[0-9]"), re.IGNORECASE)
    for pattern in (
        r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d\d?)(?P=mark)(?P<day>\d\d?)",
        r"(?P<first>\d\d?)(?P<mark>[-/.])(?P<second>\d\d?)(?P=mark)(?P<year>\d{4})",
        r"(?P<first>\d\d?)(?P<mark>/)(?P<second>\d\d?)/(?P<year>\d\d)",
        r"(?P<first>[0-3]\d)(?P<mark>\.)(?P<second>[01]\d)\.(?P<year>\d\d)",
        rf"(?P<day>\d\d?)[ .-]+{_NAME}[ ,.-]+(?P<year>\d\d(?:\d\d)?)",
        rf"{_NAME}[ .]+(?P<day>\d\d?),? +(?P<year>\d{{4}})",
        r"(?P<year>[12]\d{3})(?P<mark>-)(?P<month>[01]\d)",
        rf"{_NAME}[ .,-]+(?P<year>[12]\d{{3}})",
        rf"{_NAME}(?:-| ?')(?P<year>\d\d)",
        rf"(?P<year>[12]\d{{3}})[ ./-]?{_NAME}(?:[ .-]+(?P<day>\d\d?))?",
        r"(?P<year>[12]\d{3})[- ]?M(?P<month>\d\d?)",
        r"(?P<year>[12]\d{3})[-/ ]?W(?P<week>\d\d)",
        r"(?P<year>[12]\d{3})[-/ ]?Q(?P<quarter>[1-4])",
        r"Q(?P<quarter>[1-4])[-/ ](?P<year>[12]\d{3})",
    )
)

FIRST_YEAR_OF_TWO_DIGITS = 69
"""Years 69 … 99 are those of 19xx, 00 … 68 of 20xx (POSIX)."""

EPOCH = date(1970, 1, 1).toordinal()
END = date.max.toordinal() + 1 - EPOCH
"""The day after the last one that dates can have."""


@dataclass(frozen=True, slots=True)
class DateFormat:
    """How dates of numbers are read where the year does not come first.

    >>> DateFormat("dmy").parse("2.1.1970"), DateFormat("mdy").parse("1/2/1970 12:00")
    (1.0, 1.5)
    >>> [DateFormat().parse(cell) for cell in ("1970-01-02T06:00", "1970 Feb", "never")]
    [1.25, 31.0, None]

    Attributes: `order` of day ("d") and month ("m"); "ymd" if the year comes first, or months have
    names.
    """

    order: Order = "ymd"

    @property
    def example(self) -> str:
        """A date as it may be written."""
        return {"ymd": "2024-12-31", "dmy": "31.12.2024", "mdy": "12/31/2024"}[self.order]

    def parse(self, cell: object) -> float | None:
        """Return the days since 1970 of the date in a cell, None for anything else.

        A month without a day begins then, as quarters and weeks of ISO 8601 (2024-W05) do. Times
        are those of the clock: an offset from UTC is not added.
        """
        text = str(cell).strip()
        for pattern in _DATES:
            if match := pattern.fullmatch(text):
                return self._count_days(match.groupdict())
        return None

    def _count_days(self, parts: dict[str, str | None]) -> float | None:
        year = parts["year"] or ""
        if week := parts.get("week"):
            return _find_week(int(year), int(week))
        if quarter := parts.get("quarter"):
            day, month = 1, 3 * int(quarter) - 2
        elif parts.get("first"):
            first, second = int(parts["first"] or 0), int(parts["second"] or 0)
            if self.order == "ymd":
                return None
            day, month = (first, second) if self.order == "dmy" else (second, first)
        else:
            day = int(parts.get("day") or 1)
            name = parts.get("name")
            month = MONTHS[name.casefold()] if name else int(parts["month"] or 0)
        number = int(year)
        if len(year) == 2:
            number += 1900 if number >= FIRST_YEAR_OF_TWO_DIGITS else 2000
        try:
            days = date(number, month, day).toordinal() - EPOCH
        except ValueError:
            return None
        share = _read_time(parts)
        return None if share is None or days + share >= END else days + share


def _find_week(year: int, week: int) -> float | None:
    """Return the days since 1970 of the Monday of a week, None if there is no such week."""
    try:
        return float(date.fromisocalendar(year, week, 1).toordinal() - EPOCH)
    except ValueError:
        return None


def _read_time(parts: dict[str, str | None]) -> float | None:
    """Return the time as a share of a day, 0 without one, None if there is no such time."""
    if parts["hour"] is None:
        return 0.0
    hour, minute, seconds = int(parts["hour"]), int(parts["minute"] or 0), parts["seconds"] or 0
    if parts["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (parts["half"].lower() == "p")
    if hour > 24 or minute > 59 or float(seconds) >= 61:
        return None
    return (hour * 60 + minute + float(seconds) / 60) / 1440


YEAR_FIRST = DateFormat()


def describe_range(days: Iterable[float]) -> str:
    """Return the first and the last of dates, given as days since 1970.

    >>> describe_range([365.0, 1.5])
    '1970-01-02 … 1971-01-01'
    """
    known = [math.floor(day) for day in days if day == day]
    first, last = (str(date.fromordinal(end(known) + EPOCH)) for end in (min, max))
    return f"{first} … {last}"


def looks_like_date(cell: object) -> bool:
    """Return whether a text is a date in any of the orders.

    >>> looks_like_date("31/1/2019"), looks_like_date("Mar 3, 2020"), looks_like_date("3.1")
    (True, True, False)
    """
    return any(DateFormat(order).parse(cell) is not None for order in ORDERS)


def detect_format(
    where: str, cells: Iterable[object], *, order: Order | None = None, decimal: str = ""
) -> DateFormat | None:
    """Return how dates are written, None if the cells are no dates.

    >>> detect_format("column day", ["13/1/2019", "2/1/2019"])
    DateFormat(order='dmy')

    All cells decide together; `order` decides if there is doubt, and so do points between the
    numbers or a `decimal` comma in the table, whose writers have the day first. Raises `DataError`
    NNM713 if cells may be read in two ways.
    """
    texts = [*dict.fromkeys(str(cell).strip() for cell in cells)]
    if texts and all(YEAR_FIRST.parse(text) is not None for text in texts):
        return YEAR_FIRST
    readings = {each: [DateFormat(each).parse(text) for text in texts] for each in ORDERS[1:]}
    possible = [each for each, days in readings.items() if days and None not in days]
    if len(possible) < 2:
        return DateFormat(possible[0]) if possible else None
    if order in possible:
        return DateFormat(order)
    if readings["dmy"] == readings["mdy"] or decimal == "," or any("." in text for text in texts):
        return DateFormat("dmy")
    pairs = zip(readings["dmy"], readings["mdy"], strict=True)
    doubtful = next(text for text, (a, b) in zip(texts, pairs, strict=True) if a != b)
    raise DataError(
        "NNM713",
        f'{where}: is "{doubtful}" day/month or month/day? No date of the column tells',
        hint='dates="dmy" or dates="mdy" tells',
    )
