"""The weights of classes, or of labels, in a loss: by their frequencies, or as given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from webnnm.core.errors import DataError, suggestion
from webnnm.core.shapes import Shape
from webnnm.data.protocol import load_outputs
from webnnm.training.loss_choice import LabelFacts
from webnnm.training.losses import has_several_labels

if TYPE_CHECKING:
    from webnnm.data.binding.binding import DataBinding


def class_weights(
    wanted: str | Mapping[str, float],
    loss: str,
    features: Shape,
    labels: LabelFacts | None,
    names: Sequence[str] = (),
    where: str = "the output",
    shares: Callable[[], Sequence[float]] | None = None,
) -> tuple[float, ...]:
    """Return a weight for every class: N/(C·N_c) if "balanced", else as given, by default 1.

    For several labels that do not exclude one another, these are the weights of yes, by which its
    loss is multiplied: (1 − s)/s if "balanced"; `shares()` returns the share s of rows with yes.

    >>> rows = LabelFacts(kind="classes", classes=2, class_counts=(90, 10))
    >>> [round(weight, 3) for weight in class_weights("balanced", "CCE", (2,), rows)]
    [0.556, 5.0]
    >>> class_weights({"yes": 3}, "CCE", (2,), rows, ["no", "yes"])
    (1.0, 3)

    N_c of N training rows have class c, and C classes occur: the mean of balanced weights over the
    rows is 1 (King & Zeng 2001). An output of one score has the classes no and yes.

    Raises `DataError` NNM704 if labels are unknown or are not classes that exclude one another, for
    a focal loss, which has weights of its own, and for classes that do not exist.
    """
    if loss == "FOL":
        message = f"class_weight: {where} is trained with FOL, which has weights of its own"
        raise DataError(
            "NNM704", message, hint="write alpha, or the loss BCE or CCE, in the text of the model"
        )
    is_multilabel = has_several_labels(loss, features)
    counts = None if labels is None else _counts(labels, features)
    if counts is None and not is_multilabel:
        message = f"class_weight: {where} has no classes"
        raise DataError("NNM704", message, hint="leave it out")
    classes = features[-1] if is_multilabel else len(counts or ())
    if isinstance(wanted, str):
        if is_multilabel:
            shares_of_yes = shares() if shares else ()
            return tuple((1 - share) / share if 0 < share < 1 else 1.0 for share in shares_of_yes)
        present = [count for count in counts or () if count]
        total = sum(present)
        return tuple(total / (len(present) * count) if count else 1.0 for count in counts or ())
    numbers = {str(number): number for number in range(classes)}
    class_numbers = {name: number for number, name in enumerate(names)} | numbers
    weights = [1.0] * classes
    for name, weight in wanted.items():
        if name not in class_numbers:
            message = f'class_weight: {where} has no class "{name}"'
            raise DataError(
                "NNM704", message, hint=suggestion(name, class_numbers) or ", ".join(class_numbers)
            )
        weights[class_numbers[name]] = weight
    return tuple(weights)


def shares_of_labels(binding: DataBinding, block: str) -> list[float]:
    """Return the share of training rows, or positions, in which each label of an output is yes."""
    field = binding.outputs[block].field
    outputs, masks = load_outputs(binding.dataset, "training")
    values = outputs[field]
    width = values.shape[-1]
    flat = values.values()
    count = len(flat) / width if field not in masks else sum(masks[field].values())
    return [sum(flat[label::width]) / count for label in range(width)]


def _counts(labels: LabelFacts, features: Shape) -> list[float] | None:
    """Return how often each class occurs, None if there are no classes."""
    scores = features[-1] if features else 1
    if scores > 1:
        counts: list[float] = [*labels.class_counts]
        counts += [0] * (scores - len(counts))
        return counts if labels.exclusive and labels.class_counts else None
    if labels.signs:
        yes = (labels.mean + 1) / 2
        return [1 - yes, yes]
    return [*labels.class_counts] if len(labels.class_counts) == 2 else None
