"""The few statistics that an examination of rows takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul, sub


def ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of every value from 0, equal values sharing the mean of theirs.

    >>> ranks([5.0, 1.0, 5.0])
    [1.5, 0.0, 1.5]
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for place in order[first : last + 1]:
            found[place] = (first + last) / 2
        first = last + 1
    return found


def unit(values: Sequence[float]) -> list[float]:
    """Return the deviations from the mean, brought to a length of 1; zeros for a constant.

    >>> [round(value, 3) for value in unit([1.0, 3.0])]
    [-0.707, 0.707]
    """
    mean = math.fsum(values) / len(values)
    apart = [value - mean for value in values]
    length = math.sqrt(math.fsum(map(mul, apart, apart)))
    # What float32 leaves of a constant is no variation.
    if length <= 1e-6 * (abs(mean) + 1) * math.sqrt(len(values)):
        return [0.0] * len(values)
    return [value / length for value in apart]


def correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Pearson's correlation, 0 where one of both is constant.

    >>> round(correlation([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]), 6)
    -1.0
    """
    return math.fsum(map(mul, unit(one), unit(other)))


def combination(
    column: Sequence[float], basis: Sequence[Sequence[float]]
) -> tuple[list[float], float]:
    """Return the parts of a vector along orthonormal ones, and the length of what is left.

    >>> combination([3.0, 4.0], [[1.0, 0.0]])
    ([3.0], 4.0)
    """
    parts: list[float] = []
    rest = list(column)
    for axis in basis:
        part = math.fsum(map(mul, rest, axis))
        parts.append(part)
        rest = list(map(sub, rest, [part * value for value in axis]))
    return parts, math.sqrt(math.fsum(map(mul, rest, rest)))
