"""What a network's outputs mean: classes with probabilities, or numbers in the data's units."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import Shape, count
from webnnm.data.field import Field, Kind
from webnnm.data.preparation.standardize import Standardization
from webnnm.evaluation.probabilities import Scale, Scores, scale_of
from webnnm.graph.elaboration.loss_words import loss_name
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.graph.elaboration.vertices import Network
from webnnm.training.losses import DEFAULTS
from webnnm.training.output_activation import OutputActivation, find_activation

if TYPE_CHECKING:
    from webnnm.data.series.intervals import Intervals

MAX_PRINTED_ROWS = 10
"""Rows of a prediction that are printed."""
MAX_PRINTED_CLASSES = 3
"""Classes of a row that are printed."""

Rows = HostArray | list[HostArray]


@dataclass(frozen=True)
class Answers:
    """What an output means: the kind of its labels, the number of classes, their names or None."""

    shape: Shape
    kind: Kind
    classes: int
    names: tuple[str, ...] | None = None

    def decode(self, values: Any) -> Any:
        """Return the class of every row, as `Dataset.decode` does.

        >>> Answers((2,), "onehot", 2, ("no", "yes")).decode([[0.2, 0.8]])
        ['yes']
        """
        from webnnm.data.binding.decode import decode

        shown = Field(self.shape, "float32", kind=self.kind, classes=self.classes)
        return decode(values, shown, self.names)

    def of(self, features: Shape) -> Answers | None:
        """Return the same for an output of these sizes, None if its values are not scores.

        Scores after the last class of the data belong to classes without names.
        """
        width = features[-1] if features else 1
        if self.kind == "boxes":
            return self if features == self.shape else None
        if width == 1:
            if self.classes > 2:
                return None  # a class number, predicted like a measurement
            return Answers(features, "multilabel", 1, self.names)
        if self.kind == "multilabel":
            return self
        names = self.names
        if names is not None and len(names) < width:
            names = (*names, *map(str, range(len(names), width)))
        return Answers((*self.shape[:-1], width), "onehot", width, names)


class Prediction:
    """The predicted classes of some rows, with the probability of each class.

    >>> found = Prediction(HostArray.of([[0.25, 0.75]]), Answers((2,), "onehot", 2, ("no", "yes")))
    >>> found.classes, found.labels, found[0].tolist()
    (['yes'], ('no', 'yes'), [0.25, 0.75])
    >>> found
    yes 75.0% (no 25.0%)

    A prediction behaves like the array of its probabilities: indexing, `len`, `shape`, `tolist()`,
    `np.asarray(found)` and array methods all work on `probabilities`.

    Attributes: `classes`, the predicted class of each row, as its name or else its number; for
    several yes/no outputs, the list of those predicted as yes; for sequences, lists of these.
    `labels`, the names of the classes. `probabilities`, an array `[rows, …, classes]`; for a single
    yes/no output `[rows, 1]` with the probability of yes; for sequences of different lengths, a
    list of arrays.
    """

    def __init__(self, values: Rows, answers: Answers) -> None:
        self._values = values
        self._answers = answers

    @cached_property
    def labels(self) -> tuple[Any, ...]:
        """The names of the classes, or their numbers if they have no names."""
        return tuple(self._answers.names or range(max(2, self._answers.classes)))

    @cached_property
    def probabilities(self) -> Any:
        """An array `[rows, …, classes]`, or a list of these for rows of different lengths."""
        return _public(self._values)

    @property
    def classes(self) -> list[Any]:
        """The predicted class of each row."""
        if isinstance(self._values, list):
            return [self._answers.decode(row) for row in self._values]
        return self._answers.decode(self._values)

    def tolist(self) -> list[Any]:
        """Return the probabilities as nested lists."""
        if isinstance(self._values, list):
            return [row.tolist() for row in self._values]
        return self._values.tolist()

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self._values, HostArray) and isinstance(index, int):
            row = range(len(self))[index]
            values = self._values.rows([row])
            return HostArray(values.dtype, values.shape[1:], values.data).public()
        return self.probabilities[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return the probabilities as a NumPy array."""
        if isinstance(self._values, list):
            raise TypeError("rows of different lengths are not an array: convert them one by one")
        return self._values.__array__(dtype, copy)

    def __eq__(self, other: object) -> Any:
        own = other.probabilities if isinstance(other, Prediction) else other
        return self.probabilities == own

    __hash__: None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "probabilities":
            raise AttributeError(name)
        return getattr(self.probabilities, name)

    def __repr__(self) -> str:
        lines = [self._line(row) for row in range(min(len(self), MAX_PRINTED_ROWS))]
        more = len(self) - len(lines)
        return "\n".join([*lines, *([f"… and {more} more rows"] if more else [])])

    def _line(self, row: int) -> str:
        """Return the class of a row, and the next most likely ones."""
        one = self._values[row] if isinstance(self._values, list) else self._values.rows([row])
        flat = [float(value) for value in one.values()]
        positions = isinstance(self._values, list) or count(one.shape) > max(1, len(self.labels))
        if positions:
            classes = self._answers.decode(one)
            return str(classes if isinstance(self._values, list) else classes[0])
        if len(flat) == 1:
            yes, no = flat[0], 1 - flat[0]
            pairs = sorted(zip((no, yes), self.labels, strict=True), key=_first, reverse=True)
        else:
            pairs = sorted(zip(flat, self.labels, strict=False), key=_first, reverse=True)
        texts = [f"{label} {100 * share:.1f}%" for share, label in pairs]
        if self._answers.kind == "multilabel" and len(flat) > 1:
            return ", ".join(texts)
        rest = ", ".join(texts[1:MAX_PRINTED_CLASSES]) + (
            ", …" if len(texts) > MAX_PRINTED_CLASSES else ""
        )
        return f"{texts[0]} ({rest})"


def _first(pair: tuple[float, Any]) -> float:
    return pair[0]


def _public(rows: Rows) -> Any:
    return [row.public() for row in rows] if isinstance(rows, list) else rows.public()


def interpret_output(
    output: Rows,
    answers: Answers | None = None,
    scale: Scale | None = None,
    target: Standardization | None = None,
    intervals: Intervals | None = None,
) -> Any:
    """Return the result of an output: a `Prediction` of classes, or numbers in the data's units.

    `answers` are those for rows of its size; `scale` is the kind of its scores, None if they are
    probabilities already; `target` is how its targets were standardised, `intervals` the margins of
    quantiles. Raises `DataError` NNM707 for probabilities that are not numbers.
    """
    rows = output if isinstance(output, list) else [output]
    if answers is None:
        if target is not None:
            rows = [target.undo(row) for row in rows]
        if intervals is not None:
            rows = [intervals.apply(row) for row in rows]
        return _public(rows if isinstance(output, list) else rows[0])
    if scale is not None:
        columns = 1 if answers.kind == "multilabel" else answers.classes
        rows = [_probabilities(row, columns, scale) for row in rows]
    for number, row in enumerate(rows):
        _check_numbers(row, number if isinstance(output, list) else None)
    return Prediction(rows if isinstance(output, list) else rows[0], answers)


def _probabilities(scores: HostArray, columns: int, scale: Scale) -> HostArray:
    flat = scores.values()
    shares = Scores(range(len(flat) // columns), flat, columns, scale).probabilities
    return HostArray.of(list(shares), "float32", scores.shape)


def _check_numbers(shares: HostArray, row: int | None) -> None:
    """Check that probabilities are numbers: those of a row, or None for those of several rows."""
    flat = shares.values()
    if not math.isnan(sum(flat)):
        return
    if row is None:
        row = next(k for k, share in enumerate(flat) if math.isnan(share))
        row //= count(shares.shape[1:])
    raise DataError(
        "NNM707",
        f"row {row}: the probabilities of its classes are nan",
        hint="look for nan or huge numbers in the row, such as empty cells, then in model.params()",
    )


def scales(
    network: Network, answers: Mapping[str, Answers], sequence: Mapping[str, int]
) -> dict[str, Scale | None]:
    """Return the kind of scores of each output, None if they are probabilities already.

    `sequence` are lengths; any lengths will do.
    """
    if not answers:
        return {}
    lowered = lower_network(network, sequence=sequence)
    result: dict[str, Scale | None] = {}
    for output in network.outputs:
        if output.name in answers and answers[output.name].kind != "boxes":
            loss = None if output.block.loss is None else output.block.loss.loss
            activation = find_activation(lowered.outputs[output.name]).kind
            sizes = output.source.features.sizes()
            scores = sizes[-1] if sizes else 1
            result[output.name] = _scale(activation, loss, answers[output.name], scores)
    return result


def _scale(
    activation: OutputActivation, loss_in_text: str | None, answers: Answers, scores: int
) -> Scale | None:
    if activation == "softmax" or (
        activation == "sigmoid" and (answers.kind == "multilabel" or scores == 1)
    ):
        return None
    if loss_in_text is not None:
        loss = loss_name(loss_in_text) or loss_in_text
    else:  # as losses are chosen: class numbers with several scores take SCE
        loss = "SCE" if answers.kind == "classes" and scores > 1 else DEFAULTS[activation]
    return scale_of(activation, loss)
