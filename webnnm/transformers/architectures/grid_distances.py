"""How far the cells of a grid are apart: rows of tables with a bias of attention for each distance.

Source: Z. Liu et al., "Swin transformer: hierarchical vision transformer using shifted windows",
arXiv:2103.14030 (2021), section 3.2; with a token for the whole picture: H. Bao et al., "BEiT",
arXiv:2106.08254 (2021).
"""

from __future__ import annotations

from webnnm.core.arrays import HostArray

Grid = tuple[int, int]
MAX_CELLS = 1 << 11
"""The most cells of a grid: a table of pairs has the square of it."""


def count_distances(grid: Grid, *, classes: bool = False) -> int:
    """Return the number of rows of a table: with a class token, three more.

    >>> count_distances((2, 3)), count_distances((2, 3), classes=True)
    (15, 18)
    """
    height, width = grid
    return (2 * height - 1) * (2 * width - 1) + (3 if classes else 0)


def measure_distances(grid: Grid, *, classes: bool = False) -> HostArray:
    """Return the row of the table for each query and key, cells row by row.

    >>> measure_distances((1, 2)).tolist()
    [[1, 0], [2, 1]]

    With a class token, which comes first, the last three rows are those from it, to it and to
    itself.
    """
    height, width = grid
    rows = count_distances(grid, classes=classes)
    cells = [(y, x) for y in range(height) for x in range(width)]
    across = 2 * width - 1
    table = [
        [(y - v + height - 1) * across + x - u + width - 1 for v, u in cells] for y, x in cells
    ]
    if classes:
        table = [[rows - 2, *row] for row in table]
        table = [[rows - 1, *[rows - 3] * len(cells)], *table]
    return HostArray.of(table, "int32", [len(table), len(table)])
