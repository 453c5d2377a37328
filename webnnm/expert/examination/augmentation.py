"""What is suspicious about an augmentation: rows that look like a class other than their own."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count
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

Point = Sequence[float]


def find_class_changes(rows: Rows) -> Suspicion | None:
    """Find an augmentation that makes rows of one class look like those of another."""
    labels, ((block, values), *others) = rows.target, rows.inputs.items()
    if rows.augmented is None or labels is None or not rows.classes or others:
        return None
    size = count(values.shape[1:])
    if not is_float(values.dtype) or len(rows.training) < MIN_ROWS or not size:
        return None
    limit = max(1, min(COMPARED_ROWS, MAX_VALUES // (2 * AUGMENTED_ROWS * size)))
    compared = rows.training[:: -(-len(rows.training) // limit)]
    examined = compared[:: -(-len(compared) // AUGMENTED_ROWS)]
    if len(compared) < MIN_ROWS:
        return None
    inputs, outputs = rows.augmented(examined)
    targets_by_output = {name: targets.rows(examined) for name, targets in rows.outputs.items()}
    if any(
        outputs[name].tolist() != targets.tolist() for name, targets in targets_by_output.items()
    ):
        return None  # for instance because it mixes rows, or changes labels deliberately
    points = _points(values, compared, size)
    changed = _points(inputs[block], range(len(examined)), size)
    indices = {row: number for number, row in enumerate(compared)}
    classes = [labels[row] for row in compared]
    # For each row, the distance to its own class and to any other class: before and after.
    before = [_nearest(points[indices[row]], points, classes, indices[row]) for row in examined]
    after = [
        _nearest(point, points, classes, indices[row])
        for point, row in zip(changed, examined, strict=True)
    ]
    distances_within = sorted(own for own, _, _ in before if own) or [
        0.0
    ]  # equal rows measure nothing
    median = distances_within[len(distances_within) // 2]
    alike_before, alike_after = (
        [
            (labels[row], other_class)
            for row, (own, other, other_class) in zip(examined, distances, strict=True)
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
