"""Modules of a model for other runtimes: StableHLO for inference, losses, training (spec J)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from webnnm.core.errors import DataError
from webnnm.expert.reviewer import Reviewer, half_network
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
    check_kind(graph)
    network = state.network
    if graph != "train" and hyperparameters:
        message = f'"{min(hyperparameters)}" belongs to a training'
        raise DataError("NNM703", message, hint='write graph="train"')
    if graph == "train" and constants:
        message = "constants=True: a training changes its parameters"
        raise DataError("NNM704", message, hint="leave it out")
    if batch is not None and batch < 1:
        raise DataError("NNM704", f"batch is {batch}", hint="give an integer from 1, or None")
    names = [vertex.features[0].sequence for vertex in network.inputs]
    lengths = (
        dict.fromkeys((name for name in names if name), sequence)
        if isinstance(sequence, int)
        else dict(sequence or {})
    )
    values = {name: state.parameters.value(name) for name in state.parameters.types}
    fixed = values if constants else None
    if graph == "inference":
        return inference_text(network, batch, lengths, constants=fixed, chlo=chlo, loops=loops)
    sized = _sized(state, lengths)
    if graph == "loss":
        losses = sized.losses()
        return loss_text(network, losses, batch, lengths, constants=fixed, chlo=chlo, loops=loops)
    settings = resolve({"optimize_for": state.optimize_for} | written(hyperparameters))
    settings |= Reviewer(sized).review(written(hyperparameters), settings).settings
    if settings["compute_type"] == "float16":
        network = half_network(network)
    return train_text(
        network,
        StepSettings(
            batch=0,
            rows=0,
            steps=1,
            sequence={},
            losses=chosen_losses(sized.objectives(), settings),
            optimizer=OPTIMIZERS[settings["optimizer"]],
            weights=loss_weights(settings),
            update=update_settings(network, settings),
        ),
        batch,
        lengths,
        chlo=chlo,
        loops=loops,
    )


def _sized(state: ModelState, lengths: Mapping[str, int | None]) -> ModelState:
    """Return the state with a length for every sequence with which the network can be built."""

    def make(_: int, sequence: Mapping[str, int]) -> ModelState:
        sized = replace(state, sequence=dict(sequence))
        sized.objectives()
        return sized

    return trials(state.network, make, 1, lengths)[0]
