"""Maps numbers to normal scores by their quantiles.

The share of training rows below a number is that of a normal distribution below its score: B. L.
van der Waerden, Order tests for the two-sample problem, 1952; scikit-learn has it as
`QuantileTransformer(output_distribution="normal")`.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

MAX_KNOTS = 256
"""Numbers of which the scores are kept; between them, they are interpolated."""


@dataclass(frozen=True, slots=True)
class QuantileMap:
    """A piecewise linear map from numbers to normal scores, and back.

    >>> heights = QuantileMap.fit([0, 0, 10, 20_000])
    >>> [round(score, 2) for score in heights.transform([0, 10, 20_000])]
    [-0.67, 0.32, 1.15]
    >>> [round(number) for number in heights.invert(heights.transform([0, 5000, 90_000]))]
    [0, 5000, 90000]

    Attributes: `numbers`, in ascending order; `scores`, the score of each. Beyond them, the map
    goes on in the direction from the middle to the end, so that it has an inverse everywhere.
    """

    numbers: tuple[float, ...]
    scores: tuple[float, ...]

    @classmethod
    def fit(cls, numbers: Sequence[float]) -> QuantileMap:
        """Fit the map to the numbers of the training rows, at least one.

        The score of a number is Φ⁻¹ of the share of those below it and half of those equal to it.
        """
        from statistics import NormalDist  # which takes a page a while

        ordered = sorted(map(float, numbers))
        last = len(ordered) - 1
        steps = min(last, MAX_KNOTS - 1)
        indices = (round(step * last / max(1, steps)) for step in range(steps + 1))
        knots = [*dict.fromkeys(ordered[index] for index in indices)]
        normal, count = NormalDist(), 2 * len(ordered)
        scores = [
            normal.inv_cdf((bisect_left(ordered, knot) + bisect_right(ordered, knot)) / count)
            for knot in knots
        ]
        return cls(tuple(knots), tuple(scores))

    @property
    def spread(self) -> float:
        """How far the numbers are apart whose scores differ by 1, on average."""
        if len(self.numbers) == 1:
            return 1.0
        return (self.numbers[-1] - self.numbers[0]) / (self.scores[-1] - self.scores[0])

    def transform(self, numbers: Iterable[float]) -> array[float]:
        """Return the scores of numbers."""
        return interpolate(numbers, self.numbers, self.scores)

    def invert(self, scores: Iterable[float]) -> array[float]:
        """Return the numbers that have these scores."""
        return interpolate(scores, self.scores, self.numbers)


def maps_to_lists(maps: Sequence[QuantileMap | None]) -> list[list[list[float]] | None]:
    """Return the numbers and scores of maps as JSON values.

    >>> maps_to_lists([None, QuantileMap((5.0,), (0.0,))])
    [None, [[5.0], [0.0]]]
    """
    return [None if one is None else [[*one.numbers], [*one.scores]] for one in maps]


def maps_from_lists(lists: Sequence[Any]) -> tuple[QuantileMap | None, ...]:
    """Return the maps that `maps_to_lists` described.

    Raises `ValueError` unless numbers and scores are finite and in ascending order.
    """
    maps: list[QuantileMap | None] = []
    for one in lists:
        knots = None if one is None else [tuple(map(float, side)) for side in one]
        if knots is not None and not _are_knots(knots):
            raise ValueError("its quantiles are impossible")
        maps.append(None if knots is None else QuantileMap(*knots))
    return tuple(maps)


def _are_knots(sides: Sequence[tuple[float, ...]]) -> bool:
    return (
        len(sides) == 2
        and len(sides[0]) == len(sides[1]) > 0
        and all(map(math.isfinite, chain(*sides)))
        and all(a < b for side in sides for a, b in pairwise(side))
    )


def interpolate(values: Iterable[float], xs: Sequence[float], ys: Sequence[float]) -> array[float]:
    """Return the values of the piecewise linear function through the points (x, y).

    >>> list(interpolate([0, 1.5, 5], [1, 2, 3], [10, 20, 40]))
    [0.0, 15.0, 80.0]
    """
    last = len(xs) - 1
    low, high = max(min(1, last), len(xs) // 2), min(max(0, last - 1), len(xs) // 2)
    result = array("d")
    for value in values:
        index = bisect_right(xs, value) - 1
        if index < 0:
            start, first, second = 0, 0, low
        elif index >= last:
            start, first, second = last, high, last
        else:
            start, first, second = index, index, index + 1
        slope = (ys[second] - ys[first]) / (xs[second] - xs[first]) if last else 1.0
        result.append(ys[start] + (value - xs[start]) * slope)
    return result
