"""Whole numbers as targets: whether they are counts, and whether their order means anything."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from random import Random

from webnnm.data.preparation.standardize import compute_moments
from webnnm.expert.examination.rows import Rows
from webnnm.expert.examination.statistics import correlation, ranks
from webnnm.expert.facts.facts import Suspicion

KINDS = (4, 20)
"""Three kinds have three distances, which may have any order by chance."""

MIN_ROWS_PER_KIND = 10
"""Rows of a kind from which on its mean shows where it is."""

MIN_CORRELATION = 0.3
"""Rank correlation of the distance of two kinds with the difference of their numbers: 0.8 and more
of grades, 0 ± 0.3 of six kinds that were numbered by chance."""

MAX_COUNT_P, PERMUTATIONS = 0.05, 199
"""Numbers are counts if at most this share of random orders of their frequencies is as smooth."""


def find_unordered_kinds(rows: Rows) -> Suspicion | None:
    """Find numbers that are counts, and kinds whose numbers say nothing about how similar they are.

    The evidence of counts has "counts". One in twenty sets of classes that are numbered by chance
    is taken for counts.
    """
    target = rows.quantity
    if target is None or not rows.columns:
        return None
    numbers = [round(value, 3) for value in target.take_raw(rows.sample)]
    kinds: dict[float, list[int]] = defaultdict(list)
    for row, number in zip(rows.sample, numbers, strict=True):
        kinds[number].append(row)
    if any(number % 1 for number in kinds):
        return None
    if _are_counts({round(number): len(members) for number, members in kinds.items()}):
        return Suspicion("the numbers are distributed like counts", {"counts": True})
    common_kinds = {
        number: members for number, members in kinds.items() if len(members) >= MIN_ROWS_PER_KIND
    }
    if not KINDS[0] <= len(common_kinds) <= KINDS[1]:
        return None
    units = [1 / (compute_moments(column.take(rows.sample))[1] or 1.0) for column in rows.columns]
    centres = {
        number: [
            unit * math.fsum(column.take(members)) / len(members)
            for column, unit in zip(rows.columns, units, strict=True)
        ]
        for number, members in common_kinds.items()
    }
    pairs = list(combinations(sorted(centres), 2))
    distances = [math.dist(centres[a], centres[b]) for a, b in pairs]
    related = correlation(ranks([b - a for a, b in pairs]), ranks(distances))
    if related >= MIN_CORRELATION:
        return None
    return Suspicion(
        "kinds with neighbouring numbers are no more similar than others (rank correlation "
        f"{related:.2f})",
        {"correlation": related},
    )


def _are_counts(frequencies: Mapping[int, int]) -> bool:
    """Return whether frequencies rise to one peak and fall again, and not by chance.

    >>> _are_counts({0: 61, 1: 70, 2: 40, 3: 17, 4: 6, 5: 2, 6: 1}), _are_counts({0: 9, 1: 40})
    (True, False)

    The test permutes the frequencies among the numbers: counts have neighbours that are equally
    frequent, and names of classes have no neighbours.
    """
    low, high = min(frequencies), max(frequencies)
    if not 0 <= low <= high <= KINDS[1] * 5 or high - low < KINDS[0] - 1:
        return False
    heights = [frequencies.get(number, 0) for number in range(low, high + 1)]
    observed, draw = _roughness(heights), Random(0)
    smooth = 1
    for _ in range(PERMUTATIONS):
        draw.shuffle(heights)
        smooth += _roughness(heights) <= observed
    return smooth <= MAX_COUNT_P * (PERMUTATIONS + 1)


def _roughness(heights: Sequence[int]) -> int:
    """Return how far frequencies go up and down, from 0 before the first to 0 after the last."""
    return sum(abs(b - a) for a, b in pairwise((0, *heights, 0)))
