"""What is suspicious about columns of dates written as one number, such as 20190131."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from webnnm.expert.examination.rows import Column, Rows
from webnnm.expert.facts.facts import Suspicion

MIN_DATES = 12
"""The least number of dates: one in 27 eight-digit numbers is a date, one in eight six-digit
numbers ends in a month."""

YEARS = (1850, 2150)


def find_dates(rows: Rows) -> Suspicion | None:
    """Find columns all of whose values are dates, digit by digit."""
    texts: list[str] = []
    for column in rows.columns:
        if format := date_format(column, rows):
            name, form = format
            texts.append(f"{column.name} has dates as numbers, {name}: {form}")
    return Suspicion("; ".join(texts[:5]), {"columns": len(texts)}) if texts else None


def date_format(column: Column, rows: Rows) -> tuple[str, str] | None:
    """Return how the dates of a column are written, and where they jump; None if it has none."""
    values = {column.raw(value) for value in column.take(rows.sample)}
    if len(values) < MIN_DATES or min(values) < 1:
        return None
    # float32 has steps of 2 beyond 2^24, and of a ten-millionth of what scales the column.
    slack = (max(values) > 2**24) + 5e-7 * abs(column.scale)
    numbers = {round(value) for value in values}
    if any(abs(value - round(value)) > 0.01 + slack for value in values):
        return None
    for name, (first, last, read) in FORMS.items():
        if first <= min(numbers) and max(numbers) <= last and _are_dates(numbers, read, slack):
            return name, JUMPS[name]
    return None


def _are_dates(values: set[int], read: Callable[[int], date], slack: float) -> bool:
    """Return whether values are dates from two or more months, allowing for rounding by float32.

    Some dates with days are beyond the 12th; codes of house, floor and room are not.
    """
    months: set[tuple[int, int]] = set()
    days: set[int] = set()
    near = (0, 1, -1) if slack > 0.4 else (0,)
    for value in values:
        for off in near:
            try:
                day = read(value + off)
            except ValueError:
                continue
            if YEARS[0] <= day.year <= YEARS[1]:
                months.add((day.year, day.month))
                days.add(day.day)
                break
        else:
            return False
    return len(months) > 1 and (days == {1} or max(days) > 12)


def _months(value: int) -> date:
    return date(value // 100, value % 100, 1)


FORMS: dict[str, tuple[int, int, Callable[[int], date]]] = {
    "yyyymmdd": (
        18_500_101,
        21_501_231,
        lambda value: date(value // 10_000, value // 100 % 100, value % 100),
    ),
    "ddmmyyyy": (
        1_011_850,
        31_122_150,
        lambda value: date(value % 10_000, value // 10_000 % 100, value // 1_000_000),
    ),
    "mmddyyyy": (
        1_011_850,
        12_312_150,
        lambda value: date(value % 10_000, value // 1_000_000, value // 10_000 % 100),
    ),
    "yyyymm": (185_001, 215_012, _months),
    "yymmdd": (
        10_101,
        991_231,
        lambda value: date(2000 + value // 10_000, value // 100 % 100, value % 100),
    ),
}
"""How dates are written: their range, and how they are read."""

JUMPS = {
    "yyyymmdd": "it goes up by about 70 at the end of a month, and by 8,870 at the end of a year",
    "ddmmyyyy": "the next day is a million higher, the next year 1",
    "mmddyyyy": "the next month is a million higher, the next year 1",
    "yyyymm": "from December to January it goes up by 89, between other months by 1",
    "yymmdd": "it goes up by about 70 at the end of a month, and by 8,870 at the end of a year",
}
"""What is wrong with them as quantities."""
