"""Modules of a model for other runtimes: StableHLO for inference, losses, training (spec J)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from webnnm.errors import DataError
from webnnm.formats.stablehlo.networks import (
    check_kind,
    inference_text,
    loss_text,
    train_text,
    trials,
)
from webnnm.objectives import Objective, objectives
from webnnm.preparation import chosen_losses, loss_weights, update_settings
from webnnm.reviewing import Reviewer, half_network
from webnnm.training.hyperparameters import given as written
from webnnm.training.hyperparameters import resolve
from webnnm.training.optimizers import OPTIMIZERS
from webnnm.training.step_settings import StepSettings

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
    loops: bool,
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
        return inference_text(network, batch, lengths, constants=fixed, chlo=chlo, loops=loops)
    sized: Any = _Sized(model, lengths)
    if graph == "loss":
        losses = {name: aim.loss() for name, aim in sized.objectives().items()}
        return loss_text(network, losses, batch, lengths, constants=fixed, chlo=chlo, loops=loops)
    settings = resolve({"optimize_for": model.optimize_for} | written(hyperparameters))
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
            losses=chosen_losses(sized.objectives(), settings, None),
            optimizer=OPTIMIZERS[settings["optimizer"]],
            weights=loss_weights(settings),
            update=update_settings(network, settings),
        ),
        batch,
        lengths,
        chlo=chlo,
        loops=loops,
    )


class _Sized:
    """A model as it is with a length for every sequence, for its review."""

    def __init__(self, model: NNModel, lengths: Mapping[str, int | None]) -> None:
        self._model = model
        self._lengths = lengths

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    @cached_property
    def found(self) -> tuple[Mapping[str, int], dict[str, Objective]]:
        """Lengths with which the network can be built, and what it is trained for then."""
        model = self._model
        binding = model.binding() if model.has_dataset else None

        def make(
            _: int, sequence: Mapping[str, int]
        ) -> tuple[Mapping[str, int], dict[str, Objective]]:
            return sequence, objectives(model.network, sequence, binding)

        return trials(model.network, make, 1, self._lengths)[0]

    @property
    def sequence(self) -> Mapping[str, int]:
        """Lengths by sequence name."""
        return self.found[0]

    def objectives(self) -> dict[str, Objective]:
        """Return what every output is trained for."""
        return self.found[1]
