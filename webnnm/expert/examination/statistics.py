"""The few statistics that an examination of rows needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import mul, sub

DEPENDENT = 1e-4
"""What is left of a column that others combine to, in units of its length: float32 leaves 1e-6."""

MAX_DECIMALS = 6
"""Numbers with more decimals are not rounded, as far as float32 can tell."""


def ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of every value from 0, equal values sharing the mean of theirs.

    >>> ranks([5.0, 1.0, 5.0])
    [1.5, 0.0, 1.5]
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    positions = [0.0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for index in order[first : last + 1]:
            positions[index] = (first + last) / 2
        first = last + 1
    return positions


def normalise(values: Sequence[float]) -> list[float]:
    """Return the deviations from the mean, scaled to a norm of 1; zeros for a constant.

    >>> [round(value, 3) for value in normalise([1.0, 3.0])]
    [-0.707, 0.707]
    """
    mean = math.fsum(values) / len(values)
    deviations = [value - mean for value in values]
    length = math.sqrt(math.fsum(map(mul, deviations, deviations)))
    # Rounding of a constant by float32 is not a variation.
    if length <= 1e-6 * (abs(mean) + 1) * math.sqrt(len(values)):
        return [0.0] * len(values)
    return [value / length for value in deviations]


def correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Pearson's correlation, 0 if one of the two is constant.

    >>> round(correlation([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]), 6)
    -1.0
    """
    return math.fsum(map(mul, normalise(one), normalise(other)))


def combination(
    column: Sequence[float], basis: Sequence[Sequence[float]]
) -> tuple[list[float], list[float], float]:
    """Return the components of a vector along orthonormal ones, the remainder, and its norm.

    >>> combination([3.0, 4.0], [[1.0, 0.0]])
    ([3.0], [0.0, 4.0], 4.0)
    """
    parts: list[float] = []
    rest = list(column)
    for axis in basis:
        part = math.fsum(map(mul, rest, axis))
        parts.append(part)
        rest = list(map(sub, rest, [part * value for value in axis]))
    return parts, rest, math.sqrt(math.fsum(map(mul, rest, rest)))


def orthonormalise(columns: Iterable[Sequence[float]]) -> list[list[float]]:
    """Return orthonormal vectors that span the same space as the centred columns.

    >>> len(orthonormalise([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [5.0, 5.0, 5.0]]))
    1
    """
    basis: list[list[float]] = []
    for column in columns:
        _, rest, length = combination(normalise(column), basis)
        if length > DEPENDENT:
            basis.append([value / length for value in rest])
    return basis


def residuals(
    target: Sequence[float], columns: Iterable[Sequence[float]], fitted: int
) -> list[float]:
    """Return the residuals of a linear model, fitted on the first `fitted` rows, in all rows.

    >>> left = residuals([1.0, 2.0, 3.0, 9.0], [[0.0, 1.0, 2.0, 3.0]], 3)
    >>> [round(value, 3) + 0 for value in left]
    [0.0, 0.0, 0.0, 5.0]
    """
    basis: list[list[float]] = []

    def remove_axes(vector: Sequence[float]) -> tuple[list[float], float]:
        """Return the remainder of a vector, and its norm in the known rows as a share of the
        vector's."""
        mean = math.fsum(vector[:fitted]) / fitted
        rest = [value - mean for value in vector]
        total = math.fsum(map(mul, rest[:fitted], rest))
        for axis in basis:
            part = math.fsum(map(mul, rest[:fitted], axis))
            rest = list(map(sub, rest, [part * value for value in axis]))
        remaining = math.fsum(map(mul, rest[:fitted], rest))
        return rest, math.sqrt(remaining / total) if total else 0.0

    for column in columns:
        rest, share = remove_axes(column)
        if share > DEPENDENT:
            length = math.sqrt(math.fsum(map(mul, rest[:fitted], rest)))
            basis.append([value / length for value in rest])
    return remove_axes(target)[0]


def binomial_tail(hits: int, total: int, chance: float) -> float:
    """Return the probability of as many hits, or more, if each of `total` has a chance of one.

    >>> round(binomial_tail(9, 10, 0.5), 4), binomial_tail(0, 10, 0.0), binomial_tail(1, 10, 0.0)
    (0.0107, 1.0, 0.0)
    """
    if not 0 < chance < 1:
        return float(hits <= total * chance)
    hit, miss = math.log(chance), math.log1p(-chance)
    orders = math.lgamma(total + 1)  # the numbers of orders are too large for a float
    return math.fsum(
        math.exp(
            orders - math.lgamma(n + 1) - math.lgamma(total - n + 1) + n * hit + (total - n) * miss
        )
        for n in range(hits, total + 1)
    )


def effective_size(values: Sequence[float]) -> float:
    """Return the effective number of independent values in a series.

    For n values whose neighbours have a correlation of r it is n(1 − r)/(1 + r), if the correlation
    decays by the same factor at every step.

    >>> effective_size([1.0, -1.0, 1.0, -1.0]), round(effective_size([float(n) for n in range(99)]))
    (4, 1)
    """
    near = max(0.0, correlation(values[1:], values[:-1]))
    return max(1.0, len(values) * (1 - near) / (1 + near)) if near else len(values)


def standard_errors(chance: float) -> float:
    """Return how many standard errors a normal deviation exceeds by chance, on either side.

    >>> round(standard_errors(0.05), 2)
    1.96
    """
    low, high = 0.0, 10.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) > chance else (low, middle)
    return high


def measure_step(values: Sequence[float]) -> float:
    """Return the step of numbers with few decimals, such as 0.01; 0 for all others.

    >>> measure_step([1.25, 3.5, 0.75]), measure_step([1.0, 2.0]), measure_step([math.pi])
    (0.01, 1.0, 0.0)
    """
    largest = max(map(abs, values), default=0.0)
    for decimals in range(MAX_DECIMALS):
        step = 10.0**-decimals
        # float32 has seven digits.
        slack = 1e-3 * step + 1e-6 * largest
        if slack > step / 10:
            break
        if all(abs(value - round(value, decimals)) <= slack for value in values):
            return step
    return 0.0
