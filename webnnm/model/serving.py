"""Describes models and their predictions in JSON, for programs that are not Python."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from webnnm.data.tables.date_encoding import DateEncoder
from webnnm.data.tables.encoding import NumberEncoder
from webnnm.runtime.inference.answers import Prediction
from webnnm.runtime.inference.detections import Detections
from webnnm.runtime.inference.forecasting import Forecast

if TYPE_CHECKING:
    from webnnm.data.binding.form import Form
    from webnnm.data.preparation.standardize import Standardization
    from webnnm.graph.elaboration.vertices import InputVertex
    from webnnm.model.nnmodel import NNModel
    from webnnm.runtime.state import ModelState

DIGITS = 3
"""The significant digits of the value proposed for a number."""


def signature(model: NNModel) -> str:
    """Return what `predict` takes, as JSON from which a form can be made.

    >>> import asyncio
    >>> from webnnm import NNModel
    >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w);"
    >>> signature(asyncio.run(NNModel.create(source=text, log=lambda line: None)))
    '{"m": {"kind": "numbers", "shape": [2]}}'

    Block → its `kind`, and for "columns" a list of columns with `name` and either their
    `categories` or a `usual` number, the middle of the training rows if known, else null, or for
    dates the type of the field, as `dates`, and a `usual` date; `optional` columns may be empty,
    and `other` is a word that stands for all that are no category, while a column of `text` takes
    any word;
    for "picture" `width` and `height`, and how those of any size `fit`; for "series" the `columns`
    of its rows, and how many the `window` takes at least; for "text" nothing more; for "sound" the
    `rate`, samples per second, and their number as `fieldShape`; for "numbers" the `shape` of a
    row, with null for an open length.
    """
    return json.dumps(describe_inputs(model.state))


def describe_inputs(state: ModelState) -> dict[str, dict[str, Any]]:
    """Return what the inputs of a model take, as `signature` has it."""
    data_facts = state.data_facts()
    return {
        vertex.block: _input(
            vertex, data_facts.form(vertex.block), data_facts.inputs.get(vertex.block)
        )
        for vertex in state.network.inputs
    }


def _input(
    vertex: InputVertex, form: Form | None, standardization: Standardization | None
) -> dict[str, Any]:
    if form is not None and (form.letters or form.reader):
        return {"kind": "text"}
    if form is not None and form.light is not None:
        sizes = dict(zip(form.field.names, form.field.shape, strict=True))
        picture = {"kind": "picture", "width": sizes["width"], "height": sizes["height"]}
        return {**picture, "fit": form.fit} if form.fit else picture
    if form is not None and form.series is not None:
        series = form.series
        return {"kind": "series", "columns": series.columns, "window": series.window}
    if form is not None and form.rate:
        return {"kind": "sound", "fieldShape": [*form.field.shape], "rate": form.rate}
    if form is not None and form.columns:
        return {"kind": "columns", "columns": _columns(form, standardization)}
    (features,) = vertex.features
    lead = [vertex.length] if features.sequence else []
    return {"kind": "numbers", "shape": [*lead, *features.sizes()]}


def _columns(form: Form, standardization: Standardization | None) -> list[dict[str, Any]]:
    described: list[dict[str, Any]] = []
    position = 0
    for encoder in form.encoders or [NumberEncoder(name) for name in form.columns]:
        if isinstance(encoder, NumberEncoder):
            usual = _usual(standardization, position, encoder.fill)
            rounded = None if usual is None else float(f"{usual:.{DIGITS}g}")
            described.append({"name": encoder.name, "usual": rounded})
        elif isinstance(encoder, DateEncoder):
            day = encoder.origin + (_usual(standardization, position, None) or 0.0)
            described.append(
                {
                    "name": encoder.name,
                    "dates": encoder.field_type,
                    "usual": encoder.show_date(day),
                }
            )
        elif encoder.hashed:
            described.append({"name": encoder.name, "text": True})
        else:
            described.append({"name": encoder.name, "categories": encoder.categories})
            if encoder.others:
                described[-1]["other"] = _name_other(encoder.categories)
        if encoder.fill not in (None, ()):
            described[-1]["optional"] = True
        position += len(encoder.features)
    return described


def _name_other(categories: Sequence[str]) -> str:
    """Return a word that is none of the categories.

    >>> _name_other(["other", "red"])
    'other …'
    """
    other = "other"
    while other in categories:
        other += " …"
    return other


def _usual(standardization: Standardization | None, place: int, fill: float | None) -> float | None:
    """Return the middle of the numbers of a column, if its standardisation has it."""
    if standardization is None:
        return fill
    if standardization.quantiles and standardization.quantiles[place]:
        return standardization.undo_feature(place, 0.0)
    mean, std = standardization.mean[place], standardization.std[place]
    if (mean, std) == (0, 1):  # a column that was left as it is
        return fill
    return mean if standardization.scale == "standard" else mean + std / 2


def show_date(model: NNModel, name: str, cell: Any) -> str:
    """Return the date in a cell of a column as a field of a form takes it, "" for anything else."""
    facts = model.state.data_facts()
    for vertex in model.state.network.inputs:
        form = facts.form(vertex.block)
        for encoder in form.encoders if form else ():
            if encoder.name == name and isinstance(encoder, DateEncoder):
                day = encoder.date_format.parse(cell)
                return "" if day is None else encoder.show_date(day)
    return ""


async def answer(model: NNModel, data: Any) -> str:
    """Predict one row, and return the prediction as JSON.

    >>> import asyncio
    >>> from webnnm import NNModel
    >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w, init=constant(1));"
    >>> model = asyncio.run(NNModel.create(source=text, log=lambda line: None))
    >>> asyncio.run(answer(model, [1, 2]))
    '{"m": {"values": [3.0]}}'

    `data` is what `predict` takes for one row. Output → for classes `label`, the predicted one,
    with `labels` and their `probabilities`, or for several yes/no answers the list of those that
    are predicted as yes; for numbers, and for classes at each position of a sequence, `values`; for
    forecasts these and their `times`, or `series`, id → the same; for objects in a picture `boxes`,
    each with `x`, `y`, `width`, `height`, `label` and `score`.
    Raises what `predict` raises.
    """
    results = await model.predict(data)
    if isinstance(results, Mapping):
        outputs = cast("Mapping[str, Any]", results)
        if all(isinstance(one, Forecast) for one in outputs.values()):  # by id
            by_id = {name: one.to_dict() for name, one in outputs.items()}
            outputs = {model.state.network.outputs[0].name: {"series": by_id}}
    else:
        outputs = {model.state.network.outputs[0].name: results}
    return json.dumps({name: _output(one) for name, one in outputs.items()})


def _output(found: Any) -> dict[str, Any]:
    if isinstance(found, (Forecast, dict)):
        return found if isinstance(found, dict) else found.to_dict()
    if isinstance(found, Detections):
        return {"boxes": [box._asdict() for box in found[0]]}
    if not isinstance(found, Prediction):
        row = cast("list[Any]", found)[0].tolist() if isinstance(found, list) else found.tolist()[0]
        return {"values": row}
    label, shares = found.classes[0], found.tolist()[0]
    if isinstance(label, list) and any(isinstance(share, list) for share in shares):
        return {"values": label}
    if len(shares) == 1 and len(found.labels) == 2:
        shares = [1 - shares[0], *shares]
    return {"label": label, "labels": found.labels, "probabilities": shares}
