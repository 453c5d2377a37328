"""How a snapshot stores a checkpoint: tensors by name, the rest as metadata (spec I)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.evaluation.history import plain
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.ops.declare.tensors import TensorType
from webnnm.runtime.checkpoint import Checkpoint
from webnnm.snapshots.safetensors import invalid
from webnnm.training.automatic import OFF_VALUES
from webnnm.training.clipping import CLIP_STATE
from webnnm.training.optimizers import OPTIMIZERS, Optimizer, SlotShape, same_shape
from webnnm.training.scaling import SCALE_STATE
from webnnm.training.schedules import DROPS
from webnnm.training.settings import HYPERPARAMETERS, FinalSettings
from webnnm.training.step_settings import ROWS
from webnnm.training.update import SLOT, SUM, TASK_WEIGHT

BEST, TASKS = "best/", "task/s"
SUMS = f"{SLOT}sum/"
"""Tensors with the gradients accumulated so far."""
CLIP = dict(zip(("mean", "deviation", "count"), CLIP_STATE, strict=True))
COUNTS = ("overflows", "clipped", "streak")
MAX_FLOAT32 = 3.4028234e38
"""Larger numbers are infinite in float32."""


def collect_tensors(checkpoint: Checkpoint) -> dict[str, HostArray]:
    """Return the tensors of a checkpoint except parameters: optimizer states, task weights."""
    tensors: dict[str, HostArray] = {}
    weights: list[float] = []
    for name, array in checkpoint.state.items():
        if name.startswith(SLOT):
            tensors[name] = array
        elif name.startswith(SUM) and not _is_number(name, array):
            tensors[SUMS + name.removeprefix(SUM)] = array
        elif name.startswith(TASK_WEIGHT):
            weights += array.values()
    return tensors | ({TASKS: HostArray.of(weights, "float32")} if weights else {})


def build_metadata(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return the rest of a checkpoint by metadata key, to be written as JSON."""
    c = checkpoint
    numbers = {n: a.values()[0] for n, a in c.state.items() if _is_number(n, a)}
    scale = {name: numbers.pop(name) for name in SCALE_STATE if name in numbers}
    clip = {key: numbers.pop(name) for key, name in CLIP.items() if name in numbers}
    explicit, resolved = c.settings.explicit_values(), c.settings.to_dict()
    return {
        "epoch": c.epoch,
        "hyperparameters": {"given": plain(explicit), "resolved": plain(resolved)},
        "schedule": {**c.schedule, "t": c.step, "numbers": plain(numbers)},
        "loss": c.losses,
        "rng": {"seed": c.settings.seed, "shuffling": c.epoch, "dropout": c.step},
        "cursor": {
            "epoch": c.epoch,
            "batch": c.batch,
            "seed": c.settings.seed,
            "totals": plain(c.totals),
        },
        "best": {
            "epoch": c.best_epoch,
            "value": c.best_loss if c.best_epoch else None,
            "patience": c.settings.patience - (c.epoch - c.best_epoch),
            "restored": c.restored,
        },
        **({"scale": scale} if scale else {}),
        **({"clip": plain(clip)} if clip else {}),
    }


def read_checkpoint(
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
        checkpoint = _read(content, best, outputs, applied)
        _check_agreement(checkpoint, content)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, DataError) as error:
        raise invalid(f"its training state is invalid: {error!r}") from error
    state = {PARAMETER_PREFIX + name: array for name, array in parameters.items()}
    trained = [name for name in outputs if name in checkpoint.losses]
    optimizer = OPTIMIZERS[checkpoint.settings.optimizer]
    state |= _optimizer_state(tensors, types, trained, optimizer)
    for name, array in best.items():
        _check(BEST + PARAMETER_PREFIX + name, name, array, types)
        if array.dtype != types[name].dtype:
            raise DataError("NNM806", f'tensor "{BEST}…/{name}" is {array}, not {types[name]}')
    return replace(checkpoint, state={**checkpoint.state, **state})


def _read(
    content: Mapping[str, Any],
    best: Mapping[str, HostArray],
    outputs: Sequence[str],
    applied: int,
) -> Checkpoint:
    """Return a checkpoint from its metadata, with only the single numbers in its state so far."""
    cursor, seen = content["cursor"], content["best"]
    settings = _settings(content["hyperparameters"])
    _check_settled(settings, outputs)
    step, schedule = _count(content["schedule"]["t"]), _schedule(content["schedule"], settings)
    losses = {name: _loss(entry) for name, entry in content["loss"].items()}
    if not losses or losses.keys() - set(outputs):  # some may have no targets
        raise ValueError(f"losses are for {list(losses)}, not {list(outputs)}")
    state = _numbers(content)
    return Checkpoint(
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


def _settings(entry: Mapping[str, Any]) -> FinalSettings:
    """Return settings as they were written. Raises `ValueError`, `KeyError` for unknown ones."""
    # Earlier versions had fewer hyperparameters.
    resolved: dict[str, Any] = {**OFF_VALUES, **_read_values(entry["resolved"])}
    return FinalSettings(**resolved, explicit=frozenset(_read_values(entry["given"])))


def _read_values(entry: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in entry.items():
        is_decided = (name, value) == ("loss_weights", "uncertainty")  # which nobody writes
        values[name] = value if is_decided else HYPERPARAMETERS[name].read(value)
    return values


def _check_settled(settings: FinalSettings, outputs: Sequence[str]) -> None:
    """Raise `ValueError` if a training could not have run with these settings."""
    optimizer = OPTIMIZERS[settings.optimizer]
    needed = ("batch_size", "epochs", "seed", "lr", "weight_decay", *optimizer.defaults)
    unknown = [name for name in needed if getattr(settings, name) is None]
    unknown += [name for name in OFF_VALUES if getattr(settings, name) == "auto"]
    if unknown:
        raise ValueError(f"{', '.join(unknown)} are not set, although training has begun")
    weights = settings.loss_weights
    if isinstance(weights, Mapping) and not {*weights} <= {*outputs}:
        raise ValueError(f"loss weights are {weights}, the outputs {list(outputs)}")


def _schedule(entry: Mapping[str, Any], settings: FinalSettings) -> dict[str, Any]:
    """Return kind, T, W and lr. Raises `ValueError` if the hyperparameters contradict them."""
    total = _count(entry["T"])
    batches, rest = divmod(total, settings.schedule_epochs or settings.epochs)
    expected = settings.make_schedule(max(1, batches), entry).to_dict()
    schedule = {name: entry[name] for name in ("kind", "T", "W", "lr")}
    schedule |= {name: _count(entry[name]) for name in DROPS if name in expected}
    if rest or not batches:
        raise ValueError(f"{total} steps are not whole epochs")
    if schedule != expected:
        raise ValueError(f"the schedule is {schedule}, its hyperparameters give {expected}")
    return schedule


def _numbers(content: Mapping[str, Any]) -> dict[str, HostArray]:
    """Return the single numbers of a step. Raises `ValueError`, `TypeError`, `KeyError`."""
    values = {n: _read_number_or_nan(value) for n, value in content["schedule"]["numbers"].items()}
    for name, value in content.get("scale", {}).items():
        values[SCALE_STATE[SCALE_STATE.index(name)]] = _finite(value, low=0)
    values |= {
        CLIP[key]: _read_number_or_nan(value) for key, value in content.get("clip", {}).items()
    }
    state = {n: HostArray.of(value, "float32") for n, value in values.items()}
    if others := [name for name, array in state.items() if not _is_number(name, array)]:
        raise ValueError(f"{', '.join(others)} are not the numbers of a step")
    return state


def _check_agreement(checkpoint: Checkpoint, content: Mapping[str, Any]) -> None:
    """Raise `ValueError` if the parts of a checkpoint contradict each other."""
    expected = build_metadata(checkpoint)
    for key in ("rng", "cursor", "best"):
        stored = content.get(key, {})
        for name, value in expected[key].items():
            if name not in stored:
                raise ValueError(f"{key} has no {name}, the rest says {value!r}")
            if stored[name] != value:
                raise ValueError(f"{key} says {name} is {stored[name]!r}, the rest says {value!r}")
    batches = checkpoint.batches
    if (
        checkpoint.batch > batches
        or checkpoint.step != checkpoint.epoch * batches + checkpoint.batch
    ):
        raise ValueError(
            f"step {checkpoint.step} in batch {checkpoint.batch} after {checkpoint.epoch} epochs "
            f"of {batches}"
        )
    if checkpoint.applied < checkpoint.step:
        raise ValueError(f"{checkpoint.step} steps, but its model has made {checkpoint.applied}")
    if checkpoint.best_epoch > checkpoint.epoch or bool(checkpoint.best_epoch) != bool(
        checkpoint.best
    ):
        raise ValueError(
            f"epoch {checkpoint.best_epoch} of {checkpoint.epoch} is the best, "
            f"with {len(checkpoint.best)} tensors"
        )
    if checkpoint.restored and not checkpoint.best:
        raise ValueError("its best parameters are restored, but there are none")


def _loss(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the loss of an output. Raises `ValueError`, `TypeError`, `KeyError` if invalid."""
    from webnnm.training.losses import LOSSES

    texts = {"loss": entry["loss"], "reason": entry["reason"]}
    if not all(isinstance(text, str) for text in texts.values()):
        raise ValueError(f"{texts} is not a loss")
    loss = LOSSES.get(texts["loss"])
    if loss is None and not texts["loss"].endswith("()"):  # a function, whose name is kept
        raise ValueError(f"{texts} is not a loss")
    numbers: dict[str, Any] = {}
    for name in ("delta", "gamma", "alpha"):
        value = entry[name]
        if value is not None and name not in (loss.parameters if loss else ()):
            raise ValueError(f"{texts['loss']} has no {name}")
        if isinstance(value, list) and name == "alpha":
            numbers[name] = [_finite(weight, low=0) for weight in cast("list[Any]", value)]
        else:
            numbers[name] = None if value is None else _finite(value, low=0)
    numbers["smoothing"] = _finite(entry["smoothing"], low=0)
    weights: Any = entry.get("class_weights")
    numbers["class_weights"] = weights and [_finite(weight, low=0) for weight in weights]
    if numbers["delta"] == 0 or numbers["smoothing"] >= 1:
        raise ValueError(f"the numbers of a loss are {numbers}")
    if "reference" in entry:  # earlier versions left it out
        numbers["reference"] = _finite(entry["reference"], low=0)
    return texts | numbers | ({"s": _finite(entry["s"])} if "s" in entry else {})


def _total(name: str, value: Any) -> float:
    """Return a sum of an epoch, which may have overflowed; counts cannot have overflowed."""
    return (
        _finite(value, low=0)
        if name.startswith(ROWS) or name in COUNTS
        else _read_number_or_nan(value)
    )


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def _read_number_or_nan(value: Any) -> float:
    """Return a number; JSON has null for a number that was not finite, as sums may be."""
    return math.nan if value is None else _number(value)


def _finite(value: Any, low: float = -math.inf) -> float:
    if not low <= _number(value) <= MAX_FLOAT32 or value < -MAX_FLOAT32:
        raise ValueError(f"{value!r} is out of range")
    return float(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise TypeError(f"{value!r} is not a count")
    return value
