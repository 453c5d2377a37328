"""Finds the length of the season of a series by its autocorrelation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from operator import mul

MAX_STEPS = 4000
"""Of longer series the last steps decide."""

MAX_SEASON = 400

MIN_SEASONS = 2.5
"""A season must have been seen so often."""

MIN_CORRELATION = 0.3

NEARLY = 0.9
"""The shortest of several seasons whose correlation is nearly the highest is the season."""


def find_season(values: Sequence[float]) -> int | None:
    """Return after how many steps a series resembles itself, None without a season.

    >>> find_season([0.0, 1.0, 4.0, 2.0] * 6), find_season([float(step) for step in range(40)])
    (4, None)

    A season is a peak of the autocorrelation, after the trend, of at least 0.3.
    """
    values = remove_trend(values[-MAX_STEPS:])
    longest = min(MAX_SEASON, int(len(values) / MIN_SEASONS))
    correlations = [correlate(values, lag) for lag in range(longest + 2)]
    peaks = [
        lag
        for lag in range(2, longest + 1)
        if correlations[lag] >= MIN_CORRELATION
        and correlations[lag - 1] <= correlations[lag] >= correlations[lag + 1]
        and min(correlations[:lag]) < correlations[lag] - MIN_CORRELATION / 2
    ]
    highest = max([correlations[lag] for lag in peaks], default=0.0)
    return next((lag for lag in peaks if correlations[lag] >= NEARLY * highest), None)


def remove_trend(values: Sequence[float]) -> list[float]:
    """Return the distances of values from the line through them.

    >>> remove_trend([1.0, 2.0, 3.0])
    [0.0, 0.0, 0.0]
    """
    count = len(values)
    if not count:
        return []
    middle, mean = (count - 1) / 2, math.fsum(values) / count
    spread = math.fsum([(step - middle) ** 2 for step in range(count)]) or 1.0
    slope = math.fsum([(step - middle) * value for step, value in enumerate(values)]) / spread
    return [value - mean - slope * (step - middle) for step, value in enumerate(values)]


def correlate(values: Sequence[float], lag: int) -> float:
    """Return the autocorrelation of values of mean 0, corrected for the steps that it lacks."""
    variance = sum(map(mul, values, values))
    if lag >= len(values) or not variance:
        return 0.0
    overlap = len(values) - lag
    return sum(map(mul, values, values[lag:])) / variance * len(values) / overlap


def average_change(values: Sequence[float], season: int) -> float:
    """Return the mean absolute difference of values one season apart, NaN for too few.

    >>> average_change([1.0, 3.0, 6.0], 1)
    2.5
    """
    changes = [abs(b - a) for a, b in zip(values, values[season:], strict=False)]
    return math.fsum(changes) / len(changes) if changes else math.nan


def sum_products(values: Sequence[float], size: int, count: int) -> list[list[float]]:
    """Return Σ xᵢxⱼ over `count` windows of `size` values, each beginning one step later.

    >>> sum_products([1.0, 2.0, 3.0], 2, 2)
    [[5.0, 8.0], [8.0, 13.0]]
    """
    result = [[0.0] * size for _ in range(size)]
    for lag in range(size):
        sums = [0.0, *accumulate(map(mul, values, values[lag:]))]
        for first in range(size - lag):
            total = sums[first + count] - sums[first]
            result[first][first + lag] = result[first + lag][first] = total
    return result
