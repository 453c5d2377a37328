"""How well similar rows predict the target, and whether the order of the data is the reason."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from operator import mul
from typing import NamedTuple

from webnnm.data.preparation.standardize import compute_moments
from webnnm.expert.examination.columns import EMBEDDING_HINT
from webnnm.expert.examination.neighbours import (
    RANDOM_METHODS,
    find_three_nearest,
    make_points,
    vote_accuracy,
    vote_recall,
)
from webnnm.expert.examination.rows import Rows
from webnnm.expert.examination.statistics import (
    combination,
    correlation,
    normalise,
    orthonormalise,
    ranks,
)
from webnnm.expert.facts.facts import Suspicion

EXAMINED_ROWS = 200
"""The number of rows whose nearest neighbours are examined, if there are as many."""

MIN_ERRORS_ABOVE_CHANCE = 2.33
"""Standard errors above chance with which neighbours predict a class that is related to the rows:
they do so for 1% of unrelated ones."""

NEAR_IN_ORDER = 0.2
"""Rows within a fifth of the data order are left out to see how well the others predict: the rows
of one of five persons, or of a season."""

MIN_LOSS_OF_SCORE = 0.15
"""The share of rows, or of the variance, by which the test is too good: as in E922, beyond
chance."""

R2_ERROR = 0.1
"""Of R² on 200 rows, roughly."""

MIN_COLUMNS = 4
"""Fewer columns of many values form a curve or a grid, where neighbours are near by nature."""

MIN_ORDER_CORRELATION = 0.9
"""Rank correlation of a column with the order of rows that were sorted by it, or follow it."""

MAX_CHANCE = 0.01
"""The chance that labels without any relation to the columns seem to have one."""

MAX_CLASSES = 10
"""This many classes are examined, the most frequent ones."""

SPLIT_HINT = (
    "Keep related rows together: method='sequential' for rows that follow each other in time, "
    "split=(rows of some, [], rows of others) for several rows of one person or thing."
)

LABEL_HINT = "check whether labels still belong to their rows."


class LookUp(NamedTuple):
    """For the examined rows, the three nearest ones: of all rows, and of those far away in the
    order."""

    tried: Sequence[int]
    near: Sequence[Sequence[int]]
    far: Sequence[Sequence[int]]


def find_nearest(rows: Rows, sample: Sequence[int]) -> LookUp | None:
    """Return the nearest rows of a sample in the order of the data; None if there are too few.

    Rows far away in the order are only needed where a random split may separate rows.
    """
    points = make_points(rows, sample, EXAMINED_ROWS)
    if rows.target is None or points is None or len(points) < EXAMINED_ROWS or len(points[0]) > 64:
        return None
    positions = _positions_in_class(rows, sample) if _is_split_at_random(rows, sample) else None
    if positions is None and not rows.classes:
        return None
    examined = spread_evenly(len(points))
    return LookUp(examined, *find_three_nearest(points, examined, positions, NEAR_IN_ORDER))


def spread_evenly(number: int) -> list[int]:
    """Return which of this many rows are examined.

    >>> spread_evenly(400)[:3]
    [0, 2, 4]
    """
    step = number / EXAMINED_ROWS
    return [int(index * step) for index in range(EXAMINED_ROWS)]


def measure_neighbours(rows: Rows) -> Suspicion | None:
    """Measure how well the three nearest rows predict the target, and how well without them.

    For a class, "found" is the share of the rows whose class they predict, "chance" that of the
    most frequent class, and "recall" by how many standard errors the mean recall exceeds that of a
    constant; for a quantity "found" is R². "error" is the standard error of "found"; "apart" is
    "found" for rows that are also far away in the order of the data.
    """
    sample = sorted(rows.sample)
    nearest_rows = find_nearest(rows, sample)
    if nearest_rows is None or rows.target is None:
        return None
    labels = [rows.target[row] for row in sample]
    score = score_neighbours(rows, nearest_rows.tried, nearest_rows.near, labels)
    evidence = {"found": score, "error": R2_ERROR}
    if rows.classes:
        evidence["error"] = math.sqrt(score * (1 - score) / EXAMINED_ROWS)
        evidence["chance"] = max(Counter(labels).values()) / len(labels)
        evidence["recall"] = vote_recall(nearest_rows.tried, nearest_rows.near, labels)
    if nearest_rows.far:
        evidence["apart"] = score_neighbours(rows, nearest_rows.tried, nearest_rows.far, labels)
    return Suspicion("how well the nearest rows predict", evidence)


def _is_split_at_random(rows: Rows, sample: Sequence[int]) -> bool:
    """Return whether a random split may separate rows that are not alike by nature.

    Rows along a curve, or on a grid, are next to their neighbours wherever they were drawn, and so
    are those of a table that was sorted by one of its columns.
    """
    if rows.method not in RANDOM_METHODS or not rows.subsets["testing"]:
        return False
    spread_columns = 0
    for column in rows.columns:
        values = column.take(sample)
        if len({*values}) > len(values) / 10:
            spread_columns += 1
            if abs(correlation(ranks(values), range(len(values)))) > MIN_ORDER_CORRELATION:
                return False
    return spread_columns >= MIN_COLUMNS


def _positions_in_class(rows: Rows, sample: Sequence[int]) -> list[float]:
    """Return the position of each row in the order of the rows of its class, from 0 to 1.

    Thus rows that were sorted by class are as far from each other as in any other order.
    """
    target = rows.target or ()
    classes = [target[row] if rows.classes else 0.0 for row in sample]
    total, count_before = Counter(classes), Counter[float]()
    positions: list[float] = []
    for label in classes:
        positions.append(count_before[label] / total[label])
        count_before[label] += 1
    return positions


def _r2_of_neighbours(
    examined: Sequence[int], near: Sequence[Sequence[int]], *columns: Sequence[float]
) -> float:
    """Return R² of the means of neighbours, of one quantity or of several together."""
    errors = spread = 0.0
    for values in columns:
        targets = [values[row] for row in examined]
        means = [sum([values[n] for n in rows]) / len(rows) for rows in near]
        errors += sum([(a - b) ** 2 for a, b in zip(means, targets, strict=True)])
        spread += compute_moments(targets)[1] ** 2 * len(targets)
    return 1 - errors / spread if spread else 0.0


def find_order_effect(neighbours: Suspicion | None, rows: Rows) -> Suspicion | None:
    """Find that neighbours predict the target because they are next to each other in the data."""
    if neighbours is None or "apart" not in neighbours.evidence:
        return None
    score, score_apart = neighbours.evidence["found"], max(0.0, neighbours.evidence["apart"])
    if "chance" in neighbours.evidence:
        texts = f"the class of {score:.0%} of the rows", f"{score_apart:.0%}"
    else:
        texts = f"{score:.0%} of the variance of the target", f"{score_apart:.0%}"
    if not exceeds_chance(rows, score, score_apart) or not _is_order_telling(rows):
        return None
    return Suspicion(
        f"the three nearest rows predict {texts[0]}, without those near in the order of the data "
        f"{texts[1]}: consecutive rows are alike, and the split separates them",
        neighbours.evidence,
        SPLIT_HINT,
    )


def score_neighbours(
    rows: Rows, examined: Sequence[int], near: Sequence[Sequence[int]], labels: Sequence[float]
) -> float:
    """Return the share of rows whose class neighbours predict, or R² of their means."""
    return (vote_accuracy if rows.classes else _r2_of_neighbours)(examined, near, labels)


def exceeds_chance(rows: Rows, score: float, score_apart: float) -> bool:
    """Return whether neighbours predict much better than without some of them, beyond chance."""
    error = R2_ERROR
    if rows.classes:
        error = math.sqrt((score * (1 - score) + score_apart * (1 - score_apart)) / EXAMINED_ROWS)
    return score - score_apart >= MIN_LOSS_OF_SCORE + 1.64 * error


def _is_order_telling(rows: Rows) -> bool:
    """Return whether consecutive rows are related beyond what a linear model would generalise.

    Where each site has measurements of its own, nothing is near in other sites, though the same law
    may hold in all of them.
    """
    sample = sorted(rows.sample)
    nearest = find_nearest(rows, sample)
    if nearest is None or rows.target is None:
        return False
    labels = [float(rows.target[row]) for row in sample]
    kinds = [label for label, _ in Counter(labels).most_common(MAX_CLASSES)] if rows.classes else []
    targets = [[float(label == kind) for label in labels] for kind in kinds] or [labels]
    basis = orthonormalise(column.take(sample) for column in rows.columns)
    residuals = [combination(normalise(values), basis)[1] for values in targets]
    score, far = (
        _r2_of_neighbours(nearest.tried, rows, *residuals) for rows in (nearest.near, nearest.far)
    )
    return score - max(0.0, far) > MIN_LOSS_OF_SCORE + 1.64 * R2_ERROR


def _is_column_related(rows: Rows) -> bool:
    """Return whether a column has a different mean in some class than in the others.

    Of unrelated labels, 1% seem related by chance: each correlation of a column with a class is
    tested at 1%, divided by the number of tests (normal approximation).
    """
    sample, target = sorted(rows.sample), rows.target or ()
    labels = [target[row] for row in sample]
    kinds = [label for label, _ in Counter(labels).most_common(MAX_CLASSES)]
    members = [normalise([float(label == kind) for label in labels]) for kind in kinds]
    columns = [normalise(column.take(sample)) for column in rows.columns]
    least = MAX_CHANCE / max(1, len(columns) * len(members))
    return any(
        math.erfc(abs(math.fsum(map(mul, column, member))) * math.sqrt(len(sample) / 2)) < least
        for column in columns
        for member in members
    )


def find_unrelated_labels(
    rows: Rows, neighbours: Suspicion | None, vocabulary: Suspicion | None
) -> Suspicion | None:
    """Find that the nearest rows predict the class no better than chance, nor does any column.

    Numbers of `vocabulary` have no distances.
    """
    if neighbours is None or "chance" not in neighbours.evidence:
        return None
    score, chance = neighbours.evidence["found"], neighbours.evidence["chance"]
    error = math.sqrt(chance * (1 - chance) / EXAMINED_ROWS)
    if chance > 0.8 or score > chance + MIN_ERRORS_ABOVE_CHANCE * error:
        return None
    if neighbours.evidence["recall"] > MIN_ERRORS_ABOVE_CHANCE:  # they know the rare classes
        return None
    if _is_column_related(rows):
        return None
    remedy = (
        f"{EMBEDDING_HINT.format(vocabulary.evidence['size'])}; if not, {LABEL_HINT}"
        if vocabulary
        else ""
    )
    return Suspicion(
        f"the nearest training rows predict the class in {score:.0%} of the rows, the most "
        f"frequent class alone in {chance:.0%}",
        neighbours.evidence,
        remedy,
    )
