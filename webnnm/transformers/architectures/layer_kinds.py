"""The kinds of attention of a decoder with rotary positions, and which layers have which.

Sources: Gemma 3, arXiv:2503.19786, mixes windows and full attention with other angles; SmolLM3
(Hugging Face, 2025) leaves out positions in every fourth layer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from webnnm.transformers.architectures.rotary_rates import DEFAULT, Usual, rotation
from webnnm.transformers.config import Config

FULL, SLIDING = "full_attention", "sliding_attention"


class LayerKind(NamedTuple):
    """What distinguishes the attention of layers: whether it has a window, and rotates."""

    window: bool = False
    rotates: bool = True

    @property
    def name(self) -> str:
        """The name of the block if a model has several kinds."""
        return ("windowed" if self.window else "full") + ("" if self.rotates else "_unrotated")


class Positions(NamedTuple):
    """How attention depends on positions and limits its scores, where models differ.

    Attributes: `usual`, angles of configs without settings; `local`, those of layers with windows
    if they have their own; `interleaved`, whether pairs of features that rotate are neighbours;
    `scale_key`, the key with the number whose inverse root scales scores, "" for the head size;
    `softcap_key`, the key with the smooth limit of scores, "" if there is none;
    `every`, the key that says after how many layers attention is full, and its default.
    """

    usual: Usual = DEFAULT
    local: Usual | None = None
    interleaved: bool = False
    scale_key: str = ""
    softcap_key: str = ""
    every: tuple[str, int] | None = None


def list_kinds(config: Config, layers: int, positions: Positions) -> list[LayerKind]:
    """Return the kind of attention of each layer."""
    rotates = _rotating_layers(config, layers)
    windows = _window_layers(config, layers, positions.every, rotates)
    return [LayerKind(*pair) for pair in zip(windows, rotates, strict=True)]


def call_layers(kinds: Sequence[LayerKind]) -> list[str]:
    """Return the calls of all layers, one for consecutive layers of the same kind.

    >>> call_layers([LayerKind()] * 3 + [LayerKind(window=True)])
    ['layer(repeat=3, attention=full)', 'layer(repeat=1, attention=windowed)']
    """
    if len({*kinds}) == 1:
        return [f"layer(repeat={len(kinds)})"]
    runs = ((kind, len([*run])) for kind, run in groupby(kinds))
    return [f"layer(repeat={count}, attention={kind.name})" for kind, count in runs]


def attention_options(
    config: Config, head_size: int, kinds: Sequence[LayerKind], positions: Positions
) -> Mapping[LayerKind, str]:
    """Return the options of attend by kind of attention."""
    config.size("max_position_embeddings", 2048)
    return {kind: _options(config, head_size, kind, positions) for kind in sorted({*kinds})}


def _options(config: Config, head_size: int, kind: LayerKind, positions: Positions) -> str:
    options = ["causal=true"]
    factor = 1.0
    if kind.rotates:
        usual = (kind.window and positions.local) or positions.usual
        name = "" if positions.local is None else SLIDING if kind.window else FULL
        angles = rotation(config, head_size, usual, name)
        interleaved = ", interleaved=true" if positions.interleaved else ""
        options += [angles.options() + interleaved, "positions=position_ids"]
        factor = angles.score_factor()
    options += ["segments=attention_mask"]
    scale = 1 / math.sqrt(head_size)
    if positions.scale_key:
        scale = config.positive(positions.scale_key) ** -0.5
    scale = config.positive("attention_multiplier", scale)
    if factor != 1 or scale != 1 / math.sqrt(head_size):
        options += [f"scale={factor * scale}"]
    if positions.softcap_key and positions.softcap_key in config:
        options += [f"softcap={config.positive(positions.softcap_key)}"]
    if kind.window:
        options += [f"window={config.size('sliding_window')}"]
    return ", ".join(options)


def _rotating_layers(config: Config, layers: int) -> list[bool]:
    """Return which layers rotate: some models leave it out in some, whose flag is 0."""
    key = "no_rope_layers"
    every = config.size("no_rope_layer_interval", layers + 1)
    flags = config.integers(key, [int((n + 1) % every != 0) for n in range(layers)], most=1)
    if len(flags) != layers:
        raise config.not_supported(key, flags, f"a list of {layers} numbers, 0 or 1")
    return [flag == 1 for flag in flags]


def _window_layers(
    config: Config, layers: int, every: tuple[str, int] | None, rotates: Sequence[bool]
) -> list[bool]:
    """Return which layers have a window, which older configs give by numbers."""
    listed = config.texts("layer_types", [])
    limited = config.flag("use_sliding_window", "sliding_window" in config)
    first = config.integer("max_window_layers", 0)
    period = None
    if every is not None:  # transformers 5 writes the key with an underscore
        key, default = every
        period = config.size(key, config.size(f"_{key}", default))
    if listed:
        if len(listed) != layers or not {*listed} <= {FULL, SLIDING}:
            raise config.not_supported("layer_types", listed, f"{layers} of {FULL} or {SLIDING}")
        return [kind == SLIDING for kind in listed]
    if not (limited and "sliding_window" in config):
        return [False] * layers
    if not all(rotates):
        return [not rotating for rotating in rotates]
    if period is not None:
        return [(layer + 1) % period != 0 for layer in range(layers)]
    return [layer >= first for layer in range(layers)]
