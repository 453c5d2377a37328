"""Rules on what is between the last product and the output (E409, E504–E506)."""

from __future__ import annotations

import math

from webnnm.core.readable import show_number
from webnnm.expert.facts.facts import Facts
from webnnm.expert.facts.paths import tail
from webnnm.expert.rules.rule import Hit, merge_hits, rule
from webnnm.expert.rules.symptoms import BEATEN, STUCK
from webnnm.graph.elaboration.vertices import LayerVertex, ParameterVertex

MAX_MEAN_WITHOUT_BIAS = 1.0
"""Targets whose mean is more than this many deviations from 0 need a bias: without one, a product
of standardised features has a mean of 0, and the error is at least twice their variance."""


def _before(layers: list[LayerVertex]) -> LayerVertex | None:
    """Return the last activation through which the scores pass before the output activation."""
    ends = [layer for layer in layers if not layer.has("passing")]
    if len(ends) < 2 or not ends[0].has("probabilistic"):
        return None
    return ends[1]


def _is_softmax(layer: LayerVertex) -> bool:
    return layer.has("probabilistic") and layer.operator.name != "sigmoid"


@rule(
    "E409",
    "warning",
    "Move dropout() before the last product, or leave it out.",
    explains=[*STUCK, "E907"],
)
def output_dropout(facts: Facts) -> Hit | None:
    """Dropout after the last product, on the scores or the quantity itself.

    Dropout makes the units of a layer independent of each other, which helps if a product follows
    that can compensate for the missing ones. After the last product nothing does: a score that is
    set to 0 is a wrong prediction.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), dropout(0.3), softmax();"
    >>> print(review(text).finding("E409"))
    warning E409 line 1, column 60: dropout1 drops predictions of m
      → Move dropout() before the last product, or leave it out.

    Ignore it where the output is not a prediction but a code that another model takes.
    """
    outputs = {
        layer.label: output.name
        for output in facts.network.outputs
        for layer in tail(output)
        if layer.operator.name == "dropout"
    }
    return merge_hits({a: f"{a} drops predictions of {b}" for a, b in outputs.items()})


@rule("E504", "warning", "Leave out the activation before the output activation.", explains=STUCK)
def scores_in_range(facts: Facts) -> Hit | None:
    """An activation with bounded results comes directly before softmax or sigmoid.

    Softmax and sigmoid take scores of any size. After relu no score is below 0, so that all wrong
    classes share one score; after a sigmoid the scores lie within 1 of each other, and no
    probability of ten classes exceeds e/(e + 9) = 0.23. A factor between the two, as in
    `tanh(), mul(30)`, widens the range again; the rule then does not fire.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), relu(), softmax();"
    >>> print(review(text).finding("E504"))
    warning E504 line 1, column 60: softmax1 gets scores of 0 and more from relu1
      → Leave out the activation before the output activation.

    Ignore it where probabilities must never come near 0 or 1.
    """
    messages: dict[str, str] = {}
    for output in facts.network.outputs:
        layers = tail(output)
        before = _before(layers)
        if before is None or _is_softmax(before):
            continue
        low, high = before.operator.bounds
        if math.isfinite(low):
            last = next(v for v in layers if v.has("probabilistic"))
            reach = (
                f"{show_number(low)} … {show_number(high)}"
                if high < 2
                else f"{show_number(low)} and more"
            )
            messages[before.label] = f"{last.label} gets scores of {reach} from {before.label}"
    return merge_hits(messages)


@rule("E505", "warning", "Leave out one of them.", explains=STUCK)
def double_softmax(facts: Facts) -> Hit | None:
    """Two softmax layers follow each other at an output.

    The second one gets probabilities, which lie within 1 of each other: with ten classes no
    probability exceeds e/(e + 9) = 0.23. The loss cannot fall far, and its gradients are small.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax(), softmax();"
    >>> print(review(text).finding("E505"))
    warning E505 line 1, column 60: softmax1 comes before another softmax at m
      → Leave out one of them.

    Ignore it where you want flatter probabilities than those of the model.
    """
    messages: dict[str, str] = {}
    for output in facts.network.outputs:
        before = _before(tail(output))
        if before is not None and _is_softmax(before):
            messages[before.label] = f"{before.label} comes before another softmax at {output.name}"
    return merge_hits(messages)


@rule("E506", "advice", "Add a bias after the last product: add(b).", explains=BEATEN)
def no_bias(facts: Facts) -> Hit | None:
    """The last product before a quantity has no bias, and the targets are far from 0.

    Far means a mean of more than one standard deviation. Without a bias the prediction for the mean
    row of standardised features is 0, wherever the targets lie.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w);"
    >>> data = Dataset([[i / 10] for i in range(20)], [[90.0 + i] for i in range(20)])
    >>> print(review(text, data).finding("E506"))
    advice E506 line 1, column 49: matmul1 has no bias, the targets of m have mean 98.9 and std 5.82
      → Add a bias after the last product: add(b).

    Ignore it where the target for a row of zeros is known to be 0, as in laws of physics.
    """
    messages: dict[str, str] = {}
    ends = {output.name: output for output in facts.network.outputs}
    for output in facts.outputs:
        labels = output.labels
        if labels is None or labels.kind != "continuous" or output.activation != "linear":
            continue
        layers = tail(ends[output.name])
        product = (layers[-1].operands[0] if layers else ends[output.name].source).vertex
        if not isinstance(product, LayerVertex) or product.operator.name != "matmul":
            continue
        biased = any(
            isinstance(source.vertex, ParameterVertex)
            for layer in layers
            for source in layer.operands[1:]
        )
        if not biased and abs(labels.mean) > MAX_MEAN_WITHOUT_BIAS * labels.std:
            messages[product.label] = (
                f"{product.label} has no bias, the targets of {output.name} have mean "
                f"{labels.mean:.3g} and std {labels.std:.3g}"
            )
    return merge_hits(messages)
