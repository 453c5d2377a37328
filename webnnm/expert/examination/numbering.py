"""What is suspicious about whole numbers as targets: whether their order means anything."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import combinations

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


def find_unordered_kinds(rows: Rows) -> Suspicion | None:
    """Find kinds whose numbers say nothing about how similar they are."""
    target = rows.quantity
    if target is None or not rows.columns:
        return None
    numbers = [round(value, 3) for value in target.take_raw(rows.sample)]
    kinds: dict[float, list[int]] = defaultdict(list)
    for row, number in zip(rows.sample, numbers, strict=True):
        kinds[number].append(row)
    common_kinds = {
        number: members for number, members in kinds.items() if len(members) >= MIN_ROWS_PER_KIND
    }
    if not KINDS[0] <= len(common_kinds) <= KINDS[1] or any(number % 1 for number in kinds):
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
