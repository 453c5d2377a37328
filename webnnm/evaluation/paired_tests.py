"""Tests of whether two models differ on the same rows by more than chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

MCNEMAR = "McNemar's test"
PAIRED_T = "paired t-test"


def compare_hits(one: Sequence[bool], other: Sequence[bool]) -> float:
    """Return the two-sided p-value of McNemar's exact test: two models are right equally often.

    >>> compare_hits([True] * 10, [False] * 6 + [True] * 4)
    0.03125

    Only rows count on which just one of the two is right; if both were equally good, each would be
    the right one with probability ½ (Q. McNemar, 1947).
    """
    pairs = list(zip(one, other, strict=True))
    wins, losses = pairs.count((True, False)), pairs.count((False, True))
    total = wins + losses
    tail = sum([math.comb(total, k) for k in range(min(wins, losses) + 1)])
    return min(1.0, 2 * tail / 2**total)


def compare_losses(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the two-sided p-value of a paired t-test: two models have the same mean loss.

    >>> round(compare_losses([1.0, 2.0, 3.0, 4.0], [0.0, 1.5, 1.5, 3.0]), 3)
    0.017

    The distribution of t is approximated by that of Wallace (1959), which is right to about 0.002.
    """
    differences = [a - b for a, b in zip(one, other, strict=True)]
    degrees = len(differences) - 1
    mean = math.fsum(differences) / len(differences)
    variance = math.fsum([(x - mean) ** 2 for x in differences]) / max(1, degrees)
    if not variance or not degrees:
        return float(not mean)
    t2 = mean * mean / (variance / len(differences))
    z = (8 * degrees + 1) / (8 * degrees + 3) * math.sqrt(degrees * math.log1p(t2 / degrees))
    return 2 * NormalDist().cdf(-z)
