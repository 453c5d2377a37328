"""The losses of a resumed training: those of its checkpoint, including their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, cast

from webnnm.core.errors import DataError, WebNNMError
from webnnm.runtime.checkpoint import Checkpoint
from webnnm.runtime.state import ModelState
from webnnm.runtime.testing.objectives import Objective
from webnnm.training.forward import OutputLoss
from webnnm.training.losses import LOSSES, LossSettings


def restore_losses(
    state: ModelState, checkpoint: Checkpoint, current_losses: Mapping[str, OutputLoss]
) -> dict[str, OutputLoss]:
    """Return the losses with the numbers of a checkpoint (NNM808 if impossible).

    `current_losses` has the functions given instead of losses: a checkpoint has only their names.
    """
    losses: dict[str, OutputLoss] = {}
    for name, objective in state.objectives().items():
        saved = checkpoint.losses.get(name)
        if saved is None:
            raise DataError(
                "NNM808",
                f'the checkpoint has no loss of output "{name}"',
                hint="resume with the model that it was written with",
            )
        names = [field.name for field in fields(LossSettings)]
        numbers: dict[str, Any] = {name: saved.get(name) for name in names}
        for setting in ("alpha", "class_weights"):
            if isinstance(numbers[setting], list):
                numbers[setting] = tuple(cast("list[float]", numbers[setting]))
        try:
            loss = _find_loss(name, saved["loss"], objective, current_losses[name])
            objective.check_class_weights(numbers["class_weights"])
            if numbers["alpha"] is not None:
                objective.check_alpha(numbers["alpha"])
        except WebNNMError as error:
            raise DataError("NNM808", f'output "{name}" cannot be resumed: {error}') from error
        losses[name] = replace(loss, settings=LossSettings(**numbers), reason=saved["reason"])
    return losses


def _find_loss(name: str, saved: str, objective: Objective, current: OutputLoss) -> OutputLoss:
    """Return the loss that a checkpoint names: from its record, or the function that was given."""
    current_name = current.loss.name
    if (saved in LOSSES) != (current_name in LOSSES):
        hint = f"pass loss={saved.removesuffix('()')}, which no checkpoint keeps"
        raise DataError(
            "NNM808",
            f'output "{name}" was trained with {saved}, and cannot continue with {current_name}',
            hint="leave loss= out" if saved in LOSSES else hint,
        )
    return objective.loss(name=saved) if saved in LOSSES else current
