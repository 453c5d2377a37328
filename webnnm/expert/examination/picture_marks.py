"""Finds marks near the edge of pictures, which alone tell the class."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from webnnm.core.thinning import thin
from webnnm.data.preparation.standardize import compute_moments
from webnnm.expert.examination.picture_grid import PictureGrid, list_pictures
from webnnm.expert.examination.rows import Rows
from webnnm.expert.examination.statistics import binomial_tail
from webnnm.expert.facts.facts import Suspicion

MIN_PICTURES, MAX_PICTURES, MAX_PIXELS = 80, 200, 1024
MAX_NUMBERS = 200_000
MAX_KINDS = 5
MIN_ROWS_OF_KIND = 15

MIN_DISTANCE = 2.0
"""Deviations between the means of a pixel in a class and in all others: one of 20 is on the other
side of the middle at 3.3."""

MIN_RIGHT, MAX_RIGHT_OF_OTHERS = 0.92, 0.94
"""What the mark predicts of pictures that it was not looked for in, and what all other pixels may:
the task is easy then."""

EDGE = 0.25
"""Marks are in the outer quarter of either side."""

MAX_SHARE_OF_AREA = 0.1
MARGIN = 1
MAX_CHANCE = 1e-3
"""How often pixels beside the mark tell the class by chance: with nothing else in the picture the
mark is what it is about."""


class _Sample(NamedTuple):
    """Pictures, one half to look for marks in and the other to test them, by pixels."""

    grid: PictureGrid
    pixels: Sequence[Sequence[float]]
    half: int


class _Mark(NamedTuple):
    """Pixels that tell whether a picture is of a class: their numbers, and the share of pictures
    that one of them, and all others together, tell it of."""

    members: Sequence[int]
    right: float
    right_of_others: float


def find_picture_marks(rows: Rows) -> Suspicion | None:
    """Find a few pixels near an edge that tell the class of nearly all pictures, and of far more
    than all others do, which tell something."""
    if rows.target is None or not rows.classes:
        return None
    for grid in list_pictures(rows, MAX_PIXELS):
        limit = max(MIN_PICTURES, min(MAX_PICTURES, MAX_NUMBERS // grid.size))
        numbers = thin(rows.training, limit)
        if len(numbers) < MIN_PICTURES:
            continue
        # Every other picture of each class is of either half.
        ordered = sorted(numbers, key=rows.target.__getitem__)
        ordered = [*ordered[::2], *ordered[1::2]]
        labels = [rows.target[number] for number in ordered]
        pictures = [grid.read(number) for number in ordered]
        sample = _Sample(grid, [*zip(*pictures, strict=True)], (len(numbers) + 1) // 2)
        for kind, is_kind in _list_kinds(labels):
            if mark := _find_mark(sample, is_kind):
                return _describe(grid, mark, kind)
    return None


def _list_kinds(labels: Sequence[float]) -> Iterator[tuple[float, list[bool]]]:
    """Yield classes, and which pictures are of them."""
    counts = Counter(labels)
    kinds = sorted(counts)[-1:] if len(counts) == 2 else [k for k, _ in counts.most_common()]
    for kind in kinds[:MAX_KINDS]:
        if MIN_ROWS_OF_KIND <= counts[kind] <= len(labels) - MIN_ROWS_OF_KIND:
            yield kind, [label == kind for label in labels]


def _find_mark(sample: _Sample, is_kind: Sequence[bool]) -> _Mark | None:
    """Return the pixels that tell a class, if there are few, near an edge, and others tell less."""
    labels, tested = is_kind[: sample.half], is_kind[sample.half :]
    usual = max(sum(tested), len(tested) - sum(tested)) / len(tested)
    splits = [_split(pixel[: sample.half], labels) for pixel in sample.pixels]
    members = [index for index, split in enumerate(splits) if split.right >= MIN_RIGHT]
    if not members or not _is_near_edge(sample.grid, members):
        return None
    best = max(members, key=lambda index: splits[index].right)
    right = splits[best].measure(sample.pixels[best][sample.half :], tested)
    if right < MIN_RIGHT or right - usual < (1 - usual) / 2:
        return None
    around = _surround(sample.grid, members)
    others = [index for index in range(len(sample.pixels)) if index not in around]
    right_of_others = _predict(sample, others, splits, is_kind)
    hits = round(right_of_others * len(tested))
    by_chance = binomial_tail(hits, len(tested), usual) > MAX_CHANCE
    if by_chance or right_of_others > MAX_RIGHT_OF_OTHERS or right_of_others >= right:
        return None
    return _Mark(members, right, right_of_others)


class _Split(NamedTuple):
    """How a pixel differs between a class and all others: a threshold, and which side the class is
    on, the share of pictures that are on their side, the means and the variance in both."""

    threshold: float
    sign: float
    right: float
    means: tuple[float, float]
    variance: float

    def measure(self, values: Sequence[float], is_kind: Sequence[bool]) -> float:
        """Return the share of pictures that are on the side of their class."""
        pairs = zip(values, is_kind, strict=True)
        return sum([(self.sign * (v - self.threshold) > 0) == one for v, one in pairs]) / len(
            values
        )


def _split(values: Sequence[float], is_kind: Sequence[bool]) -> _Split:
    """Return how a pixel differs between a class and all others."""
    own = [value for value, one in zip(values, is_kind, strict=True) if one]
    rest = [value for value, one in zip(values, is_kind, strict=True) if not one]
    (mean, std), (mean_of_rest, std_of_rest) = compute_moments(own), compute_moments(rest)
    variance = (std**2 + std_of_rest**2) / 2
    sign = 1.0 if mean > mean_of_rest else -1.0
    # In the middle in units of their deviations: a mark is bright, what is behind it varies.
    total = std + std_of_rest
    share = min(0.9, max(0.1, std_of_rest / total)) if total else 0.5
    middle = share * mean + (1 - share) * mean_of_rest
    split = _Split(middle, sign, 0.0, (mean, mean_of_rest), variance)
    if abs(mean - mean_of_rest) < MIN_DISTANCE * math.sqrt(variance) or mean == mean_of_rest:
        return split
    return split._replace(right=split.measure(values, is_kind))


def _is_near_edge(grid: PictureGrid, members: Sequence[int]) -> bool:
    """Return whether pixels are together, near an edge, and a small part of the picture."""
    height, width = len(grid.rows), len(grid.columns)
    lines = [index // width for index in members]
    columns = [index % width for index in members]
    area = (max(lines) - min(lines) + 1) * (max(columns) - min(columns) + 1)
    near = (
        max(lines) < EDGE * height,
        min(lines) >= (1 - EDGE) * height,
        max(columns) < EDGE * width,
        min(columns) >= (1 - EDGE) * width,
    )
    return any(near) and area <= MAX_SHARE_OF_AREA * height * width


def _surround(grid: PictureGrid, members: Sequence[int]) -> set[int]:
    """Return the pixels of a box around the mark."""
    width = len(grid.columns)
    lines = [index // width for index in members]
    columns = [index % width for index in members]
    return {
        line * width + column
        for line in range(max(0, min(lines) - MARGIN), min(len(grid.rows), max(lines) + MARGIN + 1))
        for column in range(max(0, min(columns) - MARGIN), min(width, max(columns) + MARGIN + 1))
    }


def _predict(
    sample: _Sample, members: Sequence[int], splits: Sequence[_Split], is_kind: Sequence[bool]
) -> float:
    """Return the share of pictures of the other half whose class pixels tell, by the nearest mean
    in units of their deviations."""
    scores = [0.0] * (len(is_kind) - sample.half)
    for index in members:
        (mean, mean_of_rest), variance = splits[index].means, splits[index].variance
        if variance <= 0:
            continue
        weight, middle = (mean - mean_of_rest) / variance, (mean + mean_of_rest) / 2
        values = sample.pixels[index][sample.half :]
        scores = [
            score + weight * (value - middle) for score, value in zip(scores, values, strict=True)
        ]
    hits = [(score > 0) == one for score, one in zip(scores, is_kind[sample.half :], strict=True)]
    return sum(hits) / len(hits)


def _describe(grid: PictureGrid, mark: _Mark, kind: float) -> Suspicion:
    """Return what was found, with its place."""
    width = len(grid.columns)
    lines = [grid.rows[index // width] for index in mark.members]
    columns = [grid.columns[index % width] for index in mark.members]
    number = len(mark.members)
    pixels = "1 pixel" if number == 1 else f"{number} pixels"
    return Suspicion(
        f"{pixels} of {grid.block}, in lines {min(lines)} to {max(lines)} and "
        f"columns {min(columns)} to {max(columns)}, alone tell whether it is class {kind:g} in "
        f"{mark.right:.0%} of other pictures, all other pixels in {mark.right_of_others:.0%}",
        {"right": mark.right, "right_of_others": mark.right_of_others},
    )
