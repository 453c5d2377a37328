"""The hyperparameters of training: names, ranges, defaults (spec E.1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from webnnm.core.errors import DataError, suggestion
from webnnm.training.optimizers import OPTIMIZERS
from webnnm.training.schedules import SCHEDULES


@dataclass(frozen=True)
class Hyperparameter:
    """One hyperparameter: default, range in words, parser of its values, other spellings.

    `read` returns the value in canonical form or raises `ValueError`. A default of None is
    replaced from the optimizer, the dataset or the model, "auto" by the expert system.
    """

    default: Any
    range: str
    read: Callable[[Any], Any]
    aliases: tuple[str, ...] = ()


Test = Callable[[Any], bool]
BEYOND = 2**64
"""Integers are below this, which allows for 64-bit seeds."""
BEYOND_SIZES = 2**31
"""Sizes of dimensions are below this."""


def _one(default: Any, range: str, allowed: Test, *aliases: str) -> Hyperparameter:
    """Return a hyperparameter whose values pass a test unchanged; its default also passes."""

    def read(value: Any) -> Any:
        if not (allowed(value) or (value is None and default is None)):
            raise ValueError
        return value

    return Hyperparameter(default, range, read, aliases)


def _integer(default: int | None, low: int, *aliases: str, below: int = BEYOND) -> Hyperparameter:
    def allowed(value: Any) -> bool:
        return _is_integer(value) and low <= value < below

    range = f"an integer from {low} to below 2**{below.bit_length() - 1}"
    return _one(default, range, allowed, *aliases)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < BEYOND


def _number(
    default: float | None,
    low: float,
    *aliases: str,
    above: bool = False,
    below: float = math.inf,
    most: float = math.inf,
) -> Hyperparameter:
    def allowed(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return (value > low if above else value >= low) and value < below and value <= most

    limits = f", below {below:g}" if below < math.inf else ""
    limits += f", at most {most:g}" if most < math.inf else ""
    range = f"a number {'above' if above else 'from'} {low:g}{limits}"
    return _one(default, range, lambda value: allowed(value) and math.isfinite(value), *aliases)


def _word(default: str, words: Iterable[str], *aliases: str, **others: str) -> Hyperparameter:
    """Return a hyperparameter of words in any case, with aliases for some; flags are on and off."""
    words = tuple(dict.fromkeys(words))
    known = {word.lower(): word for word in words} | others

    def read(value: Any) -> str:
        if isinstance(value, bool):
            value = "on" if value else "off"
        if not isinstance(value, str) or value.lower() not in known:
            raise ValueError
        return known[value.lower()]

    return Hyperparameter(default, f"one of {', '.join(words)}", read, aliases)


def _flag(default: bool, *aliases: str) -> Hyperparameter:
    return _one(default, "true or false", lambda value: isinstance(value, bool), *aliases)


def _call(*aliases: str) -> Hyperparameter:
    return _one(None, "a callable", callable, *aliases)


def _functions(value: Any) -> Any:
    functions: list[Any] = [*value.values()] if isinstance(value, Mapping) else [value]
    if value is not None and not (functions and all(map(callable, functions))):
        raise ValueError
    return cast("Any", value)


def _weights(value: Any) -> Any:
    if isinstance(value, Mapping):
        found: dict[str, Any] = dict(value)
        if all(isinstance(w, (int, float)) and w > 0 and math.isfinite(w) for w in found.values()):
            return found
    elif isinstance(value, str) and value.lower() in ("auto", "off"):
        return value.lower()
    raise ValueError


def _class_weight(value: Any) -> Any:
    if isinstance(value, Mapping):
        given: Mapping[Any, Any] = value
        found = _weights({str(name): weight for name, weight in given.items()})
        if found:
            return found
    elif value is None or (isinstance(value, str) and value.lower() == "balanced"):
        return value and value.lower()
    raise ValueError


def _number_of_steps(value: Any) -> Any:
    if value == "auto" or (_is_integer(value) and value >= 1):
        return value
    raise ValueError


def _rules(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = (value,)
    return tuple(map(str, value))


HYPERPARAMETERS: Mapping[str, Hyperparameter] = {
    "epochs": _integer(None, 1),
    "batch_size": _integer(None, 1, "batchSize", below=BEYOND_SIZES),
    "accumulate": _integer(1, 1),
    "micro_steps": Hyperparameter(
        "auto", "auto, or an integer from 1 to below 2**64", _number_of_steps, ("microSteps",)
    ),
    "recompute": _flag(False),
    "optimizer": _word(
        "adamw",
        (o.name for o in OPTIMIZERS.values()),
        **{name: o.name for name, o in OPTIMIZERS.items()},
    ),
    "lr": _number(None, 0, above=True),
    "weight_decay": _number(None, 0, "weightDecay"),
    "momentum_factor": _number(None, 0, "momentumFactor", "mu", "momentum", below=1),
    "beta1": _number(None, 0, below=1),
    "beta2": _number(None, 0, below=1),
    "alpha": _number(None, 0, above=True),
    "epsilon": _number(None, 0, above=True),
    "schedule": _word("cosine", SCHEDULES, one_cycle="onecycle"),
    "schedule_epochs": _integer(None, 1, "scheduleEpochs"),
    "warmup_epochs": _integer(0, 0, "warmupEpochs"),
    "step_epochs": _integer(None, 1, "stepEpochs"),
    "step_factor": _number(0.1, 0, "stepFactor", above=True, most=1),
    "min_lr": _number(0.0, 0, "minLr"),
    "seeds": _integer(1, 0),
    "patience": _integer(500, 1),
    "validate_every": _integer(1, 1, "validateEvery"),
    "validation_split": _number(None, 0, "validationSplit", below=1),
    "restore_best": _flag(True, "restoreBest"),
    "loss": Hyperparameter(
        None, "a callable, or output → callable; a name goes into the text: m:loss MSE;", _functions
    ),
    "loss_weights": Hyperparameter(
        "auto", "auto, off, or output → number above 0", _weights, ("lossWeights",)
    ),
    "class_weight": Hyperparameter(
        None, '"balanced", or class → number above 0', _class_weight, ("classWeight",)
    ),
    "label_smoothing": _number(0.0, 0, "labelSmoothing", below=1),
    "freeze": _number(0.0, 0, most=1),
    "regularization": _word("auto", ("auto", "L1", "L2", "L1+L2", "off"), "regularisation"),
    "lambda1": _number(0.0, 0),
    "lambda2": _number(0.0, 0),
    "optimize_for": _word("size", ("size", "edge"), "optimizeFor"),
    "gradient_scaling": _word("auto", ("auto", "on", "off"), "gradientScaling", "scaling"),
    "scale": _number(1000.0, 1),
    "growth_interval": _integer(1000, 1, "growthInterval"),
    "gradient_clipping": _word(
        "auto", ("auto", "global", "agc", "off"), "gradientClipping", "clipping", on="global"
    ),
    "clip_alpha": _number(0.95, 0, "clipAlpha", below=1),
    "clip_epsilon": _number(1e-6, 0, "clipEpsilon", above=True),
    "agc_lambda": _number(0.01, 0, "agcLambda", above=True),
    "compute_type": _word("auto", ("auto", "float32", "float16"), "computeType"),
    "shuffle": _flag(True),
    "seed": _one(None, "an integer between -2**64 and 2**64", _is_integer),
    "silence": Hyperparameter((), 'ids of rules, such as ("E603",)', _rules),
    "progress": Hyperparameter("auto", "see webnnm.trainer.progress.display", lambda value: value),
    "on_epoch": _call("onEpoch"),
    "on_batch": _call("onBatch"),
}


def given(hyperparameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given values by canonical name and in canonical form.

    >>> given({"weightDecay": 0.1, "optimizer": "NAG", "gradientScaling": True})
    {'weight_decay': 0.1, 'optimizer': 'nesterov', 'gradient_scaling': 'on'}

    Raises `DataError` NNM703 for unknown names and for two spellings of one name, NNM704 for
    values out of range.
    """
    spellings = {
        word: name
        for name, hyperparameter in HYPERPARAMETERS.items()
        for word in (name, *hyperparameter.aliases)
    }
    found: dict[str, Any] = {}
    for word, value in hyperparameters.items():
        name = spellings.get(word)
        if name is None:
            from webnnm.core.naming import snake_case
            from webnnm.training.foreign_words import SETTINGS

            hint = SETTINGS.get(snake_case(word)) or suggestion(word, spellings)
            raise DataError("NNM703", f'there is no hyperparameter "{word}"', hint=hint)
        if name in found:
            raise DataError("NNM703", f'"{name}" is given in two spellings')
        hyperparameter = HYPERPARAMETERS[name]
        try:
            found[name] = hyperparameter.read(value)
        except (ValueError, TypeError, OverflowError) as error:
            hint = f"give {hyperparameter.range}"
            raise DataError("NNM704", f"{word} is {_shown(value)}", hint=hint) from error
    return found


def _shown(value: Any) -> str:
    """Return a value, shortened for a message."""
    try:
        text = repr(value)
    except ValueError:  # an integer with more digits than Python prints
        return "a number with thousands of digits"
    return text if len(text) <= 100 else f"{text[:100]}…"


def resolve(hyperparameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return every hyperparameter with its value, or its default if it is not given.

    >>> resolve({"epochs": 5, "weightDecay": 0.1})["weight_decay"]
    0.1

    Raises `DataError` as `given` does.
    """
    settings = {name: h.default for name, h in HYPERPARAMETERS.items()}
    settings |= given(hyperparameters)
    epochs = settings["schedule_epochs"] or settings["epochs"]
    if epochs and settings["warmup_epochs"] >= epochs:
        raise DataError(
            "NNM704",
            f"warmup_epochs is {settings['warmup_epochs']} of {epochs} epochs",
            hint="the warm-up has to be shorter than the training",
        )
    optimizer = OPTIMIZERS[settings["optimizer"]]
    defaults = {"lr": optimizer.rate, "weight_decay": optimizer.weight_decay, **optimizer.defaults}
    return {
        name: defaults.get(name) if value is None else value for name, value in settings.items()
    }
