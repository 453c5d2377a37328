"""EfficientNet: inverted residuals whose channels are weighted by what the whole picture has.

Source: M. Tan, Q. Le, "EfficientNet: rethinking model scaling for convolutional neural networks",
arXiv:1905.11946 (2019).
"""

from __future__ import annotations

import math

from webnnm.transformers.architectures.conv_net import (
    BASE,
    CLASSES,
    COUNTERS,
    ConvNet,
    unit_statements,
    weight_channels,
    write_outputs,
)
from webnnm.transformers.architectures.mobilenet import round_channels
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    layers,
    linear_names,
    statements,
)
from webnnm.transformers.architectures.patches import picture
from webnnm.transformers.config import MAX_COUNT, Config

FIRST, LAST = 32, 1280
"""The channels of the first and of the last convolution, before they are multiplied."""
STAGES = {
    "kernel_sizes": [3, 3, 5, 3, 5, 5, 3],
    "in_channels": [32, 16, 24, 40, 80, 112, 192],
    "out_channels": [16, 24, 40, 80, 112, 192, 320],
    "strides": [1, 2, 2, 2, 1, 2, 1],
    "num_block_repeats": [1, 2, 2, 3, 3, 4, 1],
    "expand_ratios": [1, 6, 6, 6, 6, 6, 6],
}
"""Keys with a number for each stage → their defaults."""


def write_model(config: Config) -> ModelText:
    """Return the text of an EfficientNet and its name map."""
    kind = class_suffix(config, BASE, CLASSES, default="EfficientNetModel")
    config.require("pooling_type", "mean", "max")
    for key in ("batch_norm_momentum", "num_hidden_layers"):
        config.get(key)
    seen = picture(config, size=600, patch=None)
    body = ConvNet(seen)
    body.add("identity(node=pixel_values)")
    blocks = _write_stages(config, body)
    size = f"[{body.channels}]"
    pool = "globalAveragePool()"
    if config.get("pooling_type") == "max":
        pool = "reduceMax(axes=[height, width])"
    outputs = write_outputs(config, kind, body, pool, pooled_shape=size)
    activation = config.activation("hidden_act", "swish")
    epsilon = config.positive("batch_norm_eps", 0.001)
    units = unit_statements(activation, epsilon)
    source = statements(["model:name efficientnet", seen.input, *outputs, *blocks, *units])
    names = body.names | dict.fromkeys((COUNTERS, "classifier.*"))
    names |= linear_names("classifier1", "classifier") if kind == CLASSES else {}
    return ModelText(source, names, "efficientnet.")


def _write_stages(config: Config, body: ConvNet) -> list[str]:
    """Add the layers of all stages, and return the blocks that they call."""
    wide, deep = (
        config.positive(f"{key}_coefficient", n) for key, n in (("width", 2.0), ("depth", 3.1))
    )
    divisor = config.size("depth_divisor", 8)
    stages = [config.integers(key, default, 1) for key, default in STAGES.items()]
    if deep * max(stages[4], default=1) > MAX_COUNT:
        hint = f"stages of up to {MAX_COUNT:,} layers can be used"
        raise config.not_supported("depth_coefficient", deep, hint)
    even = config.integers("depthwise_padding", [])
    ratio = config.positive("squeeze_expansion_ratio", 0.25)
    if len({*map(len, stages)}) > 1:
        raise config.wrong("kernel_sizes", f"as long a list as those of {', '.join(STAGES)}")

    def scale(channels: int) -> int:
        return round_channels(channels * wide, divisor, divisor)

    first = scale(FIRST)
    body.add(body.unit(first, 3, 2, padding="[0, 1, 0, 1]"))
    body.record_unit("embeddings.convolution", "embeddings.batchnorm")
    body.shrink(2, kernel=3, padding=1)
    number = 0
    for stage in zip(*stages, strict=True):
        kernel, before, after, stride, times, growth = stage
        channels, filters = scale(before), scale(after)
        for step in range(math.ceil(deep * times)):
            channels, stride = (filters, 1) if step else (channels, stride)
            padding = "same" if stride == 1 else str(kernel // 2)
            sides = kernel - 1
            if stride > 1 and number not in even:
                low = kernel // 2 - 1
                padding, sides = f"[{low}, {low + 1}, {low}, {low + 1}]", 2 * low + 1
            squeezed = max(1, int(channels * ratio))
            # The first layer of each stage adds nothing, even if it could.
            block = "residual_block" if step else "block"
            expand = "expand" if growth > 1 else "identity"
            body.call(
                f"{block}(inner={channels * growth}, filters={filters}, kernel={kernel}, "
                f"stride={stride}, reach={padding}, squeezed={squeezed}, expand={expand})"
            )
            body.shrink(stride, kernel=kernel, padding=sides)
            _record(body, f"encoder.blocks.{number}", expands=expand == "expand")
            number += 1
    body.channels = scale(LAST)
    if config.size("hidden_dim", 2560) != body.channels:
        hint = f"the width makes {body.channels} of {LAST}"
        raise config.not_supported("hidden_dim", config.get("hidden_dim"), hint)
    body.add(body.unit(body.channels, 1))
    body.record_unit("encoder.top_conv", "encoder.top_bn")
    return _blocks(body)


def _record(body: ConvNet, layer: str, *, expands: bool) -> None:
    """Record the tensors of a layer."""
    if expands:
        body.record_unit(f"{layer}.expansion.expand_conv", f"{layer}.expansion.expand_bn")
    body.record_unit(
        f"{layer}.depthwise_conv.depthwise_conv", f"{layer}.depthwise_conv.depthwise_norm"
    )
    body.weight("squeeze", f"{layer}.squeeze_excite.reduce")
    body.weight("excite", f"{layer}.squeeze_excite.expand")
    body.record_unit(f"{layer}.projection.project_conv", f"{layer}.projection.project_bn")


def _blocks(body: ConvNet) -> list[str]:
    """Return the statements of the blocks that the layers call."""
    block = layers(
        "expand()",
        "unit(filters=inner, kernel=kernel, strides=stride, padding=reach, groups=inner, "
        "activation=act)",
        "weighted()",
        "unit(filters=filters, kernel=1, activation=identity)",
    )
    options = ("inner", "filters", "kernel", "stride", "reach", "squeezed", "expand")
    call = f"block({', '.join(f'{name}={name}' for name in options)})"
    used = " ".join(body.rows)
    return [
        f"block:layers\n{block}",
        f"residual_block:layers\n{layers(call, 'residual(to=input)')}"
        if "residual_block" in used
        else "",
        weight_channels(),
        "expand:layers unit(filters=inner, kernel=1, activation=act)"
        if "expand=expand" in used
        else "",
    ]
