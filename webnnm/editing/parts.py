"""Models in parts: splitting into trunk and head, joining them again, replacing the head."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from webnnm.backends.base import Backend
from webnnm.core.awaiting import require_await
from webnnm.core.errors import DataError, ModelError
from webnnm.editing.counterparts import counterparts
from webnnm.editing.joining import clashes, join_documents, link, link_layers
from webnnm.editing.splitting import split_document
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.vertices import Network
from webnnm.model.nnmodel import NNModel
from webnnm.notation.formatter import format_document
from webnnm.notation.syntax import Document
from webnnm.runtime.restored import Restored
from webnnm.snapshots.snapshot import set_parameters

if TYPE_CHECKING:
    from webnnm.model.keywords import CreateSettings


@require_await
async def split_model(
    model: NNModel, at: str, **settings: Unpack[CreateSettings]
) -> tuple[NNModel, NNModel]:
    """Split a model at a layer into two models, a trunk and a head, that share its parameters.

    >>> import asyncio
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w, shape=[8]), head();"
    >>> async def parts():
    ...     model = await NNModel.create(
    ...         source=text + "head:layers relu(), matmul(w), softmax();", log=lambda line: None
    ...     )
    ...     trunk, head = await split_model(model, "head")
    ...     features = await trunk.predict([[1, 2, 3, 4]])
    ...     return (await head.predict(features) == await model.predict([[1, 2, 3, 4]])).all()
    >>> bool(asyncio.run(parts()))
    True

    `at` names the first layer of the head (its `name=`, or the operator or block that it calls), or
    a root block whose value is the input of the head. Both parts are ordinary models that can be
    saved, loaded and trained; `join_models` joins them again. `settings` are those of
    `NNModel.create`. By default the parts run on the same kind of backend as the model, or on the
    same backend if it was passed to `create`.

    Raises `DataError` NNM710 if the layer does not exist or its name is not unique, NNM704 if the
    head needs more than one value of the trunk.
    """
    trunk, head = split_document(model.state.network.outline.document, at)
    parts = elaborate(trunk), elaborate(head)
    block = link(*parts)[0].name
    kept = model.state.data_facts()
    models: list[NNModel] = []
    try:
        for document, part in zip((trunk, head), parts, strict=True):
            offsets = {} if part is parts[0] else {block: _layers(parts[0], block)}
            names = _counterparts(part, model.state.network, offsets, at)
            models.append(await create_like(document, model, settings))
            _copy_parameters(models[-1], model, names)
    except BaseException:
        for part in models:
            part.close()
        raise
    first, second = models
    # What flows from one to the other also has the name of a block.
    answered = set(second.outputs())
    first.state.restored = kept.of(first.inputs(), set(first.outputs()) - answered)
    second.state.restored = kept.of(set(second.inputs()) - {block}, answered)
    return first, second


@require_await
async def join_models(
    trunk: NNModel,
    head: NNModel,
    *,
    freeze: bool = False,
    keep_output: bool = False,
    **settings: Unpack[CreateSettings],
) -> NNModel:
    """Join two models into one: the outputs of the trunk become the inputs of the head.

    Inputs and outputs are matched by name; a single output always matches a single input. Parts
    made by `split_model` join to the original model. `freeze=True` excludes the parameters of the
    trunk from training (`lrm=0`); `keep_output=True` keeps the outputs of the trunk as outputs of
    the new model. `settings` are those of `NNModel.create`.

    Raises `DataError` NNM710 if an input has no matching output, NNM702 if their types or shapes
    differ, NNM704 if the head standardises that input, `ModelError` NNM206 if a name has different
    meanings in the two texts.
    """
    known_data = _merge_known_data(trunk, head)
    document, of_trunk, of_head = _join(
        trunk.state.network, head.state.network, freeze, keep_output
    )
    model = await create_like(document, trunk, settings)
    try:
        _copy_parameters(model, trunk, _invert(of_trunk))
        _copy_parameters(model, head, _invert(of_head))
    except BaseException:
        model.close()
        raise
    model.state.sequence = {**head.state.sequence, **trunk.state.sequence, **model.state.sequence}
    model.state.restored = known_data.of(model.inputs(), model.outputs())
    model.state.trained = trunk.state.trained or head.state.trained
    return model


def _merge_known_data(trunk: NNModel, head: NNModel) -> Restored:
    """Return what is known about the data of both; the head's inputs are the trunk's outputs."""
    first, second = trunk.state.data_facts(), head.state.data_facts()
    joined_input = link(trunk.state.network, head.state.network)[1].block
    if joined_input in second.inputs:
        raise DataError(
            "NNM704",
            f'the head standardises its input "{joined_input}", which the trunk computes',
            hint="train the head without standardize=True",
        )
    ends = first | second
    return replace(second | first, targets=ends.targets, answers=ends.answers)


def _join(
    trunk: Network, head: Network, freeze: bool, keep_output: bool
) -> tuple[Document, dict[str, str], dict[str, str]]:
    """Return the document of both, and the names of the parameters of each in it."""
    documents = [part.outline.document for part in (trunk, head)]
    try:
        document = join_documents(*documents, freeze=freeze, keep_output=keep_output)
        network = elaborate(document)
        of_trunk = counterparts(trunk, network, {})
        of_head = counterparts(head, network, _offsets(trunk, head))
    except ModelError as error:
        names = clashes(*documents)
        if not names:
            raise
        listed = ", ".join(f'"{name}"' for name in names)
        raise ModelError(
            "NNM206",
            f"trunk and head use {listed} for different things: {error.message}",
            hint="choose another name in one of them",
        ) from error
    return document, of_trunk, of_head


def replace_head(model: NNModel, head: NNModel) -> list[str]:
    """Replace the parameters of a model's head by those of another head; return their names.

    The head has to come from `split_model` of a model like this one, or be one that `join_models`
    added to it. The parameters of the trunk do not change.

    Raises `ModelError` NNM206 if the model does not end in the same layers as the head, `DataError`
    NNM712 while either model is being trained.
    """
    blocks = {layer.chain[0] for layer in head.state.network.layers}
    offsets = {b: _layers(model.state.network, b) - _layers(head.state.network, b) for b in blocks}
    names = counterparts(head.state.network, model.state.network, offsets)
    head.state.occupancy.check()
    parameters = _copy_parameters(model, head, _invert(names))
    model.state.trained = True
    return parameters


def _counterparts(
    part: Network, whole: Network, offsets: Mapping[str, int], at: str
) -> dict[str, str]:
    try:
        return counterparts(part, whole, offsets)
    except ModelError as error:
        raise DataError(
            "NNM704",
            f'the model cannot be split at "{at}": {error.message}',
            hint="split it where a single value flows from trunk to head",
        ) from error


def _offsets(trunk: Network, head: Network) -> dict[str, int]:
    """Return, by block of a head, how many layers of the whole precede its own."""
    output, head_input = link(trunk, head)
    before = _layers(trunk, output.name) if output.name == head_input.block else 0
    return {head_input.block: before + len(link_layers(head.outline.document, output, head_input))}


def _layers(network: Network, block: str) -> int:
    return sum(layer.chain[0] == block for layer in network.layers)


async def create_like(document: Document, like: NNModel, settings: Mapping[str, Any]) -> NNModel:
    """Create a model of another text on the same kind of backend, with settings of its own."""
    is_shared = like.backend is not like.state.backend
    backend = settings.get("backend", like.backend if is_shared else like.backend.name)
    opened = isinstance(backend, Backend)
    own: dict[str, Any] = {
        "source": format_document(document),
        "files": document.files,
        "backend": backend,
        "device": None if opened else like.state.device or None,
        **({} if opened else like.state.preferences),
        "optimize_for": like.state.optimize_for,
        "log": like.state.log,
        "sequence_length": dict(like.state.sequence),
        "seed": like.seed,
    }
    # Its parameters are not there yet: what was to be said of them was said of those it is made of.
    model = await NNModel.create({**own, **settings, "review": False})
    model.state.review = settings.get("review", like.state.review)
    model.state.trained, model.state.step = like.state.trained, like.step
    return model


def _invert(names: Mapping[str, str]) -> dict[str, str]:
    return {name: part for part, name in names.items()}


def _copy_parameters(model: NNModel, other: NNModel, mapping: Mapping[str, str]) -> list[str]:
    """Set parameters of a model from those of another: name here → name there."""
    if not mapping:
        return []
    model.state.occupancy.check()
    values = other.state.parameters.values()
    return set_parameters(model.state, values, "the other model", mapping=mapping, only=mapping)
