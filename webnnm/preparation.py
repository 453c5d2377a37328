"""What goes before a training: review, choice of numbers, scouting, and the step's settings."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any, cast

from webnnm.arrays import HostArray
from webnnm.checkpoint import Checkpoint
from webnnm.dtypes import DataType
from webnnm.errors import DataError, WebNNMError, suggestion
from webnnm.graph.vertices import Network
from webnnm.history import History, plain
from webnnm.reviewing import half_network
from webnnm.rows import Rows, training_rows
from webnnm.scout import BUDGET, Scouting, scout
from webnnm.training.forward import OutputLoss, label_forms
from webnnm.training.freezing import multipliers
from webnnm.training.losses import LossSettings
from webnnm.training.optimizers import OPTIMIZERS
from webnnm.training.step_settings import StepSettings
from webnnm.training.units import clipped_units
from webnnm.training.update import UpdateSettings

if TYPE_CHECKING:
    from webnnm.model import NNModel
    from webnnm.objectives import Objective
    from webnnm.resident import ResidentTraining

Note = Callable[[str], None]


async def prepare(
    model: NNModel,
    given: Mapping[str, Any],
    settings: dict[str, Any],
    history: History,
    note: Note,
    checkpoint: Checkpoint | None = None,
) -> tuple[dict[str, OutputLoss], StepSettings, Rows]:
    """Review a training, settle its settings in place, scout; return what its step is made of.

    What was settled before a checkpoint stays as it is.
    """
    began = time.perf_counter()
    _check_weights(model, settings["loss_weights"])
    if "seeds" not in given and (
        model.trained or settings["freeze"] > 0 or model.binding().streams
    ):
        settings["seeds"] = 0
    review = model.reviewed(given, settings)
    settings |= {name: value for name, value in review.settings.items() if name in settings}
    history.findings = list(review.findings)
    history.chosen = dict(review.origins)
    for line in review.brief():
        note(line)
    half = settings["compute_type"] == "float16"
    model.training_network = half_network(model.network) if half else model.network
    history.phases["review"] = time.perf_counter() - began
    losses = chosen_losses(model.objectives(), settings, None)
    spreads: Mapping[str, float] = {}
    if settings["seeds"] > 0 and model.parameters.count:
        found = await _scouted(model, losses, settings, history, note)
        spreads = found.errors
        again = model.reviewed(given, settings, scouting=found.facts)
        fresh = again.news(review)
        history.findings += fresh
        for finding in fresh:
            if finding.severity != "info":
                note(str(finding))
        changed = {k: v for k, v in again.settings.items() if k.endswith(":loss")}
        losses = chosen_losses(model.objectives(), changed | settings, spreads)
    if checkpoint is not None:
        losses = _losses_again(model, checkpoint)
    history.loss_settings = {
        name: plain({"loss": o.loss.name, "reason": o.reason, **asdict(o.settings)})
        for name, o in losses.items()
    }
    dtypes: dict[str, DataType] = {v.block: v.dtype for v in model.training_network.inputs}
    # Callbacks and validation want to be asked after every epoch.
    asked = settings["on_epoch"] or settings["on_batch"]
    alone = not asked and not model.binding().dataset.size("validation")
    rows = await training_rows(
        model.binding(),
        label_forms(losses),
        settings["batch_size"],
        dtypes,
        settings["epochs"] if alone else 1,
    )
    return losses, _step_settings(model, settings, losses, rows), rows


async def _scouted(
    model: NNModel,
    losses: Mapping[str, OutputLoss],
    settings: dict[str, Any],
    history: History,
    note: Note,
) -> Scouting:
    began = time.perf_counter()
    count = model.parameters.count
    settings["seeds"] = min(settings["seeds"], max(1, BUDGET // count))
    found = await scout(model, losses, settings["seeds"], settings["seed"])
    history.scouting = plain(found.to_dict())
    note(str(found))
    history.phases["scouting"] = time.perf_counter() - began
    return found


def chosen_losses(
    objectives: Mapping[str, Objective],
    settings: Mapping[str, Any],
    spreads: Mapping[str, float] | None,
) -> dict[str, OutputLoss]:
    """Return the loss of every output as the settings choose it, `spreads` measured by scouting."""
    return {
        name: objective.loss(
            name=settings.get(f"{name}:loss", ""),
            spread=(spreads or {}).get(name),
            smoothing=settings["label_smoothing"],
        )
        for name, objective in objectives.items()
    }


def _losses_again(model: NNModel, checkpoint: Checkpoint) -> dict[str, OutputLoss]:
    """Return the losses with the numbers that they had."""
    found: dict[str, OutputLoss] = {}
    for name, objective in model.objectives().items():
        saved = checkpoint.losses.get(name)
        if saved is None:
            raise DataError(
                "NNM808",
                f'the checkpoint tells no loss of output "{name}"',
                hint="resume with the model that it was written with",
            )
        numbers = {field.name: saved[field.name] for field in fields(LossSettings)}
        if isinstance(numbers["alpha"], list):
            numbers["alpha"] = tuple(cast("list[float]", numbers["alpha"]))
        try:
            chosen = objective.loss(name=saved["loss"])
            if numbers["alpha"] is not None:
                objective.check_alpha(numbers["alpha"])
        except WebNNMError as error:
            raise DataError("NNM808", f'output "{name}" cannot go on: {error}') from error
        found[name] = replace(chosen, settings=LossSettings(**numbers), reason=saved["reason"])
    return found


def _check_weights(model: NNModel, weights: Any) -> None:
    """Refuse weights of outputs that are not there (NNM710)."""
    if isinstance(weights, Mapping):
        names = model.outputs()
        for name in weights:  # type: ignore[reportUnknownVariableType]
            if name not in names:
                hint = suggestion(str(name), names)  # type: ignore[reportUnknownArgumentType]
                raise DataError("NNM710", f'loss_weights: no output "{name}"', hint=hint)


def _step_settings(
    model: NNModel, settings: Mapping[str, Any], losses: Mapping[str, OutputLoss], rows: Rows
) -> StepSettings:
    network = model.training_network
    optimizer = OPTIMIZERS[settings["optimizer"]]
    return StepSettings(
        batch=rows.batch,
        rows=rows.held,
        steps=rows.table,
        epochs=rows.epochs,
        sequence=model.sequence,
        losses=losses,
        optimizer=optimizer,
        masks=rows.masks,
        weights=loss_weights(settings),
        short=rows.short or rows.streams,
        tell=settings["on_batch"] is not None,
        update=update_settings(network, settings),
    )


def loss_weights(settings: Mapping[str, Any]) -> Mapping[str, float] | None:
    """Return the weight of every output's loss; None weighs them by uncertainty."""
    weights = settings["loss_weights"]
    return None if weights == "uncertainty" else weights if weights != "off" else {}


def update_settings(network: Network, settings: Mapping[str, Any]) -> UpdateSettings:
    """Return how gradients become updates, from hyperparameters of which none is "auto"."""
    optimizer = OPTIMIZERS[settings["optimizer"]]
    parameters = [vertex for vertex in network.parameters if vertex.trainable]
    pace = multipliers(network, settings["freeze"])
    kinds = settings["regularization"]
    return UpdateSettings(
        multipliers=pace,
        decays={
            v.name: (v.features[0].rank or 0) >= 2 if v.decay is None else v.decay
            for v in parameters
        },
        numbers={name: settings[name] for name in optimizer.defaults},
        weight_decay=settings["weight_decay"],
        accumulate=settings["accumulate"],
        scaling=settings["gradient_scaling"] == "on",
        scale=settings["scale"],
        growth_interval=settings["growth_interval"],
        clipping=settings["gradient_clipping"],
        clip_alpha=settings["clip_alpha"],
        clip_epsilon=settings["clip_epsilon"],
        agc_lambda=settings["agc_lambda"],
        units={name: axes for name, axes in clipped_units(network).items() if pace[name] > 0},
        lambda1=settings["lambda1"] if "L1" in kinds else 0.0,
        lambda2=settings["lambda2"] if "L2" in kinds else 0.0,
    )


def finished_weights(
    model: NNModel, settings: Mapping[str, Any], run: ResidentTraining, note: Note
) -> dict[str, HostArray]:
    """Set weights that L1 left within one step of zero to zero (spec E.7), and tell their share.

    Returns the parameters that were changed.
    """
    changed: dict[str, HostArray] = {}
    if settings["optimize_for"] != "size" or "L1" not in settings["regularization"]:
        return changed
    reach = run.schedule.at(max(1, run.steps_done)) * settings["lambda1"]
    zero = total = 0
    for name in run.decaying:
        array: HostArray = model.parameters.value(name)
        values = [value if abs(value) > reach else 0.0 for value in array.values()]
        zero += values.count(0.0)
        total += len(values)
        changed[name] = HostArray.of(values, array.dtype, array.shape)
        model.parameters.put(name, changed[name])
    if total:
        note(f"{zero / total:.1%} of {total:,} regularised weights are 0")
    return changed
