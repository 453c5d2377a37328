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


def wilson(share: float, rows: int, z: float = 1.96) -> tuple[float, float]:
    """Return the 95 % confidence interval of a share that was measured on some rows (Wilson 1927).

    >>> [round(limit, 2) for limit in wilson(0.9, 10)]
    [0.6, 0.98]
    """
    middle = (share + z * z / (2 * rows)) / (1 + z * z / rows)
    half = z * math.sqrt(share * (1 - share) / rows + (z / (2 * rows)) ** 2) / (1 + z * z / rows)
    return max(0.0, middle - half), min(1.0, middle + half)


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
