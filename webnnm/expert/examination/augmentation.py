"""What is suspicious about an augmentation: rows that look like rows with other targets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count
from webnnm.core.thinning import thin
from webnnm.expert.examination.neighbours import MAX_VALUES
from webnnm.expert.examination.rows import Rows
from webnnm.expert.facts.facts import Suspicion

AUGMENTED_ROWS, COMPARED_ROWS = 100, 600
"""The number of rows that are augmented, and compared with as many unchanged rows."""

MIN_ROWS = 40
MAX_DISTANCE_RATIO = 0.9
"""A row looks like another class if a row of that class is nearer by this factor than any of its
own."""

MAX_DISTANCE = 1.2
"""And as near as rows usually are to others of their own class, times this: rows that noise or a
shift moves away from all classes look like none."""

MIN_SHARE, MIN_FACTOR = 0.12, 3
"""This share of the augmented rows looks like another class, and this many times as many as without
augmentation: mirroring with probability one half turns a quarter, if half of the classes have a
mirror image among the classes."""

MIN_MOVED, MAX_TARGETS = 20, 4
"""This many augmented rows look like other rows, of at most so many quantities."""

MIN_STANDARD_ERRORS = 2.58
"""Targets of look-alikes are farther away than before in more rows than chance (0.5%) explains."""

MOVED_REMEDY = (
    "Let the augmentation change the targets as it changes the inputs, as a shift of a picture "
    "shifts the place of what is in it; or leave it out."
)

Point = Sequence[float]


class _Augmented(NamedTuple):
    """Rows as they are, and some of them as an augmentation changes them.

    - `rows`: the numbers of the compared rows; `points`: their values.
    - `examined`: the places, in these, of the rows that were changed; `changed`: what became of
      them.
    """

    rows: Sequence[int]
    points: Sequence[Point]
    examined: Sequence[int]
    changed: Sequence[Point]


def find_target_changes(rows: Rows) -> Suspicion | None:
    """Find an augmentation that makes rows look like those of another class, or of a quantity far
    from their own, and leaves the targets unchanged."""
    augmented = _augment(rows)
    if augmented is None:
        return None
    if rows.classes and rows.target is not None:
        return _find_class_changes([rows.target[row] for row in augmented.rows], augmented)
    return _find_quantity_changes(rows, augmented)


def _augment(rows: Rows) -> _Augmented | None:
    """Return rows as an augmentation changes them; None if it changes targets as well."""
    (block, values), *others = rows.inputs.items()
    if rows.augmented is None or others:
        return None
    size = count(values.shape[1:])
    if not is_float(values.dtype) or len(rows.training) < MIN_ROWS or not size:
        return None
    limit = max(1, min(COMPARED_ROWS, MAX_VALUES // (2 * AUGMENTED_ROWS * size)))
    compared = thin(rows.training, limit)
    if len(compared) < MIN_ROWS:
        return None
    examined = range(0, len(compared), -(-len(compared) // AUGMENTED_ROWS))
    numbers = [compared[index] for index in examined]
    inputs, outputs = rows.augmented(numbers)
    targets_by_output = {name: targets.rows(numbers) for name, targets in rows.outputs.items()}
    if any(
        outputs[name].tolist() != targets.tolist() for name, targets in targets_by_output.items()
    ):
        return None  # for instance because it mixes rows, or changes labels deliberately
    changed = _points(inputs[block], range(len(examined)), size)
    return _Augmented(compared, _points(values, compared, size), examined, changed)


def _find_class_changes(classes: Sequence[float], augmented: _Augmented) -> Suspicion | None:
    _, points, examined, changed = augmented
    # For each row, the distance to its own class and to any other class: before and after.
    before = [_nearest(points[index], points, classes, index) for index in examined]
    after = [
        _nearest(point, points, classes, index)
        for point, index in zip(changed, examined, strict=True)
    ]
    distances_within = sorted(own for own, _, _ in before if own) or [
        0.0
    ]  # equal rows measure nothing
    median = distances_within[len(distances_within) // 2]
    alike_before, alike_after = (
        [
            (classes[index], other_class)
            for index, (own, other, other_class) in zip(examined, distances, strict=True)
            if other < MAX_DISTANCE_RATIO * own and other <= MAX_DISTANCE * median
        ]
        for distances in (before, after)
    )
    if len(alike_after) < max(MIN_SHARE * len(examined), MIN_FACTOR * (len(alike_before) + 1)):
        return None
    (label, other), times = Counter(alike_after).most_common(1)[0]
    return Suspicion(
        f"{len(alike_after)} of {len(examined)} augmented rows look like another class, "
        f"{len(alike_before)} of them as they are; most often rows of class {label:g} like class "
        f"{other:g} ({times})",
        {"share": len(alike_after) / len(examined), "before": len(alike_before) / len(examined)},
    )


def _find_quantity_changes(rows: Rows, augmented: _Augmented) -> Suspicion | None:
    """Compare the targets of augmented rows with those of the rows that they look like."""
    (targets,) = rows.outputs.values() if len(rows.outputs) == 1 else (None,)
    if targets is None or not is_float(targets.dtype) or count(targets.shape[1:]) > MAX_TARGETS:
        return None
    _, points, examined, changed = augmented
    goals = _points(targets, augmented.rows, count(targets.shape[1:]))

    def look_up(point: Point, index: int) -> tuple[float, float]:
        """Return how near the nearest other row is, and how far its targets are, squared."""
        distance, nearest = min(
            (math.dist(point, other), n) for n, other in enumerate(points) if n != index
        )
        return distance, math.dist(goals[nearest], goals[index]) ** 2

    before = [look_up(points[index], index) for index in examined]
    median = sorted(distance for distance, _ in before)[len(before) // 2]
    pairs = [
        (error, other)
        for (_, error), (distance, other) in zip(
            before, map(look_up, changed, examined), strict=True
        )
        if distance <= MAX_DISTANCE * median
    ]
    if len(pairs) < MIN_MOVED:
        return None
    worse, better = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
    ratio = sum(b for _, b in pairs) / (sum(a for a, _ in pairs) or 1e-30)
    if worse - better < MIN_STANDARD_ERRORS * math.sqrt(worse + better) or ratio < MIN_FACTOR:
        return None
    return Suspicion(
        f"{len(pairs)} of {len(examined)} augmented rows look like other rows, whose targets are "
        f"{math.sqrt(ratio):.1f} times as far from theirs as those of the rows they look like "
        "without augmentation, and their own targets stay",
        {"rows": len(pairs), "ratio": ratio},
        MOVED_REMEDY,
    )


def _points(values: HostArray, rows: Sequence[int], size: int) -> list[Point]:
    flat = values.values()
    return [tuple(flat[row * size : (row + 1) * size]) for row in rows]


def _nearest(
    point: Point, points: Sequence[Point], classes: Sequence[float], itself: int
) -> tuple[float, float, float]:
    """Return the distance to the nearest point of the own class, of any other class, and which."""
    own = other = math.inf
    which = math.nan
    for number, (candidate, label) in enumerate(zip(points, classes, strict=True)):
        if number == itself:
            continue
        distance = math.dist(point, candidate)
        if label == classes[itself]:
            own = min(own, distance)
        elif distance < other:
            other, which = distance, label
    return own, other, which
