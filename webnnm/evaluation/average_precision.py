"""The average precision of predicted boxes, as the evaluation of COCO computes it.

Source: T.-Y. Lin et al., "Microsoft COCO: common objects in context", arXiv:1405.0312, and its
evaluation, https://cocodataset.org/#detection-eval: precision at 101 levels of recall.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from webnnm.core.rectangles import Rectangle

LEVELS = tuple(level / 100 for level in range(101))
"""Recall at which precision is read."""
Scored = tuple[Rectangle, float]
"""A predicted box with its score."""


def match_boxes(
    predicted: Sequence[Scored], actual: Sequence[Rectangle], thresholds: Sequence[float]
) -> list[list[tuple[float, bool]]]:
    """Return for each threshold the score of each predicted box, and whether it is right.

    >>> box = Rectangle(0, 0, 2, 2)
    >>> match_boxes([(box, 0.5), (box, 0.75)], [box], [0.5])
    [[(0.75, True), (0.5, False)]]

    The best boxes of a picture choose first: each takes the actual box that it overlaps most, if
    intersection over union is at least the threshold; each actual box is taken once.
    """
    ordered = sorted(predicted, key=lambda one: -one[1])
    choices = [
        sorted(
            ((box.compute_iou(other), -number) for number, other in enumerate(actual)), reverse=True
        )
        for box, _ in ordered
    ]
    results: list[list[tuple[float, bool]]] = []
    for threshold in thresholds:
        taken: set[int] = set()
        matches: list[tuple[float, bool]] = []
        for (_, score), overlaps in zip(ordered, choices, strict=True):
            best = next((n for iou, n in overlaps if iou >= threshold and n not in taken), None)
            if best is not None:
                taken.add(best)
            matches.append((score, best is not None))
        results.append(matches)
    return results


def compute_average_precision(matches: Sequence[tuple[float, bool]], actual: int) -> float:
    """Return the mean precision over 101 levels of recall, nan without actual boxes.

    >>> compute_average_precision([(0.9, True), (0.8, False), (0.7, True)], 2)
    0.834983498349835

    `matches` are the score of each predicted box and whether it is right, `actual` is how many
    boxes there are. Precision at a level is the highest at this or a higher recall.
    """
    if not actual:
        return math.nan
    ordered = sorted(matches, key=lambda one: -one[0])
    hits = [*accumulate(int(is_match) for _, is_match in ordered)]
    precision = [hit / (number + 1) for number, hit in enumerate(hits)]
    highest = [*accumulate(reversed(precision), max)][::-1]
    recall = [hit / actual for hit in hits]
    positions = [bisect_left(recall, level) for level in LEVELS]
    return math.fsum(highest[at] for at in positions if at < len(highest)) / len(LEVELS)
