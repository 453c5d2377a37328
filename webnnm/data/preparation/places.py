"""Reads one place of all rows of an input at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from webnnm.core.arrays import HostArray, pack
from webnnm.core.shapes import count
from webnnm.data.dataset import Dataset
from webnnm.data.field import Field
from webnnm.data.preparation.standardize import collect_offsets, compute_moments
from webnnm.data.series.sequences import flatten_positions

EXACT = 1e-4
"""How close to 0 and 1 the mean and deviation of standardised data are, in float32."""


class Places:
    """Rows of an input, of which one place at a time is read, without a copy of the others."""

    def __init__(self, array: HostArray, field: Field, rows: Sequence[int]) -> None:
        self._array, self._field, self._rows = array, field, rows

    def __len__(self) -> int:
        return len(self._numbers)

    @cached_property
    def _values(self) -> HostArray:
        """The rows as they are, or the positions of sequences that count."""
        if not self._field.sequence:
            return self._array
        return flatten_positions(self._array.rows(self._rows), self._field)[0]

    @property
    def _numbers(self) -> Sequence[int]:
        return range(len(self._values)) if self._field.sequence else self._rows

    def collect(self, offsets: Sequence[int]) -> list[float]:
        """Return the values at these offsets of a row."""
        width = count(self._values.shape[1:])
        columns = (collect_offsets(self._values, width, [offset]) for offset in offsets)
        return [column[row] for column in columns for row in self._numbers]

    def find_other(self, value: float, offsets: Sequence[int]) -> float | None:
        """Return a number at these offsets that is not `value`, None if there is none."""
        values, width = self._values, count(self._values.shape[1:])
        size = len(values.data) // (len(values) * width)
        memory: Any = values.data
        bits = memory.cast({1: "B", 2: "H", 4: "I", 8: "Q"}[size])
        packed = bytes(pack((value,), values.dtype))
        usual, same = int.from_bytes(packed, "little"), packed * len(values)
        for offset in offsets:
            column = bits[offset::width]
            if column.tobytes() == same:  # in native code: most constants are constant everywhere
                continue
            for row in self._numbers:
                if column[row] != usual:
                    first = (row * width + offset) * size
                    other = HostArray(values.dtype, (), values.data[first : first + size])
                    if (number := other.values()[0]) != value:  # 0 and −0 differ in their bits
                        return number
        return None


def uses_foreign_statistics(dataset: Dataset, block: str, offsets: Sequence[int]) -> bool:
    """Return whether values were standardised with the whole dataset, not the training rows."""
    field, array = dataset.inputs[block], dataset.arrays("full")[0][block]
    everything, training = (
        Places(array, field, dataset.rows(subset)).collect(offsets)
        for subset in ("full", "training")
    )
    return is_standardized(everything) and not is_standardized(training)


def is_standardized(column: Sequence[float]) -> bool:
    """Return whether values have mean 0 and deviation 1, of a population or of a sample."""
    if abs(math.fsum(column)) >= EXACT * len(column):
        return False
    std = compute_moments(column)[1]
    sample = std * math.sqrt(len(column) / max(1, len(column) - 1))
    return abs(std - 1) < EXACT or abs(sample - 1) < EXACT
