"""Reads the rows of a table as the steps of one or more series, in order of time."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, cast, get_args

from webnnm.core.errors import DataError
from webnnm.data.series.timeline import Step, find_gaps, show_time
from webnnm.data.tables.column_reading import Column, read_column, read_dates
from webnnm.data.tables.columns import Table, as_table, get_column_keys
from webnnm.data.tables.date_encoding import DateEncoder
from webnnm.data.tables.date_format import DateFormat
from webnnm.data.tables.encoding import Encoder, NumberEncoder, encode_rows
from webnnm.data.tables.exchange import convert_frame

Missing = Literal["error", "fill", "ignore"]

MISSING: tuple[Missing, ...] = get_args(Missing)

VALUE = "value"
"""The name of the only column of a list of numbers."""

ONLY = ""
"""The id of the only series."""


EACH = Step()
"""The step of rows without times."""

MAX_GAPS = 10
"""How many steps may be missing for each row; more are a mistake in a time."""

CARRIED = 'missing="fill" carries the last value forward'


@dataclass(frozen=True, slots=True)
class SeriesColumns:
    """What the columns of a table are to a series.

    Attributes: `targets`, `past` and `ahead`, the encoders of the columns to predict, of those that
    are known until now, and of those known in advance; `time`, the column of times, with their
    `date_format`, None for numbers; `calendar`, the parts of dates that recur; `step`, from one
    time to the next, None if it varies; `id`, the column that tells series apart.
    """

    targets: tuple[NumberEncoder, ...]
    past: tuple[Encoder, ...] = ()
    ahead: tuple[Encoder, ...] = ()
    time: str = ""
    date_format: DateFormat | None = None
    calendar: DateEncoder | None = None
    step: Step | None = EACH
    id: str = ""

    @property
    def dates(self) -> bool:
        """Whether times are dates."""
        return self.date_format is not None

    def encode_calendar(self, times: Sequence[float]) -> list[array[float]]:
        """Return the recurring parts of dates."""
        if self.calendar is None:
            return []
        return self.calendar.encode(Column(self.time, array("d", times), (), ()))


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a series in order of time, as numbers.

    Attributes: `times`, days since 1970 for dates; `past`, the columns known until now, the targets
    first; `ahead`, those known in advance, which may go on after the end of `past`; `holes`, the
    steps whose targets were missing; `inserted` and `filled`, how many steps and numbers were.
    """

    times: Sequence[float]
    past: Sequence[array[float]]
    ahead: Sequence[array[float]] = ()
    holes: frozenset[int] = field(default=frozenset(), compare=False)
    inserted: int = field(default=0, compare=False)
    filled: int = field(default=0, compare=False)

    @property
    def known(self) -> int:
        """The number of steps whose targets are known."""
        return len(self.past[0])

    def extend(self, targets: Sequence[Sequence[float]], step: Step) -> Steps:
        """Return the series with further targets; other columns of the past keep their last value.

        >>> steps = Steps([1.0, 2.0], [array("d", [5, 6]), array("d", [0, 9])])
        >>> steps.extend([[7.0]], Step()).past
        [array('d', [5.0, 6.0, 7.0]), array('d', [0.0, 9.0, 9.0])]
        """
        count, width = len(targets), len(targets[0])
        fresh = [array("d", column) for column in zip(*targets, strict=True)]
        fresh += [array("d", [column[-1]] * count) for column in self.past[width:]]
        past = [old + new for old, new in zip(self.past, fresh, strict=True)]
        return Steps(continue_times(self.times, step, self.known + count), past, self.ahead)

    def keep_last(self, count: int) -> Steps:
        """Return the last known steps, and what is known in advance of them and after them."""
        first = max(0, self.known - count)
        past, ahead = ([column[first:] for column in side] for side in (self.past, self.ahead))
        return Steps(self.times[first:], past, ahead)


def continue_times(times: Sequence[float], step: Step, length: int) -> Sequence[float]:
    """Return this many times, the last ones by the step."""
    further = range(1, length - len(times) + 1)
    return [*times, *(step.advance(times[-1], count) for count in further)]


def as_series_table(values: Any) -> Table:
    """Return a table; arrays and lists of numbers become columns, dates of an index a column.

    >>> as_series_table([3, 4]).columns, as_series_table([[1, 2], [3, 4]]).names
    (([3, 4],), ('0', '1'))

    Raises `DataError` NNM702 for anything else.
    """
    values = convert_frame(values)
    index: Any = getattr(values, "index", None)
    if get_column_keys(values) is None and hasattr(values, "to_frame"):  # a pandas series
        values = values.to_frame(str(getattr(values, "name", None) or VALUE))
    if str(getattr(index, "dtype", "")).startswith(("datetime64", "period")):
        name = str(getattr(index, "name", None) or "time")
        table, dates = as_table(values), [*map(str, index)]
        return Table((name, *table.names), (dates, *table.columns), table.first_row)
    if hasattr(values, "tolist") and get_column_keys(values) is None:
        values = values.tolist()
    if isinstance(values, (list, tuple)) and values and not isinstance(values[0], Mapping):
        cells = cast("Sequence[Any]", values)
        rows: list[Any] = [row.tolist() if hasattr(row, "tolist") else row for row in cells]
        if not isinstance(rows[0], (list, tuple)):
            return Table((VALUE,), (rows,))
        if len({len(row) for row in rows}) == 1:
            return Table(tuple(map(str, range(len(rows[0])))), tuple(zip(*rows, strict=True)))
    return as_table(values)


def read_steps(table: Table, series: SeriesColumns, missing: Missing) -> dict[str, Steps]:
    """Return the steps of each series by its id.

    Raises `DataError` NNM713 for a time that is missing or occurs twice, and for missing steps and
    numbers unless `missing` allows them; what the encoders raise for other cells.
    """
    times = read_times(table, series)
    columns = [*series.targets, *series.past, *series.ahead]
    gaps = [one.with_fill([math.nan] * len(one.features)) for one in columns]
    matrix = encode_rows(gaps, table)
    flat, width = matrix.values(), matrix.shape[1]
    features = [name for one in columns for name in one.features]
    past_width = width - sum(len(one.features) for one in series.ahead)
    result: dict[str, Steps] = {}
    for name, rows in group_rows(table, series.id).items():
        rows.sort(key=times.__getitem__)
        where = f'series "{name}"' if series.id else "the series"
        own = [times[row] if series.time else float(n) for n, row in enumerate(rows)]
        _check_distinct(where, own, series)
        by_column = [array("d", [flat[row * width + c] for row in rows]) for c in range(width)]
        span = _find_known(by_column[: len(series.targets)])
        if not span:
            raise DataError("NNM705", f"{where} has no step with a target")
        own, by_column = own[span.start :], [column[span.start :] for column in by_column]
        inserted = 0
        if series.step is not None and missing != "ignore":
            own, by_column, inserted = _insert_gaps(where, own, by_column, series, missing)
        end = _find_known(by_column[: len(series.targets)]).stop
        by_column[:past_width] = [column[:end] for column in by_column[:past_width]]
        if past_width == width:
            own = own[:end]
        filled = 0
        target_holes: set[int] = set()
        for index, column in enumerate(by_column):
            holes = [step for step, number in enumerate(column) if number != number]
            if holes and missing == "error":
                at = show_time(own[holes[0]], dates=series.dates)
                raise DataError(
                    "NNM713",
                    f'{where}: "{features[index]}" is missing in {len(holes)} of {len(column)} '
                    f"steps, first at {at}",
                    hint=CARRIED,
                )
            filled += len(holes)
            if index < len(series.targets):
                target_holes |= {*holes}
            _fill(column, holes)
        calendar = series.encode_calendar(own)
        past, ahead = by_column[:past_width], by_column[past_width:]
        result[name] = Steps(
            own,
            past,
            [*ahead, *calendar],
            frozenset(target_holes),
            inserted,
            filled - inserted * width,
        )
    return result


def group_rows(table: Table, id: str) -> dict[str, list[int]]:
    """Return the rows of each series by the cell in the column of ids.

    Raises `DataError` NNM713 for a row without an id.
    """
    if not id:
        return {ONLY: [*range(table.row_count)]}
    index = table.index(id)
    result: dict[str, list[int]] = {}
    cells = table.columns[index]
    for row, name in enumerate(read_column(table, index, False).words):
        cell = cells[row]
        if isinstance(cell, float) and cell.is_integer():  # in pages, 1.0 is the number 1
            name = str(int(cell))
        if not name:
            hint = "give each row the id of its series, or drop the row"
            raise DataError("NNM713", f"{table.place(row, index)} has no id", hint=hint)
        result.setdefault(name, []).append(row)
    return result


def read_times(table: Table, series: SeriesColumns) -> Sequence[float]:
    """Return the time of each row, its number without a column of times."""
    if not series.time:
        return [float(row) for row in range(table.row_count)]
    index = table.index(series.time)
    if series.date_format is not None:
        column = read_dates(table, index, series.date_format)
    else:
        column = read_column(table, index, True)
    if column.missing:
        raise DataError("NNM713", f"{table.place(column.missing[0], index)} has no time")
    return column.numbers or ()


def _check_distinct(where: str, times: Sequence[float], series: SeriesColumns) -> None:
    for a, b in pairwise(times):
        if a == b:
            raise DataError(
                "NNM713",
                f"{where} has two rows at {show_time(a, dates=series.dates)}",
                hint="id= names the column that tells series apart"
                if not series.id
                else "leave one row of each time",
            )


def _find_known(targets: Sequence[array[float]]) -> range:
    """Return the steps from the first to the last with all targets."""
    complete = [step for step, row in enumerate(zip(*targets, strict=True)) if sum(row) == sum(row)]
    return range(complete[0], complete[-1] + 1) if complete else range(0)


def _insert_gaps(
    where: str,
    times: Sequence[float],
    columns: list[array[float]],
    series: SeriesColumns,
    missing: Missing,
) -> tuple[list[float], list[array[float]], int]:
    """Return times and columns with a row of NaN for each missing step, and their number."""
    step = series.step or Step()
    gaps = dict(find_gaps(times, step))
    if gaps and missing == "error":
        index, count = next(iter(gaps.items()))
        raise DataError(
            "NNM713",
            f"{where} lacks {sum(gaps.values())} steps of {step}, the first {count} after "
            f"{show_time(times[index], dates=series.dates)}",
            hint=f'{CARRIED}, missing="ignore" takes rows as they follow',
        )
    if sum(gaps.values()) > MAX_GAPS * len(times):
        index = max(gaps, key=gaps.__getitem__)
        raise DataError(
            "NNM713",
            f"{where} lacks {sum(gaps.values())} steps of {step} between {len(times)} rows, most "
            f"after {show_time(times[index], dates=series.dates)}",
            hint='correct the times, or missing="ignore" takes rows as they follow',
        )
    all_times: list[float] = []
    result = [array("d") for _ in columns]
    for index, time in enumerate(times):
        all_times.append(time)
        for column, values in zip(result, columns, strict=True):
            column.append(values[index])
        for count in range(1, gaps.get(index, 0) + 1):
            all_times.append(step.advance(time, count))
            for column in result:
                column.append(math.nan)
    return all_times, result, sum(gaps.values())


def _fill(column: array[float], holes: Sequence[int]) -> None:
    """Replace missing numbers by the last one before, those at the beginning by the first one.

    >>> column = array("d", [1.0, math.nan, 3.0, math.nan])
    >>> _fill(column, [1, 3]); column
    array('d', [1.0, 1.0, 3.0, 3.0])
    """
    if not holes:
        return
    last = next((number for number in column if number == number), 0.0)
    for step, number in enumerate(column):
        last = number if number == number else last
        column[step] = last
