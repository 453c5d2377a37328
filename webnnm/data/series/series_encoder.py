"""Turns the steps of a series into windows: what a model of a series gets and predicts."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from webnnm.core.arrays import HostArray, concatenate
from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.data.series.levels import (
    OWN_SCALES,
    Levels,
    Scaling,
    read_levels,
    scale_windows,
    unscale_steps,
)
from webnnm.data.series.steps import (
    MISSING,
    Missing,
    SeriesColumns,
    Steps,
    as_series_table,
    continue_times,
    read_steps,
)
from webnnm.data.series.timeline import MAX_DAYS, UNITS, Step, show_time
from webnnm.data.tables.columns import Table
from webnnm.data.tables.date_encoding import DateEncoder
from webnnm.data.tables.date_format import ORDERS, DateFormat
from webnnm.data.tables.encoding import Encoder, LabelEncoder, NumberEncoder, from_dict, to_dict

MAX_STEPS = 100_000
"""The most steps of a window, and of what is predicted."""


@dataclass(frozen=True, slots=True)
class SeriesEncoder(SeriesColumns):
    """How the rows of a table become windows `[window, channels]` of a series.

    >>> encoder = SeriesEncoder((NumberEncoder("value"),), window=2, horizon=1)
    >>> encoder.encode([1, 2, 3]).tolist()
    [[[2.0], [3.0]]]

    Attributes: those of `SeriesColumns`; `window` and `horizon`, steps back and ahead; `missing`,
    what becomes of missing steps; `quantiles`, the levels that are predicted, none for the mean;
    `recent`, the last window of each series; `order`, the columns as the training's table had them;
    `scaling`, whose mean and deviation scale a window, and `levels`, those of each series in
    training, of its `scaled` channels.

    Channels are targets, past, ahead, calendar. What is known in advance is that of `horizon` steps
    later: the last `horizon` positions of a window hold that of the steps to predict.
    """

    window: int = 1
    horizon: int = 1
    missing: Missing = "error"
    quantiles: tuple[float, ...] = ()
    recent: Mapping[str, Steps] = field(default_factory=dict[str, Steps])
    order: tuple[str, ...] = ()
    scaling: Scaling = "all"
    levels: Mapping[str, Levels] = field(default_factory=dict[str, Levels])

    @property
    def scaled(self) -> list[int]:
        """The channels that have a level: columns of numbers that are known until now."""
        encoders = [
            (encoder, channel)
            for encoder in (*self.targets, *self.past)
            for channel in range(len(encoder.features))
        ]
        return [at for at, (one, _) in enumerate(encoders) if isinstance(one, NumberEncoder)]

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the channels."""
        encoders = [*self.targets, *self.past, *self.ahead]
        encoders += [self.calendar] if self.calendar else []
        return tuple(name for encoder in encoders for name in encoder.features)

    @property
    def columns(self) -> list[str]:
        """The names of the columns that rows must have, in the order of lists of cells."""
        names = [one.name for one in (*self.targets, *self.past, *self.ahead)]
        every = [*filter(None, (self.id, self.time)), *names]
        return [*self.order] if sorted(self.order) == sorted(every) else every

    def is_history(self, rows: Any) -> bool:
        """Return whether something is the rows of a series, not an array of windows.

        >>> encoder = SeriesEncoder((NumberEncoder("value"),), window=2)
        >>> encoder.is_history([1, 2, 3]), encoder.is_history([[[1], [2]], [[2], [3]]])
        (True, False)
        """
        shape = getattr(rows, "shape", None)
        if shape is not None and getattr(rows, "columns", None) is None:
            return len(shape) == 1 or tuple(shape[1:]) == (len(self.columns),) != (self.window,)
        if not isinstance(rows, (list, tuple)) or not rows or isinstance(rows[0], Mapping):
            return True
        return not isinstance(rows[0], (list, tuple)) or len(rows[0]) == len(self.columns) > 1

    def read(self, rows: Any) -> dict[str, Steps]:
        """Return the steps of rows of a table, by the id of their series.

        Rows need the columns of the training; lists of cells have them in order. Raises `DataError`
        NNM705 for fewer steps than a window, and what `read_steps` raises.
        """
        by_id = read_steps(self.as_table(rows), self, self.missing)
        for name, steps in by_id.items():
            if steps.known < self.window:
                where = f'series "{name}"' if self.id else "the series"
                raise DataError(
                    "NNM705",
                    f"{where} has {steps.known} steps, the model looks back {self.window}",
                    hint=f"give at least the {self.window} most recent rows",
                )
        return by_id

    def as_table(self, rows: Any) -> Table:
        """Return rows as a table; columns without names have those of the training, in order."""
        table = as_series_table(rows)
        if len(table.columns) == len(self.columns) and not {*self.columns} & {*table.names}:
            return Table(tuple(self.columns), table.columns, table.first_row)
        return table

    def encode(self, rows: Any) -> HostArray:
        """Return the last window of each series in rows of a table, float64 `[series, …]`."""
        by_id = self.read(rows)
        return self.scale(concatenate([*map(self.make_window, by_id.values())]), [*by_id])[0]

    def scale(self, windows: HostArray, ids: Sequence[str]) -> tuple[HostArray, list[Levels]]:
        """Return windows of these series as the model gets them, and the levels of their targets.

        Without a scaling of their own they are as they were. A series that was not in training is
        scaled by its window.
        """
        if self.scaling == "all":
            return windows, []
        of_series = [self.levels.get(id) for id in ids]
        scaled, levels = scale_windows(windows, self.scaled, of_series, self.scaling)
        return scaled, [one[: len(self.targets)] for one in levels]

    @property
    def has_own_levels(self) -> bool:
        """Whether windows are scaled by levels that differ from series to series."""
        return self.scaling == "series" and len({*self.levels.values()}) > 1

    def unscale(self, forecasts: HostArray, levels: Sequence[Levels]) -> HostArray:
        """Return forecasts in the units of the data; `levels` are those that `scale` returned."""
        return unscale_steps(forecasts, levels, len(self.targets)) if levels else forecasts

    def make_window(self, steps: Steps) -> HostArray:
        """Return the window that ends with the last known step, float64 `[1, window, channels]`.

        Raises `DataError` NNM705 if what is known in advance ends before the horizon.
        """
        end = steps.known
        times = continue_times(steps.times, self.step or Step(), end + self.horizon)
        short = [column for column in steps.ahead if len(column) < end + self.horizon]
        ahead = [*steps.ahead]
        if short:
            width = sum(len(one.features) for one in self.ahead)
            if any(len(column) < end + self.horizon for column in ahead[:width]):
                names = ", ".join(one.name for one in self.ahead)
                raise DataError(
                    "NNM705",
                    f"{names}: known in advance, but not given for "
                    f"{show_time(times[min(map(len, ahead[:width]))], dates=self.dates)}",
                    hint=f"add {self.horizon} rows for the steps to predict, with empty targets",
                )
            ahead[width:] = self.encode_calendar(times)
        return stack_windows(self, Steps(times, steps.past, ahead), range(end - 1, end))

    def keep_recent(self, by_id: Mapping[str, Steps]) -> SeriesEncoder:
        """Return the encoder with the end of each series, from which `predict` continues them.

        Series shorter than a window cannot be continued and are left out.
        """
        long = {name: steps for name, steps in by_id.items() if steps.known >= self.window}
        recent = {name: steps.keep_last(self.window) for name, steps in long.items()}
        return replace(self, recent=recent)


def stack_windows(encoder: SeriesEncoder, steps: Steps, ends: Sequence[int]) -> HostArray:
    """Return the windows whose last steps are these, float64 `[windows, window, channels]`."""
    width, horizon = encoder.window, encoder.horizon
    shifted = [(column, 0) for column in steps.past] + [(column, horizon) for column in steps.ahead]
    flat = array("d", bytes(8 * len(ends) * width * len(shifted)))
    size = width * len(shifted)
    for row, end in enumerate(ends):
        for channel, (column, shift) in enumerate(shifted):
            values = column[end + 1 - width + shift : end + 1 + shift]
            flat[row * size + channel : (row + 1) * size : len(shifted)] = values
    return HostArray("float64", (len(ends), width, len(shifted)), flat)


def stack_steps(encoder: SeriesEncoder, steps: Steps, levels: Levels | None = None) -> HostArray:
    """Return steps, float64 `[steps, channels]`, of which consecutive ones are a window.

    What is known in advance stands `horizon` steps earlier, as in windows. With `levels`, the
    channels that have one are scaled.
    """
    columns = [*steps.past]
    for channel, (mean, deviation) in zip(encoder.scaled, levels or (), strict=False):
        scaled = [(value - mean) / deviation for value in columns[channel]]
        columns[channel] = array("d", scaled)
    for column in steps.ahead:
        later = column[encoder.horizon : encoder.horizon + steps.known]
        columns.append(later + array("d", bytes(8 * (steps.known - len(later)))))
    flat = array("d", bytes(8 * steps.known * len(columns)))
    for channel, column in enumerate(columns):
        flat[channel :: len(columns)] = column
    return HostArray("float64", (steps.known, len(columns)), flat)


def stack_targets(encoder: SeriesEncoder, steps: Steps, ends: Sequence[int]) -> HostArray:
    """Return what follows these steps, float64 `[windows, horizon, …]`."""
    columns, horizon = [*steps.past[: len(encoder.targets)]], encoder.horizon
    columns *= len(encoder.quantiles) or 1
    flat = array(
        "d",
        [column[end + k] for end in ends for k in range(1, horizon + 1) for column in columns],
    )
    shape = (len(ends), horizon, len(columns))
    several = len(columns) > 1 or encoder.quantiles
    return HostArray("float64", shape if several else shape[:2], flat)


def encoder_to_dict(encoder: SeriesEncoder) -> dict[str, Any]:
    """Return an encoder as JSON values.

    >>> encoder_to_dict(SeriesEncoder((NumberEncoder("value"),), window=2))["window"]
    2
    """
    step, calendar = encoder.step, encoder.calendar
    return {
        "targets": [to_dict(one) for one in encoder.targets],
        "past": [to_dict(one) for one in encoder.past],
        "ahead": [to_dict(one) for one in encoder.ahead],
        "window": encoder.window,
        "horizon": encoder.horizon,
        "time": encoder.time,
        "dates": encoder.date_format and encoder.date_format.order,
        "calendar": calendar and to_dict(calendar),
        "step": step and [step.unit, step.size],
        "id": encoder.id,
        "missing": encoder.missing,
        "quantiles": [*encoder.quantiles],
        "columns": encoder.columns,
        "scaling": encoder.scaling,
        "levels": {id: [[*one] for one in levels] for id, levels in encoder.levels.items()},
        "recent": {
            name: {
                "times": [*steps.times],
                "past": [[*column] for column in steps.past],
                "ahead": [[*column] for column in steps.ahead],
            }
            for name, steps in encoder.recent.items()
        },
    }


def encoder_from_dict(record: Mapping[str, Any]) -> SeriesEncoder:
    """Return the encoder that `encoder_to_dict` described. Raises `ValueError` for another one."""
    window, horizon = record["window"], record["horizon"]
    order, calendar, step = record["dates"], record["calendar"], record["step"]
    missing = record["missing"]
    sizes = all(is_integer(size) and 1 <= size <= MAX_STEPS for size in (window, horizon))
    if not sizes or missing not in MISSING or order not in (None, *ORDERS):
        raise ValueError(f"windows of {window} and {horizon} steps, missing {missing!r}")
    levels = tuple(map(float, record["quantiles"]))
    if not are_levels(levels):
        raise ValueError(f"quantiles of {levels}")
    parts = calendar and from_dict(calendar)
    encoder = SeriesEncoder(
        tuple(map(_read_number_encoder, record["targets"])),
        tuple(map(_read_encoder, record["past"])),
        tuple(map(_read_encoder, record["ahead"])),
        str(record["time"]),
        None if order is None else DateFormat(order),
        parts if isinstance(parts, DateEncoder) else None,
        None if step is None else _read_step(step),
        str(record["id"]),
        window,
        horizon,
        missing,
        levels,
        {name: _read_recent(one) for name, one in record["recent"].items()},
        tuple(map(str, record.get("columns", ()))),
        record.get("scaling", "all"),
        read_levels(record.get("levels", {})),
    )
    if encoder.scaling not in ("all", *OWN_SCALES):
        raise ValueError(f"windows are scaled by {encoder.scaling!r}")
    if any(len(levels) != len(encoder.scaled) for levels in encoder.levels.values()):
        raise ValueError(f"levels are not of {len(encoder.scaled)} channels")
    width = len(encoder.features)
    for steps in encoder.recent.values():
        columns = [*steps.past, *steps.ahead]
        if len(columns) != width or not steps.past or len(steps.times) < steps.known:
            raise ValueError(f"the end of a series has {len(columns)} columns of {width}")
        lengths = {len(column) for column in steps.past}
        if lengths != {window} or any(len(column) < window for column in steps.ahead):
            raise ValueError(f"the end of a series has {lengths} steps, not {window}")
        if not all(map(math.isfinite, chain(steps.times, *columns))):
            raise ValueError("the end of a series has numbers that are not finite")
        if encoder.dates and max(map(abs, steps.times)) > MAX_DAYS:
            raise ValueError("the end of a series has times that are no dates")
    return encoder


def are_levels(levels: Sequence[float]) -> bool:
    """Return whether numbers are levels of quantiles: from 0 to 1, in ascending order.

    >>> are_levels([0.1, 0.5]), are_levels([0.5, 0.1]), are_levels([])
    (True, False, True)
    """
    return [*levels] == sorted({*levels}) and all(0 < level < 1 for level in levels)


def _read_step(record: Any) -> Step:
    step = Step(*record) if isinstance(record, list) and len(record) == 2 else None
    if step is None or step.unit not in UNITS or type(step.size) not in (int, float):
        raise ValueError(f"steps of {record!r}")
    if not step.is_sound:
        raise ValueError(f"steps of {record!r}")
    return replace(step, size=float(step.size))


def _read_recent(record: Mapping[str, Any]) -> Steps:
    past, ahead = ([array("d", column) for column in record[key]] for key in ("past", "ahead"))
    return Steps([*map(float, record["times"])], past, ahead)


def _read_encoder(record: Mapping[str, Any]) -> Encoder:
    encoder = from_dict(record)
    if isinstance(encoder, LabelEncoder):
        raise ValueError(f"{encoder.name} is not a feature")
    return encoder


def _read_number_encoder(record: Mapping[str, Any]) -> NumberEncoder:
    encoder = from_dict(record)
    if not isinstance(encoder, NumberEncoder):
        raise ValueError(f"{encoder.name} is not a number")
    return encoder
