"""The settings of a training: every hyperparameter, in one typed record (spec E.1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Literal, Self, cast

from webnnm.core.errors import DataError, suggestion
from webnnm.core.naming import camel_case
from webnnm.core.shapes import as_python
from webnnm.training.optimizers import OPTIMIZERS
from webnnm.training.schedules import SCHEDULES, Schedule

INTEGER_LIMIT = 2**64
"""Integers are below this, which allows for 64-bit seeds."""
SIZE_LIMIT = 2**31
"""Sizes of dimensions are below this."""


@dataclass(frozen=True)
class Hyperparameter:
    """How a hyperparameter is read from what a user writes.

    `read` returns a value in canonical form or raises `ValueError`; `range` says in words which it
    accepts. `spellings` are other names for it, besides the one in camelCase.
    """

    range: str
    read: Callable[[Any], Any]
    spellings: tuple[str, ...] = ()


def _field(default: Any, range: str, read: Callable[[Any], Any], *spellings: str) -> Any:
    hyperparameter = Hyperparameter(range, read, spellings)
    return field(default=default, metadata={"hyperparameter": hyperparameter})


def _predicate(default: Any, range: str, is_allowed: Callable[[Any], bool], *spellings: str) -> Any:
    """Return a field whose values pass a test unchanged; its default also passes."""

    def read(value: Any) -> Any:
        if not (is_allowed(value) or (value is None and default is None)):
            raise ValueError
        return value

    return _field(default, range, read, *spellings)


def _integer(default: int | None, low: int, *, below: int = INTEGER_LIMIT) -> Any:
    def is_allowed(value: Any) -> bool:
        return _is_integer(value) and low <= value < below

    range = f"an integer from {low} to below 2**{below.bit_length() - 1}"
    return _predicate(default, range, is_allowed)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < INTEGER_LIMIT


def _number(
    default: float | None,
    low: float,
    *spellings: str,
    above: bool = False,
    below: float = math.inf,
    most: float = math.inf,
) -> Any:
    def is_allowed(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        is_in_range = (value > low if above else value >= low) and value < below and value <= most
        return is_in_range and math.isfinite(value)

    limits = f", below {below:g}" if below < math.inf else ""
    limits += f", at most {most:g}" if most < math.inf else ""
    range = f"a number {'above' if above else 'from'} {low:g}{limits}"
    return _predicate(default, range, is_allowed, *spellings)


def _option(default: str, options: Iterable[str], *spellings: str, **synonyms: str) -> Any:
    """Return a field for one of several names, in any case; True and False are on and off."""
    options = tuple(dict.fromkeys(options))
    canonical = {option.lower(): option for option in options} | synonyms

    def read(value: Any) -> str:
        if isinstance(value, bool):
            value = "on" if value else "off"
        if not isinstance(value, str) or value.lower() not in canonical:
            raise ValueError
        return canonical[value.lower()]

    return _field(default, f"one of {', '.join(options)}", read, *spellings)


def _flag(default: bool) -> Any:
    return _predicate(default, "true or false", lambda value: isinstance(value, bool))


def _read_functions(value: Any) -> Any:
    functions: list[Any] = [*value.values()] if isinstance(value, Mapping) else [value]
    if value is not None and not (functions and all(map(callable, functions))):
        raise ValueError
    return cast("Any", value)


def _read_weights(value: Any) -> Any:
    if isinstance(value, Mapping):
        written = cast("Mapping[str, Any]", value)
        weights = {name: as_python(weight) for name, weight in written.items()}
        numbers = weights.values()
        if all(isinstance(w, (int, float)) and w > 0 and math.isfinite(w) for w in numbers):
            return weights
    elif isinstance(value, str) and value.lower() in ("auto", "off"):
        return value.lower()
    raise ValueError


def _read_class_weight(value: Any) -> Any:
    if isinstance(value, Mapping):
        by_class = cast("Mapping[Any, Any]", value)
        weights = _read_weights({str(name): weight for name, weight in by_class.items()})
        if weights:
            return weights
    elif value is None or (isinstance(value, str) and value.lower() == "balanced"):
        return value and value.lower()
    raise ValueError


def _read_steps(value: Any) -> Any:
    if value == "auto" or (_is_integer(value) and value >= 1):
        return value
    raise ValueError


def _read_rules(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = (value,)
    return tuple(map(str, value))


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Settings:
    """The hyperparameters of a training; None and "auto" stand for what is not known yet.

    >>> settings = Settings(epochs=5)
    >>> settings.optimizer, settings.lr, settings.resolve().lr
    ('adamw', None, 0.01)

    `resolve` takes what is None from the optimizer, `automatic.complete_settings` from the dataset;
    the expert system decides what is "auto". `explicit` are the names of those that the user wrote,
    `reasons` say where defaults that depend on the dataset come from.
    """

    epochs: int | None = _integer(None, 1)
    """How often the training reads all rows; None for as many epochs as 3,000 updates take."""
    batch_size: int | None = _integer(None, 1, below=SIZE_LIMIT)
    """Rows of a batch; None for the batch size of the dataset."""
    accumulate: int = _integer(1, 1)
    """Batches whose gradients are added up for one update."""
    micro_steps: int | Literal["auto"] = _field(
        "auto", "auto, or an integer from 1 to below 2**64", _read_steps
    )
    """Steps of one call to the device; it changes speed, no number."""
    recompute: bool = _flag(False)
    """Whether activations are computed again in the backward pass, which saves memory."""
    optimizer: str = _option(
        "adamw",
        (o.name for o in OPTIMIZERS.values()),
        **{name: o.name for name, o in OPTIMIZERS.items()},
    )
    """How a gradient changes a parameter (E.2)."""
    lr: float | None = _number(None, 0, above=True)
    """The highest learning rate; None for the optimizer's, scaled by the number of updates."""
    weight_decay: float | None = _number(None, 0)
    """λ of weight decay; None for the optimizer's, of adamw for one that rows decide."""
    momentum_factor: float | None = _number(None, 0, "mu", "momentum", below=1)
    """Momentum μ of nesterov and sgdm; None for the optimizer's."""
    beta1: float | None = _number(None, 0, below=1)
    """β₁ of adam, adamw, lion and rlion; None for the optimizer's."""
    beta2: float | None = _number(None, 0, below=1)
    """β₂ of adam, adamw, lion and rlion; None for the optimizer's."""
    alpha: float | None = _number(None, 0, above=True)
    """Steepness α of the soft sign of rlion; None for the optimizer's."""
    epsilon: float | None = _number(None, 0, above=True)
    """ε of adam, adamw and adafactor; None for the optimizer's."""
    schedule: str = _option("cosine", SCHEDULES, one_cycle="onecycle")
    """How the learning rate changes from step to step (E.3)."""
    schedule_epochs: int | None = _integer(None, 1)
    """Epochs until the schedule ends; None for `epochs`."""
    warmup_epochs: int = _integer(0, 0)
    """Epochs in which the rate rises; 0 for 5% of them, with onecycle 30%."""
    step_epochs: int | None = _integer(None, 1)
    """Epochs between two drops of the schedules step and plateau; None for theirs."""
    step_factor: float = _number(0.1, 0, above=True, most=1)
    """The factor of each drop of the schedules step and plateau."""
    min_lr: float = _number(0.0, 0)
    """The learning rate below which no schedule falls."""
    seeds: int = _integer(1, 0)
    """Initial parameters that are tried before the training (E.4)."""
    patience: int = _integer(500, 1)
    """Epochs without improvement after which the training ends (E.10)."""
    validate_every: int = _integer(1, 1)
    """Epochs from one validation to the next."""
    validation_split: float | None = _number(None, 0, below=1)
    """The share of training rows held out; None for a tenth of 2,000 rows or more."""
    restore_best: bool = _flag(True)
    """Whether the model keeps the parameters of the best epoch, not of the last one."""
    loss: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = _field(
        None,
        "a callable, or output → callable; a name goes into the text: m:loss MSE;",
        _read_functions,
    )
    """A function in place of the losses of the text."""
    loss_weights: Literal["auto", "off", "uncertainty"] | Mapping[str, float] = _field(
        "auto", "auto, off, or output → number above 0", _read_weights
    )
    """How the losses of several outputs are added up (E.8)."""
    class_weight: Literal["balanced"] | Mapping[str, float] | None = _field(
        None, '"balanced", or class → number above 0', _read_class_weight
    )
    """Weights of rows by their class (D.1)."""
    label_smoothing: float = _number(0.0, 0, below=1)
    """The share of each label that is spread over all classes (D.1)."""
    freeze: float = _number(0.0, 0, most=1)
    """The share of layers, from the inputs on, that do not learn (B.7)."""
    regularization: Literal["auto", "L1", "L2", "L1+L2", "off"] = _option(
        "auto", ("auto", "L1", "L2", "L1+L2", "off"), "regularisation"
    )
    """The penalty on large weights (E.7)."""
    lambda1: float = _number(0.0, 0)
    """λ₁ of L1; 0 for 1e-5 where L1 is on."""
    lambda2: float = _number(0.0, 0)
    """λ₂ of L2; 0 for 1e-4 where L2 is on."""
    optimize_for: Literal["size", "edge"] = _option("size", ("size", "edge"))
    """What the trained model is meant for: a small file, or a neural processor (F.4)."""
    gradient_scaling: Literal["auto", "on", "off"] = _option(
        "auto", ("auto", "on", "off"), "scaling"
    )
    """Whether gradients in float16 are those of a scaled loss (E.5)."""
    scale: float = _number(1000.0, 1)
    """The initial scale of the loss (E.5)."""
    growth_interval: int = _integer(1000, 1)
    """Steps without overflow after which the scale doubles (E.5)."""
    gradient_clipping: Literal["auto", "global", "agc", "off"] = _option(
        "auto", ("auto", "global", "agc", "off"), "clipping", on="global"
    )
    """How large gradients are limited (E.6)."""
    clip_alpha: float = _number(0.95, 0, below=1)
    """α of the running mean that global clipping compares with (E.6)."""
    clip_epsilon: float = _number(1e-6, 0, above=True)
    """ε of global clipping, added to norms that it divides by (E.6)."""
    agc_lambda: float = _number(0.01, 0, above=True)
    """The largest ratio of gradient to weight in adaptive clipping (E.6)."""
    compute_type: Literal["auto", "float32", "float16"] = _option(
        "auto", ("auto", "float32", "float16")
    )
    """The type of inputs whose type is not in the text (F.4)."""
    shuffle: bool = _flag(True)
    """Whether the order of the rows changes from epoch to epoch (G.3)."""
    seed: int | None = _predicate(None, "an integer between -2**64 and 2**64", _is_integer)
    """The seed of all random numbers; None for the model's."""
    silence: tuple[str, ...] = _field((), 'ids of rules, such as ("E603",)', _read_rules)
    """Rules of the expert system that are not applied."""
    progress: Any = _field("auto", "see webnnm.trainer.progress.display", lambda value: value)
    """How the course of the training is shown."""
    on_epoch: Callable[..., Any] | None = _predicate(None, "a callable", callable)
    """A function called after each epoch with its record; False ends the training."""
    on_batch: Callable[..., Any] | None = _predicate(None, "a callable", callable)
    """A function called after each batch with its record; False ends the training."""
    explicit: frozenset[str] = frozenset()
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])

    def __repr__(self) -> str:
        values = (f"{name}={value!r}" for name, value in self.to_dict().items())
        return f"{type(self).__name__}({', '.join(values)})"

    def to_dict(self) -> dict[str, Any]:
        """Return every hyperparameter by its name."""
        return {name: getattr(self, name) for name in HYPERPARAMETERS}

    def explicit_values(self) -> dict[str, Any]:
        """Return the hyperparameters that the user wrote by their names."""
        return {name: value for name, value in self.to_dict().items() if name in self.explicit}

    def with_defaults(self, **defaults: Any) -> Self:
        """Return the settings with defaults in place of what the user did not write.

        >>> settings = parse_settings({"seed": 3}).with_defaults(seed=1, batch_size=8)
        >>> settings.seed, settings.batch_size
        (3, 8)
        """
        return replace(
            self,
            **{
                name: default
                for name, default in defaults.items()
                if name not in self.explicit or getattr(self, name) is None
            },
        )

    def resolve(self) -> Self:
        """Return the settings with the numbers that the optimizer has defaults for.

        Raises `DataError` NNM704 for a warm-up that is not shorter than the training.
        """
        epochs = self.schedule_epochs or self.epochs
        if epochs and self.warmup_epochs >= epochs:
            raise DataError(
                "NNM704",
                f"warmup_epochs is {self.warmup_epochs} of {epochs} epochs",
                hint="the warm-up has to be shorter than the training",
            )
        optimizer = OPTIMIZERS[self.optimizer]
        numbers: dict[str, Any] = {
            "lr": optimizer.rate,
            "weight_decay": optimizer.weight_decay,
            **optimizer.defaults,
        }
        unknown = {name: n for name, n in numbers.items() if getattr(self, name) is None}
        return replace(self, **unknown)

    def without_objects(self) -> Self:
        """Return the settings without functions and displays, which end with the process.

        >>> Settings(epochs=3, progress=object(), on_epoch=print).without_objects().progress
        'auto'
        """
        objects: dict[str, Any] = {"loss": None, "on_epoch": None, "on_batch": None}
        if not isinstance(self.progress, str | None):
            objects["progress"] = "auto"
        return replace(self, **objects, explicit=self.explicit - objects.keys())

    def finish(self) -> FinalSettings:
        """Return the settings of a training that can begin: all its numbers are known."""
        for name in FinalSettings.__annotations__:
            assert getattr(self, name) is not None, name
        return FinalSettings(**vars(self))

    def finish_without_data(self) -> FinalSettings:
        """Return the settings of what has no rows, in which what depends on them is 0."""
        names = ("epochs", "batch_size", "validation_split", "seed")
        unknown: dict[str, Any] = {name: 0 for name in names if getattr(self, name) is None}
        return replace(self.resolve(), **unknown).finish()


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class FinalSettings(Settings):
    """The settings of a training whose dataset, model and optimizer are known."""

    epochs: int
    batch_size: int
    lr: float
    weight_decay: float
    validation_split: float
    seed: int

    def make_schedule(self, batches: int, saved: Mapping[str, Any] | None = None) -> Schedule:
        """Return the schedule for epochs of so many batches; `saved` is from a checkpoint."""
        saved = saved or {}
        return Schedule(
            kind=self.schedule,
            rate=self.lr,
            epochs=self.schedule_epochs or self.epochs,
            batches=batches,
            warmup_epochs=self.warmup_epochs,
            min_rate=self.min_lr,
            step_epochs=self.step_epochs or 0,
            step_factor=self.step_factor,
            drops=saved.get("drops", 0),
            dropped=saved.get("dropped", 0),
        )


HYPERPARAMETERS: Mapping[str, Hyperparameter] = {
    f.name: f.metadata["hyperparameter"] for f in fields(Settings) if f.metadata
}
"""How each hyperparameter is read, by its name."""


def parse_settings(hyperparameters: Mapping[str, Any]) -> Settings:
    """Return the settings that a user wrote, and the defaults of all others.

    >>> settings = parse_settings({"weightDecay": 0.1, "optimizer": "NAG"})
    >>> settings.weight_decay, settings.optimizer, settings.epochs
    (0.1, 'nesterov', None)
    >>> sorted(settings.explicit)
    ['optimizer', 'weight_decay']

    Raises `DataError` NNM703 for unknown names and for two spellings of one name, NNM704 for
    values out of range.
    """
    names = _names_by_spelling()
    values: dict[str, Any] = {}
    for spelling, value in hyperparameters.items():
        name = names.get(spelling)
        if name is None:
            from webnnm.core.naming import snake_case
            from webnnm.training.foreign_words import SETTINGS

            hint = SETTINGS.get(snake_case(spelling)) or suggestion(spelling, HYPERPARAMETERS)
            raise DataError("NNM703", f'there is no hyperparameter "{spelling}"', hint=hint)
        if name in values:
            raise DataError("NNM703", f'"{name}" is given in two spellings')
        hyperparameter = HYPERPARAMETERS[name]
        try:
            values[name] = hyperparameter.read(as_python(value))
        except (ValueError, TypeError, OverflowError) as error:
            message = f"{spelling} is {_shorten(value)}"
            hint = f"give {hyperparameter.range}"
            raise DataError("NNM704", message, hint=hint) from error
    return Settings(**values, explicit=frozenset(values))


@cache
def _names_by_spelling() -> dict[str, str]:
    """Return the name of a hyperparameter for each of its spellings."""
    return {
        spelling: name
        for name, hyperparameter in HYPERPARAMETERS.items()
        for spelling in (name, camel_case(name), *hyperparameter.spellings)
    }


def _shorten(value: Any) -> str:
    """Return a value, shortened for a message."""
    try:
        text = repr(value)
    except ValueError:  # an integer with more digits than Python prints
        return "a number with thousands of digits"
    return text if len(text) <= 100 else f"{text[:100]}…"
