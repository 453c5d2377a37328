"""The hyperparameters of training: names, ranges, defaults (spec E.1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from webnnm.errors import DataError, suggestion
from webnnm.training.optimizers import OPTIMIZERS
from webnnm.training.schedules import SCHEDULES


@dataclass(frozen=True)
class Hyperparameter:
    """One hyperparameter: default, range in words, test, other spellings.

    A default of None is chosen from the optimizer, the dataset or the model.
    """

    default: Any
    range: str
    allowed: Callable[[Any], bool]
    aliases: tuple[str, ...] = ()


def _integer(low: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= low


def _number(
    low: float, *, above: bool = False, below: float | None = None
) -> Callable[[Any], bool]:
    def allowed(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if not math.isfinite(value):
            return False
        return (value > low if above else value >= low) and (below is None or value < below)

    return allowed


def _one_of(words: Mapping[str, Any]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value.lower() in words


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _optional(allowed: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or allowed(value)


HYPERPARAMETERS: Mapping[str, Hyperparameter] = {
    "epochs": Hyperparameter(20, "an integer from 1", _integer(1)),
    "batch_size": Hyperparameter(None, "an integer from 1", _optional(_integer(1)), ("batchSize",)),
    "optimizer": Hyperparameter("rlion", f"one of {', '.join(OPTIMIZERS)}", _one_of(OPTIMIZERS)),
    "lr": Hyperparameter(None, "a number above 0", _optional(_number(0, above=True))),
    "weight_decay": Hyperparameter(
        None, "a number from 0", _optional(_number(0)), ("weightDecay",)
    ),
    "momentum_factor": Hyperparameter(
        None,
        "a number from 0, below 1",
        _optional(_number(0, below=1)),
        ("momentumFactor", "mu", "momentum"),
    ),
    "beta1": Hyperparameter(None, "a number from 0, below 1", _optional(_number(0, below=1))),
    "beta2": Hyperparameter(None, "a number from 0, below 1", _optional(_number(0, below=1))),
    "alpha": Hyperparameter(None, "a number above 0", _optional(_number(0, above=True))),
    "schedule": Hyperparameter("cosine", f"one of {', '.join(SCHEDULES)}", _one_of(SCHEDULES)),
    "warmup_epochs": Hyperparameter(0, "an integer from 0", _integer(0), ("warmupEpochs",)),
    "min_lr": Hyperparameter(0.0, "a number from 0", _number(0), ("minLr",)),
    "patience": Hyperparameter(500, "an integer from 1", _integer(1)),
    "validate_every": Hyperparameter(1, "an integer from 1", _integer(1), ("validateEvery",)),
    "restore_best": Hyperparameter(True, "true or false", _flag, ("restoreBest",)),
    "shuffle": Hyperparameter(True, "true or false", _flag),
    "seed": Hyperparameter(None, "an integer", _optional(_integer(-(2**63)))),
    "on_epoch": Hyperparameter(None, "a callable", _optional(callable), ("onEpoch",)),
}


def resolve(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return every hyperparameter with its value, defaults where nothing was given.

    >>> resolve({"epochs": 5, "weightDecay": 0.1})["weight_decay"]
    0.1

    Raises `DataError` NNM703 for unknown names and for two spellings at once, NNM704 for values
    out of range.
    """
    spellings = {
        word: name
        for name, hyperparameter in HYPERPARAMETERS.items()
        for word in (name, *hyperparameter.aliases)
    }
    found: dict[str, Any] = {}
    for word, value in given.items():
        name = spellings.get(word)
        if name is None:
            hint = suggestion(word, spellings)
            raise DataError("NNM703", f'there is no hyperparameter "{word}"', hint=hint)
        if name in found:
            raise DataError("NNM703", f'"{name}" is given in two spellings')
        hyperparameter = HYPERPARAMETERS[name]
        if not hyperparameter.allowed(value):
            raise DataError("NNM704", f"{word} is {value!r}", hint=f"give {hyperparameter.range}")
        found[name] = value.lower() if isinstance(value, str) else value
    result = {name: found.get(name, h.default) for name, h in HYPERPARAMETERS.items()}
    if result["warmup_epochs"] >= result["epochs"] and result["warmup_epochs"]:
        raise DataError(
            "NNM704",
            f"warmup_epochs is {result['warmup_epochs']} of {result['epochs']} epochs",
            hint="the warm-up is shorter than the training",
        )
    return _with_optimizer(result)


def _with_optimizer(settings: dict[str, Any]) -> dict[str, Any]:
    """Fill in what the optimizer decides."""
    optimizer = OPTIMIZERS[settings["optimizer"]]
    defaults = {"lr": optimizer.rate, "weight_decay": optimizer.weight_decay, **optimizer.defaults}
    return {
        name: defaults.get(name) if value is None else value for name, value in settings.items()
    }
