"""How a snapshot stores a checkpoint: tensors by name, the rest as metadata (spec I)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.evaluation.history import plain
from webnnm.formats.safetensors import invalid
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.ops.declare.tensors import TensorType
from webnnm.runtime.checkpoint import RESUMABLE, Checkpoint
from webnnm.training.clipping import CLIP_STATE
from webnnm.training.hyperparameters import HYPERPARAMETERS
from webnnm.training.optimizers import OPTIMIZERS, Optimizer, SlotShape, same_shape
from webnnm.training.scaling import SCALE_STATE
from webnnm.training.schedules import DROPS, Schedule
from webnnm.training.step_settings import ROWS
from webnnm.training.update import SLOT, SUM, TASK_WEIGHT

BEST, TASKS = "best/", "task/s"
SUMS = f"{SLOT}sum/"
"""Tensors with the gradients accumulated so far."""
CLIP = dict(zip(("mean", "deviation", "count"), CLIP_STATE, strict=True))
SETTLED = tuple(
    name for name, h in HYPERPARAMETERS.items() if h.default == "auto" and name not in RESUMABLE
)
"""Hyperparameters that are no longer "auto" once a training runs."""
COUNTS = ("overflows", "clipped", "streak")
MOST = 3.4028234e38
"""Larger numbers are infinite in float32."""


def tensors_of(checkpoint: Checkpoint) -> dict[str, HostArray]:
    """Return the tensors of a checkpoint except parameters: optimizer states, task weights."""
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
    """Return the rest of a checkpoint by metadata key, to be written as JSON."""
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
    outputs: Sequence[str],
    applied: int,
) -> Checkpoint:
    """Return the checkpoint that a snapshot holds.

    `content` is the metadata by key, `tensors` those of the optimizer and of the task weights;
    `parameters` and `best` are given by their names in the model, whose `types` these are;
    `outputs` are those of the model, `applied` is its number of steps.

    Raises `DataError` NNM802 if the metadata is invalid, NNM805 and NNM806 for tensors that do not
    belong to the parameters of the model.
    """
    try:
        found = _read(content, best, outputs, applied)
        _check_agreement(found, content)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, DataError) as error:
        raise invalid(f"its training state is invalid: {error!r}") from error
    state = {PARAMETER_PREFIX + name: array for name, array in parameters.items()}
    trained = [name for name in outputs if name in found.losses]
    optimizer = OPTIMIZERS[found.settings["optimizer"]]
    state |= _optimizer_state(tensors, types, trained, optimizer)
    for name, array in best.items():
        _check(BEST + PARAMETER_PREFIX + name, name, array, types)
        if array.dtype != types[name].dtype:
            raise DataError("NNM806", f'tensor "{BEST}…/{name}" is {array}, not {types[name]}')
    return replace(found, state={**found.state, **state})


def _read(
    content: Mapping[str, Any],
    best: Mapping[str, HostArray],
    outputs: Sequence[str],
    applied: int,
) -> Checkpoint:
    """Return a checkpoint from its metadata, with only the single numbers in its state so far."""
    cursor, seen = content["cursor"], content["best"]
    settings = _settings(content["hyperparameters"]["resolved"])
    _check_settled(settings, outputs)
    step, schedule = _count(content["schedule"]["t"]), _schedule(content["schedule"], settings)
    losses = {name: _loss(entry) for name, entry in content["loss"].items()}
    if not losses or losses.keys() - set(outputs):  # some may have no targets
        raise ValueError(f"losses are for {list(losses)}, not {list(outputs)}")
    state = _numbers(content)
    return Checkpoint(
        given=_settings(content["hyperparameters"]["given"]),
        settings=settings,
        schedule=schedule,
        losses=losses,
        state=state,
        best=best,
        best_epoch=_count(seen["epoch"]),
        best_loss=math.inf if seen["value"] is None else _number(seen["value"]),
        restored=bool(seen["restored"]),
        epoch=_count(cursor["epoch"]),
        batch=_count(cursor["batch"]),
        step=step,
        applied=applied,
        totals={name: _total(name, value) for name, value in cursor["totals"].items()},
    )


def _optimizer_state(
    tensors: Mapping[str, HostArray],
    types: Mapping[str, TensorType],
    outputs: Sequence[str],
    optimizer: Optimizer,
) -> dict[str, HostArray]:
    """Return the states of a step that a snapshot has as tensors, except parameters."""
    state: dict[str, HostArray] = {}
    for name, array in tensors.items():
        if name == TASKS:
            state |= _task_weights(array, outputs)
            continue
        # opt/v/w1; the weight of an output is also a parameter: opt/v/task/s/out
        slot, _, parameter = name.removeprefix(SLOT).partition("/")
        if not parameter.startswith(TASK_WEIGHT):
            own_shape = None if name.startswith(SUMS) else optimizer.slots.get(slot)
            _check(name, parameter, array, types, own_shape or same_shape)
        state[SUM + parameter if name.startswith(SUMS) else name] = array
    return state


def _is_number(name: str, array: HostArray) -> bool:
    """Return whether a state is a single number of the step that belongs to no parameter."""
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


def _check(
    where: str,
    parameter: str,
    array: HostArray,
    types: Mapping[str, TensorType],
    shape_of: SlotShape = same_shape,
) -> None:
    """Raise unless a tensor belongs to a parameter, from whose shape its own follows."""
    if parameter not in types:
        raise DataError("NNM805", f'tensor "{where}": the model has no parameter "{parameter}"')
    type = types[parameter]
    if array.shape != shape_of(type.shape):
        raise DataError(
            "NNM806", f'tensor "{where}" is {array.shape}, parameter "{parameter}" is {type}'
        )


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyperparameters as they were written. Raises `ValueError` for unknown names."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        free = (name, value) == ("loss_weights", "uncertainty")
        found[name] = value if free else HYPERPARAMETERS[name].read(value)
    return found


def _check_settled(settings: Mapping[str, Any], outputs: Sequence[str]) -> None:
    """Raise `ValueError` if a training could not have run with these hyperparameters."""
    optimizer = OPTIMIZERS[settings["optimizer"]]
    needed = ("batch_size", "epochs", "seed", "lr", "weight_decay", *optimizer.defaults)
    unknown = [name for name in needed if settings[name] is None]
    unknown += [name for name in SETTLED if settings.get(name) == "auto"]
    if unknown:
        raise ValueError(f"{', '.join(unknown)} are not set, although training has begun")
    weights: Any = settings.get("loss_weights")
    if isinstance(weights, dict) and not {*cast("dict[str, Any]", weights)} <= {*outputs}:
        raise ValueError(f"loss weights are {weights}, the outputs {list(outputs)}")


def _schedule(written: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return kind, T, W and lr. Raises `ValueError` if the hyperparameters contradict them."""
    total = _count(written["T"])
    batches, rest = divmod(total, settings["schedule_epochs"] or settings["epochs"])
    due = Schedule.of(settings, max(1, batches), written).to_dict()
    found = {name: written[name] for name in ("kind", "T", "W", "lr")}
    found |= {name: _count(written[name]) for name in DROPS if name in due}
    if rest or not batches:
        raise ValueError(f"{total} steps are not whole epochs")
    if found != due:
        raise ValueError(f"the schedule is {found}, its hyperparameters give {due}")
    return found


def _numbers(content: Mapping[str, Any]) -> dict[str, HostArray]:
    """Return the single numbers of a step. Raises `ValueError`, `TypeError`, `KeyError`."""
    found = {n: _written(value) for n, value in content["schedule"]["numbers"].items()}
    for name, value in content.get("scale", {}).items():
        found[SCALE_STATE[SCALE_STATE.index(name)]] = _finite(value, low=0)
    found |= {CLIP[word]: _written(value) for word, value in content.get("clip", {}).items()}
    state = {n: HostArray.of(value, "float32") for n, value in found.items()}
    if others := [name for name, array in state.items() if not _is_number(name, array)]:
        raise ValueError(f"{', '.join(others)} are not the numbers of a step")
    return state


def _check_agreement(found: Checkpoint, content: Mapping[str, Any]) -> None:
    """Raise `ValueError` if the parts of a checkpoint contradict each other."""
    written = metadata_of(found)
    for key in ("rng", "cursor", "best"):
        given = content.get(key, {})
        for name, value in written[key].items():
            if name not in given:
                raise ValueError(f"{key} has no {name}, the rest says {value!r}")
            if given[name] != value:
                raise ValueError(f"{key} says {name} is {given[name]!r}, the rest says {value!r}")
    batches = found.batches
    if found.batch > batches or found.step != found.epoch * batches + found.batch:
        raise ValueError(
            f"step {found.step} in batch {found.batch} after {found.epoch} epochs of {batches}"
        )
    if found.applied < found.step:
        raise ValueError(f"{found.step} steps, but its model has made {found.applied}")
    if found.best_epoch > found.epoch or bool(found.best_epoch) != bool(found.best):
        raise ValueError(
            f"epoch {found.best_epoch} of {found.epoch} is the best, with {len(found.best)} tensors"
        )
    if found.restored and not found.best:
        raise ValueError("its best parameters are restored, but there are none")


def _loss(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the loss of an output. Raises `ValueError`, `TypeError`, `KeyError` if invalid."""
    from webnnm.training.losses import LOSSES

    words = {"loss": entry["loss"], "reason": entry["reason"]}
    if not all(isinstance(word, str) for word in words.values()):
        raise ValueError(f"{words} is not a loss")
    known = LOSSES.get(words["loss"])
    if known is None and not words["loss"].endswith("()"):  # a function, whose name is kept
        raise ValueError(f"{words} is not a loss")
    found: dict[str, Any] = {}
    for name in ("delta", "gamma", "alpha"):
        value = entry[name]
        if value is not None and name not in (known.parameters if known else ()):
            raise ValueError(f"{words['loss']} has no {name}")
        if isinstance(value, list) and name == "alpha":
            found[name] = [_finite(each, low=0) for each in cast("list[Any]", value)]
        else:
            found[name] = None if value is None else _finite(value, low=0)
    found["smoothing"] = _finite(entry["smoothing"], low=0)
    weights: Any = entry.get("class_weights")
    found["class_weights"] = weights and [_finite(each, low=0) for each in weights]
    if found["delta"] == 0 or found["smoothing"] >= 1:
        raise ValueError(f"the numbers of a loss are {found}")
    if "reference" in entry:  # earlier versions left it out
        found["reference"] = _finite(entry["reference"], low=0)
    return words | found | ({"s": _finite(entry["s"])} if "s" in entry else {})


def _total(name: str, value: Any) -> float:
    """Return a sum of an epoch, which may have overflowed; counts cannot have overflowed."""
    return _finite(value, low=0) if name.startswith(ROWS) or name in COUNTS else _written(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def _written(value: Any) -> float:
    """Return a number; JSON has null for a number that was not finite, as sums may be."""
    return math.nan if value is None else _number(value)


def _finite(value: Any, low: float = -math.inf) -> float:
    if not low <= _number(value) <= MOST or value < -MOST:
        raise ValueError(f"{value!r} is out of range")
    return float(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise TypeError(f"{value!r} is not a count")
    return value
