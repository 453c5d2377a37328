"""Whether it matters where something is in pictures and signals, by a permutation test."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from operator import mul
from typing import NamedTuple

from webnnm.core.shapes import Shape, count
from webnnm.data.field import Field
from webnnm.data.preparation.standardize import find_channel_axis
from webnnm.expert.examination.permutations import (
    MAX_TARGETS,
    P_VALUE,
    PERMUTATIONS,
    explain_by_targets,
    sample_rows,
)
from webnnm.expert.examination.rows import Rows
from webnnm.expert.examination.statistics import combination, normalise, orthonormalise
from webnnm.expert.facts.facts import Suspicion

MIN_SIDE = 8
PARTS, PARTS_OF_SIGNAL = 4, 8
"""A picture is divided into 4 × 4 parts, a signal into 8."""

MIN_PLACE = 0.5
"""A target is a place if where the centre is explains this share of it."""

Vector = Sequence[float]


class _Layout(NamedTuple):
    """Which values of a picture belong to each part of it: channel → part → indices.

    `places`: where the parts are.
    """

    size: int
    parts: Sequence[Sequence[Sequence[int]]]
    places: Sequence[tuple[int, ...]]


def find_positions(rows: Rows) -> Suspicion | None:
    """Find pictures or signals whose parts differ with the target.

    Of every part, the mean and the mean square are compared with those of the other parts of the
    same picture, so that how bright, or how rough, a picture is as a whole does not count, nor
    that what is in the middle is darker than its surroundings in some pictures and brighter in
    others. If the target had nothing to do with where something is, any order of the targets would
    be equally likely: in 0.2% of such data the given one is by chance above 499 random ones.
    """
    if len(rows.inputs) != 1:
        return None
    ((block, values),) = rows.inputs.items()
    layout = _divide(rows.fields[block], values.shape[1:])
    if layout is None:
        return None
    sample = sample_rows(rows, layout.size)
    flat = values.values()
    pictures = [flat[row * layout.size : (row + 1) * layout.size] for row in sample]
    centres = [
        math.fsum(picture[n] for picture in pictures for part in parts for n in part)
        / (len(pictures) * sum(map(len, parts)))
        for parts in layout.parts
    ]
    descriptions = _describe(pictures, layout, centres)
    if not explain_by_targets(rows, sample, descriptions):
        return None
    share = _explain_by_centres(rows, sample, descriptions, layout)
    is_place = f", and its centre explains {share:.0%} of it" * (share >= MIN_PLACE)
    return Suspicion(
        f"where something is in {block} tells the target (p = {P_VALUE:g}, "
        f"{PERMUTATIONS} permutations of {len(sample)} rows{is_place})",
        {"rows": len(sample), "is_place": bool(is_place)},
    )


def _explain_by_centres(
    rows: Rows, sample: Sequence[int], descriptions: Sequence[Vector], layout: _Layout
) -> float:
    """Return the largest share of the variance of a target that the centres of what is in pictures
    explain in a linear model, adjusted for their number; 0 for classes."""
    if rows.classes or len(rows.outputs) != 1:
        return 0.0
    (targets,) = rows.outputs.values()
    width, flat = count(targets.shape[1:]), targets.values()
    if width > MAX_TARGETS:
        return 0.0
    size = len(layout.places)
    centres: list[list[float]] = []
    for first in range(0, len(descriptions[0]), size):
        for axis in range(len(layout.places[0])):
            along = [part[axis] for part in layout.places]
            centres.append(
                [sum(map(mul, row[first : first + size], along)) for row in descriptions]
            )
    basis = orthonormalise(centres)
    free = len(sample) - len(basis) - 1
    if free < len(sample) / 2:
        return 0.0
    rests = [
        combination(normalise([flat[row * width + n] for row in sample]), basis)[2]
        for n in range(width)
    ]
    return max(0.0, 1 - min(rests) ** 2 * (len(sample) - 1) / free)


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
        count(shape),
        [[[first + n for n in part] for part in parts.values()] for first in channels],
        [*parts],
    )


def _describe(pictures: Sequence[Vector], layout: _Layout, centres: Vector) -> list[list[float]]:
    """Return how the parts of each picture differ from each other, in mean and in mean square.

    What the means over all parts explain is removed: they are what a pooling keeps. A thing that
    is always in the middle, brighter than its surroundings or darker, changes them.
    """
    size = len(layout.places)
    measured = [[*_measure(picture, layout, centres)] for picture in pictures]
    columns: list[Sequence[float]] = []
    pooled: list[Sequence[float]] = []
    for first in range(0, len(measured[0]), size):
        parts = [picture[first : first + size] for picture in measured]
        directions = [normalise(row) for row in parts]
        columns += zip(*directions, strict=True)
        means = [math.fsum(row) / size for row in parts]
        mean = math.fsum(means) / len(means)
        lengths = [sum(map(mul, *pair)) for pair in zip(directions, parts, strict=True)]
        pooled.append(
            [(one - mean) / (length or 1.0) for one, length in zip(means, lengths, strict=True)]
        )
    basis = orthonormalise(pooled)
    remaining = [combination(column, basis)[1] for column in columns]
    return [list(description) for description in zip(*remaining, strict=True)]


def _measure(picture: Vector, layout: _Layout, centres: Vector) -> Iterator[float]:
    """Yield the means of the parts of a picture, and their mean squares, channel by channel.

    Squares are about the mean of all pictures: from its own mean, a picture of slow waves differs
    most at its ends, wherever the waves begin.
    """
    for parts, centre in zip(layout.parts, centres, strict=True):
        cells = [[picture[index] for index in part] for part in parts]
        yield from (sum(cell) / len(cell) for cell in cells)
        yield from (sum([(value - centre) ** 2 for value in cell]) / len(cell) for cell in cells)
