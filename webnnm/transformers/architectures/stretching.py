"""Weights by which a line of cells becomes longer or shorter, as matrices `[old, new]`.

Sources: R. Keys, "Cubic convolution interpolation for digital image processing", IEEE Transactions
on Acoustics, Speech and Signal Processing 29 (1981).
"""

from __future__ import annotations

import math

from webnnm.core.arrays import HostArray

SHARPNESS = -0.75
"""The slope of the cubic kernel at distance 1."""


def stretch_linear(old: int, new: int) -> HostArray:
    """Return weights of linear interpolation that keep the first and the last cell in place.

    >>> stretch_linear(2, 3).tolist()
    [[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]]
    """
    rows = [[0.0] * new for _ in range(old)]
    for cell in range(new):
        position = cell * (old - 1) / (new - 1) if new > 1 else 0.0
        first = min(int(position), old - 1)
        share = position - first
        rows[first][cell] += 1 - share
        rows[min(first + 1, old - 1)][cell] += share
    return HostArray.of(rows, "float32", [old, new])


def stretch_cubic(old: int, new: int) -> HostArray:
    """Return weights of cubic interpolation between the centres of cells, without antialiasing."""
    rows = [[0.0] * new for _ in range(old)]
    for cell in range(new):
        position = (cell + 0.5) * old / new - 0.5
        first = math.floor(position)
        for neighbour in range(first - 1, first + 3):
            rows[min(max(neighbour, 0), old - 1)][cell] += _cubic(abs(position - neighbour))
    return HostArray.of(rows, "float32", [old, new])


def _cubic(distance: float) -> float:
    a, x = SHARPNESS, distance
    if x <= 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return a * (((x - 5) * x + 8) * x - 4)
