"""Draws the rows of a dataset that a review looks at."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.core.shapes import count
from webnnm.data.dataset import Dataset
from webnnm.data.preparation.draws import draw_numbers
from webnnm.data.split import PARTS

MAX_ROWS = 5_000
"""Of more rows than this, so many are examined."""

MAX_CELLS = 400_000
"""Of wide rows fewer are examined, so that they have about as many numbers as this: a part of a
second in a page, where NumPy need not be loaded."""

MIN_ROWS = 256
"""However wide rows are, so many of them are examined; of large pictures, some of the pixels."""


def count_examined_rows(dataset: Dataset, max_cells: int = MAX_CELLS) -> int:
    """Return how many rows are examined: all rows, or as many as the limits allow.

    >>> from webnnm.core.arrays import HostArray
    >>> pixels = HostArray("uint8", (1000, 800), bytes(800_000))
    >>> count_examined_rows(Dataset(pixels, [row % 2 for row in range(1000)]))
    500
    """
    width = sum(count(field.shape) for field in dataset.inputs.values())
    limit = min(MAX_ROWS, max(MIN_ROWS, max_cells // max(1, width)))
    return min(limit, dataset.size("full"))


def sample_rows(
    dataset: Dataset, *, labelled: Sequence[float] | None = None, max_cells: int = MAX_CELLS
) -> dict[str, Sequence[int]]:
    """Return the rows of each subset that are examined: all, or a share drawn by the seed.

    Rows whose class in `labelled` is negative have no label, and are left out.
    """
    total, examined = dataset.size("full"), count_examined_rows(dataset, max_cells)
    sampled: dict[str, Sequence[int]] = {}
    for subset in PARTS:
        rows = dataset.rows(subset)
        if labelled is not None and min(labelled, default=0) < 0:
            rows = [row for row in rows if labelled[row] >= 0]
        if total > examined:
            size = -(-len(rows) * examined // total)
            rows = [rows[n] for n in draw_numbers(dataset.seed, subset, len(rows), size)]
        sampled[subset] = rows
    all_rows = [row for rows in sampled.values() for row in rows]
    is_complete = total <= examined and len(all_rows) == total
    return sampled | {"full": dataset.rows("full") if is_complete else sorted({*all_rows})}
