"""What is suspicious about rows that are alike: copies, windows, classes of their own."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import nsmallest
from itertools import islice, pairwise
from operator import mul, sub
from typing import NamedTuple

from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count
from webnnm.core.thinning import thin
from webnnm.data.preparation.draws import draw_numbers
from webnnm.data.preparation.standardize import compute_moments
from webnnm.expert.examination.rows import MAX_COLUMNS, MAX_SAMPLE, Rows
from webnnm.expert.examination.statistics import binomial_tail
from webnnm.expert.facts.facts import Suspicion

MAX_VALUES = 10**7
"""The number of values compared to find neighbours: a third of a second in a page."""

MAX_TESTED = 40
"""Testing rows whose neighbours are looked for."""

NEIGHBOURS = 24
MIN_JUMP = 3.0
"""Rows of one origin are a few neighbours that are this many times nearer than the next one. In a
cloud of any shape the next neighbour is as far off in a few of a hundred rows, at most in a sixth
of those along a curve."""

MIN_COPIED_SHARE = 0.5
"""Rows were copied, or are of groups, where more than this share have such neighbours."""

MIN_CHANCE_OF_COPY, MAX_CHANCE_OF_COPIES = 0.01, 1e-3
"""A row has a copy by chance with at least this probability; so many rows have one in a thousandth
of all sets."""

MIN_DIMENSIONS = 1.8
"""Rows that spread in fewer dimensions, along a curve, have one that is much nearer by nature."""

MIN_ROWS_OF_CLASS, MIN_COPIED_SHARE_OF_CLASS = 8, 0.7
"""A class was copied where so many rows are looked at, and more than this share have them."""

COPIES_IN_BOTH = (
    "Leave these rows out of the training, and split rows before they are copied, rounded or "
    "augmented."
)

COPY_LATER = (
    "Split the rows first, and copy training rows only: dataset.augment(…); or give the rare class "
    "more weight, class_weight='balanced'."
)

MIN_ROWS = 20
"""With fewer testing rows the mean is not evidence."""

RANDOM_METHODS = ("random", "stratified")

MIN_CONTINUING_SHARE = 0.95
"""Of windows over one series this share continues the row before."""

WHOLE_SERIES = (
    "Hold back whole series, of some machines, persons or recordings: split=(rows of some, [], "
    "rows of others)."
)

Point = Sequence[float]

LATER_TARGET = "Take the value after the window as the target: this one lies within it."


def find_copies(rows: Rows) -> Suspicion | None:
    """Find testing or validation rows with a few training rows much nearer than all others."""
    suspicions = (_find_copies_of(rows, subset) for subset in ("testing", "validation"))
    return next(filter(None, suspicions), None)


def _find_copies_of(rows: Rows, subset: str) -> Suspicion | None:
    tested = rows.subsets[subset]
    width = sum(min(count(values.shape[1:]), MAX_COLUMNS) for values in rows.inputs.values())
    limit = min(MAX_TESTED, MAX_VALUES // max(1, width * len(rows.training)))
    tested = thin(tested, max(1, limit))
    if len(tested) < MIN_ROWS or len(rows.training) < 2 * NEIGHBOURS:
        return None
    points = make_points(rows, rows.training, len(tested))
    if points is None:
        return None
    origins = find_origins(make_points(rows, tested, len(points)) or [], points)
    sizes = [size for size in origins.sizes if size]
    share = len(sizes) / max(1, len(tested))
    usual_copies = sorted(sizes)[len(sizes) // 2] if sizes else 0
    if share > MIN_COPIED_SHARE:
        return Suspicion(
            f"{share:.0%} of the {subset} rows have {usual_copies} training rows that are much "
            "nearer than all others: copies, or rows of the same person or thing",
            {"share": share, "rows": usual_copies},
        )
    if subset == "testing" and (
        copied := _find_copied_class(rows, tested, [*map(bool, origins.sizes)], usual_copies)
    ):
        return copied
    chance = max(MIN_CHANCE_OF_COPY, MIN_JUMP ** (-2 * origins.dimensions))
    if origins.dimensions < MIN_DIMENSIONS or not exceeds_chance(len(sizes), len(tested), chance):
        return None
    # A row that is alone with another one in a rare category, or along a curve, is nearly equal to
    # it by nature, and so are training rows; where a random split divided copies, they are too.
    trained = find_origins(thin(points, MAX_TESTED), points)
    usual_share = sum(map(bool, trained.sizes)) / len(trained.sizes)
    compared = rows.method not in RANDOM_METHODS or _has_categories(rows)
    if compared and not exceeds_chance(len(sizes), len(tested), usual_share):
        return None
    return Suspicion(
        f"{share:.0%} of the {subset} rows are nearly equal to a training row, and far from all "
        "others: copies of these",
        {"share": share, "rows": usual_copies},
        COPIES_IN_BOTH,
    )


class _Origins(NamedTuple):
    """For each point how many others it has an origin in common with, 0 for none; and the number of
    dimensions in which points spread."""

    sizes: Sequence[int]
    dimensions: float


def find_origins(
    examined: Sequence[Point], points: Sequence[Point], single: float = MIN_JUMP**2
) -> _Origins:
    """Find the few neighbours that are much nearer than all others, a `single` one by so many
    times; equal points do not count.

    In d dimensions twice as many neighbours are within 2¹ᐟᵈ times the distance.
    """
    sizes: list[int] = []
    growths: list[float] = []
    for point in examined:
        near = nsmallest(NEIGHBOURS, (math.dist(point, other) for other in points))
        near = [distance for distance in near if distance > 1e-6 * near[-1]]
        jumps = [index for index, (a, b) in enumerate(pairwise(near), 1) if b > MIN_JUMP * a]
        is_hit = bool(jumps) and (jumps[0] > 1 or near[1] > single * near[0])
        sizes.append(jumps[0] if is_hit else 0)
        growths.append(near[-1] / near[len(near) // 2] if len(near) > 2 else 1.0)
    growth = sorted(growths)[len(growths) // 2]
    return _Origins(sizes, math.log(2) / math.log(max(growth, 1.001)))


def _has_categories(rows: Rows) -> bool:
    """Return whether columns stand for words, or repeat their values."""
    half = len(rows.sample) / 2
    return bool(rows.categories) or any(
        len({*column.take(rows.sample)}) < half for column in rows.columns
    )


def exceeds_chance(hits: int, tested: int, chance: float) -> bool:
    """Return whether so many rows have a copy where each has one with this probability.

    By chance the next neighbour is u times as far as the nearest one in a share of u⁻ᵈ of the rows.
    """
    return binomial_tail(hits, tested, chance) < MAX_CHANCE_OF_COPIES


def _find_copied_class(
    rows: Rows, tested: Sequence[int], hits: Sequence[bool], usual_copies: int
) -> Suspicion | None:
    """Find a class most of whose rows have copies, such as a rare class that was oversampled."""
    if rows.target is None or not rows.classes:
        return None
    by_class: dict[float, list[bool]] = defaultdict(list)
    for row, hit in zip(tested, hits, strict=True):
        by_class[rows.target[row]].append(hit)
    for label, hits_of_class in sorted(by_class.items()):
        share = sum(hits_of_class) / len(hits_of_class)
        if len(hits_of_class) >= MIN_ROWS_OF_CLASS and share > MIN_COPIED_SHARE_OF_CLASS:
            return Suspicion(
                f"{share:.0%} of the testing rows of class {label:g} have {usual_copies} training "
                "rows that are much nearer than all others: copies with a little noise",
                {"share": share, "rows": usual_copies},
                COPY_LATER,
            )
    return None


def adapt_to_windows(suspicion: Suspicion | None, rows: Rows) -> Suspicion | None:
    """Adapt the remedy for a column that predicts the target, if rows are windows over a series."""
    if suspicion is None or shift_of_windows(rows) is None:
        return suspicion
    return replace(suspicion, remedy=LATER_TARGET)


def make_points(rows: Rows, numbers: Sequence[int], times: int) -> list[tuple[float, ...]] | None:
    """Return rows as points, columns of a table in units of their deviation; None if too many.

    Of rows with more than `MAX_COLUMNS` numbers, pictures or spectra, points have so many of them.
    """
    arrays = [
        values
        for block, values in rows.inputs.items()
        if is_float(values.dtype) and rows.fields[block].kind == "continuous"
    ]
    width = sum(min(count(values.shape[1:]), MAX_COLUMNS) for values in arrays)
    if len(arrays) < len(rows.inputs) or not 0 < width * len(numbers) * max(1, times) <= MAX_VALUES:
        return None
    points: list[tuple[float, ...]] = [()] * len(numbers)
    for values in arrays:
        size = count(values.shape[1:])
        flat = values.values()
        units = [1.0] * size
        if rows.columns:
            for index in range(size):
                numbers_of_column = [flat[row * size + index] for row in rows.sample]
                mean, std = compute_moments(numbers_of_column)
                units[index] = 1 / std if std > 1e-6 * (abs(mean) + 1e-30) else 0.0
                if std and len({*numbers_of_column}) == 2:
                    # Another category is as far as one deviation, however rare: rows of one
                    # category are not copies of each other.
                    units[index] = 1 / (max(numbers_of_column) - min(numbers_of_column))
        examined = draw_numbers(0, "columns", size, min(size, MAX_COLUMNS))
        units = [units[index] for index in examined]
        for index, row in enumerate(numbers):
            numbers_of_row = [flat[row * size + column] for column in examined]
            points[index] += tuple(map(mul, numbers_of_row, units))
    return points


def find_three_nearest(
    points: Sequence[Sequence[float]],
    examined: Sequence[int],
    positions: Sequence[float] | None = None,
    beside: float = 0.0,
) -> tuple[list[list[int]], list[list[int]]]:
    """Return the three points nearest to each examined one, and the three nearest of those more
    than `beside` away in the order, none if there are no positions.

    >>> find_three_nearest([[0.0], [1.0], [2.0], [9.0]], [0])
    ([[1, 2, 3]], [])
    """
    near: list[list[int]] = []
    far: list[list[int]] = []
    for row in examined:
        distances = [math.dist(points[row], point) for point in points]
        order = nsmallest(4, range(len(points)), key=distances.__getitem__)
        near.append([n for n in order if n != row][:3])
        if positions is not None:
            here = positions[row]
            others = (n for n, position in enumerate(positions) if abs(position - here) > beside)
            far.append(nsmallest(3, others, key=distances.__getitem__))
    return near, far


def vote_accuracy(
    examined: Sequence[int], near: Sequence[Sequence[int]], labels: Sequence[float]
) -> float:
    """Return the share of rows whose class most of their neighbours have."""
    hits = find_hits(examined, near, labels)
    return sum(hits) / len(hits)


def vote_recall(
    examined: Sequence[int], near: Sequence[Sequence[int]], labels: Sequence[float]
) -> float:
    """Return by how many standard errors the mean recall of votes exceeds that of a constant.

    >>> vote_recall([0, 1, 2, 3], [[4], [4], [5], [5]], [1, 1, 0, 0, 1, 0])
    2.0

    However rare a class is, it counts as much as the others. The recall of a constant vote is 1/C.
    """
    by_class: dict[float, list[bool]] = {}
    for row, hit in zip(examined, find_hits(examined, near, labels), strict=True):
        by_class.setdefault(labels[row], []).append(hit)
    chance = 1 / len(by_class)
    recall = chance * sum([sum(hits) / len(hits) for hits in by_class.values()])
    variance = chance * (1 - chance) * sum([1 / len(hits) for hits in by_class.values()])
    return (recall - chance) / (chance * math.sqrt(variance)) if variance else 0.0


def find_hits(
    examined: Sequence[int], near: Sequence[Sequence[int]], labels: Sequence[float]
) -> list[bool]:
    """Return for each row whether most of its neighbours have its class."""
    votes = [Counter(labels[n] for n in neighbours).most_common(1)[0][0] for neighbours in near]
    return [labels[row] == label for row, label in zip(examined, votes, strict=True)]


def find_windows(rows: Rows) -> Suspicion | None:
    """Find rows that are windows over one series, divided at random."""
    if rows.method not in RANDOM_METHODS or not rows.subsets["testing"]:
        return None
    window_and_shift = _find_window(rows)
    if window_and_shift is None:
        return None
    window, shift = window_and_shift
    breaks = _count_breaks(window, shift)
    text = f" of {breaks + 1} series" if breaks else " over one series"
    return Suspicion(
        f"every row continues the one before, {shift} further"
        + f", but for {breaks}" * (breaks > 0)
        + f": windows{text}, which testing shares with training",
        {"shift": shift, "breaks": breaks},
        WHOLE_SERIES if breaks else "",
    )


def shift_of_windows(rows: Rows) -> int | None:
    """Return by how much each row is further along one series than the one before it."""
    window_and_shift = _find_window(rows)
    return window_and_shift and window_and_shift[1]


def _find_window(rows: Rows) -> tuple[_Window, int] | None:
    """Return the input whose rows are windows over a series, and how far each moves on."""
    for window in _windows(rows):
        number = len(window.flat) // window.size
        steps = range(0, number - 1, -(-number // 200))
        for shift in range(1, min(8, window.size // window.unit // 2) + 1):
            breaks = (row for row in steps if not _continues(window, row, shift))
            allowed = int((1 - MIN_CONTINUING_SHARE) * len(steps))
            if len(list(islice(breaks, allowed + 1))) <= allowed:
                return window, shift
    return None


def _count_breaks(window: _Window, shift: int) -> int:
    """Return how many rows do not continue the one before, as the first ones of further series."""
    limit = min(MAX_SAMPLE, MAX_VALUES // 30 // window.size, len(window.flat) // window.size)
    return sum(not _continues(window, row, shift) for row in range(limit - 1))


class _Window(NamedTuple):
    """Rows that may be windows: their numbers, how many a row and a step have, and their units."""

    flat: Sequence[float]
    size: int
    unit: int
    scales: Sequence[tuple[float, float]]


def _windows(rows: Rows) -> Iterator[_Window]:
    """Yield the inputs whose rows may be windows over a series."""
    for block, values in rows.inputs.items():
        field = rows.fields[block]
        size = count(field.shape)
        steps = field.sequence or len(field.shape) == 2
        unit = count(field.shape[1:]) if steps else 1
        table = len(field.shape) == 1 and len(rows.columns) == size
        if not is_float(values.dtype) or len(values) < MIN_ROWS or not (steps or table):
            continue
        yield _Window(values.values(), size, unit, rows.units(block))


def _continues(window: _Window, row: int, shift: int) -> bool:
    """Return whether the next row is this one, moved by `shift`; straight rows are not evidence.

    Values may be relative to one of them, as to the last one: then all differ by one number.
    """
    flat, size, unit, scales = window
    row_values = [
        v * a + b for v, (a, b) in zip(flat[row * size : (row + 1) * size], scales, strict=True)
    ]
    first = (row + 1) * size
    next_values = [v * a + b for v, (a, b) in zip(flat[first : first + size], scales, strict=True)]
    tolerance = 1e-4 * (max(row_values) - min(row_values))
    if not tolerance or _is_equal_but_offset(row_values, next_values, unit, tolerance):
        return False
    slopes = list(map(sub, row_values[unit:], row_values))
    straight = _is_equal_but_offset(slopes[unit:], slopes, 1, tolerance)
    return not straight and _is_equal_but_offset(
        row_values[shift * unit :], next_values, unit, tolerance
    )


def _is_equal_but_offset(
    first: Sequence[float], second: Sequence[float], unit: int, near: float
) -> bool:
    """Return whether values are the same as far as both go, but for one offset in each unit."""
    differences = list(map(sub, first, second))
    return all(
        max(differences_of_unit) - min(differences_of_unit) <= 2 * near
        for n in range(unit)
        if (differences_of_unit := differences[n::unit])
    )
