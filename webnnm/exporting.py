"""Modules of a model for other runtimes: StableHLO for inference, losses, training (spec J)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from webnnm.errors import DataError
from webnnm.formats.stablehlo.networks import check_kind, inference_text, loss_text, train_text
from webnnm.preparation import chosen_losses, loss_weights, update_settings
from webnnm.reviewing import half_network
from webnnm.training.hyperparameters import given as written
from webnnm.training.hyperparameters import resolve
from webnnm.training.optimizers import OPTIMIZERS
from webnnm.training.step import StepSettings

if TYPE_CHECKING:
    from webnnm.model import NNModel

Lengths = int | Mapping[str, int | None] | None


def stablehlo(
    model: NNModel,
    graph: str,
    batch: int | None,
    sequence: Lengths,
    constants: bool,
    chlo: bool,
    hyperparameters: Mapping[str, Any],
) -> str:
    """Return the text of a module; see `NNModel.export_stablehlo`."""
    check_kind(graph)
    network = model.network
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
    values = {name: model.parameters.value(name) for name in model.parameters.types}
    fixed = values if constants else None
    if graph == "inference":
        return inference_text(network, batch, lengths, constants=fixed, chlo=chlo)
    if graph == "loss":
        losses = model.losses()
        return loss_text(network, losses, batch, lengths, constants=fixed, chlo=chlo)
    settings = resolve({"optimize_for": model.optimize_for} | written(hyperparameters))
    settings |= model.reviewed(written(hyperparameters), settings).settings
    if settings["compute_type"] == "float16":
        network = half_network(network)
    return train_text(
        network,
        StepSettings(
            batch=0,
            rows=0,
            steps=1,
            sequence={},
            losses=chosen_losses(model, settings, None),
            optimizer=OPTIMIZERS[settings["optimizer"]],
            weights=loss_weights(settings),
            update=update_settings(network, settings),
        ),
        batch,
        lengths,
        chlo=chlo,
    )
