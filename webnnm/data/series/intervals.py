"""Margins by which quantile forecasts are corrected, so that their intervals hold."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webnnm.core.arrays import HostArray

MIN_STEP_ROWS = 100
"""With fewer rows than this, all steps of the horizon share their margins."""

MEDIAN = 0.5

ROUNDING = 1e-9
"""Levels that differ by no more are the same."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """What is added to the quantiles of each step of a forecast.

    >>> intervals = Intervals((0.1, 0.5, 0.9), ((-1.0, 0.0, 1.0),))
    >>> intervals.apply(HostArray.of([[[3.0, 4.0, 6.0]]])).tolist()
    [[[2.0, 4.0, 7.0]]]

    Attributes: `levels` of the quantiles; `margins`, `[horizon][levels]`, in the units of the
    forecasts that are corrected.
    """

    levels: tuple[float, ...]
    margins: tuple[tuple[float, ...], ...]

    @property
    def size(self) -> int:
        """How many numbers a forecast has."""
        return len(self.margins) * len(self.levels)

    def apply(self, forecasts: HostArray) -> HostArray:
        """Return forecasts `[rows, horizon, levels]` with the margins added, in ascending order.

        Sorting quantiles that cross makes none of them worse (Chernozhukov et al. 2010).
        """
        values, width, steps = forecasts.values(), len(self.levels), len(self.margins)
        flat = array("d")
        for number, first in enumerate(range(0, len(values), width)):
            own = zip(values[first : first + width], self.margins[number % steps], strict=True)
            flat.extend(sorted(value + margin for value, margin in own))
        return HostArray("float64", forecasts.shape, flat)

    def to_dict(self) -> dict[str, Any]:
        """Return the intervals as JSON values."""
        return {"levels": [*self.levels], "margins": [[*step] for step in self.margins]}


def intervals_from_dict(record: Mapping[str, Any]) -> Intervals:
    """Return the intervals that `Intervals.to_dict` described, else raise `ValueError`."""
    levels = tuple(map(float, record["levels"]))
    margins = tuple(tuple(map(float, step)) for step in record["margins"])
    if not margins or any(len(step) != len(levels) for step in margins):
        raise ValueError(f"margins of {len(levels)} quantiles are {record['margins']!r:.60}")
    if not all(math.isfinite(margin) for step in margins for margin in step):
        raise ValueError("margins are not finite")
    return Intervals(levels, margins)


def pair_levels(levels: Sequence[float]) -> Iterator[tuple[int, int, float]]:
    """Yield the lower and the upper level of each interval by number, and the share within it.

    >>> [(low, high, round(share, 3)) for low, high, share in pair_levels((0.1, 0.5, 0.75, 0.9))]
    [(0, 3, 0.8)]

    The levels of an interval are as far below the median as above it.
    """
    for low, level in enumerate(levels):
        for high in range(low + 1, len(levels)):
            if abs(level + levels[high] - 2 * MEDIAN) < ROUNDING:
                yield low, high, levels[high] - level


def find_median(levels: Sequence[float], quantiles: Sequence[float]) -> float:
    """Return the median of a forecast's quantiles, between two levels by linear interpolation.

    >>> find_median((0.1, 0.5), (3.0, 4.0)), find_median((0.1, 0.9), (3.0, 7.0))
    (4.0, 5.0)

    If all levels lie on one side of the median, it is the nearest quantile.
    """
    above = next((k for k, level in enumerate(levels) if level > MEDIAN - ROUNDING), len(levels))
    if above == len(levels):
        return quantiles[-1]
    if above == 0 or abs(levels[above] - MEDIAN) < ROUNDING:
        return quantiles[above]
    share = (MEDIAN - levels[above - 1]) / (levels[above] - levels[above - 1])
    return quantiles[above - 1] * (1 - share) + quantiles[above] * share


def fit_intervals(
    forecasts: Sequence[float], targets: Sequence[float], levels: Sequence[float], horizon: int
) -> Intervals:
    """Return the margins with which intervals hold their share of the targets.

    >>> fit_intervals([0.0, 0.0] * 9, [*range(9)], (0.1, 0.9), 1).margins
    ((-7.0, 7.0),)

    This is conformalized quantile regression (Romano, Patterson & Candès 2019, equations 6 to 8):
    the margin is the quantile of how far targets lie outside of their interval, negative inside. A
    level without a counterpart on the other side of the median has a margin of its own, by how far
    targets lie beyond it. The median has none: it is the forecast, not the end of an interval.
    `forecasts` are `[rows, horizon, levels]`, `targets` `[rows, horizon]`, of rows that the model
    was not trained on. Each step has its own margins if there are a hundred rows or more.
    """
    width, rows = len(levels), len(targets) // horizon
    margins = [[0.0] * width for _ in range(horizon)]

    def correct(ends: Mapping[int, int], share: float) -> None:
        """Set the margins of levels; the sign of an end says on which side targets are outside."""
        scores = [
            max([sign * (target - forecasts[k * width + at]) for at, sign in ends.items()])
            for k, target in enumerate(targets)
        ]
        for step, own in enumerate(margins):
            chosen = scores[step::horizon] if rows >= MIN_STEP_ROWS else scores
            margin = conformal_quantile(chosen, share, rows)
            for at, sign in ends.items():
                own[at] = sign * margin

    left = {at for at, level in enumerate(levels) if abs(level - MEDIAN) >= ROUNDING}
    for low, high, share in pair_levels(levels):
        correct({low: -1, high: 1}, share)
        left -= {low, high}
    for at in sorted(left):
        sign = 1 if levels[at] > MEDIAN else -1
        correct({at: sign}, max(levels[at], 1 - levels[at]))
    return Intervals((*levels,), tuple(map(tuple, margins)))


def conformal_quantile(scores: Sequence[float], share: float, rows: int) -> float:
    """Return the score that a further one does not exceed with at least this probability.

    >>> conformal_quantile([3.0, 1.0, 2.0, 4.0], 0.8, 4), conformal_quantile([3.0, 1.0], 0.5, 2)
    (4.0, 3.0)

    It is the ⌈(n + 1)·share⌉-th smallest of n; of too few the largest, which may be exceeded.
    Scores of several steps of the same `rows` are not independent: it is that share of them.
    """
    ordered = sorted(scores)
    # (9 + 1)·0.8 is not quite 8 in floating point.
    rank = min(rows, math.ceil((rows + 1) * share - 1e-9))
    return ordered[-(-rank * len(ordered) // rows) - 1]
