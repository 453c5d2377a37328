"""What is suspicious about an augmentation: rows that look like a class other than their own."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count
from webnnm.expert.examination.neighbours import WORK
from webnnm.expert.examination.rows import Rows
from webnnm.expert.facts.facts import Suspicion

TRIED, KNOWN = 100, 600
"""The number of rows that are augmented, and compared with as many unchanged rows."""

FEWEST = 40
NEARER = 0.9
"""A row looks like another class if a row of that class is nearer by this factor than any of its
own."""

LIKE = 1.2
"""And as near as rows usually are to others of their own class, times this: rows that noise or a
shift moves away from all classes look like none."""

SHARE, TIMES = 0.12, 3
"""This share of the augmented rows looks like another class, and this many times as many as without
augmentation: mirroring with probability one half turns a quarter, if half of the classes have a
mirror image among the classes."""

Point = Sequence[float]


def turned(rows: Rows) -> Suspicion | None:
    """Find an augmentation that makes rows of one class look like those of another."""
    labels, ((block, values), *others) = rows.target, rows.inputs.items()
    if rows.augmented is None or labels is None or not rows.classes or others:
        return None
    size = count(values.shape[1:])
    if not is_float(values.dtype) or len(rows.training) < FEWEST or not size:
        return None
    most = max(1, min(KNOWN, WORK // (2 * TRIED * size)))
    known = rows.training[:: -(-len(rows.training) // most)]
    some = known[:: -(-len(known) // TRIED)]
    if len(known) < FEWEST:
        return None
    inputs, outputs = rows.augmented(some)
    given = {name: targets.rows(some) for name, targets in rows.outputs.items()}
    if any(outputs[name].tolist() != targets.tolist() for name, targets in given.items()):
        return None  # for instance because it mixes rows, or changes labels deliberately
    points = _points(values, known, size)
    changed = _points(inputs[block], range(len(some)), size)
    place = {row: number for number, row in enumerate(known)}
    classes = [labels[row] for row in known]
    # For each row, the distance to its own class and to any other class: before and after.
    before = [_nearest(points[place[row]], points, classes, place[row]) for row in some]
    after = [
        _nearest(point, points, classes, place[row])
        for point, row in zip(changed, some, strict=True)
    ]
    apart = sorted(own for own, _, _ in before if own) or [0.0]  # equal rows measure nothing
    usual = apart[len(apart) // 2]
    looked, looking = (
        [
            (labels[row], other_class)
            for row, (own, other, other_class) in zip(some, found, strict=True)
            if other < NEARER * own and other <= LIKE * usual
        ]
        for found in (before, after)
    )
    if len(looking) < max(SHARE * len(some), TIMES * (len(looked) + 1)):
        return None
    (one, other), times = Counter(looking).most_common(1)[0]
    return Suspicion(
        f"{len(looking)} of {len(some)} augmented rows look like another class, {len(looked)} of "
        f"them as they are; most often rows of class {one:g} like class {other:g} ({times})",
        {"share": len(looking) / len(some), "before": len(looked) / len(some)},
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
