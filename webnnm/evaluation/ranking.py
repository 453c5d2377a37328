"""Metrics of order: how well scores rank, whatever their scale."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence


def roc_auc(positives: Sequence[float], negatives: Iterable[float]) -> float:
    """Return the area under the receiver operating characteristic.

    >>> roc_auc([0.9, 0.4], [0.1, 0.4])
    0.875

    It is the probability that a positive row has a higher score than a negative row, with ties
    counted as half: the rank statistic of Mann and Whitney (1947), exact up to the last division.
    Without positive or negative rows, or with a NaN score, it is nan.
    """
    below = sorted(negatives)
    pairs = len(positives) * len(below)
    if not pairs or any(map(math.isnan, positives)) or any(map(math.isnan, below)):
        return math.nan
    doubled = sum(bisect_left(below, score) + bisect_right(below, score) for score in positives)
    return doubled / (2 * pairs)


def ranks(scores: Sequence[float], actual: Sequence[int]) -> list[int]:
    """Return how many classes rank before the actual one in each row of flat scores.

    >>> ranks([0.2, 0.5, 0.3, 0.4, 0.4, 0.2], [2, 1])
    [1, 1]

    Of equal scores, the first class ranks before. NaN ranks last.
    """
    width = len(scores) // len(actual) if actual else 0
    result: list[int] = []
    for row, number in enumerate(actual):
        values = scores[row * width : (row + 1) * width]
        score = values[number]
        if score != score:
            result.append(width)
            continue
        higher = 0 if score == max(values) else sum(value > score for value in values)
        result.append(higher + values[:number].count(score))
    return result
