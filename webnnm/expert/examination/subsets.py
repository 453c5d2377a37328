"""What is suspicious about testing rows: columns, or a target, that differ from training."""

from __future__ import annotations

import math
from dataclasses import replace
from operator import mul

from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count
from webnnm.core.thinning import thin
from webnnm.data.field import Field
from webnnm.data.preparation.standardize import compute_moments, find_channel_axis
from webnnm.expert.examination.columns import (
    MAX_COMPARED_COLUMNS,
    find_shifts,
    is_standardised_by_hand,
)
from webnnm.expert.examination.dates import date_format
from webnnm.expert.examination.lags import find_lags
from webnnm.expert.examination.neighbours import MIN_ROWS, shift_of_windows
from webnnm.expert.examination.rows import MAX_SAMPLE, Column, Rows
from webnnm.expert.examination.statistics import correlation, effective_size, ranks, residuals
from webnnm.expert.examination.time_order import is_in_time_order
from webnnm.expert.facts.facts import Suspicion

MIN_SHIFT = 1.0
"""Deviations between the means of testing and training; a random split of 20 rows stays below."""

MAX_CHANNELS = 8
"""Up to this many channels of a sequence, or a picture, have their own levels."""

MAX_NUMBERS = 300_000
"""This many numbers are added up for levels."""

MIN_SCALE_RATIO = 5.0
"""If the deviation of testing rows is this many times that of training rows, or vice versa, they
have different scales."""

MIN_STANDARD_ERRORS = 3.0
"""The least number of standard errors, of dependent rows, by which a target is off."""

MIN_TREND = 0.7
"""Rank correlation with time of what columns leave of a target in training: where a drift makes up
most of it, its rows count as one, and no number of standard errors would tell."""

DRIFT_HINT = (
    "Add the cause of the drift as a column, such as the date or a price index, or learn something "
    "that drifts less: the target divided by that index, or its difference from the previous "
    "value; and validate on the rows just before the testing rows."
)

CHANGE_HINT = (
    "Learn the change: subtract the last value of each window{0} from the others{1}; where the "
    "series grows by a share, divide by it. Testing windows then look like training windows."
)
"""What to do with windows over a series that drifts."""

LATER_HINT = (
    "Keep testing on later rows, and give the model columns that drift less: the difference from "
    "the previous row, or the ratio to the mean of the last rows; and retrain it as new rows come."
)
"""What to do with columns that drift in rows in order of time."""

SERIES_HINT = (
    "Learn the change: subtract the last value of each window, and add it to the answer, as "
    'suggest_series_model does; or scale each window by itself: scale="window".'
)
"""The same for a dataset of series, whose rows stay in order of time."""

SCALE_HINT = (
    "Scale testing rows by the mean and deviation of the training rows too, or pass all rows "
    "unscaled and set standardize=True."
)


def find_shift(rows: Rows) -> Suspicion | None:
    """Find columns that differ between testing and training, or else a target that does."""
    if min(len(rows.subsets["testing"]), len(rows.training)) < MIN_ROWS:
        return None
    columns = rows.columns
    if rows.method == "sequential":  # later rows have later dates
        columns = [column for column in columns if not date_format(column, rows)]
    few = limit_rows(rows)
    shifts = (
        find_shifts(rows, MIN_SHIFT, columns)
        if columns
        else find_shifts(few, MIN_SHIFT, find_levels(few))
    )
    if not shifts:
        return find_drift(rows)
    scaled = _has_other_scale(few) or (
        2 * len(shifts) > len(columns) and is_standardised_by_hand(rows)
    )
    names = {shift[0].name for shift in shifts}
    remedy = SCALE_HINT if scaled else _remedy_for_windows(rows, names) or _keep_order(rows, names)
    if rows.series:  # scaled by its training rows already
        remedy = SERIES_HINT
    texts = [
        f"{column.name} has mean {trained:.4g} in training, {tested:.4g} in testing "
        f"({distance:.1f} deviations)"
        for column, trained, tested, distance in shifts
    ]
    return Suspicion("; ".join(texts[:5]), {"columns": len(texts)}, remedy)


def limit_rows(rows: Rows) -> Rows:
    """Return the rows, limited to as many in training and testing as levels are computed of."""
    size = sum(count(values.shape[1:]) for values in rows.inputs.values())
    limit = max(MIN_ROWS, MAX_NUMBERS // max(1, size))
    limited = {name: thin(numbers, limit) for name, numbers in rows.subsets.items()}
    return replace(rows, subsets=limited)


def find_levels(rows: Rows) -> list[Column]:
    """Return the mean of each row where rows are sequences, or pictures; of each of a few
    channels."""
    columns: list[Column] = []
    numbers = [*rows.training, *rows.subsets["testing"]]
    for block, values in rows.inputs.items():
        field = rows.fields[block]
        size = count(field.shape)
        if field.kind != "continuous" or not is_float(values.dtype) or size < 2:
            continue
        flat, units = values.values(), rows.units(block)
        parts = _list_channels(field)
        for channel, part in enumerate(parts):
            scales, offsets = zip(*units[part], strict=True)
            base = math.fsum(offsets)
            levels = [0.0] * len(values)
            for row in numbers:
                own = flat[row * size + part.start : row * size + part.stop : part.step]
                levels[row] = (sum(map(mul, own, scales)) + base) / len(own)
            name = f"channel {channel} of {block}" if len(parts) > 1 else block
            columns.append(Column(f"the mean of {name}", levels))
    return columns


def _list_channels(field: Field) -> list[slice]:
    """Return where the numbers of each channel are in a row; of all together if there are many."""
    size = count(field.shape)
    steps = field.sequence or len(field.shape) == 2
    axis = None if steps else find_channel_axis(field)
    channels = count(field.shape[1:]) if steps else 1 if axis is None else field.shape[axis]
    if not 1 < channels <= MAX_CHANNELS:
        return [slice(0, size, 1)]
    if axis == 0:
        plane = size // channels
        return [slice(first, first + plane, 1) for first in range(0, size, plane)]
    return [slice(channel, size, channels) for channel in range(channels)]


def _has_other_scale(rows: Rows) -> bool:
    """Return whether testing rows are on another scale than training rows."""
    for values in rows.inputs.values():
        size, flat = count(values.shape[1:]), values.values()
        if not is_float(values.dtype):
            continue
        trained, tested = (
            compute_moments(
                [value for row in numbers for value in flat[row * size : (row + 1) * size]]
            )[1]
            for numbers in (rows.training, rows.subsets["testing"])
        )
        if max(trained, tested) > MIN_SCALE_RATIO * min(trained, tested) > 0:
            return True
    return False


def _remedy_for_windows(rows: Rows, names: set[str]) -> str:
    """Return what to do where the columns that moved are a window over a series, else ""."""
    lagged = find_lags(rows)
    if lagged is None and not rows.columns and shift_of_windows(rows) is not None:
        return CHANGE_HINT.format("", ", and from the target if it is the next value")
    if lagged is None or not names <= lagged.names:
        return ""
    latest = f", {lagged.latest}," if lagged.latest else ""
    target = " and from the target, and add it to the answer" if lagged.continued else ""
    return CHANGE_HINT.format(latest, target)


def _keep_order(rows: Rows, names: set[str]) -> str:
    """Return what to do where columns that moved drift with time in the training rows, else ""."""
    if rows.method != "sequential":
        return ""
    moved = [column for column in rows.columns if column.name in names]
    return LATER_HINT * any(is_in_time_order(column.take(rows.training)) for column in moved)


def find_drift(rows: Rows) -> Suspicion | None:
    """Find a target that differs in the last rows, the testing rows, where no column explains it.

    The residuals of a linear model have mean 0 in the training rows. If they are off by a deviation
    of the target in testing, that alone makes a test worse than predicting the mean of its rows.
    """
    target, tested = rows.quantity, rows.subsets["testing"]
    if target is None or rows.method != "sequential":
        return None
    step = -(-len(rows.training) // MAX_SAMPLE)
    trained, tested = rows.training[::step], tested[::step]
    columns, fitted = rows.columns, len(trained)
    if not 0 < len(columns) <= MAX_COMPARED_COLUMNS:
        return None
    if fitted < 2 * len(columns) + MIN_ROWS or len(tested) < MIN_ROWS:
        return None
    both = [*trained, *tested]
    remainders = residuals(target.take(both), [column.take(both) for column in columns], fitted)
    before, after = remainders[:fitted], remainders[fitted:]
    mean, std = compute_moments(target.take(trained))
    off = math.fsum(after) / len(after)
    spread = compute_moments(before)[1]
    memory = effective_size(before) / fitted
    error = spread * math.sqrt(1 / (memory * fitted) + 1 / max(1.0, memory * len(after)))
    if not std or abs(off) < MIN_SHIFT * std:
        return None
    trend = correlation(ranks(before), range(len(before)))
    if abs(off) < MIN_STANDARD_ERRORS * error and trend * off < MIN_TREND * abs(off):
        return None
    now = math.fsum(target.take(tested)) / len(tested)
    return Suspicion(
        f"the target has mean {target.raw(mean):.4g} in training, {target.raw(now):.4g} in testing "
        f"({abs(now - mean) / std:.1f} deviations), and no column explains it",
        {"deviations": off / std},
        DRIFT_HINT,
    )
