"""Modules of a model for other runtimes: StableHLO for inference, losses, training (spec J)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from webnnm.core.errors import DataError
from webnnm.expert.reviewer import Reviewer, half_network
from webnnm.graph.vertices import Network
from webnnm.model.stablehlo import (
    check_kind,
    inference_text,
    loss_text,
    train_text,
    trials,
)
from webnnm.runtime.state import ModelState
from webnnm.trainer.decisions import chosen_losses, loss_weights, update_settings
from webnnm.training.hyperparameters import given as written
from webnnm.training.hyperparameters import resolve
from webnnm.training.optimizers import OPTIMIZERS
from webnnm.training.step_settings import StepSettings

Lengths = int | Mapping[str, int | None] | None


def stablehlo(
    state: ModelState,
    graph: str,
    batch: int | None,
    sequence: Lengths,
    constants: bool,
    chlo: bool,
    loops: bool,
    hyperparameters: Mapping[str, Any],
) -> str:
    """Return the text of a module; see `NNModel.export_stablehlo`."""
    _check(graph, batch, constants, hyperparameters)
    network = state.network
    lengths = _lengths(network, sequence)
    sizes: dict[str, Any] = {"batch": batch, "sequence": lengths, "chlo": chlo, "loops": loops}
    if graph == "train":
        return train_text(*_training(_sized(state, lengths), hyperparameters), **sizes)
    values = {name: state.parameters.value(name) for name in state.parameters.types}
    fixed = values if constants else None
    if graph == "loss":
        losses = _sized(state, lengths).losses()
        return loss_text(network, losses, constants=fixed, **sizes)
    return inference_text(network, constants=fixed, **sizes)


def _check(
    graph: str, batch: int | None, constants: bool, hyperparameters: Mapping[str, Any]
) -> None:
    """Refuse arguments that contradict each other."""
    check_kind(graph)
    if graph != "train" and hyperparameters:
        message = f'"{min(hyperparameters)}" belongs to a training'
        raise DataError("NNM703", message, hint='write graph="train"')
    if graph == "train" and constants:
        message = "constants=True: a training changes its parameters"
        raise DataError("NNM704", message, hint="leave it out")
    if batch is not None and batch < 1:
        raise DataError("NNM704", f"batch is {batch}", hint="give an integer from 1, or None")


def _lengths(network: Network, sequence: Lengths) -> dict[str, int | None]:
    """Return the length of each sequence; one number is that of all of them."""
    if not isinstance(sequence, int):
        return dict(sequence or {})
    names = (vertex.features[0].sequence for vertex in network.inputs)
    return {name: sequence for name in names if name}


def _training(
    state: ModelState, hyperparameters: Mapping[str, Any]
) -> tuple[Network, StepSettings]:
    """Return the network and the settings of a training step, "auto" settled by a review."""
    given = written(hyperparameters)
    settings = resolve({"optimize_for": state.optimize_for} | given)
    settings |= Reviewer(state).review(given, settings).settings
    half = settings["compute_type"] == "float16"
    network = half_network(state.network) if half else state.network
    return network, StepSettings(
        batch=0,
        rows=0,
        steps=1,
        sequence={},
        losses=chosen_losses(state, settings),
        optimizer=OPTIMIZERS[settings["optimizer"]],
        weights=loss_weights(settings),
        update=update_settings(network, settings),
    )


def _sized(state: ModelState, lengths: Mapping[str, int | None]) -> ModelState:
    """Return the state with a length for every sequence with which the network can be built."""

    def make(_: int, sequence: Mapping[str, int]) -> ModelState:
        sized = replace(state, sequence=dict(sequence))
        sized.objectives()
        return sized

    return trials(state.network, make, 1, lengths)[0]
