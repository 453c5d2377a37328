"""Finds stretches of rows whose targets have the opposite relation to the columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from operator import mul
from typing import NamedTuple

from webnnm.core.thinning import thin
from webnnm.expert.examination.averages import list_target_numbers
from webnnm.expert.examination.rows import Rows
from webnnm.expert.examination.statistics import normalise
from webnnm.expert.facts.facts import Suspicion

BLOCKS, MIN_ROWS_OF_BLOCK, MAX_ROWS_OF_BLOCK = 20, 20, 100
MIN_BLOCKS = 8
MAX_COLUMNS = 64

MIN_STRETCH, MAX_STRETCHES = 2, 3
"""Blocks of the opposite sign follow each other, in one, two or three stretches."""

MIN_ERRORS = 5.0
"""Standard errors of either relation: by chance one in a million."""

MAX_RATIO = 1.5
"""Both relations are equally strong: one that changes by itself goes through all strengths."""

MAX_VARIANCE = 1.7
"""Relations of blocks vary by chance with a variance of one over their rows, and by at most so many
times that: those of series that wander by themselves vary far more. Blocks at the edge of a stretch
have rows of both kinds, and do not count."""

NEAR_EDGE, MAX_ERRORS_OF_EDGE = 2, 1.6
"""Blocks so near to an edge may have weaker relations by so many standard errors: by more in one of
twenty sets by chance."""

STEPS = 20


class _Block(NamedTuple):
    """Rows that follow each other, and the correlations of their columns with the target."""

    numbers: Sequence[int]
    relations: Sequence[float]


def find_opposite_blocks(rows: Rows) -> Suspicion | None:
    """Find rows in a row whose columns are related to the target as in all others, but for the
    sign."""
    target = list_target_numbers(rows)
    if target is None or rows.series or not 0 < len(rows.columns) <= MAX_COLUMNS:
        return None
    blocks = _collect_blocks(rows, target)
    if len(blocks) < MIN_BLOCKS:
        return None
    direction = _find_direction(blocks)
    scores = [math.fsum(map(mul, block.relations, direction)) for block in blocks]
    sign = math.copysign(1.0, math.fsum(scores))
    scores = [sign * score for score in scores]
    stretches = _list_stretches(scores)
    if not 0 < len(stretches) <= MAX_STRETCHES:
        return None
    opposite = {index for stretch in stretches for index in stretch}
    if 2 * len(opposite) >= len(blocks):
        return None
    edges = {index for one in stretches for index in (one[0] - 1, one[0], one[-1], one[-1] + 1)}
    usual = [s for index, s in enumerate(scores) if index not in opposite | edges]
    turned = [-s for index, s in enumerate(scores) if index in opposite - edges]
    turned = turned or [-max(scores[index] for index in opposite)]
    size = len(blocks[0].numbers)
    strengths = [sum(group) / len(group) for group in (usual, turned) if group]
    errors = [
        strength * math.sqrt(size * len(group))
        for strength, group in zip(strengths, (usual, turned), strict=True)
    ]
    if min(errors) < MIN_ERRORS or max(strengths) > MAX_RATIO * min(strengths):
        return None
    squares = [
        (score - strength) ** 2
        for strength, group in zip(strengths, (usual, turned), strict=True)
        for score in group
    ]
    if size * sum(squares) / len(squares) > MAX_VARIANCE or _fades(scores, edges, size):
        return None
    where = " and ".join(
        f"{blocks[stretch[0]].numbers[0]} to {blocks[stretch[-1]].numbers[-1]}"
        for stretch in stretches
    )
    return Suspicion(
        f"in rows {where} or so, columns have the opposite relation to the target: a correlation "
        f"of {-strengths[1]:.2f} with what has one of {strengths[0]:.2f} in all others",
        {"share": len(opposite) / len(blocks)},
    )


def _collect_blocks(rows: Rows, target: Sequence[float]) -> list[_Block]:
    """Return the training rows in blocks of equal size, in the order of the data."""
    numbers = sorted(rows.training)
    size = max(MIN_ROWS_OF_BLOCK, len(numbers) // BLOCKS)
    blocks: list[_Block] = []
    for first in range(0, len(numbers) - size + 1, size):
        members = thin(numbers[first : first + size], MAX_ROWS_OF_BLOCK)
        labels = normalise([target[row] for row in members])
        columns = (normalise(column.take(members)) for column in rows.columns)
        blocks.append(_Block(members, [math.fsum(map(mul, column, labels)) for column in columns]))
    return blocks


def _find_direction(blocks: Sequence[_Block]) -> list[float]:
    """Return the direction in which relations differ most from none, whatever their sign: the
    first principal axis, by power iteration."""
    width = len(blocks[0].relations)
    strongest = max(blocks, key=lambda block: math.hypot(*block.relations))
    direction = [value + 1e-9 for value in strongest.relations]
    for _ in range(STEPS):
        scores = [math.fsum(map(mul, block.relations, direction)) for block in blocks]
        direction = [
            math.fsum(
                score * block.relations[index] for score, block in zip(scores, blocks, strict=True)
            )
            for index in range(width)
        ]
        length = math.hypot(*direction) or 1.0
        direction = [value / length for value in direction]
    return direction


def _fades(scores: Sequence[float], edges: set[int], size: int) -> bool:
    """Return whether relations are weaker near the edges of a stretch than far from them, as those
    that turn round by and by."""
    near: list[float] = []
    far: list[float] = []
    for index, score in enumerate(scores):
        if (distance := min(abs(index - edge) for edge in edges)) > 0:
            (near if distance <= NEAR_EDGE else far).append(abs(score))
    if not near or not far:
        return False
    error = math.sqrt((1 / len(near) + 1 / len(far)) / size)
    return sum(far) / len(far) - sum(near) / len(near) > MAX_ERRORS_OF_EDGE * error


def _list_stretches(scores: Sequence[float]) -> list[list[int]]:
    """Return the indices of negative scores, by stretches of several."""
    runs = groupby(range(len(scores)), key=lambda index: scores[index] < 0)
    stretches = [list(indices) for is_negative, indices in runs if is_negative]
    return [stretch for stretch in stretches if len(stretch) >= MIN_STRETCH]
