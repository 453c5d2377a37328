"""Estimates how many rows are equal by chance."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from webnnm.core.shapes import count
from webnnm.data.dataset import Arrays


def estimate_chance_share(
    inputs: Arrays, classes: Sequence[int] | None, training: Sequence[int], sample: Sequence[int]
) -> float:
    """Return the share of rows with an equal one if the numbers of a class were independent.

    Their distributions are those of the sample.
    """
    sizes = Counter(classes[row] if classes else 0 for row in training)
    groups: dict[int, list[int]] = defaultdict(list)
    for row in sample:
        groups[classes[row] if classes else 0].append(row)
    return math.fsum(
        sizes[label] * _estimate_repeat_probability(inputs, rows, sizes[label])
        for label, rows in groups.items()
    ) / len(training)


def _estimate_repeat_probability(inputs: Arrays, sample: Sequence[int], size: int) -> float:
    """Return the probability that one of `size` rows is drawn again if its numbers are drawn."""
    probability = 1.0
    for values in inputs.values():
        width, flat = count(values.shape[1:]), values.values()
        for element in range(width):
            counts = Counter([flat[row * width + element] for row in sample]).values()
            probability *= sum(n * n for n in counts) / len(sample) ** 2
            if probability * size < 1e-6:
                return 0.0
    return 1 - (1 - probability) ** size
