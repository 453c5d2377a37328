"""The image encoder of Segment Anything: windowed attention, global in some layers.

Source: A. Kirillov et al., "Segment anything", arXiv:2304.02643 (2023), after Y. Li et al.,
"Exploring plain vision transformer backbones for object detection", arXiv:2203.16527 (2022).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from webnnm.snapshots.foreign import Part, Reshaped, Transposed
from webnnm.transformers.architectures.model_text import layers, linear_layers
from webnnm.transformers.architectures.parameter_names import ParameterNames
from webnnm.transformers.architectures.patches import Picture, picture
from webnnm.transformers.config import MAX_PICTURE, Config

PLACE = "vision_encoder"


class Encoder(NamedTuple):
    """The sizes of an encoder; `given`, the channels of its output; `everywhere`, which layers have
    global attention."""

    seen: Picture
    width: int
    inner: int
    heads: int
    depth: int
    given: int
    window: int
    everywhere: frozenset[int]
    biased: bool
    relative: bool
    absolute: bool
    activation: str
    epsilon: float

    @property
    def shape(self) -> str:
        """The shape of its output."""
        height, width = self.seen.grid
        return f"{{channels:{self.given}, height:{height}, width:{width}}}"


def encoder(config: Config) -> Encoder:
    """Return the sizes of an encoder from a config."""
    for key in ("num_pos_feats", "scale", "mlp_ratio", "tie_word_embeddings"):
        config.get(key)
    width = config.size("hidden_size", 768)
    depth = config.count("num_hidden_layers", 12)
    listed = config.integers("global_attn_indexes", [2, 5, 8, 11])
    window = config.integer("window_size", 14, 0, MAX_PICTURE)  # 0 means no windows
    sizes = Encoder(
        seen=picture(config, size=1024),
        width=width,
        inner=config.size("mlp_dim", int(width * config.positive("mlp_ratio", 4.0))),
        heads=config.size("num_attention_heads", 12),
        depth=depth,
        given=config.size("output_channels", 256),
        window=window,
        everywhere=frozenset(range(depth) if not window else listed),
        biased=config.flag("qkv_bias", True),
        relative=config.flag("use_rel_pos", True),
        absolute=config.flag("use_abs_pos", True),
        activation=config.activation("hidden_act", "gelu"),
        epsilon=config.positive("layer_norm_eps", 1e-6),
    )
    height, across = sizes.seen.grid
    if height != across:
        raise config.not_supported("image_size", [height, across], "images must be square")
    return sizes


def encoding(sizes: Encoder, parameters: ParameterNames, block: str) -> tuple[list[str], list[str]]:
    """Return the layers of an encoder, which `block` has, and the statements that they call."""
    height, across = sizes.seen.grid
    parameters.weight("patch", f"{PLACE}.patch_embed.projection")
    rows = [sizes.seen.cut(sizes.width), "transpose([1, 2, 0])"]
    lines: list[str] = []
    if sizes.absolute:
        shape = (height, across, sizes.width)
        rows += ["add(positions)"]
        lines += [f"{block}:param positions shape={list(shape)}"]
        parameters.names["positions"] = Reshaped(f"{PLACE}.pos_embed", shape)
    number = 0
    while number < sizes.depth:
        far = number in sizes.everywhere
        ends = (n for n in range(number, sizes.depth) if (n in sizes.everywhere) != far)
        end = next(ends, sizes.depth)
        times = f"repeat={end - number}" if end - number > 1 else ""
        rows += [f"{'everywhere' if far else 'in_windows'}({times})"]
        for n in range(number, end):
            _places(sizes, parameters, f"{PLACE}.layers.{n}")
        number = end
    rows += ["transpose([2, 0, 1])", *_neck(sizes, parameters)]
    return rows, lines + _blocks(sizes)


def _neck(sizes: Encoder, parameters: ParameterNames) -> tuple[str, ...]:
    for number in (1, 2):
        parameters.weight("neck", f"{PLACE}.neck.conv{number}", bias=False)
        parameters.weight("neck_norm", f"{PLACE}.neck.layer_norm{number}")
    return (
        f"conv2d(neck, filters={sizes.given}, kernel=1)",
        "channels(weight=neck_norm, bias=neck_norm_b)",
        f"conv2d(neck, filters={sizes.given}, kernel=3, padding=1)",
        "channels(weight=neck_norm, bias=neck_norm_b)",
    )


def _places(sizes: Encoder, parameters: ParameterNames, layer: str) -> None:
    """Record the tensors of a layer; queries, keys and values are one matrix there."""
    for parameter, name in (("look_norm", "layer_norm1"), ("see_norm", "layer_norm2")):
        parameters.weight(parameter, f"{layer}.{name}")
    for k, parameter in enumerate("qkv"):
        name = parameters.weight(
            f"w{parameter}", f"{layer}.attn.qkv", partial(_third, k), bias=False
        )
        if sizes.biased:
            parameters.names[f"w{parameter}_b{name}"] = Part(f"{layer}.attn.qkv.bias", k, 3)
    parameters.matrix("wo", f"{layer}.attn.proj")
    if sizes.relative:
        parameters.declare("heights", f"{layer}.attn.rel_pos_h")
        parameters.declare("widths", f"{layer}.attn.rel_pos_w")
    for parameter, name in (("see_up", "lin1"), ("see_down", "lin2")):
        parameters.matrix(parameter, f"{layer}.mlp.{name}", bias=False)
        parameters.declare(f"{parameter}_b", f"{layer}.mlp.{name}.bias")


def _third(part: int, name: str) -> Transposed:
    return Transposed(Part(name, part, 3))


def _blocks(sizes: Encoder) -> list[str]:
    """Return the statements of the layers."""
    height, across = sizes.seen.grid
    relative = ", relativeHeight=heights, relativeWidth=widths" if sizes.relative else ""
    biases = "bias=true" if sizes.biased else "bias=[o]"
    head = sizes.width // sizes.heads
    tables = [
        f"look:param {name} shape=[far, {head}] shared=false" for name in ("heights", "widths")
    ]
    norm = f"layerNorm(scale=look_norm, bias=look_norm_b, epsilon={sizes.epsilon})"
    kinds = {number in sizes.everywhere for number in range(sizes.depth)}
    far = 2 * height - 1
    global_rows = (
        norm,
        f"reshape([{height * across}, {sizes.width}])",
        _look(sizes, far),
        f"reshape([{height}, {across}, {sizes.width}])",
        "see(past=input)",
    )
    see = layers(
        "residual(to=past, name=looked)",
        f"layerNorm(scale=see_norm, bias=see_norm_b, epsilon={sizes.epsilon})",
        *linear_layers("see_up", f"{height}, {across}, {sizes.inner}"),
        sizes.activation,
        *linear_layers("see_down", f"{height}, {across}, {sizes.width}"),
        "residual(to=looked)",
    )
    return [
        f"everywhere:layers\n{layers(*global_rows)}" if True in kinds else "",
        f"in_windows:layers\n{layers(norm, *_windows(sizes))}" if False in kinds else "",
        *(tables if sizes.relative else ()),
        f"look:layers attend(wq, wk, wv, o=wo, {biases}, heads={sizes.heads}{relative})",
        f"see:param see_up_b shape=[{sizes.inner}] shared=false",
        f"see:param see_down_b shape=[{sizes.width}] shared=false",
        f"see:layers\n{see}",
    ]


def _look(sizes: Encoder, far: int) -> str:
    """Return the call of attention between cells with this many relative positions."""
    return f"look(far={far})" if sizes.relative else "look()"


def _windows(sizes: Encoder) -> tuple[str, ...]:
    """Return the layers of attention within windows, which are padded at the ends."""
    side, width, window = sizes.seen.grid[0], sizes.width, sizes.window
    padding = -side % window
    count = (side + padding) // window
    cut = f"[{count}, {window}, {count}, {window}, {width}]"
    joined = f"[{count}, {count}, {window}, {window}, {width}]"
    return (
        f"pad([0, 0, 0], [{padding}, {padding}, 0])" if padding else "",
        f"reshape({cut})",
        "transpose([0, 2, 1, 3, 4])",
        f"reshape([{count**2}, {window**2}, {width}])",
        _look(sizes, 2 * window - 1),
        f"reshape({joined})",
        "transpose([0, 2, 1, 3, 4])",
        f"reshape([{side + padding}, {side + padding}, {width}])",
        f"slice([0, 0, 0], [{side}, {side}, {width}])" if padding else "",
        "see(past=input)",
    )
