"""Whether descriptions of rows go with the targets, by a permutation test."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from operator import itemgetter, mul, sub
from random import Random

from webnnm.core.shapes import count
from webnnm.core.thinning import thin
from webnnm.expert.examination.rows import Rows
from webnnm.expert.examination.statistics import normalise

MAX_ROWS, MIN_ROWS = 128, 40
MAX_NUMBERS = 200_000
"""The number of rows, and of their values, that are examined: 0.1 s on a desktop."""

MAX_TARGETS = 4
PERMUTATIONS = 499
P_VALUE = 1 / (PERMUTATIONS + 1)
"""None of the permutations may have as large an effect."""

Vector = Sequence[float]


def sample_rows(rows: Rows, size: int) -> Sequence[int]:
    """Return evenly spaced training rows of a number of values each, few enough to compare."""
    limit = max(MIN_ROWS, min(MAX_ROWS, MAX_NUMBERS // max(1, size)))
    return thin(rows.training, limit)


def explain_by_targets(rows: Rows, sample: Sequence[int], descriptions: Sequence[Vector]) -> float:
    """Return the share of the variance of descriptions that the targets explain, 0 if that could
    be chance: one of 499 random orders of the targets explains as much.
    """
    measure = _compare_targets(rows, sample)
    if len(sample) < MIN_ROWS or measure is None:
        return 0.0
    similarity = _compare_rows(descriptions)
    order = [*range(len(sample))]
    observed, draw = measure(similarity, order), Random(0)
    for _ in range(PERMUTATIONS):
        draw.shuffle(order)
        if measure(similarity, order) >= observed:
            return 0.0
    return observed / math.fsum(row[n] for n, row in enumerate(similarity))


def _compare_rows(descriptions: Sequence[Vector]) -> list[list[float]]:
    """Return the inner products of all rows with all others, with features centred over rows."""
    number = len(descriptions)
    middle = [sum(column) / number for column in zip(*descriptions, strict=True)]
    centred = [list(map(sub, row, middle)) for row in descriptions]
    return [[sum(map(mul, one, other)) for other in centred] for one in centred]


def _compare_targets(
    rows: Rows, sample: Sequence[int]
) -> Callable[[Sequence[Vector], Sequence[int]], float] | None:
    """Return a function of rows and their order: how much of them the targets explain."""
    if rows.classes and rows.target is not None:
        members: dict[float, list[int]] = defaultdict(list)
        for index, row in enumerate(sample):
            members[rows.target[row]].append(index)
        groups = [group for group in members.values() if len(group) > 1]
        if len(groups) < 2:
            return None

        def explain(similarity: Sequence[Vector], order: Sequence[int]) -> float:
            total = 0.0
            for group in groups:
                indices = [order[index] for index in group]
                pick = itemgetter(*indices)
                total += sum([sum(pick(similarity[n])) for n in indices]) / len(indices)
            return total

        return explain
    if len(rows.outputs) != 1:
        return None
    (targets,) = rows.outputs.values()
    width = count(targets.shape[1:])
    if width > MAX_TARGETS or len(targets.shape) > 2:
        return None
    flat = targets.values()
    columns = [normalise([flat[row * width + n] for row in sample]) for n in range(width)]

    def correlate(similarity: Sequence[Vector], order: Sequence[int]) -> float:
        pick = itemgetter(*order)
        picked = [pick(similarity[n]) for n in order]
        return math.fsum(
            value * sum(map(mul, one, column))
            for column in columns
            for value, one in zip(column, picked, strict=True)
        )

    return correlate
