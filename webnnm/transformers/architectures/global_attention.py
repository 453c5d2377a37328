"""Attention of encoders of long texts: of most tokens to those near them, of some to all.

Source: I. Beltagy et al., "Longformer: the long-document transformer", arXiv:2004.05150 (2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from webnnm.snapshots.foreign import Form
from webnnm.transformers.architectures.model_text import layers, linear_names
from webnnm.transformers.config import Config

MASK = "global_attention_mask"
INPUT = f"{MASK}:input int32 shape=[] sequence=tokens"
"""The statement of the input that tells which tokens attend to all, and all to them."""
DEFAULT_WINDOW = 512


def read_windows(config: Config, count: int) -> list[int]:
    """Return how many tokens on one side, its own included, a token of each layer attends to."""
    key = "attention_window"
    value = config.get(key, DEFAULT_WINDOW)
    sizes = config.integers(key, [], 2) if isinstance(value, list) else None
    if sizes is None:
        sizes = [config.integer(key, DEFAULT_WINDOW, 2)] * count
    if len(sizes) != count or any(size % 2 for size in sizes):
        raise config.wrong(key, f"an even number, or {count} of them, one for each layer")
    return [size // 2 + 1 for size in sizes]


def call_layers(block: str, windows: Sequence[int]) -> list[str]:
    """Return the calls of a block for layers with these windows.

    >>> call_layers("encoder_layer", [3, 3, 5])
    ['encoder_layer(window=3, repeat=2)', 'encoder_layer(window=5)']
    """
    groups = [(window, len([*group])) for window, group in groupby(windows)]
    return [
        f"{block}(window={window}{f', repeat={times}' if times > 1 else ''})"
        for window, times in groups
    ]


def attention_block(heads: int, width: int) -> str:
    """Return the statement of the block `long_attention`."""
    options = f"bias=[q, k, v], heads={heads}, mask=attention_mask"
    rows = layers(
        f"attend(encoder_wq, encoder_wk, encoder_wv, {options}, window=window, globalKeys={MASK}, "
        "name=near)",
        f"attend(global_wq, global_wk, global_wv, node=input, {options}, name=far)",
        f"mul(attention_mask, node={MASK})",
        "notEqual(0)",
        "reshape([1], name=sees_all)",
        "where(sees_all, far, near, name=chosen)",
        # Padding has attended to nothing.
        "notEqual(0, node=attention_mask)",
        "cast(float32)",
        "reshape([1])",
        "mul(chosen)",
        f"matmul(encoder_wo, shape=[{width}])",
        "add(encoder_wo_b)",
    )
    return f"long_attention:layers\n{rows}"


def attention_names(layer: str) -> dict[str, str | Form]:
    """Return the names of the projections of a layer."""
    names: dict[str, str | Form] = linear_names("encoder_wo{n}", f"{layer}.output")
    for letter, name in (("q", "query"), ("k", "key"), ("v", "value")):
        file_name = f"{layer}.longformer_self_attn.{name}"
        names |= linear_names(f"encoder_w{letter}{{n}}", file_name)
        names |= linear_names(f"global_w{letter}{{n}}", f"{file_name}_global")
    return names
