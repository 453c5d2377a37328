"""What a snapshot keeps of the data that its model was trained on: forms, scales, class names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast, get_args

from webnnm.answers import Answers
from webnnm.data.encoding import LabelEncoder, from_dict, to_dict
from webnnm.data.field import KINDS, Field
from webnnm.data.form import Form
from webnnm.data.light import Light
from webnnm.data.standardize import SCALES, Standardization
from webnnm.dtypes import DataType
from webnnm.entries import check_fits
from webnnm.errors import DataError
from webnnm.formats.safetensors import StoredTensor, invalid
from webnnm.shapes import count

if TYPE_CHECKING:
    from webnnm.data.encoding import Encoder
    from webnnm.graph.vertices import Network
    from webnnm.model import NNModel

NORM = "norm/"
"""Tensors with the scales of inputs: norm/block/mean, norm/block/std."""


@dataclass(frozen=True)
class Restored:
    """What is known of the data of a model without its dataset.

    Attributes: `inputs` and `targets`, block → how raw numbers are standardised; `columns`, block →
    encoders of the columns of a table; `answers`, output → what its numbers say; `label`, the
    column of the table with the labels, "" where there was none; `forms`, block → what the dataset
    took for an input.
    """

    inputs: Mapping[str, Standardization] = field(default_factory=dict[str, Standardization])
    targets: Mapping[str, Standardization] = field(default_factory=dict[str, Standardization])
    columns: Mapping[str, Sequence[Encoder]] = field(default_factory=dict[str, "Sequence[Encoder]"])
    answers: Mapping[str, Answers] = field(default_factory=dict[str, Answers])
    label: str = ""
    forms: Mapping[str, Form] = field(default_factory=dict[str, Form])

    def form(self, block: str) -> Form | None:
        """Return what the dataset took for an input, None where nothing is known of that."""
        encoders = self.columns.get(block, ())
        if block in self.forms:
            return replace(self.forms[block], encoders=encoders)
        if not encoders:
            return None
        names = tuple(name for encoder in encoders for name in encoder.features)
        return Form(Field((len(names),), "float32", features=names), encoders=encoders)

    def check(self, network: Network) -> None:
        """Raise `DataError` NNM802 where it can be of no data of a network."""
        try:
            for vertex in network.inputs:
                check_fits(vertex, self.form(vertex.block), self.inputs.get(vertex.block))
        except DataError as error:
            raise invalid(f"its normalisation does not fit the model: {error.message}") from error
        for output in network.outputs:
            sizes, name = output.source.features.sizes(), output.name
            target, answers = self.targets.get(name), self.answers.get(name)
            if target and count(sizes) % (len(target.mean) * target.repeat):
                raise invalid(f'its normalisation does not fit the output "{name}"')
            if answers and answers.kind == "multilabel" and count(sizes[-1:]) != answers.classes:
                raise invalid(f'its {answers.classes} answers do not fit the output "{name}"')

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
            "forms": {block: _of_form(form) for block, form in self.forms.items()},
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
        {
            block: Form(
                dataset.inputs[name],
                getattr(dataset, "light", None),
                getattr(dataset, "letters", ()),
            )
            for block, name in by_block.items()
        },
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
        forms = {block: _form(one) for block, one in content.get("forms", {}).items()}
        return Restored(inputs, targets, columns, answers, _text(content.get("label", "")), forms)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, DataError) as error:
        raise invalid(f"its normalisation makes no sense: {error!r}") from error


def _standardization(mean: Any, std: Any, repeat: Any, scale: Any) -> Standardization:
    if scale not in SCALES or len(mean) != len(std) or not mean:
        raise ValueError(f"scale {scale}, {len(mean)} means, {len(std)} deviations")
    numbers = tuple(map(float, mean)), tuple(map(float, std))
    if not all(map(math.isfinite, numbers[0])) or not all(0 < one < math.inf for one in numbers[1]):
        raise ValueError("means or deviations that nothing can have")
    return Standardization(*numbers, int(repeat), scale)


def _encoder(entry: Any) -> Encoder:
    found = from_dict(entry)
    if isinstance(found, LabelEncoder):
        raise ValueError(f"{found.name} is no feature")
    _text(found.name)
    return found


def _of_form(form: Form) -> dict[str, Any]:
    """Return what a dataset took as JSON, without what goes without saying."""
    about, light = form.field, form.light
    found: dict[str, Any] = {
        "shape": list(about.shape),
        "dtype": about.dtype,
        "names": list(about.names),
        "sequence": about.sequence,
        "kind": about.kind,
        "features": list(about.features),
        "classes": about.classes,
        "light": [light.white, light.of_bytes] if light else None,
        "letters": list(form.letters),
    }
    return {name: value for name, value in found.items() if value or name == "shape"}


def _form(entry: Any) -> Form:
    kind, dtype = entry.get("kind", "continuous"), entry["dtype"]
    if kind not in KINDS or dtype not in get_args(DataType):
        raise ValueError(f"kind {kind}, type {dtype}")
    white, of_bytes = entry.get("light") or (1.0, False)
    if not 0 < float(white) < math.inf:
        raise ValueError(f"white is {white}")
    sequence = entry.get("sequence", False)
    shape = tuple(map(int, entry["shape"]))
    names = tuple(map(_text, entry.get("names", ())))
    features = tuple(map(_text, entry.get("features", ())))
    if min(shape, default=1) < 1 or (names and len(names) != len(shape)):
        raise ValueError(f"rows of {shape} with the names {names}")
    about = Field(
        shape,
        dtype,
        names=names,
        sequence=sequence and _text(sequence),
        kind=kind,
        features=features,
        classes=int(entry.get("classes", 0)),
    )
    light = Light(float(white), bool(of_bytes)) if "light" in entry else None
    if light and not {"height", "width"} <= {*names}:
        raise ValueError(f"pictures with the dimensions {names}")
    return Form(about, light, tuple(map(_text, entry.get("letters", ()))))


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
