"""Scales windows by the level of their own series, so that large and small ones look alike."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from webnnm.core.arrays import HostArray
from webnnm.data.preparation.standardize import compute_moments

Scaling = Literal["all", "series", "window"]
"""Whose mean and deviation scale a window: those of all series, of its own, or of the window."""

OWN_SCALES: tuple[Scaling, ...] = ("series", "window")

Level = tuple[float, float]
"""The mean and the deviation of a channel."""

Levels = tuple[Level, ...]

MIN_DEVIATION = 0.01
"""The least deviation of a window, as a share of that of its series."""

ROUNDING = 1e-12
"""Deviations below this share of the mean are rounding errors of a constant."""


def measure_level(values: Sequence[float]) -> Level:
    """Return mean and standard deviation; of a constant its size, or 1, as the deviation.

    >>> measure_level([1.0, 3.0]), measure_level([4.0, 4.0]), measure_level([0.0])
    ((2.0, 1.0), (4.0, 4.0), (0.0, 1.0))
    """
    mean, deviation = compute_moments(values)
    return mean, deviation if deviation > ROUNDING * abs(mean) else abs(mean) or 1.0


def choose_level(values: Sequence[float], known: Level | None, scaling: Scaling) -> Level:
    """Return the level that scales the values of a window.

    >>> choose_level([1.0, 3.0], (0.0, 5.0), "series"), choose_level([1.0, 3.0], None, "series")
    ((0.0, 5.0), (2.0, 1.0))

    `known` is that of the series in training, None for another series: its window is scaled by
    itself. A window that is all but constant is scaled by a share of the deviation of its series.
    """
    if scaling == "series" and known is not None:
        return known
    if known is None:
        return measure_level(values)
    mean, deviation = compute_moments(values)
    return mean, max(deviation, MIN_DEVIATION * known[1])


def scale_windows(
    windows: HostArray,
    channels: Sequence[int],
    known: Sequence[Levels | None],
    scaling: Scaling,
) -> tuple[HostArray, list[Levels]]:
    """Return windows `[rows, window, channels]` with some channels scaled, and their levels.

    >>> scale_windows(HostArray.of([[[5.0], [9.0]]]), [0], [None], "window")[0].tolist()
    [[[-1.0], [1.0]]]

    `known` are the levels of the series of each row, None for a series that was not in training.
    """
    flat = array("d", windows.values())
    _, width, count = windows.shape
    size = width * count
    levels: list[Levels] = []
    for row, own in enumerate(known):
        applied: list[Level] = []
        for index, channel in enumerate(channels):
            part = slice(row * size + channel, (row + 1) * size, count)
            values = flat[part]
            mean, deviation = choose_level(values, own[index] if own else None, scaling)
            flat[part] = array("d", [(value - mean) / deviation for value in values])
            applied.append((mean, deviation))
        levels.append(tuple(applied))
    return HostArray("float64", windows.shape, flat), levels


def scale_steps(values: HostArray, levels: Sequence[Levels], columns: int) -> HostArray:
    """Return what follows each window `[rows, steps, …]`, scaled by the level of its row.

    >>> scale_steps(HostArray.of([[9.0, 13.0]]), [((7.0, 2.0),)], 1).tolist()
    [[1.0, 3.0]]

    Each step has values of `columns` targets, or of a single target several times.
    """
    pairs = _repeat_levels(values, levels, columns)
    flat = [(value - mean) / deviation for value, (mean, deviation) in pairs]
    return HostArray("float64", values.shape, array("d", flat))


def unscale_steps(values: HostArray, levels: Sequence[Levels], columns: int) -> HostArray:
    """Return the inverse of `scale_steps`.

    >>> unscale_steps(HostArray.of([[1.0, 3.0]]), [((7.0, 2.0),)], 1).tolist()
    [[9.0, 13.0]]
    """
    pairs = _repeat_levels(values, levels, columns)
    flat = [value * deviation + mean for value, (mean, deviation) in pairs]
    return HostArray("float64", values.shape, array("d", flat))


def _repeat_levels(values: HostArray, levels: Sequence[Levels], columns: int) -> Any:
    """Return each value with the level of its row and target."""
    size = len(values.values()) // len(levels)
    every = [
        row[index % columns] if columns > 1 else row[0] for row in levels for index in range(size)
    ]
    return zip(values.values(), every, strict=True)


def read_levels(record: Any) -> Mapping[str, Levels]:
    """Return the levels by series that a snapshot holds, else raise `ValueError`."""
    result = {
        str(name): tuple((float(mean), float(deviation)) for mean, deviation in levels)
        for name, levels in cast("Mapping[str, Any]", record).items()
    }
    for name, levels in result.items():
        if not all(math.isfinite(mean) and 0 < std < math.inf for mean, std in levels):
            raise ValueError(f'series "{name}" has the levels {levels!r:.60}')
    return result
