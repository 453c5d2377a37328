"""What is suspicious about rows of the same persons or things: a split that separates them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from random import Random

from webnnm.expert.examination.neighbours import RANDOM_METHODS, find_three_nearest, make_points
from webnnm.expert.examination.order import (
    EXAMINED_ROWS,
    exceeds_chance,
    score_neighbours,
    spread_evenly,
)
from webnnm.expert.examination.rows import Rows
from webnnm.expert.facts.facts import Suspicion

MIN_VALUES = 30
"""Columns with fewer values repeat them by nature, and so do pairs of such columns."""

MIN_GROUP_SIZE = 3
"""Rows of a person, by the median; fewer say little about the others."""

MAX_PAIR_RATIO = 0.5
"""Pairs of values are at most so many of those that the same columns have when one is shuffled."""

MAX_COLUMNS = 12
"""This many columns are tried in pairs."""


def find_groups(rows: Rows) -> Suspicion | None:
    """Find rows that share two measurements, and predict the target because they do."""
    sample = sorted(rows.sample)
    if rows.method not in RANDOM_METHODS or not rows.subsets["testing"] or rows.target is None:
        return None
    group_key = _find_group_key(rows, sample)
    points = make_points(rows, sample, EXAMINED_ROWS) if group_key else None
    if group_key is None or points is None or len(points) < EXAMINED_ROWS:
        return None
    names, keys = group_key
    number = {key: index for index, key in enumerate(dict.fromkeys(keys))}
    tried = spread_evenly(len(points))
    near, far = find_three_nearest(points, tried, [number[key] for key in keys])
    labels = [rows.target[row] for row in sample]
    score = score_neighbours(rows, tried, near, labels)
    without = max(0.0, score_neighbours(rows, tried, far, labels))
    if not exceeds_chance(rows, score, without):
        return None
    what = "the class of {:.0%} of the rows" if rows.classes else "{:.0%} of the variance"
    median_size = sorted(Counter(keys).values())[len(number) // 2]
    return Suspicion(
        f"{len(number)} groups of about {median_size} rows have the same {' and '.join(names)}: "
        f"the three nearest rows predict {what.format(score)}, without those of the same group "
        f"{without:.0%}",
        {"found": score, "apart": without, "groups": len(number)},
    )


def _find_group_key(
    rows: Rows, sample: Sequence[int]
) -> tuple[tuple[str, str], list[tuple[float, float]]] | None:
    """Return two columns by which rows form groups, and the values of them in each row."""
    shuffled = Random(0).sample(range(len(sample)), len(sample))
    fine: list[tuple[str, list[float], list[float]]] = []
    for column in rows.columns:
        values = column.take(sample)
        if MIN_VALUES <= len({*values}) <= len(sample) / MIN_GROUP_SIZE:
            fine.append((column.name, values, [values[row] for row in shuffled]))
    for (one, first, _), (other, second, mixed) in combinations(fine[:MAX_COLUMNS], 2):
        keys = [*zip(first, second, strict=True)]
        groups = Counter(keys)
        if sorted(groups.values())[len(groups) // 2] < MIN_GROUP_SIZE:
            continue
        if len(groups) <= MAX_PAIR_RATIO * len({*zip(first, mixed, strict=True)}):
            return (one, other), keys
    return None
