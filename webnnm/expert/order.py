"""How much rows that are alike tell of the target, and whether the order of the data is why."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from webnnm.data.standardize import moments
from webnnm.expert.columns import LOOKED_UP
from webnnm.expert.facts import Suspicion
from webnnm.expert.neighbours import RANDOM, points_of, three_nearest, voted
from webnnm.expert.rows import Rows
from webnnm.expert.statistics import combination, correlation, orthonormal, ranks, unit

CHANCE = 200
"""Rows of which the nearest neighbour's class is looked at, if there are as many."""

UNRELATED = 1.0
"""Standard errors above chance that neighbours tell of the class at least."""

BESIDE = 0.2
"""Rows nearer than a fifth of all, in their order, are left out to see what is told without them:
those of one of five persons, or of a season."""

HANGING = 0.15
"""By so much of the rows, or of the variance, the test says too much: as E922, after chance."""

R2_ERROR = 0.1
"""Of R² on 200 rows, roughly."""

SPACIOUS = 4
"""Fewer columns of many values make a curve or a grid, where neighbours are near by nature."""

SORTED = 0.9
"""Rank correlation of a column with the order of rows that were sorted by it, or follow it."""

KINDS = 10
"""So many of the classes are looked at, the most frequent ones."""

WHOLE = (
    "Keep together what hangs together: method='sequential' for rows that follow each other in "
    "time, split=(rows of some, [], rows of others) for several rows of one person or thing."
)

BELONG = "see whether labels still belong to their rows."


class LookUp(NamedTuple):
    """For rows that were tried, the three nearest ones: of all, and of those far in the order."""

    tried: Sequence[int]
    near: Sequence[Sequence[int]]
    far: Sequence[Sequence[int]]


def look_up(rows: Rows, sample: Sequence[int]) -> LookUp | None:
    """Return the nearest rows of a sample in the order of the data; None if there are too few.

    Those far in the order are looked for where a random split may take rows apart.
    """
    known = points_of(rows, sample, CHANCE)
    if rows.target is None or known is None or len(known) < CHANCE or len(known[0]) > 64:
        return None
    places = _places(rows, sample) if _divided(rows, sample) else None
    if places is None and not rows.classes:
        return None
    tried = evenly(len(known))
    return LookUp(tried, *three_nearest(known, tried, places, BESIDE))


def evenly(number: int) -> list[int]:
    """Return which of so many rows are tried.

    >>> evenly(400)[:3]
    [0, 2, 4]
    """
    step = number / CHANCE
    return [int(place * step) for place in range(CHANCE)]


def nearest(rows: Rows) -> Suspicion | None:
    """Measure how much the three nearest rows tell of the target, and what is told without them.

    Of a class "found" is the share of the rows whose class they tell, and "chance" that of the most
    frequent class; of a quantity the former is R². "apart" is the same of rows that are far off in
    the order of the data too.
    """
    sample = sorted(rows.sample)
    looked = look_up(rows, sample)
    if looked is None or rows.target is None:
        return None
    labels = [rows.target[row] for row in sample]
    evidence = {"found": told_by(rows, looked.tried, looked.near, labels)}
    if rows.classes:
        evidence["chance"] = max(Counter(labels).values()) / len(labels)
    if looked.far:
        evidence["apart"] = told_by(rows, looked.tried, looked.far, labels)
    return Suspicion("how much the nearest rows tell", evidence)


def _divided(rows: Rows, sample: Sequence[int]) -> bool:
    """Tell whether a random split may take rows apart that are not alike by nature.

    Rows along a curve, or on a grid, lie next to their neighbours wherever they were drawn, and so
    do those of a table that was sorted by one of its columns.
    """
    if rows.method not in RANDOM or not rows.subsets["testing"]:
        return False
    fine = 0
    for column in rows.columns:
        values = column.of(sample)
        if len({*values}) > len(values) / 10:
            fine += 1
            if abs(correlation(ranks(values), range(len(values)))) > SORTED:
                return False
    return fine >= SPACIOUS


def _places(rows: Rows, sample: Sequence[int]) -> list[float]:
    """Return where each row stands in the order of the rows of its class, from 0 to 1.

    So rows that were sorted by class are as far from each other as in any other order.
    """
    target = rows.target or ()
    kinds = [target[row] if rows.classes else 0.0 for row in sample]
    total, before = Counter(kinds), Counter[float]()
    found: list[float] = []
    for kind in kinds:
        found.append(before[kind] / total[kind])
        before[kind] += 1
    return found


def _predicted(
    tried: Sequence[int], near: Sequence[Sequence[int]], *columns: Sequence[float]
) -> float:
    """Return R² of the means of neighbours, of one quantity or of several together."""
    errors = spread = 0.0
    for values in columns:
        wanted = [values[one] for one in tried]
        means = [sum([values[n] for n in each]) / len(each) for each in near]
        errors += sum([(a - b) ** 2 for a, b in zip(means, wanted, strict=True)])
        spread += moments(wanted)[1] ** 2 * len(wanted)
    return 1 - errors / spread if spread else 0.0


def apart(told: Suspicion | None, rows: Rows) -> Suspicion | None:
    """Find that neighbours tell the target because they stand next to each other in the data."""
    if told is None or "apart" not in told.evidence:
        return None
    found, without = told.evidence["found"], max(0.0, told.evidence["apart"])
    if "chance" in told.evidence:
        texts = f"the class of {found:.0%} of the rows", f"{without:.0%}"
    else:
        texts = f"{found:.0%} of the variance of the target", f"{without:.0%}"
    if not hanging(rows, found, without) or not _unexplained(rows):
        return None
    return Suspicion(
        f"the three nearest rows tell {texts[0]}, without those that stand near in the order of "
        f"the data {texts[1]}: consecutive rows are alike, and the split takes them apart",
        told.evidence,
        WHOLE,
    )


def told_by(
    rows: Rows, tried: Sequence[int], near: Sequence[Sequence[int]], labels: Sequence[float]
) -> float:
    """Return the share of rows whose class neighbours tell, or R² of the means of them."""
    return (voted if rows.classes else _predicted)(tried, near, labels)


def hanging(rows: Rows, found: float, without: float) -> bool:
    """Tell whether neighbours tell much more than they do without some, after chance."""
    error = R2_ERROR
    if rows.classes:
        error = math.sqrt((found * (1 - found) + without * (1 - without)) / CHANCE)
    return found - without >= HANGING + 1.64 * error


def _unexplained(rows: Rows) -> bool:
    """Tell whether rows in a row hang together beyond what a linear model would carry over.

    Where each place has measurements of its own there is nothing near in other places, though the
    same law may hold in all of them.
    """
    sample = sorted(rows.sample)
    looked = look_up(rows, sample)
    if looked is None or rows.target is None:
        return False
    labels = [float(rows.target[row]) for row in sample]
    kinds = [label for label, _ in Counter(labels).most_common(KINDS)] if rows.classes else []
    wanted = [[float(label == kind) for label in labels] for kind in kinds] or [labels]
    basis = orthonormal(column.of(sample) for column in rows.columns)
    residuals = [combination(unit(values), basis)[1] for values in wanted]
    found, far = (_predicted(looked.tried, each, *residuals) for each in (looked.near, looked.far))
    return found - max(0.0, far) > HANGING + 1.64 * R2_ERROR


def unrelated(told: Suspicion | None, words: Suspicion | None) -> Suspicion | None:
    """Find that the nearest rows tell no more of the class than chance does.

    Of `words` by their numbers none is near to another.
    """
    if told is None or "chance" not in told.evidence:
        return None
    found, chance = told.evidence["found"], told.evidence["chance"]
    error = math.sqrt(chance * (1 - chance) / CHANCE)
    if chance > 0.8 or found > chance + UNRELATED * error:
        return None
    remedy = f"{LOOKED_UP.format(words.evidence['size'])}; if not, {BELONG}" if words else ""
    return Suspicion(
        f"the nearest training rows tell the class in {found:.0%} of the rows, the most frequent "
        f"class alone in {chance:.0%}",
        told.evidence,
        remedy,
    )
