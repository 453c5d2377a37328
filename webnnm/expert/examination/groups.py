"""What is suspicious about rows of the same persons or things: a split that separates them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from random import Random

from webnnm.expert.examination.neighbours import RANDOM, points_of, three_nearest
from webnnm.expert.examination.order import CHANCE, evenly, hanging, told_by
from webnnm.expert.examination.rows import Rows
from webnnm.expert.facts.facts import Suspicion

VALUES = 30
"""Columns with fewer values repeat them by nature, and so do pairs of such columns."""

EACH = 3
"""Rows of a person, by the median; fewer say little about the others."""

RARER = 0.5
"""Pairs of values are at most so many of those that the same columns have when one is shuffled."""

COLUMNS = 12
"""This many columns are tried in pairs."""


def shared(rows: Rows) -> Suspicion | None:
    """Find rows that share two measurements, and predict the target because they do."""
    sample = sorted(rows.sample)
    if rows.method not in RANDOM or not rows.subsets["testing"] or rows.target is None:
        return None
    found = _key(rows, sample)
    known = points_of(rows, sample, CHANCE) if found else None
    if found is None or known is None or len(known) < CHANCE:
        return None
    names, keys = found
    number = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    tried = evenly(len(known))
    near, far = three_nearest(known, tried, [number[key] for key in keys])
    labels = [rows.target[row] for row in sample]
    told = told_by(rows, tried, near, labels)
    without = max(0.0, told_by(rows, tried, far, labels))
    if not hanging(rows, told, without):
        return None
    what = "the class of {:.0%} of the rows" if rows.classes else "{:.0%} of the variance"
    usual = sorted(Counter(keys).values())[len(number) // 2]
    return Suspicion(
        f"{len(number)} groups of about {usual} rows have the same {' and '.join(names)}: the "
        f"three nearest rows predict {what.format(told)}, without those of the same group "
        f"{without:.0%}",
        {"found": told, "apart": without, "groups": len(number)},
    )


def _key(
    rows: Rows, sample: Sequence[int]
) -> tuple[tuple[str, str], list[tuple[float, float]]] | None:
    """Return two columns by which rows form groups, and the values of them in each row."""
    shuffled = Random(0).sample(range(len(sample)), len(sample))
    fine: list[tuple[str, list[float], list[float]]] = []
    for column in rows.columns:
        values = column.of(sample)
        if VALUES <= len({*values}) <= len(sample) / EACH:
            fine.append((column.name, values, [values[row] for row in shuffled]))
    for (one, first, _), (other, second, mixed) in combinations(fine[:COLUMNS], 2):
        keys = [*zip(first, second, strict=True)]
        groups = Counter(keys)
        if sorted(groups.values())[len(groups) // 2] < EACH:
            continue
        if len(groups) <= RARER * len({*zip(first, mixed, strict=True)}):
            return (one, other), keys
    return None
