"""Calibration: whether predictions with a probability of 0.8 are right in 8 of 10 rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from webnnm.evaluation.averages import share

BINS = 10
"""The number of bins of equal width for the probabilities (spec H)."""


@dataclass(frozen=True, slots=True)
class Bin:
    """The rows whose probability is in `lower` < p ≤ `upper` (0 belongs to the first bin).

    Attributes: `count` of rows, their mean probability `confidence`, and `accuracy`, the share
    of rows for which it came true; both are 0 without rows.
    """

    lower: float
    upper: float
    count: int
    confidence: float
    accuracy: float


def reliability(
    probabilities: Sequence[float], true: Iterable[bool], number: int = BINS
) -> tuple[Bin, ...]:
    """Return the bins of a reliability diagram, from 0 to 1.

    >>> reliability([0.25, 0.75, 1.0], [False, True, True], number=2)[1]
    Bin(lower=0.5, upper=1.0, count=2, confidence=0.875, accuracy=1.0)

    NaN is in no bin.
    """
    inside: list[list[float]] = [[] for _ in range(number)]
    hits = [0] * number
    for p, came in zip(probabilities, true, strict=True):
        if p == p:
            index = min(max(math.ceil(p * number) - 1, 0), number - 1)
            inside[index].append(p)
            hits[index] += came
    return tuple(
        Bin(
            lower=k / number,
            upper=(k + 1) / number,
            count=len(members),
            confidence=share(math.fsum(members), len(members)),
            accuracy=share(hit, len(members)),
        )
        for k, (members, hit) in enumerate(zip(inside, hits, strict=True))
    )


def compute_calibration_error(bins: Sequence[Bin]) -> float:
    """Return the expected calibration error (Naeini et al. 2015, Guo et al. 2017).

    >>> compute_calibration_error(reliability([0.25, 0.75, 1.0], [False, True, True], number=2))
    0.16666666666666666

    It is the mean of |accuracy − confidence| over the bins, weighted by their number of rows.
    """
    gaps = math.fsum(bin.count * abs(bin.accuracy - bin.confidence) for bin in bins)
    return share(gaps, sum(bin.count for bin in bins))
