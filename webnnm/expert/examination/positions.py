"""Whether it matters where something is in pictures and signals, by a permutation test."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from operator import itemgetter, mul, sub
from random import Random
from typing import NamedTuple

from webnnm.core.shapes import Shape, count
from webnnm.data.field import Field
from webnnm.data.preparation.standardize import find_channel_axis
from webnnm.expert.examination.rows import Rows
from webnnm.expert.examination.statistics import normalise
from webnnm.expert.facts.facts import Suspicion

MAX_ROWS, MIN_ROWS = 128, 40
MAX_NUMBERS = 200_000
"""The number of pictures, and of their values, that are examined: 0.1 s on a desktop."""

MIN_SIDE = 8
PARTS, PARTS_OF_SIGNAL = 4, 8
"""A picture is divided into 4 × 4 parts, a signal into 8."""

MAX_TARGETS = 4
PERMUTATIONS = 99
"""None of them may have as large an effect: p = 0.01."""

Vector = Sequence[float]


class _Layout(NamedTuple):
    """Which values of a picture belong to each part of it: channel → part → indices."""

    size: int
    parts: Sequence[Sequence[Sequence[int]]]


def find_positions(rows: Rows) -> Suspicion | None:
    """Find pictures or signals whose parts differ with the target.

    Of every part, the mean and the mean square are compared with those of the other parts of the
    same picture, so that how bright, or how rough, a picture is as a whole does not count. If the
    target had nothing to do with where something is, any order of the targets would be equally
    likely: in 1 % of such data the given one is by chance above 99 random ones.
    """
    if len(rows.inputs) != 1:
        return None
    ((block, values),) = rows.inputs.items()
    layout = _divide(rows.fields[block], values.shape[1:])
    if layout is None:
        return None
    limit = max(MIN_ROWS, min(MAX_ROWS, MAX_NUMBERS // layout.size))
    sample = rows.training[:: -(-len(rows.training) // limit) or 1]
    measure = _compare_targets(rows, sample)
    if len(sample) < MIN_ROWS or measure is None:
        return None
    flat = values.values()
    pictures = [flat[row * layout.size : (row + 1) * layout.size] for row in sample]
    centres = [
        math.fsum(picture[n] for picture in pictures for part in parts for n in part)
        / (len(pictures) * sum(map(len, parts)))
        for parts in layout.parts
    ]
    similarity = _compare_rows([[*_describe(picture, layout, centres)] for picture in pictures])
    order = [*range(len(sample))]
    observed, draw = measure(similarity, order), Random(0)
    for _ in range(PERMUTATIONS):
        draw.shuffle(order)
        if measure(similarity, order) >= observed:
            return None
    return Suspicion(
        f"where something is in {block} tells the target (p = {1 / (PERMUTATIONS + 1):g}, "
        f"{PERMUTATIONS} permutations of {len(sample)} rows)",
        {"rows": len(sample)},
    )


def _divide(field: Field, shape: Shape) -> _Layout | None:
    """Return the parts of a picture or signal, None for anything else."""
    if field.kind != "continuous" or field.sequence or len(shape) not in (2, 3):
        return None
    axis = find_channel_axis(field)
    if axis is None:
        axis = 0 if shape[0] <= shape[-1] else len(shape) - 1
    sides = [size for n, size in enumerate(shape) if n != axis]
    if min(sides) < MIN_SIDE:
        return None
    strides = [count(shape[n + 1 :]) for n in range(len(shape))]
    along = [stride for n, stride in enumerate(strides) if n != axis]
    number = PARTS if len(sides) > 1 else PARTS_OF_SIGNAL
    parts: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for point in product(*map(range, sides)):
        part = tuple(n * number // side for n, side in zip(point, sides, strict=True))
        parts[part].append(sum(map(mul, point, along)))
    channels = range(0, shape[axis] * strides[axis], strides[axis])
    return _Layout(
        count(shape), [[[first + n for n in part] for part in parts.values()] for first in channels]
    )


def _describe(picture: Vector, layout: _Layout, centres: Vector) -> Iterator[float]:
    """Yield how the parts of a picture differ from each other, in mean and in mean square.

    Squares are about the mean of all pictures: from its own mean, a picture of slow waves differs
    most at its ends, wherever the waves begin.
    """
    for parts, centre in zip(layout.parts, centres, strict=True):
        cells = [[picture[index] for index in part] for part in parts]
        means = [sum(cell) / len(cell) for cell in cells]
        squares = [sum([(value - centre) ** 2 for value in cell]) / len(cell) for cell in cells]
        yield from normalise(means)
        yield from normalise(squares)


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
