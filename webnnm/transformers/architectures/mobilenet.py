"""MobileNet 1 and 2: convolutions of each channel alone, then of all channels at each pixel.

Source: A. Howard et al., "MobileNets", arXiv:1704.04861 (2017); M. Sandler et al., "MobileNetV2:
inverted residuals and linear bottlenecks", arXiv:1801.04381 (2018).
"""

from __future__ import annotations

from typing import NamedTuple

from webnnm.transformers.architectures.conv_net import (
    BASE,
    CLASSES,
    COUNTERS,
    ConvNet,
    unit_statements,
    write_outputs,
)
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    layers,
    linear_names,
    statements,
)
from webnnm.transformers.architectures.patches import picture
from webnnm.transformers.config import Config

STRIDES = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1)
"""Those of the layers of MobileNet 1; where one is 2, and at the first, channels double."""
CHANNELS = (16, 24, 24, 32, 32, 32, 64, 64, 64, 64, 96, 96, 96, 160, 160, 160, 320)
STRIDES_2 = (2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1)
"""Channels after the stem of MobileNet 2 and after each layer, and the strides of the layers."""
LAST = 1280
"""The channels of the last convolution of MobileNet 2, before they are multiplied."""


def write_model(config: Config) -> ModelText:
    """Return the text of a MobileNet and its name map."""
    family = str(config.get("model_type", "mobilenet_v2"))
    kind = class_suffix(config, BASE, CLASSES, default="MobileNetV2Model")
    seen = picture(config, patch=None)
    body = ConvNet(seen)
    body.add("identity(node=pixel_values)")
    same = config.flag("tf_padding", True)
    write = _write_layers if family == "mobilenet_v1" else _write_inverted
    blocks = write(config, body, "same" if same else "1")
    size = f"[{body.channels}]"
    outputs = write_outputs(config, kind, body, "globalAveragePool()", pooled_shape=size)
    activation = config.activation("hidden_act", "relu6")
    epsilon = config.positive("layer_norm_eps", 0.001)
    units = unit_statements(activation, epsilon)
    source = statements([f"model:name {family}", seen.input, *outputs, *blocks, *units])
    names = body.names | dict.fromkeys((COUNTERS, "classifier.*"))
    names |= linear_names("classifier1", "classifier") if kind == CLASSES else {}
    return ModelText(source, names, f"{family}.")


def _record(body: ConvNet, layer: str) -> None:
    body.record_unit(f"{layer}.convolution", f"{layer}.normalization")


def _write_layers(config: Config, body: ConvNet, padding: str) -> list[str]:
    """Add the layers of MobileNet 1, and return the block that they call."""
    factor, least = config.positive("depth_multiplier", 1.0), config.size("min_depth", 8)
    depth = 32
    channels = max(int(depth * factor), least)
    body.add(body.unit(channels, 3, 2, padding=padding))
    body.shrink(2)
    _record(body, "conv_stem")
    for number, stride in enumerate(STRIDES):
        depth *= 2 if stride == 2 or number == 0 else 1
        filters = max(int(depth * factor), least)
        body.call(f"separable(channels={channels}, filters={filters}, stride={stride})")
        body.shrink(stride)
        for part in (2 * number, 2 * number + 1):
            _record(body, f"layer.{part}")
        channels = filters
    body.channels = channels
    rows = layers(
        f"unit(filters=channels, kernel=3, strides=stride, padding={padding}, groups=channels, "
        "activation=act)",
        "unit(filters=filters, kernel=1, activation=act)",
    )
    return [f"separable:layers\n{rows}"]


def _write_inverted(config: Config, body: ConvNet, padding: str) -> list[str]:
    """Add the layers of MobileNet 2, and return the blocks that they call."""
    factor, least = config.positive("depth_multiplier", 1.0), config.size("min_depth", 8)
    divisor = config.size("depth_divisible_by", 8)
    ratio = config.positive("expand_ratio", 6.0)
    limit = config.integer("output_stride", 32, 1)
    fine = config.flag("finegrained_output", True) and factor < 1

    def scale(channels: int) -> int:
        return round_channels(round(channels * factor), divisor, least)

    first = scale(32)
    channels = scale(CHANNELS[0])
    body.add(body.unit(first, 3, 2, padding=padding))
    _record(body, "conv_stem.first_conv")
    if not config.flag("first_layer_is_expansion", True):
        body.add(body.unit(first, 1))
        _record(body, "conv_stem.expand_1x1")
    body.add(body.unit(first, 3, padding=padding, groups=first))
    _record(body, "conv_stem.conv_3x3")
    body.add(body.unit(channels, 1, activation="identity"))
    _record(body, "conv_stem.reduce_1x1")
    body.shrink(2)
    shrunk, dilation, adds = 2, 1, False
    for number, (width, step) in enumerate(zip(CHANNELS[1:], STRIDES_2, strict=True)):
        filters = scale(width)
        inner = round_channels(round(channels * ratio), divisor, least)
        stride, apart = (1, dilation) if shrunk == limit else (step, 1)
        # Where a network does not shrink any more, later filters reach as far as they would have.
        dilation *= step if shrunk == limit else 1
        shrunk *= stride
        adds |= add_inverted(
            body,
            Inverted(channels, filters, inner, stride, apart),
            padding if padding == "same" else str(apart),
            f"layer.{number}",
        )
        channels = filters
    body.channels = LAST if fine else scale(LAST)
    body.add(body.unit(body.channels, 1))
    _record(body, "conv_1x1")
    return inverted_blocks(adds=adds)


class Inverted(NamedTuple):
    """The channels of a layer of MobileNet 2, before, after and in between, and its steps."""

    before: int
    filters: int
    inner: int
    stride: int = 1
    dilation: int = 1


def add_inverted(body: ConvNet, layer: Inverted, reach: str, file: str) -> bool:
    """Add a layer of MobileNet 2; return whether what it reads is added to its result.

    `reach` is its padding, `file` the beginning of the names of its tensors.
    """
    kept = layer.stride == 1 and layer.before == layer.filters
    call = (
        f"inverted(inner={layer.inner}, filters={layer.filters}, stride={layer.stride}, "
        f"dilation={layer.dilation}, reach={reach})"
    )
    body.call(f"residual_{call.replace('stride=1, ', '')}" if kept else call)
    body.shrink(layer.stride)
    for part in ("expand_1x1", "conv_3x3", "reduce_1x1"):
        _record(body, f"{file}.{part}")
    return kept


def inverted_blocks(*, adds: bool) -> list[str]:
    """Return the statements of the layers of MobileNet 2."""
    rows = layers(
        "unit(filters=inner, kernel=1, activation=act)",
        "unit(filters=inner, kernel=3, strides=stride, dilations=dilation, padding=reach, "
        "groups=inner, activation=act)",
        "unit(filters=filters, kernel=1, activation=identity)",
    )
    call = "inverted(inner=inner, filters=filters, stride=1, dilation=dilation, reach=reach)"
    return [
        f"inverted:layers\n{rows}",
        f"residual_inverted:layers\n{layers(call, 'residual(to=input)')}" if adds else "",
    ]


def round_channels(count: float, divisor: int, least: int) -> int:
    """Return a multiple of a divisor near a number of channels, not less than nine tenths of it.

    >>> round_channels(17, 8, 8), round_channels(11, 8, 8)
    (16, 16)
    """
    rounded = max(least, int(count + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * count else rounded
