"""The names of losses in the notation, and the parameters that each takes (spec D.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from webnnm.core.errors import ModelError
from webnnm.graph.elaboration.outline import Block, Outline
from webnnm.notation.syntax import Items, LossParameter, Number, Value


@dataclass(frozen=True)
class LossWord:
    """A loss by its short name, its other names, what it is, and its parameters."""

    name: str
    aliases: tuple[str, ...]
    summary: str
    parameters: tuple[str, ...] = ()


LOSSES = (
    LossWord("MSE", ("meanSquaredError",), "mean squared error"),
    LossWord("MAE", ("meanAbsoluteError",), "mean absolute error"),
    LossWord(
        "HUL",
        ("huber", "huberLoss"),
        "Huber loss: squared near the target, absolute far from it",
        ("delta",),
    ),
    LossWord("QUL", ("quantile", "pinball"), "pinball loss of quantiles", ("alpha",)),
    LossWord("BCE", ("binaryCrossEntropy",), "binary cross-entropy of probabilities"),
    LossWord("BCEL", ("binaryCrossEntropyWithLogits",), "binary cross-entropy of logits"),
    LossWord("CCE", ("categoricalCrossEntropy",), "cross-entropy of probabilities over classes"),
    LossWord(
        "CCEL",
        ("categoricalCrossEntropyWithLogits", "cceWithLogits"),
        "cross-entropy of logits over classes",
    ),
    LossWord(
        "SCE",
        ("sparseCategoricalCrossEntropy",),
        "cross-entropy over classes given by their numbers",
    ),
    LossWord("HIL", ("hinge", "hingeLoss"), "hinge loss"),
    LossWord(
        "KLD", ("kullbackLeibler", "klDivergence"), "Kullback–Leibler divergence of distributions"
    ),
    LossWord(
        "FOL",
        ("FL", "focal", "focalLoss"),
        "focal loss: easy examples count less",
        ("gamma", "alpha"),
    ),
    LossWord("BOX", ("boxes", "centerNet"), "focal loss of centers, and errors of their boxes"),
)

_BY_WORD = {word: loss for loss in LOSSES for word in (loss.name, *loss.aliases)}


def loss_name(name: str) -> str | None:
    """Return the short name of a loss, or None for an unknown name.

    >>> loss_name("categoricalCrossEntropy")
    'CCE'
    """
    return _BY_WORD[name].name if name in _BY_WORD else None


def loss_summary(name: str) -> str:
    """Return what a loss is, for editors."""
    return _BY_WORD[name].summary


def loss_parameters(name: str) -> tuple[str, ...]:
    """Return the numbers that the notation can set for a loss; none for one that is a function."""
    return _BY_WORD[name].parameters if name in _BY_WORD else ()


def loss_numbers(block: Block) -> dict[str, float | tuple[float, ...]]:
    """Return the values of δ, γ and α that a checked block sets, by word; lists become tuples.

    >>> from webnnm import parse
    >>> from webnnm.graph.elaboration.outline import collect_outline
    >>> text = "m:input shape=[4]; m:output shape=[2]; m:layers softmax(); m:alpha [1, 3];"
    >>> loss_numbers(collect_outline(parse(text)).blocks["m"])
    {'alpha': (1, 3)}
    """
    return {
        name: tuple(_number(item) for item in parameter.value.items)
        if isinstance(parameter.value, Items)
        else parameter.value.value
        for name, parameter in block.loss_parameters.items()
    }


def check_losses(outline: Outline) -> None:
    """Check the losses of a document. Raises `ModelError` NNM601, NNM602, NNM603."""
    for block in outline.blocks.values():
        if block.loss is not None and loss_name(block.loss.loss) is None:
            raise _unknown(outline, block)
        for parameter in block.loss_parameters.values():
            _check_parameter(outline, block, parameter)


def _unknown(outline: Outline, block: Block) -> ModelError:
    from webnnm.graph.hints.foreign_words import loss_hint

    assert block.loss is not None
    name, span = block.loss.loss, block.loss.loss_span
    if name == "HL":
        return outline.error(
            "NNM602", '"HL" is ambiguous', span, "write HIL (hinge) or HUL (Huber)"
        )
    return outline.error("NNM601", f'unknown loss "{name}"', span, loss_hint(name, _BY_WORD))


def _check_parameter(outline: Outline, block: Block, parameter: LossParameter) -> None:
    name, value = parameter.parameter, parameter.value
    if block.loss is not None and name not in _BY_WORD[block.loss.loss].parameters:
        message = f'{block.loss.loss} has no parameter "{name}"'
        raise outline.error("NNM603", message, value.span)
    if isinstance(value, Items) and name != "alpha":
        raise outline.error("NNM603", f"{name} is one number, not a list", value.span)
    bound = "from 0" if name == "gamma" else "above 0"
    for number in value.items if isinstance(value, Items) else (value,):
        amount = _number(number)
        if not math.isfinite(amount) or amount < 0 or (amount == 0 and name != "gamma"):
            raise outline.error("NNM603", f"{name} takes numbers {bound}", number.span)


def _number(value: Value) -> float:
    """Return a number's value, NaN for anything else."""
    return value.value if isinstance(value, Number) else math.nan
