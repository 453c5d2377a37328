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
SETTINGS = ("rope_parameters", "rope_scaling")
MAX, ORIGINAL = "max_position_embeddings", "original_max_position_embeddings"


class Rotation(NamedTuple):
    """The `base` of angles, or the rate of each pair, and the factor of cosines and sines.

    `size` features of a head rotate, None if all do.
    """

    base: float
    rates: tuple[float, ...] = ()
    factor: float = 1.0
    size: int | None = None

    def text(self) -> str:
        """Return the value of `rope=`."""
        return f"[{', '.join(map(repr, self.rates))}]" if self.rates else str(self.base)

    def options(self) -> str:
        """Return the options of attend, without the factor if it can be that of all scores."""
        partial = f", rotarySize={self.size}" if self.size else ""
        factor = f", rotaryFactor={self.factor}" if self.size and self.factor != 1 else ""
        return f"rope={self.text()}{partial}{factor}"

    def score_factor(self) -> float:
        """Return the factor of scores that follows from that of cosines and sines."""
        return 1.0 if self.size else self.factor**2


class Usual(NamedTuple):
    """What a config that says nothing about angles means.

    Attributes: `base`; `share` of the features of a head that rotate, None if a config may not set
    it; the keys `base_key` and `share_key` at the top of a config; `settings`, those of angles.
    """

    base: float = 10000.0
    share: float | None = None
    base_key: str = "rope_theta"
    share_key: str = "partial_rotary_factor"
    settings: Mapping[str, Any] = {}


DEFAULT = Usual()


def rotation(config: Config, size: int, usual: Usual = DEFAULT, kind: str = "") -> Rotation:
    """Return the angles for a head size, which a config gives in one of two places.

    `kind` is that of the attention, if a config has settings for each. Raises `DataError` NNM818
    for other kinds of scaling.
    """
    if size > MAX_HEAD:
        message = f"config.json: the heads have {size:,} numbers, more than {MAX_HEAD:,}"
        raise DataError("NNM818", message, hint='see "head_dim", "hidden_size"')
    settings = {key: config.object(key) for key in SETTINGS}
    rope = Config(_merge_rope_settings(settings, kind) or {**usual.settings})
    try:
        turning = _rotating_size(config, rope, size, usual)
        angles = _rotation(config, rope, turning, usual)
        angles = angles if turning == size else angles._replace(size=turning)
    except (ArithmeticError, ValueError) as error:
        numbers = shorten(rope.given)
        message = f"config.json: the scaling of angles has no result: {numbers}"
        raise DataError("NNM818", message, hint="correct its numbers") from error
    if not all(map(math.isfinite, (angles.base, angles.factor, *angles.rates))):
        raise config.not_supported("rope_scaling", rope.given, "all angles have to be finite")
    return angles


def latent_factor(config: Config) -> float:
    """Return the factor of scores for longer texts, which DeepSeek applies beside `rotation`."""
    rope = Config(_merge_rope_settings({key: config.object(key) for key in SETTINGS}))
    by = rope.number("mscale_all_dim", 0)
    if _scaling_kind(rope.given) == "default" or not by:
        return 1.0
    return yarn_factor(rope.positive("factor"), by) ** 2


def _rotating_size(config: Config, rope: Config, size: int, usual: Usual) -> int:
    """Return how many features of a head rotate."""
    key = "partial_rotary_factor"
    if usual.share is None:
        rope.require(key, 1.0, 1)
        return size
    share = rope.positive(key, config.positive(usual.share_key, usual.share))
    turning = int(size * share)
    if not 0 < turning <= size or turning % 2:
        hint = f"an even number of the {size} features of a head has to rotate"
        raise config.not_supported(usual.share_key, share, hint)
    return turning


def _rotation(config: Config, rope: Config, size: int, usual: Usual) -> Rotation:
    base = rope.positive("rope_theta", config.positive(usual.base_key, usual.base))
    kind = _scaling_kind(rope.given)
    for key in ("rope_type", "type"):
        rope.get(key)
    if kind not in KINDS:
        hint = f"supported are {', '.join(KINDS)}"
        raise config.not_supported(
            "rope_scaling" if "rope_scaling" in config else "rope_type", kind, hint
        )
    plain = rates(size, base)
    angles = Rotation(base)
    if kind == "default":
        config.get(ORIGINAL)  # the length from which on a scaling would have an effect
    if kind == "linear":
        factor = rope.positive("factor")
        angles = Rotation(base, tuple(rate / factor for rate in plain))
    elif kind == "llama3":
        angles = Rotation(base, _llama3(rope, config, plain))
    elif kind == "yarn":
        angles = _yarn(rope, config, base, plain)
    elif kind == "dynamic":  # up to `longest` the base is unchanged
        rope.positive("factor")
        rope.get(ORIGINAL)
    elif kind == "longrope":
        angles = _longrope(rope, config, base, plain)
    rope.finish()
    return angles


def longest(config: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return the length up to which the angles of a model text are valid, and the key that says so.

    Longer texts would change the angles of all tokens. None if angles do not depend on the length.

    >>> scaling = {"rope_type": "dynamic", "factor": 2.0}
    >>> longest({"max_position_embeddings": 64, "rope_scaling": scaling})
    ('max_position_embeddings', 64)
    """
    merged = _merge_rope_settings(config)
    by_kind = [settings for settings in merged.values() if isinstance(settings, dict)]
    limit: int = config.get(MAX) or 2048
    for rope in cast("list[dict[str, Any]]", by_kind or [merged]):
        kind = _scaling_kind(rope)
        if kind == "dynamic":
            return MAX, limit
        if kind == "longrope":
            return ORIGINAL, rope.get(ORIGINAL) or config.get(ORIGINAL) or limit
    return None


def _merge_rope_settings(config: Mapping[str, Any], kind: str = "") -> dict[str, Any]:
    """Return the settings of angles in a config, from one of two places, for a kind of attention.

    Older configs have one scaling, which is that of full attention if there are several kinds.
    """
    merged = {**(config.get("rope_parameters") or {}), **(config.get("rope_scaling") or {})}
    return merged.get(kind) or {} if isinstance(merged.get(kind), dict) else merged


def _scaling_kind(rope: Mapping[str, Any]) -> Any:
    """Return how angles are scaled; the first files of Phi-3 have other names for longrope."""
    kind = rope.get("rope_type") or rope.get("type") or "default"
    return "longrope" if kind == "su" or (kind == "yarn" and "short_factor" in rope) else kind


def _training_length(rope: Config, config: Config) -> int:
    """Return the context length in training."""
    limit = config.size("max_position_embeddings", 2048)
    return rope.size("original_max_position_embeddings", limit)


def _llama3(rope: Config, config: Config, plain: list[float]) -> tuple[float, ...]:
    """Return rates with the slow ones slowed down, and a smooth transition to unchanged ones."""
    training_length, factor = _training_length(rope, config), rope.positive("factor")
    low, high = rope.positive("low_freq_factor"), rope.positive("high_freq_factor")

    def slow_down(rate: float) -> float:
        turns = training_length * rate / (2 * math.pi)
        share = min(1.0, max(0.0, (turns - low) / (high - low)))
        return (1 - share) * rate / factor + share * rate

    return tuple(map(slow_down, plain))


def _yarn(rope: Config, config: Config, base: float, plain: list[float]) -> Rotation:
    """Return rates that are interpolated by how often each pair rotates within a context."""
    training_length, size = _training_length(rope, config), 2 * len(plain)
    longer = config.size("max_position_embeddings", 2048) / training_length
    factor = rope.positive("factor", longer if longer != 1 else None)

    def pair(turns: float) -> float:
        return size * math.log(training_length / (turns * 2 * math.pi)) / (2 * math.log(base))

    first, last = pair(rope.positive("beta_fast", 32)), pair(rope.positive("beta_slow", 1))
    if rope.flag("truncate", True):
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, size - 1)
    last += 0.001 if first == last else 0

    def slow_down(index: int, rate: float) -> float:
        share = min(1.0, max(0.0, (index - first) / (last - first)))
        return share * rate / factor + (1 - share) * rate

    scaled = tuple(slow_down(index, rate) for index, rate in enumerate(plain))
    return Rotation(base, scaled, _larger(rope, factor))


def _longrope(rope: Config, config: Config, base: float, plain: list[float]) -> Rotation:
    """Return the rates for texts up to the training length, each with its own factor."""
    value: Any = rope.get("short_factor")
    factors = cast("list[Any]", value) if isinstance(value, list) else []
    numbers = all(type(number) in (int, float) and 0 < number < MAX_NUMBER for number in factors)
    if not numbers or len(factors) != len(plain):
        raise config.not_supported("short_factor", value, f"{len(plain)} positive numbers")
    rope.get("long_factor")
    limit = config.size(MAX, 2048)
    training_length = rope.size(ORIGINAL, config.size(ORIGINAL, limit))
    ratio = rope.positive("factor", limit / training_length)
    usual = math.sqrt(1 + math.log(ratio) / math.log(training_length)) if ratio > 1 else 1.0
    slower = tuple(rate / factor for rate, factor in zip(plain, factors, strict=True))
    return Rotation(base, slower, rope.positive("attention_factor", usual))


def _larger(rope: Config, factor: float) -> float:
    """Return the factor of cosines and sines."""
    scale, scale_all = rope.number("mscale", 0), rope.number("mscale_all_dim", 0)
    if "attention_factor" in rope:
        return rope.positive("attention_factor")
    if scale and scale_all:
        return yarn_factor(factor, scale) / yarn_factor(factor, scale_all)
    return yarn_factor(factor)


def yarn_factor(factor: float, by: float = 1.0) -> float:
    """Return by how much cosines and sines grow in texts that are longer by a factor."""
    return 0.1 * by * math.log(factor) + 1.0 if factor > 1 else 1.0
