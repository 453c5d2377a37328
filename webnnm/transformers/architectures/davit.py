"""DaViT: stages of layers that attend in windows of a picture, and then from channel to channel.

Source: M. Ding et al., "DaViT: dual attention vision transformers", arXiv:2204.03645 (2022).
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, cast

from webnnm.snapshots.foreign import Form, Part, Reshaped, Transposed
from webnnm.transformers.architectures.conv_net import ConvNet
from webnnm.transformers.architectures.model_text import layers
from webnnm.transformers.architectures.windows import Windows
from webnnm.transformers.config import MAX_COUNT, Config

MAX_WIDTH = 1 << 16
"""The most channels of a stage."""
STAGES = {
    "patch_size": [7, 3, 3, 3],
    "patch_stride": [4, 2, 2, 2],
    "patch_padding": [3, 1, 1, 1],
    "embed_dim": [128, 256, 512, 1024],
    "num_heads": [4, 8, 16, 32],
    "num_groups": [4, 8, 16, 32],
}
"""Keys with a number for each stage → their defaults."""
NORMED_FIRST = "patch_prenorm"
"""The key that says for each stage whether the norm comes before the patches."""


class _Stage(NamedTuple):
    """The sizes of a stage, without those of its grid."""

    depth: int
    kernel: int
    stride: int
    padding: int
    width: int
    heads: int
    groups: int
    is_normed_first: bool


def write_stages(config: Config, body: ConvNet, module: str) -> list[str]:
    """Add the layers of all stages to a network; return the blocks that they call.

    `module` is what the names of tensors begin with, such as "vision_tower.".
    """
    side, ratio = config.size("window_size", 12), config.positive("mlp_ratio", 4.0)
    biased, blocks = config.flag("qkv_bias", True), list[str]()
    for index, stage in enumerate(_read_stages(config)):
        _write_patches(body, stage, f"{module}convs.{index}")
        inner, width = int(ratio * stage.width), stage.width
        for number in range(stage.depth):
            layer = f"{module}blocks.{index}.{number}"
            _record_half(body, f"{layer}.spatial_block", width, inner)
            _record_windows(body, f"{layer}.spatial_block.window_attn", biased)
            _record_half(body, f"{layer}.channel_block", width, inner)
            _record_channels(body, f"{layer}.channel_block.channel_attn", width, biased)
        repeat = f"repeat={stage.depth}" if stage.depth > 1 else ""
        body.add(f"stage{index + 1}({repeat})")
        sizes = f"filters={width}, inner={inner}"
        looks = f"windows{index + 1}", f"channels{index + 1}"
        windows = Windows(body.height, body.width, side, 0, width, stage.heads)
        blocks += [
            f"stage{index + 1}:layers {', '.join(f'half(look={look}, {sizes})' for look in looks)}",
            f"{looks[0]}:layers\n{_attend_in_windows(windows, biased)}",
            f"{looks[1]}:layers\n{_attend_to_channels(body, stage, biased)}",
        ]
    return [
        f"half:layers\n{_write_half(config.activation('activation_function', 'gelu'))}",
        *blocks,
        "channel_norm:layers layerNorm(axes=[0], scale=weight, bias=bias)",
    ]


def _read_stages(config: Config) -> list[_Stage]:
    """Return the sizes of the stages."""
    depths = config.integers("depths", [1, 1, 9, 1], 1, MAX_COUNT)
    columns = [
        config.integers(key, default, 0 if key == "patch_padding" else 1, MAX_WIDTH)
        for key, default in STAGES.items()
    ]
    flags: Any = config.get(NORMED_FIRST, [False, True, True, True])
    if not isinstance(flags, list) or any(type(flag) is not bool for flag in cast("Any", flags)):
        raise config.wrong(NORMED_FIRST, "a list of true and false")
    columns = [depths, *columns, cast("list[int]", flags)]
    if len({*map(len, columns)}) > 1:
        raise config.wrong("depths", f"as many integers as in {', '.join(STAGES)}, {NORMED_FIRST}")
    stages = [_Stage(*sizes) for sizes in zip(*columns, strict=True)]
    for stage in stages:
        for key, count in (("num_heads", stage.heads), ("num_groups", stage.groups)):
            if stage.width % count:
                raise config.wrong(key, f"divisors of {stage.width} and the other widths")
    return stages


def _write_patches(body: ConvNet, stage: _Stage, module: str) -> None:
    """Add the layers that make the grid of a stage, of fewer cells with more channels."""
    padding = f", padding={stage.padding}" if stage.padding else ""
    rows = (
        f"conv2d(patches, filters={stage.width}, kernel={stage.kernel}, "
        f"strides={stage.stride}{padding}, bias=patches_b)",
        "channel_norm(weight=patches_norm, bias=patches_norm_b)",
    )
    body.add(*(rows[::-1] if stage.is_normed_first else rows))
    body.weight("patches", f"{module}.conv")
    body.weight("patches_norm", f"{module}.norm")
    body.shrink(stage.stride, kernel=stage.kernel, padding=2 * stage.padding)
    body.channels = stage.width


def _write_half(activation: str) -> str:
    """Return the layers of half of a layer; `look` is its attention."""
    near = (
        "conv2d(depthwise, filters=filters, kernel=3, padding=1, groups=filters, bias=depthwise_b)"
    )
    return layers(
        near,
        "residual(to=input, name=placed)",
        "channel_norm(weight=attention_norm, bias=attention_norm_b)",
        "look()",
        "residual(to=placed, name=attended)",
        near,
        "residual(to=attended, name=spread)",
        "channel_norm(weight=mlp_norm, bias=mlp_norm_b)",
        "conv2d(up, filters=inner, kernel=1, bias=up_b)",
        activation,
        "conv2d(down, filters=filters, kernel=1, bias=down_b)",
        "residual(to=spread)",
    )


def _attend_in_windows(windows: Windows, biased: bool) -> str:
    """Return the layers of attention of cells to those in the same window."""
    biases = "true" if biased else "[o]"
    return layers(
        "transpose([1, 2, 0])",
        *windows.divide(),
        f"attend(wq, wk, wv, o=wo, bias={biases}, heads={windows.heads})",
        *windows.join(),
        "transpose([2, 0, 1])",
    )


def _attend_to_channels(body: ConvNet, stage: _Stage, biased: bool) -> str:
    """Return the layers of attention of channels to those in the same group."""
    cells = body.height * body.width
    rows: list[str] = []
    for letter in "qkv":
        bias = f", bias=channel_{letter}_b" if biased else ""
        rows += [
            f"conv2d(channel_{letter}, node=input, filters={stage.width}, kernel=1{bias})",
            f"reshape([{stage.groups}, {stage.width // stage.groups}, {cells}], name={letter})",
        ]
    return layers(
        *rows,
        "attend(q, k, v, node=q)",
        f"reshape([{stage.width}, {body.height}, {body.width}])",
        f"conv2d(channel_o, filters={stage.width}, kernel=1, bias=channel_o_b)",
    )


def _record_half(body: ConvNet, module: str, width: int, inner: int) -> None:
    """Record the tensors of half of a layer beside those of its attention."""
    for number, norm in ((1, "attention_norm"), (2, "mlp_norm")):
        body.weight("depthwise", f"{module}.conv{number}")
        body.weight(norm, f"{module}.norm{number}")
    body.weight("up", f"{module}.ffn.fc1", partial(Reshaped, sizes=(inner, width, 1, 1)))
    body.weight("down", f"{module}.ffn.fc2", partial(Reshaped, sizes=(width, inner, 1, 1)))


def _record_windows(body: ConvNet, module: str, biased: bool) -> None:
    """Record the tensors of attention in windows."""

    def record(index: int, letter: str) -> None:
        def third(name: str) -> Form:
            return Transposed(Part(name, index, 3))

        _record_third(body, f"w{letter}", f"{module}.qkv", index, third, biased)

    for index, letter in enumerate("qkv"):
        record(index, letter)
    body.matrix("wo", f"{module}.proj")


def _record_channels(body: ConvNet, module: str, width: int, biased: bool) -> None:
    """Record the tensors of attention to channels, whose matrices are filters of one cell."""
    sizes = (width, width, 1, 1)

    def record(index: int, letter: str) -> None:
        def third(name: str) -> Form:
            return Reshaped(Part(name, index, 3), sizes)

        _record_third(body, f"channel_{letter}", f"{module}.qkv", index, third, biased)

    for index, letter in enumerate("qkv"):
        record(index, letter)
    body.weight("channel_o", f"{module}.proj", partial(Reshaped, sizes=sizes))


def _record_third(
    body: ConvNet, parameter: str, module: str, index: int, make_form: Any, biased: bool
) -> None:
    """Record a third of a joint matrix, and of its bias."""
    number = body.weight(parameter, module, make_form, bias=False)
    if biased:
        body.names[f"{parameter}_b{number}"] = Part(f"{module}.bias", index, 3)
