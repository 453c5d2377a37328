"""Simple models that a network should beat: a constant, ridge regression, nearest neighbours."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

CONSTANT, LINEAR, NEIGHBOURS = "a constant", "a linear model", "nearest neighbours"

PENALTIES = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
"""The penalties λ of ridge regression, per row, one of which is chosen."""

COUNTS = (1, 2, 3, 5, 8, 13, 20, 32, 50)
"""The numbers of neighbours, one of which is chosen."""

HELD_BACK = 5
"""Every fifth row is held back for these choices."""

MIN_ROWS = 4 * HELD_BACK

Levels = Sequence[float] | None
"""The quantile that each column of the targets is predicted by, None for means."""


def predict_simply(inputs: Any, targets: Any, tested: Any, levels: Levels = None) -> dict[str, Any]:
    """Return what simple models, fitted on some rows, predict for others, by name.

    >>> import numpy as np
    >>> xs = np.arange(40.0).reshape(-1, 1)
    >>> for name, predicted in predict_simply(xs, 2 * xs, np.array([[10.6]])).items():
    ...     print(name, predicted.round(1).tolist())
    a constant [[39.0]]
    a linear model [[21.2]]
    nearest neighbours [[21.0]]

    `inputs` and `tested` are NumPy arrays `[rows, features]`, `targets` are `[rows, columns]`: of
    classes 1 in the column of the class, whose mean is a probability. Inputs should be
    standardised. With `levels`, quantiles are predicted: those of the targets, of the residuals of
    the linear model, of the neighbours. λ and the number of neighbours are chosen on a fifth of the
    rows. Raises `ValueError` for fewer than 20 rows.
    """
    if len(inputs) < MIN_ROWS:
        raise ValueError(f"{len(inputs)} rows, at least {MIN_ROWS} are needed")
    numpy: Any = sys.modules["numpy"]
    constant = _summarize(targets[None], levels)
    return {
        CONSTANT: numpy.repeat(constant, len(tested), 0),
        LINEAR: _predict_linearly(inputs, targets, tested, levels),
        NEIGHBOURS: _predict_by_neighbours(inputs, targets, tested, levels),
    }


def _summarize(values: Any, levels: Levels) -> Any:
    """Return the means, or the quantiles, of `[rows, values, columns]` over axis 1."""
    numpy: Any = sys.modules["numpy"]
    if levels is None:
        return values.mean(1)
    columns = [numpy.quantile(values[:, :, k], level, axis=1) for k, level in enumerate(levels)]
    return numpy.stack(columns, 1)


def _measure_error(predicted: Any, targets: Any, levels: Levels) -> float:
    """Return the mean squared error, or the mean pinball loss of quantiles."""
    rest = targets - predicted
    if levels is None:
        return float((rest * rest).mean())
    numpy: Any = sys.modules["numpy"]
    return float(
        numpy.maximum(numpy.multiply(levels, rest), (numpy.array(levels) - 1) * rest).mean()
    )


def _predict_linearly(inputs: Any, targets: Any, tested: Any, levels: Levels) -> Any:
    numpy: Any = sys.modules["numpy"]
    held: Any = numpy.arange(len(inputs)) % HELD_BACK == 0
    fit = _regress(inputs[~held], targets[~held])
    guesses = [fit(inputs[held], penalty) for penalty in PENALTIES]
    best = min(range(len(PENALTIES)), key=lambda k: _measure_error(guesses[k], targets[held], None))
    predicted = _regress(inputs, targets)(tested, PENALTIES[best])
    if levels is None:
        return predicted
    return predicted + _summarize((targets[held] - guesses[best])[None], levels)


def _regress(inputs: Any, targets: Any) -> Any:
    """Return a function from rows and λ to the predictions of ridge regression."""
    numpy: Any = sys.modules["numpy"]
    middle, level = inputs.mean(0), targets.mean(0)
    centred = inputs - middle
    squares = centred.T @ centred / len(inputs)
    products = centred.T @ (targets - level) / len(inputs)

    def predict(rows: Any, penalty: float) -> Any:
        weights = numpy.linalg.solve(squares + penalty * numpy.eye(len(squares)), products)
        return (rows - middle) @ weights + level

    return predict


def _predict_by_neighbours(inputs: Any, targets: Any, tested: Any, levels: Levels) -> Any:
    numpy: Any = sys.modules["numpy"]
    held: Any = numpy.arange(len(inputs)) % HELD_BACK == 0
    counts = [count for count in COUNTS if count <= len(inputs) // 2]
    near = targets[~held][_find_nearest(inputs[~held], inputs[held], counts[-1])]

    def measure(count: int) -> float:
        return _measure_error(_summarize(near[:, :count], levels), targets[held], levels)

    best = min(counts, key=measure)
    return _summarize(targets[_find_nearest(inputs, tested, best)], levels)


def _find_nearest(points: Any, tested: Any, count: int) -> Any:
    """Return the numbers of the points nearest to each tested one, the nearest first."""
    numpy: Any = sys.modules["numpy"]
    squares = partial(numpy.einsum, "rf,rf->r")
    distances = squares(points, points)[None] - 2 * tested @ points.T
    near = numpy.argpartition(distances, count - 1, axis=1)[:, :count]
    order = numpy.argsort(numpy.take_along_axis(distances, near, 1), axis=1, kind="stable")
    return numpy.take_along_axis(near, order, 1)
