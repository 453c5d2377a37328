"""The weights of classes in a loss: by how often they occur, or as somebody gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from webnnm.core.errors import DataError, suggestion
from webnnm.core.shapes import Shape
from webnnm.training.loss_choice import LabelFacts


def class_weights(
    wanted: str | Mapping[str, float],
    loss: str,
    features: Shape,
    labels: LabelFacts | None,
    names: Sequence[str] = (),
    where: str = "the output",
) -> tuple[float, ...]:
    """Return a weight for every class: N/(C·N_c) if "balanced", else as given, by default 1.

    >>> rows = LabelFacts(kind="classes", classes=2, class_counts=(90, 10))
    >>> [round(weight, 3) for weight in class_weights("balanced", "CCE", (2,), rows)]
    [0.556, 5.0]
    >>> class_weights({"yes": 3}, "CCE", (2,), rows, ["no", "yes"])
    (1.0, 3)

    N_c of N training rows have class c, C classes occur: on the mean over the rows balanced weights
    are 1 (King & Zeng 2001). An output of one score has the classes no and yes.

    Raises `DataError` NNM704 where labels are unknown or no classes that exclude one another, with
    a focal loss, which has weights of its own, and for classes that there are not.
    """
    if loss == "FOL":
        message = f"class_weight, and {where} is trained with FOL, which has weights of its own"
        raise DataError("NNM704", message, hint="write alpha in the text of the model, or BCE, CCE")
    counts = None if labels is None else _counts(labels, features)
    if counts is None:
        message = f"class_weight: {where} has no classes that exclude one another"
        raise DataError("NNM704", message, hint="leave it out")
    if isinstance(wanted, str):
        present = [count for count in counts if count]
        total = sum(present)
        return tuple(total / (len(present) * count) if count else 1.0 for count in counts)
    numbers = {str(number): number for number in range(len(counts))}
    known = {name: number for number, name in enumerate(names)} | numbers
    found = [1.0] * len(counts)
    for name, weight in wanted.items():
        if name not in known:
            message = f'class_weight: {where} has no class "{name}"'
            raise DataError("NNM704", message, hint=suggestion(name, known) or ", ".join(known))
        found[known[name]] = weight
    return tuple(found)


def _counts(labels: LabelFacts, features: Shape) -> list[float] | None:
    """Return how often each class occurs, None without classes."""
    scores = features[-1] if features else 1
    if scores > 1:
        counts: list[float] = [*labels.class_counts]
        counts += [0] * (scores - len(counts))
        return counts if labels.exclusive and labels.class_counts else None
    if labels.signs:
        yes = (labels.mean + 1) / 2
        return [1 - yes, yes]
    return [*labels.class_counts] if len(labels.class_counts) == 2 else None
