"""Naive Bayes, which predicts classes of texts by their words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence, Set

Bags = Mapping[int, Set[int]]
"""Row → the tokens of its text."""


def _predict(
    bags: Bags, labels: Sequence[float], training: Sequence[int], others: Sequence[int]
) -> list[bool]:
    """Return for other rows whether their words tell their class."""
    sizes = Counter(labels[row] for row in training)
    found_in = {label: Counter[int]() for label in sizes}
    for row in training:
        found_in[labels[row]].update(bags[row])
    weights = {
        label: {token: math.log((n + 0.5) / 0.5) for token, n in texts_with.items()}
        for label, texts_with in found_in.items()
    }
    # A word that a class does not have counts as half an occurrence.
    unseen = {label: math.log(0.5 / (size + 1)) for label, size in sizes.items()}

    def score(label: float, row: int) -> float:
        own_weights = weights[label]
        evidence = sum([own_weights.get(token, 0.0) for token in bags[row]])
        return math.log(sizes[label]) + evidence + len(bags[row]) * unseen[label]

    return [max(sizes, key=lambda label: score(label, row)) == labels[row] for row in others]


def cross_predict_by_words(bags: Bags, labels: Sequence[float]) -> dict[int, bool]:
    """Return by row whether its words tell its class to naive Bayes that knows the other half.

    >>> bags = {0: {1, 7}, 1: {1, 7}, 2: {2, 8}, 3: {2, 8}}
    >>> cross_predict_by_words(bags, [0, 0, 1, 1])
    {0: True, 1: True, 2: True, 3: True}
    """
    rows = [*bags]
    halves = rows[::2], rows[1::2]
    hits: dict[int, bool] = {}
    for one, other in (halves, halves[::-1]):
        hits.update(zip(one, _predict(bags, labels, other, one), strict=True))
    return {row: hits[row] for row in rows}
