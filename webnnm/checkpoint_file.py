"""How a checkpoint lies in a snapshot: tensors by their names, the rest as metadata (spec I)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from webnnm.arrays import HostArray
from webnnm.checkpoint import Checkpoint
from webnnm.errors import DataError
from webnnm.formats.safetensors import invalid
from webnnm.graph.lowering import PARAMETER_PREFIX
from webnnm.history import plain
from webnnm.ops.operator import TensorType
from webnnm.training.clipping import CLIP_STATE
from webnnm.training.hyperparameters import HYPERPARAMETERS
from webnnm.training.scaling import SCALE_STATE
from webnnm.training.update import SLOT, SUM, TASK_WEIGHT

BEST, TASKS = "best/", "task/s"
SUMS = f"{SLOT}sum/"
"""Tensors with the gradients that an accumulation has collected so far."""
CLIP = dict(zip(("mean", "deviation", "count"), CLIP_STATE, strict=True))
KINDS = ("scale", "clip")


def tensors_of(checkpoint: Checkpoint) -> dict[str, HostArray]:
    """Return the tensors of a checkpoint but for parameters: optimizer states, task weights."""
    found: dict[str, HostArray] = {}
    weights: list[float] = []
    for name, array in checkpoint.state.items():
        if name.startswith(SLOT):
            found[name] = array
        elif name.startswith(SUM) and not _is_number(name, array):
            found[SUMS + name.removeprefix(SUM)] = array
        elif name.startswith(TASK_WEIGHT):
            weights += array.values()
    return found | ({TASKS: HostArray.of(weights, "float32")} if weights else {})


def metadata_of(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return the rest of a checkpoint by the keys of the metadata, to be written as JSON."""
    c = checkpoint
    numbers = {n: a.values()[0] for n, a in c.state.items() if _is_number(n, a)}
    scale = {name: numbers.pop(name) for name in SCALE_STATE if name in numbers}
    clip = {word: numbers.pop(name) for word, name in CLIP.items() if name in numbers}
    settings = c.settings
    return {
        "epoch": c.epoch,
        "hyperparameters": {"given": c.given, "resolved": settings},
        "schedule": {**c.schedule, "t": c.step, "numbers": plain(numbers)},
        "loss": c.losses,
        "rng": {"seed": settings["seed"], "shuffling": c.epoch, "dropout": c.step},
        "cursor": {
            "epoch": c.epoch,
            "batch": c.batch,
            "seed": settings["seed"],
            "totals": plain(c.totals),
        },
        "best": {
            "epoch": c.best_epoch,
            "value": c.best_loss if c.best_epoch else None,
            "patience": settings["patience"] - (c.epoch - c.best_epoch),
            "restored": c.restored,
        },
        **({"scale": scale} if scale else {}),
        **({"clip": plain(clip)} if clip else {}),
    }


def checkpoint_of(
    content: Mapping[str, Any],
    tensors: Mapping[str, HostArray],
    parameters: Mapping[str, HostArray],
    best: Mapping[str, HostArray],
    types: Mapping[str, TensorType],
    *,
    applied: int,
) -> Checkpoint:
    """Return the checkpoint that a snapshot holds.

    `content` are the metadata by key, `tensors` those of the optimizer and of the task weights;
    `parameters` and `best` lie there by their names in the model, which has them of these `types`;
    `applied` is its number of steps.

    Raises `DataError` NNM802 where the metadata make no sense, NNM805 and NNM806 for tensors that
    do not belong to the parameters of the model.
    """
    try:
        cursor, schedule, seen = content["cursor"], dict(content["schedule"]), content["best"]
        settings, losses = content["hyperparameters"]["resolved"], content["loss"]
        numbers = dict(schedule.pop("numbers"))
        numbers |= {n: _finite(value) for n, value in content.get("scale", {}).items()}
        numbers |= {CLIP[word]: value for word, value in content.get("clip", {}).items()}
        state = {n: HostArray.of(_written(value), "float32") for n, value in numbers.items()}
        step, epoch, batch = _count(schedule.pop("t")), _count(cursor["epoch"]), cursor["batch"]
        totals = {str(name): _written(value) for name, value in cursor["totals"].items()}
        best_loss = math.inf if seen["value"] is None else _number(seen["value"])
        schedule["T"] = _count(schedule["T"])
        drawn = {"seed": settings["seed"], "shuffling": epoch, "dropout": step}
        if content.get("rng", drawn) != drawn:
            raise ValueError(f"random numbers are drawn up to {content['rng']}, steps to {drawn}")
        found = Checkpoint(
            given=dict(content["hyperparameters"]["given"]),
            settings=_settings(settings),
            schedule=schedule,
            losses={str(name): _loss(entry) for name, entry in losses.items()},
            state=state,
            best=best,
            best_epoch=_count(seen["epoch"]),
            best_loss=best_loss,
            restored=bool(seen["restored"]),
            epoch=epoch,
            batch=_count(batch),
            step=step,
            applied=applied,
            totals=totals,
        )
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, DataError) as error:
        raise invalid(f"its state of a training makes no sense: {error!r}") from error
    state |= {PARAMETER_PREFIX + name: array for name, array in parameters.items()}
    for name, array in tensors.items():
        if name == TASKS:
            state |= _task_weights(array, list(losses))
            continue
        # opt/v/w1; a weight of an output is a parameter, too: opt/v/task/s/out
        parameter = name.split("/", 2)[-1]
        if not parameter.startswith(TASK_WEIGHT):
            _check(name, parameter, array, types)
        mine = name.startswith(SUMS)
        state[SUM + parameter if mine else name] = array
    for name, array in best.items():
        _check(BEST + PARAMETER_PREFIX + name, name, array, types)
        if array.dtype != types[name].dtype:
            raise DataError("NNM806", f'tensor "{BEST}…/{name}" is {array}, not {types[name]}')
    return found


def _is_number(name: str, array: HostArray) -> bool:
    """Whether a state is a single number of the step, and belongs to no parameter."""
    if array.shape or name.startswith((PARAMETER_PREFIX, SLOT, TASK_WEIGHT)):
        return False
    return not name.startswith(SUM) or name == f"{SUM}rows"


def _task_weights(array: HostArray, outputs: Sequence[str]) -> dict[str, HostArray]:
    values = array.values()
    if len(values) != len(outputs):
        raise DataError(
            "NNM806", f'tensor "{TASKS}" has {len(values)} weights for {len(outputs)} outputs'
        )
    return {
        TASK_WEIGHT + name: HostArray.of(value, "float32")
        for name, value in zip(outputs, values, strict=True)
    }


def _check(where: str, parameter: str, array: HostArray, types: Mapping[str, TensorType]) -> None:
    if parameter not in types:
        raise DataError("NNM805", f'tensor "{where}": the model has no parameter "{parameter}"')
    type = types[parameter]
    if array.shape != type.shape:
        raise DataError(
            "NNM806", f'tensor "{where}" is {array.shape}, parameter "{parameter}" is {type}'
        )


def _settings(resolved: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyperparameters as they were resolved. Raises `ValueError` for those that are none."""
    found: dict[str, Any] = {}
    for name, value in resolved.items():
        free = (name, value) == ("loss_weights", "uncertainty")
        found[name] = value if free else HYPERPARAMETERS[name].read(value)
    return found


def _loss(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the loss of an output. Raises `ValueError`, `TypeError`, `KeyError` for nonsense."""
    from webnnm.training.losses import LOSSES

    words = {"loss": entry["loss"], "reason": entry["reason"]}
    if words["loss"] not in LOSSES or not isinstance(words["reason"], str):
        raise ValueError(f"{words} is no loss")
    found: dict[str, Any] = {}
    for name in ("delta", "gamma", "alpha", "smoothing"):
        value = entry[name]
        if isinstance(value, list) and name == "alpha":
            found[name] = [_number(each) for each in cast("list[Any]", value)]
        else:
            found[name] = None if value is None and name != "smoothing" else _number(value)
    return words | found | ({"s": _number(entry["s"])} if "s" in entry else {})


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    return float(value)


def _written(value: Any) -> float:
    """Return a number; JSON has null for one that was not finite, as sums of an epoch may be."""
    return math.nan if value is None else _number(value)


def _finite(value: Any) -> float:
    if not math.isfinite(_number(value)):
        raise ValueError(f"{value!r} is not finite")
    return float(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise TypeError(f"{value!r} is no count")
    return value
