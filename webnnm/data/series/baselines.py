"""Simple forecasts that a model has to beat: last value, last season, linear."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import mul

from webnnm.data.series.season import sum_products

PENALTY = 1.0
"""The ridge penalty on the coefficients of standardised values."""

Segment = tuple[Sequence[float], int]
"""Values of a target, and how many windows of training begin at the first ones."""


def repeat_last(history: Sequence[float], horizon: int) -> list[float]:
    """Return the last value for all steps.

    >>> repeat_last([1.0, 2.0], 2)
    [2.0, 2.0]
    """
    return [history[-1]] * horizon


def repeat_season(history: Sequence[float], horizon: int, season: int) -> list[float]:
    """Return the values of the last season, as often as needed.

    >>> repeat_season([9.0, 1.0, 2.0], 3, 2)
    [1.0, 2.0, 1.0]
    """
    return [history[len(history) - season + step % season] for step in range(horizon)]


@dataclass(frozen=True, slots=True)
class LinearForecast:
    """A linear forecast of every step of the horizon from the values of a window.

    Attributes: `mean` and `scale` of the values; `weights` of the window for each step, and
    `biases`, for standardised values.
    """

    mean: float
    scale: float
    weights: Sequence[Sequence[float]]
    biases: Sequence[float]

    def predict(self, window: Sequence[float]) -> list[float]:
        """Return the forecast of all steps."""
        values = [(value - self.mean) / self.scale for value in window]
        return [
            (sum(map(mul, weights, values)) + bias) * self.scale + self.mean
            for weights, bias in zip(self.weights, self.biases, strict=True)
        ]


def fit_linear(segments: Iterable[Segment], window: int, horizon: int) -> LinearForecast:
    """Fit a ridge regression of the next steps on the window (Hoerl & Kennard 1970).

    >>> fit = fit_linear([([1.0, 2.0] * 10, 18)], 2, 1)
    >>> [round(value, 2) for value in fit.predict([1.0, 2.0])]
    [1.01]

    Targets are those of `horizon` steps; coefficients of standardised values are penalised by 1.
    """
    segments = list(segments)
    size = window + horizon
    flat = [value for values, count in segments for value in values[: count + size - 1]]
    mean = math.fsum(flat) / len(flat)
    scale = math.sqrt(math.fsum([(value - mean) ** 2 for value in flat]) / len(flat)) or 1.0
    products = [[0.0] * size for _ in range(size)]
    sums, rows = [0.0] * size, 0
    for values, count in segments:
        scaled = [(value - mean) / scale for value in values[: count + size - 1]]
        for row, more in zip(products, sum_products(scaled, size, count), strict=True):
            row[:] = [a + b for a, b in zip(row, more, strict=True)]
        sums = [total + math.fsum(scaled[k : k + count]) for k, total in enumerate(sums)]
        rows += count
    means = [total / rows for total in sums]
    centred = [
        [product - rows * means[i] * means[j] for j, product in enumerate(row)]
        for i, row in enumerate(products)
    ]
    matrix = [row[:window] for row in centred[:window]]
    for index in range(window):
        matrix[index][index] += PENALTY
    weights = solve(matrix, [row[:window] for row in centred[window:]])
    biases = [
        means[window + step] - sum(map(mul, some, means)) for step, some in enumerate(weights)
    ]
    return LinearForecast(mean, scale, weights, biases)


def solve(matrix: Sequence[Sequence[float]], right: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return x with Ax = b for each b, of a positive definite matrix, by its Cholesky factor.

    >>> solve([[4.0, 2.0], [2.0, 5.0]], [[2.0, 9.0]])
    [[-0.5, 2.0]]
    """
    lower: list[list[float]] = []
    for i, row in enumerate(matrix):
        own: list[float] = []
        for j in range(i + 1):
            rest = row[j] - sum(map(mul, own, lower[j] if j < i else own))
            own.append(rest / lower[j][j] if j < i else math.sqrt(rest))
        lower.append(own)
    columns = [[row[j] for row in lower[j:]] for j in range(len(lower))]
    results: list[list[float]] = []
    for values in right:
        forward: list[float] = []
        for row, value in zip(lower, values, strict=True):
            forward.append((value - sum(map(mul, row, forward))) / row[-1])
        backward: list[float] = []
        for column, value in zip(reversed(columns), reversed(forward), strict=True):
            backward.insert(0, (value - sum(map(mul, column[1:], backward))) / column[0])
        results.append(backward)
    return results
