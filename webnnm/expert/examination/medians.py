"""Finds targets whose median is one value, whatever the inputs."""

from __future__ import annotations

from collections import Counter

from webnnm.core.thinning import thin
from webnnm.expert.examination.neighbours import find_three_nearest, make_points
from webnnm.expert.examination.rows import Rows
from webnnm.expert.facts.facts import Suspicion

MIN_ROWS, MAX_ROWS, MAX_EXAMINED = 100, 1000, 200
MIN_COMMON, MIN_OTHERS = 0.5, 20
"""The share of rows with the most common target, and the rows with another one."""

MIN_LOST = 0.4
"""The share of the latter most of whose nearest rows have the common target: 0.65 or more in
generated sets whose inputs tell only the chance of another target, 0.24 or less where they tell
when there is one."""


def find_common_target(rows: Rows) -> Suspicion | None:
    """Find a target that most rows have, and most rows like those that have another one."""
    quantity = rows.quantity
    sample = thin(rows.training, MAX_ROWS)
    if quantity is None or len(sample) < MIN_ROWS:
        return None
    targets = quantity.take(sample)
    common, often = Counter(targets).most_common(1)[0]
    others = [n for n, target in enumerate(targets) if target != common]
    if often < MIN_COMMON * len(sample) or len({targets[n] for n in others}) < 3:
        return None
    examined = thin(others, MAX_EXAMINED)
    points = make_points(rows, sample, len(examined))
    if points is None or len(examined) < MIN_OTHERS:
        return None
    near, _ = find_three_nearest(points, examined)
    lost = sum(sum(targets[one] == common for one in three) > 1 for three in near) / len(near)
    if lost < MIN_LOST:
        return None
    value, share = quantity.raw(common), often / len(sample)
    return Suspicion("most targets are one value", {"value": value, "share": share, "lost": lost})
