"""Rules on parameters of a loss that the user wrote: δ, γ and class weights (E119–E121)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from webnnm.expert.facts.facts import Facts, OutputFacts
from webnnm.expert.rules.rule import Hit, merge_hits, rule
from webnnm.expert.rules.symptoms import STUCK
from webnnm.graph.elaboration.loss_words import loss_numbers
from webnnm.training.loss_choice import MAD_TO_STD

MIN_DELTA = 0.01
"""δ in robust standard deviations of the targets. The gradient of the Huber loss is at most δ: with
a hundredth of a deviation it is a hundredth of the gradient of the squared error."""
MAX_DELTA = 5.0
"""Errors up to this many deviations count squared; only a few far targets lie beyond."""
MAX_GAMMA = 5.0
"""Lin et al. 2017 try γ from 0 to 5; 2 is best: a row with p = 0.9 then has a weight of 0.01."""
MAX_SHARE_RATIO = 20.0
"""The ratio of the shares of two classes in the loss, where a share is rows times weight."""


def _numbers(facts: Facts) -> dict[str, Mapping[str, Any]]:
    """Return the parameters that the text gives the losses of outputs."""
    return {output.name: loss_numbers(output.block) for output in facts.network.outputs}


@rule(
    "E119",
    "warning",
    "Leave delta out: it is then derived from the targets.",
    raises=["delta"],
    explains=STUCK,
)
def huber_delta(facts: Facts) -> Hit | None:
    """The text sets δ of the Huber loss below a hundredth of the deviation of the targets, or, if
    the targets have outliers, above five deviations.

    Errors up to δ count squared, larger ones linearly: gradients are at most δ. A tiny δ makes all
    of them tiny, and sgdm and nesterov take tiny steps. With a large δ the outliers count squared,
    which the Huber loss is meant to prevent. The deviation is 1.48 times the median absolute
    deviation, which outliers do not stretch; the default of δ is a third of it.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[1]; m:loss HUL; m:delta 1e-6; "
    >>> text += "m:layers matmul(w), add(b);"
    >>> data = Dataset([[i / 10] for i in range(20)], [[0.1 * i] for i in range(20)])
    >>> print(review(text, data).finding("E119"))
    warning E119 line 1, column 22: HUL of m has δ 1e-06, its targets a deviation of 0.667
      → Leave delta out: it is then derived from the targets.

    Ignore it where targets are whole numbers and most of them are equal.
    """
    messages: dict[str, str] = {}
    written = _numbers(facts)
    for output in facts.outputs:
        labels, delta = output.labels, written[output.name].get("delta")
        if output.loss != "HUL" or labels is None or delta is None or not labels.median_deviation:
            continue
        spread = MAD_TO_STD * labels.median_deviation
        if delta < MIN_DELTA * spread or (labels.outliers and delta > MAX_DELTA * spread):
            messages[output.node] = (
                f"HUL of {output.name} has δ {delta:g}, its targets a deviation of {spread:.3g}"
                + " and outliers" * labels.outliers
            )
    return merge_hits(messages)


@rule(
    "E120", "warning", "Lower gamma to 2, or use cross-entropy, which has no gamma.", explains=STUCK
)
def focal_gamma(facts: Facts) -> Hit | None:
    """γ of a focal loss is above 5.

    A row whose class has probability p has the weight (1 − p)^γ. With γ = 2, a row that is right
    with p = 0.9 counts a hundredth; with 10, a row at 0.5 counts a thousandth, and the model learns
    only from gross errors. Lin et al. 2017 try 0 … 5.

    >>> from webnnm import review
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:loss FOL; m:gamma 60; "
    >>> text += "m:layers matmul(w), softmax();"
    >>> print(review(text).finding("E120"))
    warning E120 line 1, column 22: FOL of m has γ 60: rows with p = 0.5 count 8.7e-19
      → Lower gamma to 2, or use cross-entropy, which has no gamma.

    Ignore it where all but a few rows are known to be right from the start.
    """
    messages: dict[str, str] = {}
    for output in facts.network.outputs:
        block = output.block
        gamma = loss_numbers(block).get("gamma")
        if block.loss is not None and isinstance(gamma, (int, float)) and gamma > MAX_GAMMA:
            messages[f"{output.name}:output"] = (
                f"FOL of {output.name} has γ {gamma:g}: rows with p = 0.5 count {0.5**gamma:.2g}"
            )
    return merge_hits(messages)


def _weights(facts: Facts, output: OutputFacts, classes: int) -> Sequence[float] | None:
    """Return the class weights that the user gave, None if there are none."""
    by_class = facts.settings.class_weight
    if isinstance(by_class, Mapping):
        if output.labels is not None and output.labels.several:
            return None  # weights of yes, one for each label
        names = facts.data.class_names.get(output.name) or ()
        numbers = {name: number for number, name in enumerate(names)}
        numbers |= {str(number): number for number in range(classes)}
        weights = [1.0] * classes
        for name, weight in by_class.items():
            if name in numbers:
                weights[numbers[name]] = weight
        return weights
    written: Any = _numbers(facts)[output.name].get("alpha")
    if isinstance(written, tuple):
        return cast("tuple[float, ...]", written)
    return None if written is None or classes != 2 else (1 - written, written)


@rule(
    "E121",
    "warning",
    "Set class_weight='balanced', or leave the weights out.",
    confidence=0.8,
    explains=[*STUCK, "E906"],
)
def class_weight_ratio(facts: Facts) -> Hit | None:
    """Class weights, from class_weight or α, make the share of one class in the loss more than
    twenty times that of another, and the classes more uneven than their numbers of rows.

    Class weights are meant to balance classes. A share is rows times weight: with a thousand times
    the weight, a class with a tenth of the rows has 99% of the loss, and every row is
    taken for it; a class of weight 0 is never learnt.

    >>> from webnnm import Dataset, review
    >>> text = "m:input shape=[1]; m:output shape=[2]; m:layers matmul(w), softmax();"
    >>> data = Dataset([[i / 10] for i in range(40)], [i % 2 for i in range(40)])
    >>> print(review(text, data, class_weight={"1": 500}).finding("E121"))
    warning E121 line 1, column 22: classes 0 … 1 of m have 0.2% … 99.8% of the loss ...
      → Set class_weight='balanced', or leave the weights out.

    Ignore it where an error on one class really costs that many times more.
    """
    messages: dict[str, str] = {}
    for output in facts.outputs:
        counts = output.labels.class_counts if output.labels is not None else ()
        weights = _weights(facts, output, len(counts))
        if weights is None or len(weights) != len(counts) or len(counts) < 2 or not all(counts):
            continue
        shares = [rows * weight for rows, weight in zip(counts, weights, strict=True)]
        low, high = min(shares), max(shares)
        uneven = max(counts) / min(counts)
        if low * MAX_SHARE_RATIO >= high or (low > 0 and high / low <= uneven):
            continue
        total = sum(shares)
        messages[output.node] = (
            f"classes {shares.index(low)} … {shares.index(high)} of {output.name} have "
            f"{low / total:.1%} … {high / total:.1%} of the loss by their weights"
        )
    is_explicit = "class_weight" in facts.settings.explicit
    return merge_hits(messages, fix={"class_weight": "balanced"} if is_explicit else {})
