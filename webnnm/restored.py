"""What a snapshot keeps of the data that its model was trained on: scales, columns, class names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from webnnm.data.decode import decode
from webnnm.data.encoding import LabelEncoder, from_dict, to_dict
from webnnm.data.field import KINDS, Field, Kind
from webnnm.data.standardize import SCALES, Standardization
from webnnm.errors import DataError
from webnnm.formats.safetensors import StoredTensor, invalid
from webnnm.shapes import Shape

if TYPE_CHECKING:
    from webnnm.data.encoding import Encoder
    from webnnm.model import NNModel

NORM = "norm/"
"""Tensors with the scales of inputs: norm/block/mean, norm/block/std."""


@dataclass(frozen=True)
class Answers:
    """What an output says: the kind of its labels, how many classes, their names, None without."""

    shape: Shape
    kind: Kind
    classes: int
    names: tuple[str, ...] | None = None

    def decode(self, values: Any) -> Any:
        """Return the class of every row, as `Dataset.decode` does.

        >>> Answers((2,), "onehot", 2, ("no", "yes")).decode([[0.2, 0.8]])
        ['yes']
        """
        shown = Field(self.shape, "float32", kind=self.kind, classes=self.classes)
        return decode(values, shown, self.names)


@dataclass(frozen=True)
class Restored:
    """What is known of the data of a model without its dataset.

    Attributes: `inputs` and `targets`, block → how raw numbers are standardised; `columns`, block →
    encoders of the columns of a table; `answers`, output → what its numbers say; `label`, the
    column of the table with the labels, "" where there was none.
    """

    inputs: Mapping[str, Standardization] = field(default_factory=dict[str, Standardization])
    targets: Mapping[str, Standardization] = field(default_factory=dict[str, Standardization])
    columns: Mapping[str, Sequence[Encoder]] = field(default_factory=dict[str, "Sequence[Encoder]"])
    answers: Mapping[str, Answers] = field(default_factory=dict[str, Answers])
    label: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON, but for the numbers of `inputs`, which are tensors."""
        found: dict[str, Any] = {
            "inputs": {
                block: {"repeat": fitted.repeat, "scale": fitted.scale}
                for block, fitted in self.inputs.items()
            }
        }
        others = {
            "targets": {
                block: [list(one.mean), list(one.std), one.repeat, one.scale]
                for block, one in self.targets.items()
            },
            "columns": {b: [to_dict(one) for one in all] for b, all in self.columns.items()},
            "answers": {
                block: [list(one.shape), one.kind, one.classes, one.names and list(one.names)]
                for block, one in self.answers.items()
            },
            "label": self.label,
        }
        return found | {name: value for name, value in others.items() if value}


def known(model: NNModel) -> Restored:
    """Return what is known of a model's data: by its dataset, or by the snapshot it is from."""
    if not model.has_dataset:
        return model.restored or Restored()
    binding = model.binding()
    dataset = binding.dataset
    by_block = {block: bound.field for block, bound in binding.inputs.items()}
    outputs = {block: bound.field for block, bound in binding.outputs.items()}
    standardization, targets = binding.standardization, binding.target_standardization
    encoders: Sequence[Encoder] = getattr(dataset, "encoders", ())
    report: Any = getattr(dataset, "report", None)
    answers: dict[str, Answers] = {}
    for block, name in outputs.items():
        shown = dataset.outputs[name]
        if shown.kind != "continuous":
            names = dataset.labels(name)
            answers[block] = Answers(
                shown.shape, shown.kind, shown.classes, None if names is None else tuple(names)
            )
    return Restored(
        {
            block: standardization[name]
            for block, name in by_block.items()
            if name in standardization
        },
        {block: targets[name] for block, name in outputs.items() if name in targets},
        dict.fromkeys(by_block, encoders) if encoders else {},
        answers,
        report.columns[-1].name if encoders and report else "",
    )


def restored(content: Mapping[str, Any], tensors: Mapping[str, StoredTensor]) -> Restored:
    """Return what the metadata and the tensors of a snapshot tell.

    Raises `DataError` NNM802 where they say it in a form that makes no sense.
    """
    try:
        inputs: dict[str, Standardization] = {}
        for block, entry in content["inputs"].items():
            mean, std = (
                tuple(tensors[f"{NORM}{block}/{word}"].array().values()) for word in ("mean", "std")
            )
            inputs[block] = _standardization(mean, std, entry["repeat"], entry["scale"])
        targets = {b: _standardization(*one) for b, one in content.get("targets", {}).items()}
        columns = {b: tuple(map(_encoder, all)) for b, all in content.get("columns", {}).items()}
        answers = {block: _answers(*one) for block, one in content.get("answers", {}).items()}
        return Restored(inputs, targets, columns, answers, _text(content.get("label", "")))
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, DataError) as error:
        raise invalid(f"its normalisation makes no sense: {error!r}") from error


def _standardization(mean: Any, std: Any, repeat: Any, scale: Any) -> Standardization:
    if scale not in SCALES or len(mean) != len(std) or not mean:
        raise ValueError(f"scale {scale}, {len(mean)} means, {len(std)} deviations")
    numbers = tuple(map(float, mean)), tuple(map(float, std))
    return Standardization(*numbers, int(repeat), scale)


def _encoder(entry: Any) -> Encoder:
    found = from_dict(entry)
    if isinstance(found, LabelEncoder):
        raise ValueError(f"{found.name} is no feature")
    _text(found.name)
    return found


def _answers(shape: Any, kind: Any, classes: Any, names: Any) -> Answers:
    if kind not in KINDS:
        raise ValueError(f"kind {kind}")
    words = None if names is None else tuple(map(_text, cast("Sequence[Any]", names)))
    if words is not None and len(words) != max(2, int(classes)) and kind != "multilabel":
        raise ValueError(f"{len(words)} names of {classes} classes")
    return Answers(tuple(map(int, shape)), kind, int(classes), words)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value
