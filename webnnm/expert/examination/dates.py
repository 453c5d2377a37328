"""What is suspicious about columns of dates written as one number, such as 20190131."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date

from webnnm.expert.examination.averages import list_target_numbers
from webnnm.expert.examination.rows import Column, Rows
from webnnm.expert.examination.statistics import combination, normalise, orthonormalise
from webnnm.expert.facts.facts import Suspicion

MIN_DATES = 12
"""The least number of dates: one in 27 eight-digit numbers is a date, one in eight six-digit
numbers ends in a month."""

YEARS = (1850, 2150)

SECONDS = {"seconds": 1.0, "milliseconds": 1e3}
"""Units of a time since 1970: how many make a second."""

FIRST_SECOND, LAST_SECOND = 946_684_800, 2_208_988_800
"""From 2000 to 2040."""

DAY, WEEK = 86_400, 604_800
MIN_PERIODS, MIN_ROWS = 3, 60
MIN_ERRORS = 5.0
MIN_EXPLAINED = 0.05
"""Sine and cosine of a period tell at least this of the target that no column does, with so many
standard errors: by chance once in a million columns."""


def find_dates(rows: Rows) -> Suspicion | None:
    """Find columns all of whose values are dates, digit by digit."""
    texts: list[str] = []
    remedy = ""
    for column in rows.columns:
        if format := date_format(column, rows):
            name, form = format
            texts.append(f"{column.name} has dates as numbers, {name}: {form}")
        elif message := _describe_rhythm(column, rows):
            texts.append(message)
            remedy = TIMES
    return Suspicion("; ".join(texts[:5]), {"columns": len(texts)}, remedy) if texts else None


def _describe_rhythm(column: Column, rows: Rows) -> str:
    """Return the message about a time since 1970 in whose days or weeks the target has a rhythm."""
    target = list_target_numbers(rows)
    if target is None or len(rows.sample) < MIN_ROWS:
        return ""
    times = column.take_raw(rows.sample)
    for unit, number in SECONDS.items():
        seconds = [time / number for time in times]
        if not FIRST_SECOND <= min(seconds) <= max(seconds) <= LAST_SECOND:
            continue
        basis = orthonormalise(other.take(rows.sample) for other in rows.columns)
        rest = normalise(combination(normalise([target[row] for row in rows.sample]), basis)[1])
        for period, name in ((DAY, "the time of day"), (WEEK, "the day of the week")):
            if max(seconds) - min(seconds) < MIN_PERIODS * period:
                continue
            angles = [2 * math.pi * (time % period) / period for time in seconds]
            waves = orthonormalise([[*map(math.sin, angles)], [*map(math.cos, angles)]])
            explained = 1 - combination(rest, waves)[2] ** 2
            if explained >= max(MIN_EXPLAINED, MIN_ERRORS**2 / len(rest)):
                return (
                    f"{column.name} has {unit} since 1970, and the target depends on {name}, which "
                    f"their last digits hide (R² {explained:.2f} of what columns leave)"
                )
    return ""


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

TIMES = (
    "Make columns of it: sine and cosine of 2π·hour/24, the day of the week, and the days since "
    "the first one."
)

JUMPS = {
    "yyyymmdd": "it goes up by about 70 at the end of a month, and by 8,870 at the end of a year",
    "ddmmyyyy": "the next day is a million higher, the next year 1",
    "mmddyyyy": "the next month is a million higher, the next year 1",
    "yyyymm": "from December to January it goes up by 89, between other months by 1",
    "yymmdd": "it goes up by about 70 at the end of a month, and by 8,870 at the end of a year",
}
"""What is wrong with them as quantities."""
