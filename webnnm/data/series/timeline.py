"""The times of a series: their step, where steps are missing, what comes next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, date, datetime, timedelta
from itertools import pairwise
from typing import Literal, get_args

from webnnm.core.errors import DataError

Unit = Literal["number", "day", "weekday", "month"]

UNITS: tuple[Unit, ...] = get_args(Unit)

MOSTLY = 0.7
"""A series has a step if it is the distance of more neighbours than this share, apart from gaps."""

TOLERANCE = 1e-2
"""How far from a whole number of steps a time may be, as a share of the step."""

DAY_MS = 86_400_000
"""Milliseconds of a day: distances of dates are whole milliseconds, which add up without error."""

MAX_DAYS = 366 * MAXYEAR
"""Dates are no further apart."""

MONTH_UNITS = (1, 3, 6, 12)
"""Months from one date to the next that are looked for."""

TIME_DIGITS = 12
"""Digits of times that are numbers; further ones are rounding errors of the steps added up."""

MIN_DECIMALS = 6
"""Decimals that times of any size are shown with."""

EPOCH = datetime(1970, 1, 1)
MIN_WEEKDAYS = 7
"""A daily series of fewer dates may have no weekend by chance."""


@dataclass(frozen=True, slots=True)
class Step:
    """The distance from one time to the next.

    >>> Step("month", 1).advance(30.0, 1), Step("weekday", 1).advance(1.0, 1)
    (58.0, 4.0)

    Attributes: `unit`: months of the calendar, days, days from Monday to Friday, or the unit of a
    column of numbers; `size`, how many of them.
    """

    unit: Unit = "number"
    size: float = 1.0

    @property
    def is_sound(self) -> bool:
        """Whether there can be such a step: a step of dates is a millisecond to some millennia."""
        if self.unit in ("month", "weekday"):
            return float(self.size).is_integer() and 1 <= self.size <= MAX_DAYS / 28
        return (
            (1 / DAY_MS <= self.size <= MAX_DAYS)
            if self.unit == "day"
            else 0 < self.size < math.inf
        )

    def advance(self, time: float, count: int) -> float:
        """Return the time that is this many steps later; dates are days since 1970."""
        if self.unit == "month":
            return _add_months(time, count * int(self.size))
        if self.unit == "weekday":
            position = _count_weekdays(math.floor(time)) + count
            weeks, day = divmod(position, 5)
            return float(weeks * 7 + day - 3 + time % 1)  # 1970 began on a Thursday
        if self.unit == "day":
            return (_count_ms(time) + count * _count_ms(self.size)) / DAY_MS
        return time + count * self.size

    def count(self, first: float, last: float) -> float:
        """Return how many steps lie between two times: a whole number if both are on the grid."""
        if self.unit == "month":
            start, end = _to_date(first), _to_date(last)
            months = (end.year - start.year) * 12 + end.month - start.month
            whole = math.floor(months / self.size)
            return whole if _add_months(first, whole * int(self.size)) == last else months + 0.5
        if self.unit == "weekday":
            return _count_weekdays(math.floor(last)) - _count_weekdays(math.floor(first))
        if self.unit == "day":
            return (_count_ms(last) - _count_ms(first)) / _count_ms(self.size)
        return (last - first) / self.size

    def __str__(self) -> str:
        if self.unit == "day" and self.size < 1:
            return str(timedelta(days=self.size))
        unit = "" if self.unit == "number" else f" {self.unit}{'s' if self.size != 1 else ''}"
        return f"{self.size:g}{unit}"


def find_step(*series: Sequence[float], dates: bool) -> Step | None:
    """Return the step that series share, each with times in ascending order; None without one.

    >>> find_step([0.0, 31.0, 59.0, 90.0], dates=True)
    Step(unit='month', size=1)
    >>> find_step([1.0, 2.0, 4.0, 5.0, 6.0], [1.5, 2.5], dates=False)
    Step(unit='number', size=1.0)
    """
    unit: Unit = "day" if dates else "number"
    measure = _count_ms if dates else float
    distances = sorted(measure(b) - measure(a) for times in series for a, b in pairwise(times))
    if not distances:
        return Step(unit)
    middle = distances[len(distances) // 2]
    candidates = [Step("month", months) for months in MONTH_UNITS[::-1]] if dates else []
    if dates and middle:
        candidates.append(Step(unit, middle / DAY_MS))
    elif middle:
        near = [distance for distance in distances if abs(distance / middle - 1) < 2 * TOLERANCE]
        candidates.append(Step(unit, float(f"{math.fsum(near) / len(near):.12g}")))
    weekend = any(_find_weekday(time) > 4 for times in series for time in times)
    if len(distances) >= MIN_WEEKDAYS - 1 and not weekend and middle == DAY_MS and dates:
        candidates.append(Step("weekday", 1))
    fits = [(sum(_count_fitting(times, step) for times in series), step) for step in candidates]
    best, step = max(fits, key=lambda pair: pair[0], default=(0, None))
    return step if best >= MOSTLY * len(distances) else None


def find_gaps(times: Sequence[float], step: Step) -> list[tuple[int, int]]:
    """Return where steps are missing: the index before each gap, and how many are.

    >>> find_gaps([1.0, 2.0, 5.0], Step())
    [(1, 2)]
    """
    counts = [step.count(a, b) for a, b in pairwise(times)]
    return [
        (index, round(count) - 1)
        for index, count in enumerate(counts)
        if round(count) > 1 and abs(count - round(count)) < TOLERANCE
    ]


def show_time(time: float, *, dates: bool) -> str | float | int:
    """Return a time as people write it: an ISO date, or the number.

    >>> show_time(1.5, dates=True), show_time(2.0, dates=False)
    ('1970-01-02 12:00', 2)

    What adding up steps of numbers leaves behind the twelfth digit is rounded away.
    """
    if not dates:
        decimals = max(MIN_DECIMALS, TIME_DIGITS - len(str(int(abs(time)))))
        shown = round(time, decimals)
        return int(shown) if float(shown).is_integer() else shown
    moment = _to_date(time)
    if moment.time() == datetime.min.time():
        return moment.date().isoformat()
    precision = "seconds" if moment.second else "minutes"
    precision = "milliseconds" if moment.microsecond else precision
    return moment.isoformat(sep=" ", timespec=precision)


def _count_fitting(times: Sequence[float], step: Step) -> int:
    counts = [step.count(a, b) for a, b in pairwise(times)]
    return sum([count == 1 or abs(count - 1) < TOLERANCE for count in counts])


def _to_date(time: float) -> datetime:
    try:
        return EPOCH + timedelta(milliseconds=_count_ms(time))
    except OverflowError as error:
        raise _refuse_years() from error


def _refuse_years() -> DataError:
    return DataError("NNM704", "dates end with the year 9999", hint="fewer steps ahead")


def _count_ms(days: float) -> int:
    return round(days * DAY_MS)


def _add_months(time: float, months: int) -> float:
    """Return the same day some months later; the last day of a month stays the last one."""
    start = _to_date(time)
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    if not 1 <= year <= MAXYEAR - 1:
        raise _refuse_years()
    last = _days_in_month(year, month + 1)
    is_last = start.day == _days_in_month(start.year, start.month)
    day = last if is_last else min(start.day, last)
    moment = start.replace(year=year, month=month + 1, day=day)
    return (moment - EPOCH) / timedelta(days=1)


def _days_in_month(year: int, month: int) -> int:
    following = date(year + month // 12, month % 12 + 1, 1)
    return (following - date(year, month, 1)).days


def _find_weekday(day: float) -> int:
    return (math.floor(day) + 3) % 7


def _count_weekdays(day: int) -> int:
    """Return how many days from Monday to Friday lie before a day, counted from a Monday."""
    weeks, weekday = divmod(day + 3, 7)
    return weeks * 5 + min(weekday, 5)
