"""Finds targets that go around a circle, whose ends are next to each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from webnnm.core.thinning import thin
from webnnm.expert.examination.neighbours import find_three_nearest, make_points
from webnnm.expert.examination.rows import Rows
from webnnm.expert.examination.statistics import binomial_tail
from webnnm.expert.facts.facts import Suspicion

CIRCLES = (
    (0.0, 360.0, "degrees"),
    (-180.0, 180.0, "degrees"),
    (0.0, 2 * math.pi, "radians"),
    (-math.pi, math.pi, "radians"),
    (0.0, 24.0, "hours"),
)
"""Where the ends of usual circles are."""

ROUNDING, MIN_EXTENT = 1e-5, 0.95
"""The shares of the circle that float32 may exceed it by, and that targets extend over: the hours 0
to 23 are 23/24 of it."""

MAX_SHARE_AT_END = 0.05
"""If more targets are an end, as of a clipped measurement, and not a whole hour, they have no
direction."""

MIN_ROWS, MAX_ROWS = 100, 700
MIN_PAIRS = 6
"""So many similar rows are on either side of the cut."""

NEAR = 1 / 8
"""Targets are near each other around the circle within this share of it."""

MIN_CLOSE, MIN_RATIO = 0.4, 2.0
"""Of similar rows on either side, this share is next to each other around the circle, and so many
times what chance gives."""

MIN_BESIDE = 0.1
"""There are so many targets in the next eighths, for one in the eighths at the ends: a mixture of
two values has a gap there."""

MAX_P = 1e-4


def find_circle(rows: Rows) -> Suspicion | None:
    """Find targets with the range of a circle, where rows at both ends have equal inputs.

    Of pairs of similar rows whose targets differ by more than half a circle, more than chance gives
    are next to each other around the circle.
    """
    quantity = rows.quantity
    sample = thin(rows.training, MAX_ROWS)
    if quantity is None or len(sample) < MIN_ROWS:
        return None
    targets = quantity.take_raw(sample)
    lowest, highest = min(targets), max(targets)
    circle = _choose_circle(lowest, highest)
    if circle is None:
        return None
    first, last, unit = circle
    period = last - first
    is_clock = highest < last and all(value == round(value) for value in targets)
    at_ends = max(targets.count(lowest), targets.count(highest))
    if at_ends > MAX_SHARE_AT_END * len(targets) and not is_clock:
        return None
    parts = Counter(min(7, int(8 * (value - first) / period)) for value in targets)
    if min(parts[1], parts[6]) < MIN_BESIDE * max(parts[0], parts[7]):
        return None
    points = make_points(rows, sample, len(sample))
    if points is None:
        return None
    near, _ = find_three_nearest(points, range(len(points)))
    distances = [
        abs(targets[n] - targets[one]) for n, nearest in enumerate(near) for one in nearest
    ]
    across = [distance for distance in distances if distance > period / 2]
    close = sum(distance > (1 - NEAR) * period for distance in across)
    chance = _share_by_chance(targets, period)
    enough = max(MIN_PAIRS, max(MIN_CLOSE, MIN_RATIO * chance) * len(across))
    if close < enough or binomial_tail(close, len(across), chance) >= MAX_P:
        return None
    return Suspicion(
        f"the target goes from {lowest:.4g} to {highest:.4g} as {unit} around a circle, and of "
        f"{len(across)} pairs of similar rows whose targets are more than half of it apart, "
        f"{close} are next to each other across the ends",
        {"period": period, "pairs": close},
        f"Learn sine and cosine of it, 2π · target / {period:.4g}, as two targets, and take the "
        "angle of the two predictions (atan2).",
    )


def _choose_circle(lowest: float, highest: float) -> tuple[float, float, str] | None:
    """Return the circle that an extent nearly fills, None if there is none."""
    for first, last, unit in CIRCLES:
        period = last - first
        slack = ROUNDING * period
        inside = first - slack <= lowest and highest <= last + slack
        if inside and highest - lowest >= MIN_EXTENT * period:
            return first, last, unit
    return None


def _share_by_chance(targets: Sequence[float], period: float) -> float:
    """Return how many of all pairs that differ by more than half a circle are near across it."""
    ordered = sorted(targets)
    far = near = 0
    half = close = 0
    for value in ordered:
        while half < len(ordered) and ordered[half] < value - period / 2:
            half += 1
        while close < len(ordered) and ordered[close] < value - (1 - NEAR) * period:
            close += 1
        far += half
        near += close
    return near / far if far else 1.0
