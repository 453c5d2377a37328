"""Finds pictures for testing that are mirrored, brightened or noisy copies of training pictures."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.core.thinning import thin
from webnnm.expert.examination.neighbours import (
    COPY_LATER,
    MIN_JUMP,
    exceeds_chance,
    find_origins,
)
from webnnm.expert.examination.picture_grid import PictureGrid, list_pictures
from webnnm.expert.examination.rows import Rows
from webnnm.expert.examination.statistics import normalise
from webnnm.expert.facts.facts import Suspicion

MAX_PIXELS, MAX_TESTED, MAX_TRAINED = 144, 24, 600
MIN_TESTED, MIN_TRAINED = 12, 60
MIN_COPIED_SHARE, MIN_CHANCE = 0.3, 0.02
"""So many pictures for testing have a copy, and at least that many by chance."""


def find_changed_copies(rows: Rows) -> Suspicion | None:
    """Find pictures with training pictures much nearer than all others, once all are turned to have
    their heavier half on one side, and equally bright."""
    for grid in list_pictures(rows, MAX_PIXELS):
        trained = thin(rows.training, MAX_TRAINED)
        points = [_turn(grid, number) for number in trained] if len(trained) >= MIN_TRAINED else []
        for subset in ("testing", "validation"):
            tested = thin(rows.subsets[subset], MAX_TESTED)
            if len(tested) < MIN_TESTED or not points:
                continue
            origins = find_origins([_turn(grid, number) for number in tested], points, MIN_JUMP)
            sizes = [size for size in origins.sizes if size]
            chance = max(MIN_CHANCE, MIN_JUMP**-origins.dimensions)
            few = len(sizes) < MIN_COPIED_SHARE * len(tested)
            if few or not exceeds_chance(len(sizes), len(tested), chance):
                continue
            share, usual = len(sizes) / len(tested), sorted(sizes)[len(sizes) // 2]
            return Suspicion(
                f"{share:.0%} of the {subset} pictures have {usual} training pictures that are "
                "much nearer than all others, mirrored or with another brightness: they were "
                "augmented before the split",
                {"share": share, "rows": usual},
                COPY_LATER,
            )
    return None


def _turn(grid: PictureGrid, number: int) -> Sequence[float]:
    """Return a picture with a mean of 0 and a norm of 1, whose right and lower half are the
    brighter ones."""
    pixels = normalise(grid.read(number))
    width = len(grid.columns)
    lines = [pixels[start : start + width] for start in range(0, len(pixels), width)]
    half, half_height = width // 2, len(lines) // 2
    if sum([sum(line[:half]) - sum(line[width - half :]) for line in lines]) > 0:
        lines = [line[::-1] for line in lines]
    if sum(map(sum, lines[:half_height])) > sum(map(sum, lines[len(lines) - half_height :])):
        lines.reverse()
    return [pixel for line in lines for pixel in line]
