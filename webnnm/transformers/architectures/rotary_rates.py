"""The rates of rotary angles per token, for models with extended contexts.

Sources: S. Chen et al., "Extending context window of large language models via positional
interpolation", arXiv:2306.15595; A. Dubey et al., "The Llama 3 herd of models", arXiv:2407.21783;
B. Peng et al., "YaRN", arXiv:2309.00071; Y. Ding et al., "LongRoPE", arXiv:2402.13753; constants as
in modeling_rope_utils.py of `transformers`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from webnnm.core.errors import DataError
from webnnm.formats.fields import MAX_NUMBER, shorten
from webnnm.ops.positions import rates
from webnnm.transformers.config import Config

MAX_HEAD = 1 << 13
"""The largest head."""
KINDS = ("default", "linear", "llama3", "yarn", "dynamic", "longrope")
MAX, ORIGINAL = "max_position_embeddings", "original_max_position_embeddings"


class Rotation(NamedTuple):
    """The `base` of angles, or the rate of each pair, and the factor of cosines and sines."""

    base: float
    rates: tuple[float, ...] = ()
    factor: float = 1.0

    def text(self) -> str:
        """Return the value of `rope=`."""
        return f"[{', '.join(map(repr, self.rates))}]" if self.rates else str(self.base)


def rotation(config: Config, size: int) -> Rotation:
    """Return the angles for a head size, which a config gives in one of two places.

    Raises `DataError` NNM818 for other kinds of scaling.
    """
    if size > MAX_HEAD:
        message = f"config.json: the heads have {size:,} numbers, more than {MAX_HEAD:,}"
        raise DataError("NNM818", message, hint='see "head_dim", "hidden_size"')
    told = {key: config.object(key) for key in ("rope_parameters", "rope_scaling")}
    given = Config(_told(told))
    try:
        found = _rotation(config, given, size)
    except (ArithmeticError, ValueError) as error:
        numbers = shorten(given.given)
        message = f"config.json: the scaling of angles has no result: {numbers}"
        raise DataError("NNM818", message, hint="correct its numbers") from error
    if not all(map(math.isfinite, (found.base, found.factor, *found.rates))):
        raise config.refused("rope_scaling", given.given, "all angles have to be finite")
    return found


def _rotation(config: Config, given: Config, size: int) -> Rotation:
    given.only("partial_rotary_factor", 1.0, 1)
    base = given.positive("rope_theta", config.positive("rope_theta", 10000.0))
    kind = given.text("rope_type", given.text("type", "default"))
    if kind not in KINDS:
        hint = f"models with {', '.join(KINDS)} can be loaded"
        raise config.refused(
            "rope_scaling" if "rope_scaling" in config else "rope_type", kind, hint
        )
    plain = rates(size, base)
    found = Rotation(base)
    if kind == "linear":
        factor = given.positive("factor")
        found = Rotation(base, tuple(rate / factor for rate in plain))
    elif kind == "llama3":
        found = Rotation(base, _llama3(given, config, plain))
    elif kind == "yarn":
        found = _yarn(given, config, base, plain)
    elif kind == "dynamic":  # up to `longest` the base is unchanged
        given.positive("factor")
        given.get(ORIGINAL)
    elif kind == "longrope":
        found = _longrope(given, config, base, plain)
    given.finish()
    return found


def longest(config: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return the length up to which the angles of a model text are valid, and the key that says so.

    Longer texts would change the angles of all tokens. None if angles do not depend on the length.

    >>> scaling = {"rope_type": "dynamic", "factor": 2.0}
    >>> longest({"max_position_embeddings": 64, "rope_scaling": scaling})
    ('max_position_embeddings', 64)
    """
    told = _told(config)
    kind = told.get("rope_type", told.get("type"))
    most: int = config.get(MAX) or 2048
    if kind == "dynamic":
        return MAX, most
    if kind == "longrope":
        return ORIGINAL, told.get(ORIGINAL) or config.get(ORIGINAL) or most
    return None


def _told(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of angles in a config, from one of two places."""
    return {**(config.get("rope_parameters") or {}), **(config.get("rope_scaling") or {})}


def _trained(given: Config, config: Config) -> int:
    """Return the context length in training."""
    longest = config.size("max_position_embeddings", 2048)
    return given.size("original_max_position_embeddings", longest)


def _llama3(given: Config, config: Config, plain: list[float]) -> tuple[float, ...]:
    """Return rates with the slow ones slowed down, and a smooth transition to unchanged ones."""
    trained, factor = _trained(given, config), given.positive("factor")
    low, high = given.positive("low_freq_factor"), given.positive("high_freq_factor")

    def slowed(rate: float) -> float:
        turns = trained * rate / (2 * math.pi)
        share = min(1.0, max(0.0, (turns - low) / (high - low)))
        return (1 - share) * rate / factor + share * rate

    return tuple(map(slowed, plain))


def _yarn(given: Config, config: Config, base: float, plain: list[float]) -> Rotation:
    """Return rates that are interpolated by how often each pair rotates within a context."""
    trained, size = _trained(given, config), 2 * len(plain)
    longer = config.size("max_position_embeddings", 2048) / trained
    factor = given.positive("factor", longer if longer != 1 else None)

    def pair(turns: float) -> float:
        return size * math.log(trained / (turns * 2 * math.pi)) / (2 * math.log(base))

    first, last = pair(given.positive("beta_fast", 32)), pair(given.positive("beta_slow", 1))
    if given.flag("truncate", True):
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, size - 1)
    last += 0.001 if first == last else 0

    def slowed(place: int, rate: float) -> float:
        share = min(1.0, max(0.0, (place - first) / (last - first)))
        return share * rate / factor + (1 - share) * rate

    found = tuple(slowed(place, rate) for place, rate in enumerate(plain))
    return Rotation(base, found, _larger(given, factor))


def _longrope(given: Config, config: Config, base: float, plain: list[float]) -> Rotation:
    """Return the rates for texts up to the training length, each with its own factor."""
    found: Any = given.get("short_factor")
    factors = cast("list[Any]", found) if isinstance(found, list) else []
    numbers = all(type(each) in (int, float) and 0 < each < MAX_NUMBER for each in factors)
    if not numbers or len(factors) != len(plain):
        raise config.refused("short_factor", found, f"{len(plain)} positive numbers")
    given.get("long_factor")
    most = config.size(MAX, 2048)
    trained = given.size(ORIGINAL, config.size(ORIGINAL, most))
    ratio = given.positive("factor", most / trained)
    usual = math.sqrt(1 + math.log(ratio) / math.log(trained)) if ratio > 1 else 1.0
    slower = tuple(rate / factor for rate, factor in zip(plain, factors, strict=True))
    return Rotation(base, slower, given.positive("attention_factor", usual))


def _larger(given: Config, factor: float) -> float:
    """Return the factor of cosines and sines."""
    scale, whole = given.number("mscale", 0), given.number("mscale_all_dim", 0)
    if "attention_factor" in given:
        return given.positive("attention_factor")
    if scale and whole:
        return yarn_factor(factor, scale) / yarn_factor(factor, whole)
    return yarn_factor(factor)


def yarn_factor(factor: float, by: float = 1.0) -> float:
    """Return by how much cosines and sines grow in texts that are longer by a factor."""
    return 0.1 * by * math.log(factor) + 1.0 if factor > 1 else 1.0
