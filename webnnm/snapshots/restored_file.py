"""How a snapshot stores what is known about the data that its model was trained on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast, get_args

from webnnm.core.dtypes import DataType
from webnnm.core.errors import DataError
from webnnm.core.shapes import count
from webnnm.data.binding.form import Form
from webnnm.data.field import KINDS, Field
from webnnm.data.pictures.fitting import check_fit
from webnnm.data.pictures.pixel_scale import Light
from webnnm.data.preparation.quantiles import maps_from_lists, maps_to_lists
from webnnm.data.preparation.standardize import SCALES, Standardization
from webnnm.data.tables import dialect
from webnnm.data.tables.encoding import LabelEncoder, from_dict, to_dict
from webnnm.data.tables.number_format import format_from_dict, format_to_dict
from webnnm.runtime.inference.answers import Answers
from webnnm.runtime.inference.entries import check_fits
from webnnm.runtime.restored import Restored
from webnnm.snapshots.safetensors import StoredTensor, invalid
from webnnm.training.losses import SHAPE_VALUES

if TYPE_CHECKING:
    from webnnm.data.series.intervals import Intervals
    from webnnm.data.tables.encoding import Encoder
    from webnnm.graph.elaboration.vertices import Network

NORM = "norm/"
"""Tensors with the scales of inputs: norm/block/mean, norm/block/std."""


def build_content(facts: Restored) -> dict[str, Any]:
    """Return the JSON part of a snapshot; the numbers of `inputs` are separate tensors."""
    content: dict[str, Any] = {
        "inputs": {
            block: {"repeat": fitted.repeat, "scale": fitted.scale, **_quantiles(fitted)}
            for block, fitted in facts.inputs.items()
        }
    }
    others = {
        "targets": {
            block: [
                *(list(one.mean), list(one.std), one.repeat, one.scale),
                *_quantiles(one).values(),
            ]
            for block, one in facts.targets.items()
        },
        "columns": {b: [to_dict(one) for one in all] for b, all in facts.columns.items()},
        "answers": {
            block: [list(one.shape), one.kind, one.classes, one.names and list(one.names)]
            for block, one in facts.answers.items()
        },
        "label": facts.label,
        "forms": {block: _form_to_dict(form) for block, form in facts.forms.items()},
        "label_format": facts.label_format and format_to_dict(facts.label_format),
        "dialect": facts.dialect and dialect.to_dict(facts.dialect),
        "intervals": {block: one.to_dict() for block, one in facts.intervals.items()},
    }
    return content | {name: value for name, value in others.items() if value}


def check(facts: Restored, network: Network) -> None:
    """Raise `DataError` NNM802 if it cannot belong to data of a network."""
    try:
        for vertex in network.inputs:
            check_fits(vertex, facts.form(vertex.block), facts.inputs.get(vertex.block))
    except DataError as error:
        raise invalid(f"its normalisation does not fit the model: {error.message}") from error
    for output in network.outputs:
        sizes, name = output.source.features.sizes(), output.name
        target, answers = facts.targets.get(name), facts.answers.get(name)
        if target and count(sizes) % (len(target.mean) * target.repeat):
            raise invalid(f'its normalisation does not fit the output "{name}"')
        if answers and answers.kind == "multilabel" and count(sizes[-1:]) != answers.classes:
            raise invalid(f'its {answers.classes} answers do not fit the output "{name}"')
        if name in facts.intervals and facts.intervals[name].size != count(sizes):
            raise invalid(f'its intervals do not fit the output "{name}"')


def read_restored(content: Mapping[str, Any], tensors: Mapping[str, StoredTensor]) -> Restored:
    """Return the contents of the metadata and the tensors of a snapshot.

    Raises `DataError` NNM802 if their form is invalid.
    """
    try:
        inputs: dict[str, Standardization] = {}
        for block, entry in content["inputs"].items():
            mean, std = (
                tuple(tensors[f"{NORM}{block}/{statistic}"].array().values())
                for statistic in ("mean", "std")
            )
            maps = entry.get("quantiles", ())
            inputs[block] = _standardization(mean, std, entry["repeat"], entry["scale"], maps)
        targets = {b: _standardization(*one) for b, one in content.get("targets", {}).items()}
        columns = {b: tuple(map(_encoder, all)) for b, all in content.get("columns", {}).items()}
        answers = {block: _answers(*one) for block, one in content.get("answers", {}).items()}
        forms = {block: _form(one) for block, one in content.get("forms", {}).items()}
        label, dialect_entry = _text(content.get("label", "")), content.get("dialect")
        csv_dialect = None if dialect_entry is None else dialect.from_dict(dialect_entry)
        numbers = format_from_dict(content["label_format"]) if "label_format" in content else None
        intervals = _intervals(content.get("intervals", {}))
        return Restored(
            inputs, targets, columns, answers, label, forms, csv_dialect, numbers, intervals
        )
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, DataError) as error:
        raise invalid(f"its normalisation is invalid: {error!r}") from error


def _intervals(entries: Mapping[str, Any]) -> dict[str, Intervals]:
    if not entries:
        return {}
    from webnnm.data.series.intervals import intervals_from_dict

    return {block: intervals_from_dict(entry) for block, entry in entries.items()}


def _quantiles(fitted: Standardization) -> dict[str, Any]:
    return {"quantiles": maps_to_lists(fitted.quantiles)} if fitted.quantiles else {}


def _standardization(
    mean: Any, std: Any, repeat: Any, scale: Any, quantiles: Any = ()
) -> Standardization:
    if scale not in SCALES or len(mean) != len(std) or not mean:
        raise ValueError(f"scale {scale}, {len(mean)} means, {len(std)} deviations")
    numbers = tuple(map(float, mean)), tuple(map(float, std))
    if not all(map(math.isfinite, numbers[0])) or not all(0 < one < math.inf for one in numbers[1]):
        raise ValueError("its means or deviations are impossible")
    if isinstance(repeat, bool) or not isinstance(repeat, int) or not 1 <= repeat < 2**53:
        raise ValueError(f"{repeat!r} neighbours with the same mean")
    maps = maps_from_lists(quantiles)
    if maps and len(maps) != len(mean):
        raise ValueError(f"{len(mean)} means, quantiles of {len(maps)}")
    return Standardization(*numbers, repeat, scale, maps)


def _encoder(entry: Any) -> Encoder:
    encoder = from_dict(entry)
    if isinstance(encoder, LabelEncoder):
        raise ValueError(f"{encoder.name} is not a feature")
    _text(encoder.name)
    return encoder


def _form_to_dict(form: Form) -> dict[str, Any]:
    """Return the form of a dataset's input as JSON, without defaults."""
    from webnnm.data.series import series_encoder

    about, light = form.field, form.light
    entry: dict[str, Any] = {
        "shape": list(about.shape),
        "dtype": about.dtype,
        "names": list(about.names),
        "sequence": about.sequence,
        "kind": about.kind,
        "features": list(about.features),
        "classes": about.classes,
        "light": [light.white, light.of_bytes] if light else None,
        "letters": list(form.letters),
        "fit": form.fit,
        "series": form.series and series_encoder.encoder_to_dict(form.series),
        "text": form.reader and form.reader.to_dict(),
        "rate": form.rate,
    }
    return {name: value for name, value in entry.items() if value or name == "shape"}


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
    fit = entry.get("fit", "")
    if fit:
        check_fit(fit)
    from webnnm.data.series import series_encoder

    series = series_encoder.encoder_from_dict(entry["series"]) if "series" in entry else None
    if series and shape != (series.window, len(series.features)):
        raise ValueError(f"windows of {shape}")
    reader = None
    if "text" in entry:
        from webnnm.data.texts.reading import from_dict as reader_from_dict

        reader = reader_from_dict(entry["text"])
    letters = tuple(map(_text, entry.get("letters", ())))
    rate = int(entry.get("rate", 0))
    if rate < 0 or (rate and len(shape) != 1):
        raise ValueError(f"sounds of {rate} samples per second, {shape}")
    return Form(about, light, letters, fit=fit, series=series, reader=reader, rate=rate)


def _answers(shape: Any, kind: Any, classes: Any, names: Any) -> Answers:
    if kind not in KINDS:
        raise ValueError(f"kind {kind}")
    words = None if names is None else tuple(map(_text, cast("Sequence[Any]", names)))
    expected = int(classes) if kind == "boxes" else max(2, int(classes))
    if words is not None and len(words) != expected and kind != "multilabel":
        raise ValueError(f"{len(words)} names for {classes} classes")
    sizes = tuple(map(int, shape))
    if kind == "boxes" and (
        len(sizes) != 3 or min(sizes) < 1 or sizes[2] != expected + SHAPE_VALUES
    ):
        raise ValueError(f"a grid of boxes {sizes} for {classes} classes")
    return Answers(sizes, kind, int(classes), words)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text")
    return value
