"""Turns dates into numbers: days that have passed, season, weekday, time of day."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from webnnm.data.tables.column_reading import Column, Locate, missing_cell_error
from webnnm.data.tables.date_format import ORDERS, YEAR_FIRST, DateFormat
from webnnm.data.tables.missing_indicator import encode_indicator, name_indicator

Part = Literal["days", "season", "weekday", "time"]

PARTS: tuple[Part, ...] = get_args(Part)

DAYS_OF_YEAR = 365.25
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

MIN_SEASONAL_CHANGE = 0.25
"""The sine and cosine of two weeks differ by less: figures of each January have no season."""
MIN_WEEKDAYS, MIN_DAYS = 3, 28
"""Dates of fewer weekdays, or of fewer different days, say nothing about the others."""


@dataclass(frozen=True, slots=True)
class DateEncoder:
    """Turns dates into days since the first one, and what recurs into numbers of its own.

    >>> encoder = DateEncoder.fit("day", [0.0, 400.0])
    >>> encoder.features
    ('day days', 'day season sin', 'day season cos')
    >>> dates = Column("day", array("d", [45.0]), (), ())
    >>> [round(values[0], 2) for values in encoder.encode(dates)]
    [45.0, 0.7, 0.72]

    Attributes: `name` of the column; `parts`, in the order of `PARTS`; `origin`, the first day of
    the training rows, since 1970; `fill`, the numbers for a missing date, or () if that is an
    error; `date_format`, which decides how new dates are read; `indicator`, whether a further
    feature tells which dates are missing.

    Season and time of day are angles, as sine and cosine, so that December is beside January and
    23:00 beside midnight; each weekday is a 1 among zeros.
    """

    name: str
    parts: tuple[Part, ...]
    origin: float = 0.0
    fill: tuple[float, ...] = ()
    date_format: DateFormat = YEAR_FIRST
    indicator: bool = False

    @classmethod
    def fit(
        cls, name: str, days: Iterable[float], date_format: DateFormat = YEAR_FIRST
    ) -> DateEncoder:
        """Choose the parts that vary in the training rows: seasons if they last a year."""
        known = sorted({day for day in days if day == day})
        first, last = (known[0], known[-1]) if known else (0.0, 0.0)
        recurring = {
            "days": True,
            "season": last - first >= DAYS_OF_YEAR and _have_seasons(known),
            "weekday": len({*map(_find_weekday, known)}) >= MIN_WEEKDAYS
            and len({*map(math.floor, known)}) >= MIN_DAYS,
            "time": any(not day.is_integer() for day in known),
        }
        parts = tuple(part for part in PARTS if recurring[part])
        return cls(name, parts, float(math.floor(first)), date_format=date_format)

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the resulting features."""
        names: dict[Part, tuple[str, ...]] = {
            "days": (f"{self.name} days",),
            "season": (f"{self.name} season sin", f"{self.name} season cos"),
            "weekday": tuple(f"{self.name}={day}" for day in WEEKDAYS),
            "time": (f"{self.name} time sin", f"{self.name} time cos"),
        }
        parts = [name for part in self.parts for name in names[part]]
        return *parts, *name_indicator(self.name, self.indicator)

    def encode(self, column: Column, locate: Locate | None = None) -> list[array[float]]:
        """Return the numbers of the parts, each for all rows.

        Raises `DataError` NNM713 if a date is missing without `fill`.
        """
        if column.missing and not self.fill:
            raise missing_cell_error(locate, column)
        missing = {*column.missing}
        rows = [
            self.fill if row in missing else self._encode_day(day)
            for row, day in enumerate(column.numbers or ())
        ]
        width = len(self.features) - self.indicator
        columns = [array("d", [row[index] for row in rows]) for index in range(width)]
        return columns + encode_indicator(column, self.indicator)

    @property
    def field_type(self) -> str:
        """The type of the field of a form that asks for a date."""
        return "datetime-local" if "time" in self.parts else "date"

    def show_date(self, day: float) -> str:
        """Return a date, given as days since 1970, as the value of such a field.

        >>> DateEncoder("day", ("days", "time")).show_date(1.5)
        '1970-01-02T12:00'
        """
        moment = datetime(1970, 1, 1) + timedelta(days=day)
        if "time" in self.parts:
            return moment.isoformat(timespec="minutes")
        return moment.date().isoformat()

    def with_fill(self, shares: Sequence[float]) -> DateEncoder:
        """Return the same encoder with the means of the training rows for missing dates."""
        return replace(self, fill=tuple(shares))

    def _encode_day(self, day: float) -> tuple[float, ...]:
        return tuple(number for part in self.parts for number in self._encode_part(part, day))

    def _encode_part(self, part: Part, day: float) -> tuple[float, ...]:
        if part == "days":
            return (day - self.origin,)
        if part == "weekday":
            weekday = _find_weekday(day)
            return tuple(float(number == weekday) for number in range(7))
        angle = 2 * math.pi * (day / DAYS_OF_YEAR if part == "season" else day % 1)
        return math.sin(angle), math.cos(angle)


def _have_seasons(days: Sequence[float]) -> bool:
    """Return whether dates are from different seasons, not from the same days of each year."""
    angles = [2 * math.pi * day / DAYS_OF_YEAR for day in days]
    return any(
        max(values) - min(values) > MIN_SEASONAL_CHANGE
        for values in ([*map(math.sin, angles)], [*map(math.cos, angles)])
    )


def _find_weekday(day: float) -> int:
    return (math.floor(day) + 3) % 7  # 1970 began on a Thursday


def encoder_to_dict(encoder: DateEncoder) -> dict[str, Any]:
    """Return an encoder as JSON values.

    >>> encoder_to_dict(DateEncoder("day", ("days",), 5.0))
    {'name': 'day', 'dates': 'ymd', 'parts': ['days'], 'origin': 5.0, 'fill': []}
    """
    return {
        "name": encoder.name,
        "dates": encoder.date_format.order,
        "parts": list(encoder.parts),
        "origin": encoder.origin,
        "fill": list(encoder.fill),
        **({"indicator": True} if encoder.indicator else {}),
    }


def encoder_from_dict(record: Mapping[str, Any]) -> DateEncoder:
    """Return the encoder that `encoder_to_dict` described. Raises `ValueError` for another one."""
    parts, fill = tuple(record["parts"]), tuple(map(float, record["fill"]))
    if record["dates"] not in ORDERS or not {*parts} <= {*PARTS}:
        raise ValueError(f"dates in the order {record['dates']!r}, with the parts {parts!r}")
    date_format = DateFormat(record["dates"])
    indicator = bool(record.get("indicator"))
    origin = float(record["origin"])
    encoder = DateEncoder(record["name"], parts, origin, fill, date_format, indicator)
    if fill and len(fill) != len(encoder.features) - indicator:
        raise ValueError(f"{len(fill)} numbers for a missing date")
    return encoder
