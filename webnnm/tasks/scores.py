"""Scores of classes: softmax, sigmoid, labels, the most likely ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from webnnm.core.errors import DataError
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


FUNCTIONS: Mapping[str, Callable[[Sequence[float]], list[float]]] = {
    "softmax": softmax,
    "sigmoid": sigmoid,
    "none": list,
}
"""What turns logits into scores."""


def score(logits: Sequence[float], config: Mapping[str, Any], function: str | None) -> list[float]:
    """Return the scores of classes, by a function or by the one that follows from the config.

    That is sigmoid for several labels at once and for a single output, none for regression.

    >>> score([0.0], {}, None), score([2.0], {"problem_type": "regression"}, None)
    ([0.5], [2.0])

    Raises `DataError` NNM704 for an unknown function.
    """
    if function is None:
        alone = len(logits) == 1 or config.get("problem_type") == "multi_label_classification"
        regression = config.get("problem_type") == "regression"
        function = "none" if regression else "sigmoid" if alone else "softmax"
    if function not in FUNCTIONS:
        hint = f"one of {', '.join(FUNCTIONS)}"
        raise DataError("NNM704", f'function_to_apply is "{function}"', hint=hint)
    return FUNCTIONS[function](logits)


def best_labels(
    logits: Sequence[float],
    config: Mapping[str, Any],
    top_k: int | None,
    function: str | None = None,
) -> list[dict[str, Any]]:
    """Return the most likely classes as dicts with `label` and `score`, all of them for None.

    >>> best_labels([2.0, 1.0], {"id2label": {"0": "cat"}}, 1, "none")
    [{'label': 'cat', 'score': 2.0}]
    """
    scores, labels = score(logits, config, function), read_labels(config, len(logits))
    return [{"label": labels[k], "score": scores[k]} for k in rank(scores, top_k)]


def read_labels(config: Mapping[str, Any], count: int) -> list[str]:
    """Return the names of the classes in a config, LABEL_0, LABEL_1, … if it has none.

    >>> read_labels({"id2label": {"0": "no", "1": "yes"}}, 2), read_labels({}, 1)
    (['no', 'yes'], ['LABEL_0'])

    Configs of timm have a list, `label_names`.
    """
    labels = config.get("id2label") or dict(enumerate(config.get("label_names") or ()))
    names = {int(number): str(name) for number, name in labels.items()}
    return [names.get(number, f"LABEL_{number}") for number in range(count)]


def rank(scores: Sequence[float], count: int | None) -> list[int]:
    """Return the indices of the largest scores, largest first; all of them for None.

    >>> rank([0.2, 0.7, 0.1], 2)
    [1, 0]
    """
    return sorted(range(len(scores)), key=lambda index: -scores[index])[:count]
