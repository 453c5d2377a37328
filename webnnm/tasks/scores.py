"""Scores of classes: softmax, sigmoid, labels, the most likely ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.evaluation import probabilities


def softmax(logits: Sequence[float]) -> list[float]:
    """Return the probabilities of exclusive classes.

    >>> softmax([0.0, 0.0])
    [0.5, 0.5]
    """
    largest = max(logits)
    powers = [math.exp(logit - largest) for logit in logits]
    total = math.fsum(powers)
    return [power / total for power in powers]


def sigmoid(logits: Sequence[float]) -> list[float]:
    """Return the probability of each class alone.

    >>> sigmoid([0.0, -1000.0])
    [0.5, 0.0]
    """
    return list(map(probabilities.sigmoid, logits))


def read_labels(config: Mapping[str, Any], count: int) -> list[str]:
    """Return the names of the classes in a config, LABEL_0, LABEL_1, … if it has none.

    >>> read_labels({"id2label": {"0": "no", "1": "yes"}}, 2), read_labels({}, 1)
    (['no', 'yes'], ['LABEL_0'])
    """
    names = {int(number): str(name) for number, name in (config.get("id2label") or {}).items()}
    return [names.get(number, f"LABEL_{number}") for number in range(count)]


def rank(scores: Sequence[float], count: int | None) -> list[int]:
    """Return the indices of the largest scores, largest first; all of them for None.

    >>> rank([0.2, 0.7, 0.1], 2)
    [1, 0]
    """
    return sorted(range(len(scores)), key=lambda index: -scores[index])[:count]
