"""Measures the features of an input: where they lie, how far they spread, whether they vary."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import mul

from webnnm.core.arrays import HostArray
from webnnm.core.shapes import count
from webnnm.data.dataset import Dataset
from webnnm.data.preparation.draws import draw_numbers
from webnnm.data.preparation.places import Places, uses_foreign_statistics
from webnnm.data.preparation.standardize import (
    collect_offsets,
    compute_moments,
    find_channel_axis,
    list_offsets,
)
from webnnm.data.series.sequences import flatten_positions


@dataclass(frozen=True, slots=True)
class FeatureFacts:
    """Statistics of the training rows, or of a sample of them, at one place of an input.

    Attributes: `block`, `index` of the place (the channel of an image) and its `name` or ""; `mean`
    and `std` (population), `minimum`, `maximum`; `binary`, whether it is only 0 and 1; `foreign`,
    whether it was standardised with statistics of the whole dataset, not of the training rows.
    """

    block: str
    index: int
    name: str
    mean: float
    std: float
    minimum: float
    maximum: float
    binary: bool = False
    foreign: bool = False

    @property
    def constant(self) -> bool:
        """Whether all training rows have the same value here."""
        return self.minimum == self.maximum


def measure_features(
    dataset: Dataset, block: str, sample: Sequence[int], max_cells: int
) -> Iterator[FeatureFacts]:
    """Measure the places of a row, or of a position of a sequence, or channels of an image.

    `sample` are the training rows that are measured, all or some. What is constant in some of them
    is compared in all, so that no feature that varies counts as constant. Of images, some pixels
    are measured where all would be more than `max_cells` numbers.
    """
    field, array = dataset.inputs[block], dataset.arrays("full")[0][block]
    if field.kind != "continuous" or (field.sequence and field.dtype not in ("float32", "float16")):
        return
    values, row = flatten_positions(array.rows(sample), field)
    if not len(values):
        return
    values = HostArray.of(values, "float32") if values.dtype == "float16" else values
    channel = find_channel_axis(row)
    width = count(row.shape)
    size = width if channel is None else row.shape[channel]
    repeat = 1 if channel is None else count(row.shape[channel + 1 :])
    pixels = _draw_pixels(width // size, max_cells // (len(values) * size), dataset.seed)
    is_sample = len(sample) < dataset.size("training") or len(pixels) < width // size
    compared = range(0)
    if block not in dataset.standardization:
        # Statistics of the whole dataset show in every feature: of many rows, a few are compared.
        number = max_cells // (len(array) * (width // size)) if is_sample else size
        compared = range(0, size, -(-size // max(1, number)))
    for index in range(size):
        offsets = list_offsets(row.shape, index, repeat, size)
        column = list(collect_offsets(values, width, [offsets[pixel] for pixel in pixels]))
        total, squares = sum(column), sum(map(mul, column, column))
        mean, std = _compute_moments(column, total, squares)
        low, high = min(column), max(column)
        if low == high and is_sample:
            training = Places(array, field, dataset.rows("training"))
            other = training.find_other(low, offsets)
            if other is not None:
                mean, std = low, abs(other - low) / math.sqrt(len(training) * len(offsets))
                low, high = min(low, other), max(high, other)
        # Only features that are nearly standardised may have been standardised with other rows.
        foreign = False
        if low < high and abs(mean) < 1 and 0.3 < std < 3 and index in compared:
            foreign = len(set(column)) > 2 and uses_foreign_statistics(dataset, block, offsets)
        name = row.features[index % len(row.features)] if row.features else ""
        binary = low == 0 and high == 1 and total == squares
        yield FeatureFacts(block, index, name, mean, std, low, high, binary, foreign)


def _draw_pixels(total: int, limit: int, seed: int) -> Sequence[int]:
    """Return the pixels of an image that are measured: all of them, or as many as the limit."""
    if total <= max(1, limit):
        return range(total)
    return draw_numbers(seed, "pixels", total, max(1, limit))


def _compute_moments(column: Sequence[float], total: float, squares: float) -> tuple[float, float]:
    """Return mean and deviation from the sums, or exactly if the sums lose too much precision."""
    mean = total / len(column)
    variance = squares / len(column) - mean * mean
    if variance < 1e-6 * mean * mean:
        return compute_moments(column)
    return mean, math.sqrt(max(0.0, variance))
