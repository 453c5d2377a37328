"""Exports a model: the graph of an inference, a loss or a training step (spec J)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError, ModelError
from webnnm.expert.reviewer import Reviewer
from webnnm.formats.export_graphs import (
    check_kind,
    inference_graph,
    loss_graph,
    train_graph,
    trials,
)
from webnnm.formats.graph_files import PAGE, ExportedGraph, graph_format, write_graph
from webnnm.formats.sizes import CODE
from webnnm.graph.elaboration.float16 import half_network
from webnnm.graph.elaboration.vertices import Network
from webnnm.runtime.state import ModelState
from webnnm.trainer.decisions import choose_losses, make_update_settings, resolve_loss_weights
from webnnm.training.optimizers import OPTIMIZERS
from webnnm.training.settings import parse_settings
from webnnm.training.step_settings import StepSettings

Lengths = int | Mapping[str, int | None] | None


async def export_model(
    state: ModelState,
    path: str | os.PathLike[str] | None,
    format: str | None,
    graph: str,
    batch: int | None,
    sequence: Lengths,
    constants: bool | None,
    options: Mapping[str, Any],
    rows: Mapping[str, Any],
    hyperparameters: Mapping[str, Any],
) -> Any:
    """Write a graph of a model, or a page that runs it; see `NNModel.export`."""
    if format == PAGE:
        from webnnm.formats.page.exporting import export_page

        _check_page(graph, batch, constants, options, hyperparameters)
        return await export_page(state, path, sequence, rows=rows)
    if rows:
        raise DataError("NNM703", "rows= is an option of pages", hint='add format="page"')
    written = graph_format(path, format)
    if constants is None:
        constants = written.embeds_parameters and graph != "train"

    async def write(sizes: Lengths) -> Any:
        exported = model_graph(state, graph, batch, sizes, constants, hyperparameters)
        return await write_graph(exported, path, written, options)

    try:
        return await write(sequence)
    except ModelError as error:
        lengths = _find_lengths(state) if sequence is None and error.code == CODE else {}
        if not lengths:
            raise
        result = await write(lengths)
        shown = ", ".join(f'"{name}" has {size} positions' for name, size in lengths.items())
        state.log(f"in the file, {shown}, as in the data: {error.message}")
        return result


def _find_lengths(state: ModelState) -> dict[str, int]:
    """Return the length of each sequence in the data of the model, {} if one is not known."""
    lengths = dict(state.sequence)
    for vertex in state.network.inputs:
        name = vertex.features[0].sequence
        if name and name not in lengths:
            form = state.restored.form(vertex.block) if state.restored else None
            length = vertex.length or (form.field.shape[0] if form and form.field.sequence else 0)
            if not length:
                return {}
            lengths[name] = length
    return lengths


def model_graph(
    state: ModelState,
    graph: str,
    batch: int | None,
    sequence: Lengths,
    constants: bool,
    hyperparameters: Mapping[str, Any],
) -> ExportedGraph:
    """Return a graph of a model: "inference", "loss" or "train".

    With `constants`, the parameters are constants of the graph.
    """
    _check(graph, batch, constants, hyperparameters)
    network = state.network
    lengths = _lengths(network, sequence)
    if graph == "train":
        trained, settings = _training(_with_lengths(state, lengths), hyperparameters)
        return train_graph(trained, settings, batch, lengths)
    values = _values(state) if constants else None
    if graph == "loss":
        return loss_graph(
            state.trained_network, _with_lengths(state, lengths).losses(), batch, lengths, values
        )
    return inference_graph(network, batch, lengths, values)


def _values(state: ModelState) -> dict[str, HostArray]:
    """Return the values of all parameters; for those that graphs unpack, those of their parts."""
    values: dict[str, HostArray] = {}
    for name in state.parameters.types:
        stored = state.parameters.get_stored(name)
        values |= getattr(stored, "parts", {}) or {name: state.parameters.value(name)}
    return values


def _check(
    graph: str, batch: int | None, constants: bool, hyperparameters: Mapping[str, Any]
) -> None:
    """Refuse arguments that contradict each other."""
    check_kind(graph)
    if graph != "train" and hyperparameters:
        message = f'"{min(hyperparameters)}" is a hyperparameter of training'
        raise DataError("NNM703", message, hint='write graph="train"')
    if graph == "train" and constants:
        message = "constants=True: training changes the parameters"
        raise DataError("NNM704", message, hint="leave it out")
    if batch is not None and batch < 1:
        raise DataError("NNM704", f"batch is {batch}", hint="give an integer from 1, or None")


def _check_page(graph: str, batch: int | None, constants: bool | None, *options: Any) -> None:
    """Refuse what pages do not have: they infer, row by row."""
    if (graph, batch, constants) != ("inference", None, None) or any(options):
        message = "a page computes the inference of one row: it has only sequence= and rows="
        raise DataError("NNM703", message, hint="leave the others out")


def _lengths(network: Network, sequence: Lengths) -> dict[str, int | None]:
    """Return the length of each sequence; a single number applies to all of them."""
    if isinstance(sequence, Mapping) or sequence is None:
        return dict(sequence or {})
    names = (vertex.features[0].sequence for vertex in network.inputs)
    return {name: int(sequence) for name in names if name}


def _training(
    state: ModelState, hyperparameters: Mapping[str, Any]
) -> tuple[Network, StepSettings]:
    """Return the network and the settings of a training step, "auto" settled by a review."""
    settings = parse_settings(hyperparameters).with_defaults(optimize_for=state.optimize_for)
    review = Reviewer(state).review(settings.resolve())
    settings = review.settings.finish_without_data()
    half = settings.compute_type == "float16"
    network = half_network(state.trained_network) if half else state.trained_network
    return network, StepSettings(
        batch=0,
        rows=0,
        steps=1,
        sequence={},
        losses=choose_losses(state, settings, review.losses),
        optimizer=OPTIMIZERS[settings.optimizer],
        weights=resolve_loss_weights(settings),
        update=make_update_settings(network, settings),
    )


def _with_lengths(state: ModelState, lengths: Mapping[str, int | None]) -> ModelState:
    """Return the state with a length for every sequence with which the network can be built."""

    def make(_: int, sequence: Mapping[str, int]) -> ModelState:
        sized = replace(state, sequence=dict(sequence))
        sized.objectives()
        return sized

    return trials(state.network, make, 1, lengths)[0]
