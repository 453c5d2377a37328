"""Residual networks: convolutions whose results are added to what they read.

Source: K. He et al., "Deep residual learning for image recognition", arXiv:1512.03385 (2015).
"""

from __future__ import annotations

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
from webnnm.transformers.architectures.vision_encoder import read_backbone_keys
from webnnm.transformers.config import MAX_COUNT, Config

REDUCTION = 4
"""How many times fewer channels the middle of a bottleneck has."""


def write_model(config: Config) -> ModelText:
    """Return the text of a ResNet and its name map."""
    kind = class_suffix(config, BASE, CLASSES, default="ResNetModel")
    read_backbone_keys(config)
    seen = picture(config, patch=None)
    body = ConvNet(seen)
    body.add("identity(node=pixel_values)")
    blocks = write_stages(config, body, UnitNames())
    pooled = f"[{body.channels}, 1, 1]"
    outputs = write_outputs(
        config, kind, body, "globalAveragePool()", f"reshape({pooled})", pooled_shape=pooled
    )
    source = statements(["model:name resnet", seen.input, *outputs, *blocks])
    names = body.names | dict.fromkeys((COUNTERS, "classifier.*"))
    names |= linear_names("classifier1", "classifier.1") if kind == CLASSES else {}
    return ModelText(source, names, "resnet.")


class UnitNames:
    """The names of convolutions and their norms in files, with a prefix."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix

    def first(self, part: int | None = None) -> tuple[str, str]:
        """Return the names of the first convolution and its norm, or of one of several."""
        return self._unit(f"embedder.embedder{'' if part is None else f'.{part}'}")

    def shortcut(self, stage: int, layer: int, *, pooled: bool = False) -> tuple[str, str]:
        """Return those of the projection of what is added to a layer's result.

        `pooled` says that it comes after the mean of windows.
        """
        return self._unit(f"encoder.stages.{stage}.layers.{layer}.shortcut{'.1' * pooled}")

    def part(self, stage: int, layer: int, part: int) -> tuple[str, str]:
        """Return those of a part of a layer."""
        return self._unit(f"encoder.stages.{stage}.layers.{layer}.layer.{part}")

    def _unit(self, name: str) -> tuple[str, str]:
        return f"{self.prefix}{name}.convolution", f"{self.prefix}{name}.normalization"


class TimmNames(UnitNames):
    """The names of the library timm."""

    def first(self, part: int | None = None) -> tuple[str, str]:
        """Return the names of the first convolution and its norm."""
        return f"{self.prefix}conv1", f"{self.prefix}bn1"

    def shortcut(self, stage: int, layer: int, *, pooled: bool = False) -> tuple[str, str]:
        """Return those of the projection of what is added to a layer's result."""
        name = f"{self.prefix}layer{stage + 1}.{layer}.downsample"
        return f"{name}.0", f"{name}.1"

    def part(self, stage: int, layer: int, part: int) -> tuple[str, str]:
        """Return those of a part of a layer."""
        name = f"{self.prefix}layer{stage + 1}.{layer}"
        return f"{name}.conv{part + 1}", f"{name}.bn{part + 1}"


def write_stages(
    config: Config, body: ConvNet, names: UnitNames, *, gentle: bool = False
) -> list[str]:
    """Add the layers of all stages, named stage1, stage2, …, and return the blocks they call.

    A `gentle` network begins with three small convolutions, and shrinks what is added to results by
    the mean of windows (ResNet-D, T. He et al., arXiv:1812.01187).
    """
    widths = config.integers("hidden_sizes", [256, 512, 1024, 2048], 1)
    depths = config.integers("depths", [3, 4, 6, 3], 1, MAX_COUNT)
    config.require("layer_type", "bottleneck", "basic")
    deep = config.text("layer_type", "bottleneck") == "bottleneck"
    shrinks_first = config.flag("downsample_in_first_stage", False)
    early = config.flag("downsample_in_bottleneck", False)
    activation = config.activation("hidden_act", "relu")
    channels = config.size("embedding_size", 64)
    if len(widths) != len(depths):
        raise config.wrong("depths", f"a list of {len(widths)} integers, one for each stage")
    if gentle:
        for part, filters in enumerate((channels // 2, channels // 2, channels)):
            body.add(body.unit(filters, 3, 1 if part else 2, padding=1))
            body.record_unit(*names.first(part))
    else:
        body.add(body.unit(channels, 7, 2, padding=3))
        body.record_unit(*names.first())
    body.shrink(2)
    body.add("maxPool2d(windowDimensions=3, strides=2, padding=1)")
    body.shrink(2)
    for stage, (width, depth) in enumerate(zip(widths, depths, strict=True)):
        stride = 2 if stage or shrinks_first else 1
        for number in range(depth):
            projects = number == 0 and (stride > 1 or channels != width)
            projects = projects or (gentle and not deep and number == 0)
            pools = gentle and number == 0 and (stride > 1 if deep else channels != width)
            if pools and stride == 1:
                hint = "a first stage that does not shrink pictures keeps the number of channels"
                raise config.not_supported("hidden_sizes", widths, hint)
            if projects:
                body.record_unit(*names.shortcut(stage, number, pooled=pools))
            for part in range(3 if deep else 2):
                body.record_unit(*names.part(stage, number, part))
            kept = "pooled_shortcut" if pools else "shortcut" if projects else "identity"
            body.call(_call(width, 1 if number else stride, kept=kept, deep=deep))
            channels = width
        body.shrink(stride)
        body.name_last(f"stage{stage + 1}")
    body.channels = channels
    return [*_blocks(body, deep=deep, early=early), *unit_statements(activation)]


def _call(width: int, stride: int, *, kept: str, deep: bool) -> str:
    inner = f", inner={width // REDUCTION}" if deep else ""
    return f"block(filters={width}{inner}, stride={stride}, kept={kept})"


def _blocks(body: ConvNet, *, deep: bool, early: bool) -> list[str]:
    """Return the statements of a residual block, and of what projects its input."""
    small, large = "kernel=1", "kernel=3, padding=1"
    strides = ", strides=stride"
    if deep:
        small, large = (small + strides, large) if early else (small, large + strides)
        rows = [
            f"unit(node=input, filters=inner, {small}, activation=relu)",
            f"unit(filters=inner, {large}, activation=relu)",
            "unit(filters=filters, kernel=1, activation=identity)",
        ]
    else:
        rows = [
            f"unit(node=input, filters=filters, {large}{strides}, activation=relu)",
            f"unit(filters=filters, {large}, activation=identity)",
        ]
    block = layers("kept(name=past)", *rows, "residual(to=past)", "act()")
    shortcut = "unit(filters=filters, kernel=1, strides=stride, activation=identity)"
    window = "averagePool2d(windowDimensions=2, strides=2, outputShapeRounding=ceil)"
    shortcuts = {
        "shortcut": shortcut,
        "pooled_shortcut": f"{window}, {shortcut.replace('strides=stride, ', '')}",
    }
    used = [name for name in shortcuts if any(f"kept={name}" in row for row in body.rows)]
    return [f"block:layers\n{block}", *(f"{name}:layers {shortcuts[name]}" for name in used)]
