"""Describes how rows become inputs and outputs become answers, as data for the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from webnnm.core.errors import DataError, suggestion
from webnnm.core.shapes import count
from webnnm.data.binding.binding import find_embedding_tables, get_complete_names
from webnnm.data.binding.form import Form
from webnnm.data.binding.matching import Slot, bind_field
from webnnm.data.field import Field
from webnnm.data.preparation.quantiles import maps_to_lists
from webnnm.data.preparation.standardize import Standardization
from webnnm.data.series.series_encoder import encoder_to_dict
from webnnm.data.tables.encoding import NumberEncoder, to_dict
from webnnm.formats.page.tokenizers import Texts
from webnnm.graph.elaboration.vertices import InputVertex
from webnnm.model.serving import describe_inputs
from webnnm.ops.declare.mel import RATE
from webnnm.ops.declare.tensors import TensorType
from webnnm.runtime.inference.answers import scales
from webnnm.runtime.state import ModelState

MEDIA = ("picture", "sound")
RowKind = str | Texts | Callable[[int], int]
"""What the rows of an input are: one of `MEDIA`, texts, or a value at each position."""


def describe_rows(
    state: ModelState, lengths: Mapping[str, int], kinds: Mapping[str, RowKind]
) -> dict[str, dict[str, Any]]:
    """Return input → what it takes, and how a row becomes the numbers of its tensor.

    Beside what `serving.describe_inputs` says: `dtype`; `fieldShape`, as a row is given, or each
    position of a `sequence`, which has at most `length`, and `axes`, the order of its dimensions in
    the tensor; `scale`, how numbers are standardised; `ids`, the number of
    rows of an embedding's table; `encoders` of columns; `light` of pictures, whose dimensions have
    `names`; `letters` of texts.

    `kinds` says what inputs are that no dataset describes: of a picture the middle is taken, of a
    sound its loudest part, at a `rate` of samples per second; of a text the tokens
    (`tokenizer`, the path of its file), of which a dataset's are `cut` at a length, and are in the
    `column` of rows with names; others have values by position (`fill`).
    """
    facts, described = state.data_facts(), describe_inputs(state)
    for name in kinds:
        if name not in described:
            hint = suggestion(name, described) or f"there are {', '.join(described)}"
            raise DataError("NNM710", f'rows: the model has no input "{name}"', hint=hint)
    tables = find_embedding_tables(state.network)
    result: dict[str, dict[str, Any]] = {}
    for vertex in state.network.inputs:
        block, scale = vertex.block, facts.inputs.get(vertex.block)
        row = _describe_row(vertex, facts.form(block), scale, lengths)
        if "series" in row and facts.intervals:  # the model has a single output then
            (intervals,) = facts.intervals.values()
            row["series"]["margins"] = intervals.to_dict()["margins"]
        if block in tables:
            row["ids"] = tables[block][1]
        if block in kinds:
            row |= _describe_kind(vertex, kinds[block], described[block]["kind"], row)
        result[block] = {**described[block], **row}
    return result


def _describe_row(
    vertex: InputVertex,
    form: Form | None,
    scale: Standardization | None,
    lengths: Mapping[str, int],
) -> dict[str, Any]:
    features = vertex.features[0]
    sizes = features.sizes()
    names = tuple(name or "" for name in features.names)
    field = form.field if form else Field(sizes, vertex.dtype, names)
    row: dict[str, Any] = {"dtype": vertex.dtype}
    if features.sequence is not None:
        row |= {"sequence": features.sequence, "length": lengths[features.sequence]}
        own = field.of_position() if form else field
        complete: tuple[str, ...] = ()
    elif field.sequence:
        raise _refuse(vertex, "rows are padded sequences, but the model takes one length")
    else:
        own, complete = field, get_complete_names(features.names, None)
    binding = bind_field(f'input "{vertex.block}"', "", own, Slot(sizes, vertex.dtype, complete))
    row |= {"fieldShape": [*own.shape], "axes": [*binding.axes]}
    if scale is not None:
        if features.sequence is not None and count(own.shape) % (len(scale.mean) * scale.repeat):
            raise _refuse(vertex, "each position was standardised on its own")
        row["scale"] = _describe_scale(scale)
    if form is not None and form.light is not None:
        row["light"] = {"white": form.light.white, "ofBytes": form.light.of_bytes}
        row["names"] = [*form.field.names]
    elif form is not None and form.series is not None:
        row["series"] = encoder_to_dict(form.series)
    elif form is not None and form.rate:
        row["rate"] = form.rate
    elif form is not None and form.letters:
        row["letters"] = [*form.letters]
    elif form is not None and form.columns and form.reader is None:
        row["named"] = bool(form.encoders)
        encoders = form.encoders or [NumberEncoder(name) for name in form.columns]
        row["encoders"] = [to_dict(encoder) for encoder in encoders]
    return row


def _describe_kind(
    vertex: InputVertex, kind: RowKind, known: str, row: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the numbers of an input are that no dataset describes."""
    if isinstance(kind, Texts):
        path, _ = kind.file
        limits = {} if kind.length is None else {"cut": kind.length, "column": kind.column}
        return {"kind": "text", "tokenizer": path, **limits}
    if callable(kind):
        return {"fill": [kind(position) for position in range(row["length"])]}
    return _describe_medium(vertex, kind, known, row)


def find_texts(state: ModelState) -> dict[str, Texts]:
    """Return the inputs whose rows are texts according to the dataset."""
    facts = state.data_facts()
    forms = {vertex.block: facts.form(vertex.block) for vertex in state.network.inputs}
    return {
        block: Texts(form.reader.tokenizer.file, form.reader.length, form.reader.column)
        for block, form in forms.items()
        if form is not None and form.reader is not None
    }


def _describe_medium(
    vertex: InputVertex, medium: str, known: str, row: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what is known of an input of numbers that are a picture's or a sound's."""
    where = f'rows: input "{vertex.block}"'
    features = vertex.features[0]
    if medium not in MEDIA:
        raise DataError("NNM704", f'{where} is "{medium}"', hint='"picture" or "sound"')
    if known != "numbers":
        hint = "leave it out: the dataset says how rows are prepared"
        raise DataError("NNM703", f'{where} takes rows of the kind "{known}"', hint=hint)
    sizes = dict(zip(features.names, row["fieldShape"], strict=True))
    if medium == "sound" and features.sequence is None and len(sizes) == 1:
        return {"kind": medium, "rate": RATE}
    if medium == "picture" and {*sizes} in ({"height", "width"}, {"height", "width", "channels"}):
        return {
            "kind": medium,
            "width": sizes["width"],
            "height": sizes["height"],
            "names": [*sizes],
            "light": {"white": 1, "ofBytes": False},
            "fit": "crop",
        }
    needs = {
        "picture": "dimensions named height and width, such as {channels:3, height:224, width:224}",
        "sound": f"one dimension: samples, {RATE:,} per second",
    }
    raise DataError("NNM704", f"{where} is no {medium}", hint=f"it has {needs[medium]}")


def describe_tensor(type: TensorType) -> dict[str, Any]:
    """Return what an input takes that is a plain tensor."""
    shape = [*type.shape]
    return {
        "kind": "numbers",
        "dtype": type.dtype,
        "shape": shape,
        "fieldShape": shape,
        "axes": [],
    }


def describe_answers(state: ModelState, lengths: Mapping[str, int]) -> dict[str, dict[str, Any]]:
    """Return output → what its numbers mean.

    `shape` of a row, or of each position if it has `positions`; for classes `labels`, or null, with
    `kind`, `classes` and the `scale` of the scores, null for probabilities; for boxes also the
    `picture`: its input, and the size to which it is brought; for numbers `target`, how they were
    standardised.
    """
    facts = state.data_facts()
    kinds = scales(state.network, facts.answers, lengths)
    result: dict[str, dict[str, Any]] = {}
    for output in state.network.outputs:
        features = output.source.features
        sizes, answers = features.sizes(), facts.answers.get(output.name)
        described: dict[str, Any] = {
            "shape": [*sizes],
            "positions": features.sequence is not None,
        }
        target = facts.targets.get(output.name)
        answers = answers and answers.of(sizes)
        if answers is not None:
            described |= {
                "kind": answers.kind,
                "classes": answers.classes,
                "labels": None if answers.names is None else [*answers.names],
                "scale": kinds.get(output.name),
            }
            if answers.kind == "boxes" and (block := facts.picture()):
                form = facts.forms[block]
                sizes_by_name = dict(zip(form.field.names, form.field.shape, strict=True))
                described["picture"] = {
                    "input": block,
                    "width": sizes_by_name["width"],
                    "height": sizes_by_name["height"],
                    **({"fit": form.fit} if form.fit else {}),
                }
        elif target is not None:
            described["target"] = _describe_scale(target)
        result[output.name] = described
    return result


def _describe_scale(scale: Standardization) -> dict[str, Any]:
    return {
        "mean": [*scale.mean],
        "std": [*scale.std],
        "repeat": scale.repeat,
        **({"logarithm": True} if scale.scale == "log1p" else {}),
        **({"quantiles": maps_to_lists(scale.quantiles)} if scale.quantiles else {}),
        "coarse": scale.coarse,
    }


def _refuse(vertex: InputVertex, why: str) -> DataError:
    return DataError(
        "NNM905",
        f'input "{vertex.block}" cannot be prepared in a page: {why}',
        hint="save the model, and serve the snapshot as <webnnm-model>",
    )
