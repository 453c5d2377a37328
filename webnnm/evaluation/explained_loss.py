"""The share of a pinball loss that predictions explain, as R² is that of the squared error."""

from __future__ import annotations

import math
from collections.abc import Sequence

from webnnm.core.arrays import HostArray

MEDIAN = 0.5
"""The quantile that the absolute error looks for."""


def measure_explained_loss(
    outputs: HostArray, targets: HostArray, levels: Sequence[float] = (MEDIAN,)
) -> float:
    """Return 1 − Σ ρ(y − ŷ)/Σ ρ(y − q): 1 if all is right, 0 if no better than a constant.

    >>> rows = HostArray.of([[1.0], [2.0], [9.0]])
    >>> measure_explained_loss(HostArray.of([[1.0], [2.0], [5.0]]), rows)
    0.5

    ρ is the pinball loss of a quantile, q the quantile of the targets; for 0.5 it is the absolute
    error and the median (R. Koenker, J. A. F. Machado, 1999, "Goodness of fit and related inference
    processes for quantile regression", equation 7). Arrays are `[rows, …]`, `levels` one quantile
    for all columns, or those along the last dimension. Of targets that are all alike it is 1 if all
    outputs are right, else 0, as R² is.
    """
    rows = targets.shape[0]
    actual, predicted = targets.values(), outputs.values()
    width = len(actual) // rows
    error = reference = 0.0
    for column in range(width):
        level = levels[column % len(levels)]
        ys, guesses = actual[column::width], predicted[column::width]
        quantile = sorted(ys)[min(rows - 1, math.floor(level * rows))]
        error += math.fsum(pinball(y - x, level) for y, x in zip(ys, guesses, strict=True))
        reference += math.fsum(pinball(y - quantile, level) for y in ys)
    return 1 - error / reference if reference else float(error == 0)


def pinball(rest: float, level: float) -> float:
    """Return the loss ρ of a quantile, for a target minus its prediction.

    >>> pinball(2.0, 0.9), pinball(-2.0, 0.75)
    (1.8, 0.5)
    """
    return max(level * rest, (level - 1) * rest)
