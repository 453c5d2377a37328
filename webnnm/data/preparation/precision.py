"""Measures which columns lose distinct values when they become float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.core.shapes import count

MAX_ROWS = 2000
"""The number of rows that are examined."""
MAX_COLUMNS = 256
"""Wider rows are pictures or spectra, whose single columns have no meaning of their own."""
MIN_KEPT_SHARE = 0.95
"""If this share of the distinct values is kept, nothing is lost that matters."""
MANTISSA_BITS = 24


class PrecisionLoss(NamedTuple):
    """How many distinct values some rows of a column have, as given and as float32."""

    distinct: int
    kept: int
    largest: float

    @property
    def step(self) -> float:
        """The distance between neighbouring float32 numbers as large as the largest."""
        from math import frexp

        return 2.0 ** (frexp(self.largest)[1] - MANTISSA_BITS)


def find_losses(before: HostArray, after: HostArray) -> dict[int, PrecisionLoss]:
    """Return column → `PrecisionLoss` for columns of rows whose distinct values do not remain so.

    >>> times = HostArray.of([1.7e9 + 60 * k for k in range(200)], "float64")
    >>> find_losses(times, HostArray.of(times, "float32"))[0][:2]
    (200, 94)
    """
    size, rows = count(before.shape[1:]), before.shape[0]
    if size > MAX_COLUMNS or not rows or count(before.shape) != count(after.shape):
        return {}
    sample = range(0, rows, -(-rows // MAX_ROWS))
    exact, rounded = before.rows(sample).values(), after.rows(sample).values()
    lost: dict[int, PrecisionLoss] = {}
    for column in range(size):
        values: Sequence[float] = exact[column::size]
        low, high = min(values), max(values)
        largest = max(abs(low), abs(high))
        # Values that are further apart on average than a few steps of float32 rarely meet.
        if high - low > largest * 2.0**-MANTISSA_BITS * len(values) / (1 - MIN_KEPT_SHARE):
            continue
        distinct = len(set(values))
        kept = len({*rounded[column::size]})
        if kept < MIN_KEPT_SHARE * distinct:
            lost[column] = PrecisionLoss(distinct, kept, float(largest))
    return lost
