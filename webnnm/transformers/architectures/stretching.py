"""Weights by which a line of cells becomes longer or shorter, as matrices `[old, new]`.

Sources: R. Keys, "Cubic convolution interpolation for digital image processing", IEEE Transactions
on Acoustics, Speech and Signal Processing 29 (1981).
"""

from __future__ import annotations

import math

from webnnm.core.arrays import HostArray
from webnnm.transformers.architectures.model_text import layers

Grid = tuple[int, int]
"""Rows and columns of patches."""

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


def declare_stretching(block: str, table: Grid, grid: Grid) -> tuple[str, str]:
    """Return the statements of the matrices that bring a table from its grid to another one."""
    return (
        f"{block}:param stretch_down shape=[{table[0]}, {grid[0]}] trainable=false",
        f"{block}:param stretch_across shape=[{table[1]}, {grid[1]}] trainable=false",
    )


def write_stretching(table: Grid, grid: Grid, width: int, after: int = 0) -> str:
    """Return the statement of the block `stretch_table`: the rows of `table=` for another grid.

    Its first row is that of a class, and the last ones, of which `after` is the number, are those
    of other tokens: they stay as they are.
    """
    height, across = table
    parts = f"1, {height * across}, {after}" if after else f"1, {height * across}"
    rows = layers(
        f"split([{parts}], node=table, axis=0, name=part)",
        f"reshape([{height}, {across}, {width}], node=part.1)",
        "transpose([2, 1, 0])",
        "matmul(stretch_down)",
        "transpose([0, 2, 1])",
        "matmul(stretch_across)",
        f"reshape([{width}, {grid[0] * grid[1]}])",
        "transpose([1, 0], name=stretched)",
        f"concat([part.0, stretched{', part.2' if after else ''}], axis=0)",
    )
    return f"stretch_table:layers\n{rows}"


def stretching_constants(table: Grid, grid: Grid) -> dict[str, HostArray]:
    """Return the values of the matrices."""
    pairs = zip(("down", "across"), table, grid, strict=True)
    return {f"stretch_{name}": stretch_cubic(old, new) for name, old, new in pairs}


def _cubic(distance: float) -> float:
    a, x = SHARPNESS, distance
    if x <= 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return a * (((x - 5) * x + 8) * x - 4)
