"""The losses of a training that is resumed: those of its checkpoint, numbers included."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, cast

from webnnm.core.errors import DataError, WebNNMError
from webnnm.runtime.checkpoint import Checkpoint
from webnnm.runtime.state import ModelState
from webnnm.training.forward import OutputLoss
from webnnm.training.losses import LossSettings


def resumed_losses(state: ModelState, checkpoint: Checkpoint) -> dict[str, OutputLoss]:
    """Return the losses with the numbers that they had at a checkpoint (NNM808 if impossible)."""
    found: dict[str, OutputLoss] = {}
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
        for several in ("alpha", "class_weights"):
            if isinstance(numbers[several], list):
                numbers[several] = tuple(cast("list[float]", numbers[several]))
        try:
            chosen = objective.loss(name=saved["loss"])
            objective.check_class_weights(numbers["class_weights"])
            if numbers["alpha"] is not None:
                objective.check_alpha(numbers["alpha"])
        except WebNNMError as error:
            raise DataError("NNM808", f'output "{name}" cannot be resumed: {error}') from error
        found[name] = replace(chosen, settings=LossSettings(**numbers), reason=saved["reason"])
    return found
