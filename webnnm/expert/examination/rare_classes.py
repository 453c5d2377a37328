"""Which rare classes nearest neighbours do not tell apart from the others."""

from __future__ import annotations

from collections import Counter

from webnnm.core.thinning import thin
from webnnm.expert.examination.neighbours import find_hits, find_three_nearest, make_points
from webnnm.expert.examination.rows import Rows
from webnnm.expert.examination.statistics import binomial_tail
from webnnm.expert.facts.facts import Suspicion

MIN_RATIO = 5
"""A class is rare if the most frequent one has more than this many times its rows."""

MAX_EXAMINED = 40
"""The number of rows of each rare class whose neighbours are looked for."""

MAX_CLASSES = 5
"""The number of rare classes that are examined, the most frequent of them."""

MAX_POINTS = 1000
MAX_NUMBERS = 64
"""Rows with more numbers have no near neighbours."""

ERROR = 0.05
"""The chance that a class is reported of which neighbours know half of the rows."""


def find_overlooked_classes(rows: Rows) -> Suspicion | None:
    """Measure which rare classes the three nearest rows predict for fewer than half of their rows.

    They do so beyond chance (sign test, 5%, divided by the number of rare classes). "overlooked"
    are the numbers of these classes, none where neighbours know all rare classes.
    """
    if rows.target is None or not rows.classes:
        return None
    sample = thin([*rows.sample], MAX_POINTS)
    labels = [rows.target[row] for row in sample]
    counts = Counter(labels)
    largest = max(counts.values(), default=0)
    rare = [label for label, number in counts.most_common() if largest > MIN_RATIO * number]
    points = make_points(rows, sample, MAX_EXAMINED) if rare else None
    if points is None or not points or len(points[0]) > MAX_NUMBERS:
        return None
    overlooked: list[float] = []
    for label in rare[:MAX_CLASSES]:
        examined = [index for index, other in enumerate(labels) if other == label][:MAX_EXAMINED]
        near, _ = find_three_nearest(points, examined)
        hits, number = sum(find_hits(examined, near, labels)), len(examined)
        misses = number - hits
        if binomial_tail(misses, number, 0.5) < ERROR / len(rare[:MAX_CLASSES]):
            overlooked.append(label)
    return Suspicion("which rare classes the nearest rows predict", {"overlooked": overlooked})
