"""MobileViT 1 and 2: inverted residuals, and attention between pixels that lie a patch apart.

Sources: S. Mehta, M. Rastegari, "MobileViT", arXiv:2110.02178 (2021); "Separable self-attention for
mobile vision transformers" (MobileViT 2), arXiv:2206.02680 (2022); for segments, L.-C. Chen et al.,
"Rethinking atrous convolution for semantic image segmentation", arXiv:1706.05587 (2017).
"""

from __future__ import annotations

from typing import NamedTuple

from webnnm.snapshots.foreign import Part
from webnnm.transformers.architectures.conv_net import (
    BASE,
    CLASSES,
    COUNTERS,
    ConvNet,
    unit_statements,
    write_outputs,
)
from webnnm.transformers.architectures.mobilenet import (
    Inverted,
    add_inverted,
    inverted_blocks,
    round_channels,
)
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    count_classes,
    layers,
    linear_names,
    statements,
)
from webnnm.transformers.architectures.patches import picture
from webnnm.transformers.config import MAX_COUNT, MAX_SIZE, Config

SEGMENTS = "ForSemanticSegmentation"
DIVISOR = 8
DILATED = {8: (3, 4), 16: (4,)}
"""The output stride → the numbers of stages that do not shrink, whose filters reach farther."""
DEPTHS = (2, 4, 3)
"""The layers of attention of the last three stages."""
WIDTHS_2 = (32, 64, 128, 256, 384, 512)
"""The channels of MobileViT 2 after the stem and each stage, before they are multiplied."""
STEM_LIMITS = (16, 64)
"""The least and the most channels after the stem of MobileViT 2."""
MULTIPLE_INNER = 16
"""The inner channels of MobileViT 2 are multiples of it."""


class Stage(NamedTuple):
    """A stage with attention: `channels` outside of it, `width` and `inner` inside."""

    channels: int
    width: int
    inner: int
    depth: int


class Sizes(NamedTuple):
    """The sizes of a network: `widths` after the stem and the first two stages."""

    widths: tuple[int, int, int]
    convolutions: int
    stages: tuple[Stage, ...]
    last: int


def write_model(config: Config) -> ModelText:
    """Return the text of a MobileViT and its name map."""
    family = config.text("model_type", "mobilevit")
    kind = class_suffix(config, BASE, CLASSES, SEGMENTS, default="MobileViTModel")
    seen = picture(config, size=256, patch=None)
    net = _Net(config, ConvNet(seen), second=family == "mobilevitv2")
    net.write()
    body = net.body
    if kind == SEGMENTS:
        outputs = _write_segments(config, body)
    else:
        for key in ("aspp_out_channels", "atrous_rates"):
            config.get(key)
        if not net.second:
            body.add(body.unit(net.sizes.last, 1))
            _record(body, "conv_1x1_exp")
            body.channels = net.sizes.last
        pooled_shape = f"[{body.channels}]"
        outputs = write_outputs(
            config, kind, body, "globalAveragePool()", pooled_shape=pooled_shape
        )
    if kind == CLASSES:
        body.names |= linear_names("classifier1", "classifier")
    units = unit_statements(net.activation)
    source = statements([f"model:name {family}", seen.input, *outputs, *net.blocks, *units])
    unused = (COUNTERS, "classifier.*", "conv_1x1_exp.*", "segmentation_head.*")
    return ModelText(source, body.names | dict.fromkeys(unused), f"{family}.")


class _Net:
    """The layers of a network, and the blocks that they call."""

    def __init__(self, config: Config, body: ConvNet, *, second: bool) -> None:
        self.config, self.body, self.second = config, body, second
        self.blocks: list[str] = []
        self.patch = config.size("patch_size", 2)
        self.growth = config.positive("expand_ratio", 2.0 if second else 4.0)
        self.kernel = config.size("conv_kernel_size", 3)
        self.activation = config.activation("hidden_act", "silu")
        self.epsilon = config.positive("layer_norm_eps", 1e-5)
        self.dilated = DILATED.get(config.integer("output_stride", 32, 1), ())
        self.heads = 1 if second else config.size("num_attention_heads", 4)
        self.biased = second or config.flag("qkv_bias", True)
        if self.kernel % 2 == 0:
            raise config.wrong("conv_kernel_size", "odd")
        self.sizes = _read_sizes_2(config) if second else _read_sizes(config)
        if any(stage.width % self.heads for stage in self.sizes.stages):
            raise config.wrong("hidden_sizes", f"multiples of {self.heads} heads")

    def write(self) -> None:
        """Add the layers of all stages."""
        body, (stem, first, second) = self.body, self.sizes.widths
        body.add("identity(node=pixel_values)", body.unit(stem, 3, 2, padding=1))
        body.shrink(2)
        _record(body, "conv_stem")
        adds = self._add_inverted(stem, first, 1, 1, "encoder.layer.0.layer.0")
        before = first
        for number in range(self.sizes.convolutions):
            file = f"encoder.layer.1.layer.{number}"
            adds |= self._add_inverted(before, second, 1 if number else 2, 1, file)
            before = second
        dilation, looks = 1, list[str]()
        for number, stage in enumerate(self.sizes.stages, 2):
            file = f"encoder.layer.{number}"
            dilation *= 2 if number in self.dilated else 1
            stride, apart = (2, 1) if dilation == 1 else (1, dilation // 2)
            shrinking = f"{file}.downsampling_layer"
            adds |= self._add_inverted(before, stage.channels, stride, apart, shrinking)
            name = f"look{number - 1}"
            body.add(f"{name}()")
            look = self._look_2(stage, file) if self.second else self._look(stage, file)
            looks.append(f"{name}:layers\n{look}")
            before = body.channels = stage.channels
        self.blocks = [*inverted_blocks(adds=adds), *looks, *self._layer()]

    def _add_inverted(
        self, before: int, filters: int, stride: int, dilation: int, file: str
    ) -> bool:
        inner = round_channels(round(before * self.growth), DIVISOR, DIVISOR)
        layer = Inverted(before, filters, inner, stride, dilation)
        return add_inverted(self.body, layer, str(dilation), file)

    def _look(self, stage: Stage, file: str) -> str:
        """Return the layers of attention between pixels, and record the tensors."""
        body, patch, width = self.body, self.patch, stage.width
        size = (body.height, body.width)
        down, across = (-(-side // patch) for side in size)
        full_size = (down * patch, across * patch)
        local = body.unit(stage.channels, self.kernel, padding=self.kernel // 2)
        _record(body, f"{file}.conv_kxk")
        body.weight("widen", f"{file}.conv_1x1.convolution", bias=False)
        for number in range(stage.depth):
            self._record_layer(f"{file}.transformer.layer.{number}")
        body.weight("norm", f"{file}.layernorm")
        _record(body, f"{file}.conv_projection")
        _record(body, f"{file}.fusion")
        resized = size != full_size
        return layers(
            local,
            f"conv2d(widen, filters={width}, kernel=1)",
            f"resample2d(sizes={[*full_size]}, mode=linear)" if resized else "",
            f"reshape([{width}, {down}, {patch}, {across}, {patch}])",
            "transpose([2, 4, 1, 3, 0])",
            f"reshape([{patch**2}, {down * across}, {width}])",
            f"layer(cells={patch**2}, count={down * across}, width={width}, "
            f"inner={stage.inner}{f', repeat={stage.depth}' if stage.depth > 1 else ''})",
            f"layerNorm(scale=norm, bias=norm_b, epsilon={self.epsilon})",
            f"reshape([{patch}, {patch}, {down}, {across}, {width}])",
            "transpose([4, 2, 0, 3, 1])",
            f"reshape([{width}, {full_size[0]}, {full_size[1]}])",
            f"resample2d(sizes={[*size]}, mode=linear)" if resized else "",
            f"unit(filters={stage.channels}, kernel=1, activation=act, name=seen)",
            "concat([input, seen], axis=0)",
            local,
        )

    def _look_2(self, stage: Stage, file: str) -> str:
        """Return those of MobileViT 2, which leave out pixels that fill no patch."""
        body, patch, width = self.body, self.patch, stage.width
        down, across = body.height // patch, body.width // patch
        if not down * across:
            raise self.config.wrong("patch_size", f"at most {min(body.height, body.width)}")
        full_size = (down * patch, across * patch)
        rest = (body.height - full_size[0], body.width - full_size[1])
        depthwise = {"padding": self.kernel // 2, "groups": stage.channels}
        local = body.unit(stage.channels, self.kernel, **depthwise)
        _record(body, f"{file}.conv_kxk")
        body.weight("widen", f"{file}.conv_1x1.convolution", bias=False)
        for number in range(stage.depth):
            self._record_layer_2(f"{file}.transformer.layer.{number}", width)
        body.weight("norm", f"{file}.layernorm")
        _record(body, f"{file}.conv_projection")
        sizes = f"[{width}, {full_size[0]}, {full_size[1]}]"
        return layers(
            local,
            f"conv2d(widen, filters={width}, kernel=1)",
            f"slice([0, 0, 0], {sizes})" if any(rest) else "",
            f"reshape([{width}, {down}, {patch}, {across}, {patch}])",
            "transpose([0, 2, 4, 1, 3])",
            f"reshape([{width}, {patch**2}, {down * across}])",
            f"layer(width={width}, inner={stage.inner}"
            f"{f', repeat={stage.depth}' if stage.depth > 1 else ''})",
            f"groupNorm(groups=1, scale=norm, bias=norm_b, epsilon={self.epsilon})",
            f"reshape([{width}, {patch}, {patch}, {down}, {across}])",
            "transpose([0, 3, 1, 4, 2])",
            f"reshape({sizes})",
            f"pad([0, 0, 0], [0, {rest[0]}, {rest[1]}])" if any(rest) else "",
            body.unit(stage.channels, 1, activation="identity"),
        )

    def _record_layer(self, file: str) -> None:
        body = self.body
        body.weight("attention_norm", f"{file}.layernorm_before")
        for letter, name in (("q", "query"), ("k", "key"), ("v", "value")):
            body.matrix(f"w{letter}", f"{file}.attention.attention.{name}", bias=self.biased)
        body.matrix("wo", f"{file}.attention.output.dense")
        body.weight("mlp_norm", f"{file}.layernorm_after")
        for parameter, name in (("up", "intermediate"), ("down", "output")):
            body.matrix(parameter, f"{file}.{name}.dense", bias=False)
            body.declare(f"{parameter}_b", f"{file}.{name}.dense.bias")

    def _record_layer_2(self, file: str, width: int) -> None:
        body, joined = self.body, f"{file}.attention.qkv_proj.convolution"
        body.weight("attention_norm", f"{file}.layernorm_before")
        for index, parameter in enumerate(("query", "key", "value")):
            number = body.weight(
                parameter, joined, lambda tensor, at=index: Part(tensor, at, (1, width, width))
            )
            bias = Part(f"{joined}.bias", index, (1, width, width))
            body.names[f"{parameter}_b{number}"] = bias
        body.weight("join", f"{file}.attention.out_proj.convolution")
        body.weight("mlp_norm", f"{file}.layernorm_after")
        body.weight("up", f"{file}.ffn.conv1.convolution")
        body.weight("down", f"{file}.ffn.conv2.convolution")

    def _layer(self) -> list[str]:
        """Return the statements of the block `layer`."""
        if self.second:
            return [f"layer:layers\n{_write_layer_2(self.epsilon)}"]
        rows = layers(
            f"layerNorm(scale=attention_norm, bias=attention_norm_b, epsilon={self.epsilon})",
            f"attend(wq, wk, wv, o=wo, bias={'true' if self.biased else '[o]'}, "
            f"heads={self.heads})",
            "residual(to=input, name=attended)",
            f"layerNorm(scale=mlp_norm, bias=mlp_norm_b, epsilon={self.epsilon})",
            "matmul(up, shape=[cells, count, inner])",
            "add(up_b)",
            "act()",
            "matmul(down, shape=[cells, count, width])",
            "add(down_b)",
            "residual(to=attended)",
        )
        return [
            "layer:param up_b shape=[inner] shared=false, down_b shape=[width] shared=false",
            f"layer:layers\n{rows}",
        ]


def _write_layer_2(epsilon: float) -> str:
    """Return the layers of attention of MobileViT 2, whose queries are single numbers."""
    norm = f"groupNorm(groups=1, scale={{0}}_norm, bias={{0}}_norm_b, epsilon={epsilon}"
    return layers(
        f"{norm.format('attention')}, name=normal)",
        "conv2d(query, filters=1, kernel=1, bias=query_b)",
        "softmax(axis=-1, name=shares)",
        "conv2d(key, node=normal, filters=width, kernel=1, bias=key_b)",
        "mul(shares)",
        "reduceSum(axes=[2], keepDimensions=true, name=context)",
        "conv2d(value, node=normal, filters=width, kernel=1, bias=value_b)",
        "relu()",
        "mul(context)",
        "conv2d(join, filters=width, kernel=1, bias=join_b)",
        "residual(to=input, name=attended)",
        f"{norm.format('mlp')})",
        "conv2d(up, filters=inner, kernel=1, bias=up_b)",
        "act()",
        "conv2d(down, filters=width, kernel=1, bias=down_b)",
        "residual(to=attended)",
    )


def _read_sizes(config: Config) -> Sizes:
    """Return the sizes of MobileViT 1."""
    widths = config.integers("hidden_sizes", [144, 192, 240], 1, MAX_SIZE)
    necks = config.integers("neck_hidden_sizes", [16, 32, 64, 96, 128, 160, 640], 1, MAX_SIZE)
    growth = config.positive("mlp_ratio", 2.0)
    if len(widths) != len(DEPTHS):
        raise config.wrong("hidden_sizes", f"a list of {len(DEPTHS)} integers")
    if len(necks) != len(DEPTHS) + 4:
        raise config.wrong("neck_hidden_sizes", f"a list of {len(DEPTHS) + 4} integers")
    stages = tuple(
        Stage(channels, width, int(width * growth), depth)
        for channels, width, depth in zip(necks[3:6], widths, DEPTHS, strict=True)
    )
    return Sizes((necks[0], necks[1], necks[2]), 3, stages, necks[6])


def _read_sizes_2(config: Config) -> Sizes:
    """Return the sizes of MobileViT 2."""
    factor = config.positive("width_multiplier", 1.0)
    bases = config.integers("base_attn_unit_dims", [128, 192, 256], 1, MAX_SIZE)
    depths = config.integers("n_attn_blocks", [*DEPTHS], 1, MAX_COUNT)
    growth = config.size("ffn_multiplier", 2)
    if not len(bases) == len(depths) == len(DEPTHS):
        raise config.wrong("n_attn_blocks", f"{len(DEPTHS)} integers, as base_attn_unit_dims")
    low, high = STEM_LIMITS
    stem = round_channels(min(max(WIDTHS_2[0] * factor, low), high), DIVISOR, low)
    first = round_channels(WIDTHS_2[1] * factor, MULTIPLE_INNER, MULTIPLE_INNER)
    others = [round_channels(width * factor, DIVISOR, DIVISOR) for width in WIDTHS_2[2:]]
    stages = list[Stage]()
    for channels, base, depth in zip(others[1:], bases, depths, strict=True):
        width = round_channels(base * factor, DIVISOR, DIVISOR)
        inner = growth * width // MULTIPLE_INNER * MULTIPLE_INNER
        if not inner:
            raise config.wrong("ffn_multiplier", f"such that there are {MULTIPLE_INNER} channels")
        stages.append(Stage(channels, width, inner, depth))
    return Sizes((stem, first, others[0]), 2, tuple(stages), others[-1])


def _write_segments(config: Config, body: ConvNet) -> list[str]:
    """Return the statements of the scores of classes, which see pixels far around each."""
    filters, labels = config.size("aspp_out_channels", 256), count_classes(config)
    rates = config.integers("atrous_rates", [6, 12, 18], 1)
    head, height, width = "segmentation_head.aspp", body.height, body.width
    body.name_last("states")
    rows = [f"unit(filters={filters}, kernel=1, activation=relu, name=near)"]
    _record(body, f"{head}.convs.0")
    for number, rate in enumerate(rates, 1):
        options = f"kernel=3, padding={rate}, dilations={rate}, activation=relu"
        rows.append(f"unit(node=states, filters={filters}, {options}, name=far{number})")
        _record(body, f"{head}.convs.{number}")
    _record(body, f"{head}.convs.{len(rates) + 1}.conv_1x1")
    _record(body, f"{head}.project")
    body.weight("classifier", "segmentation_head.classifier.convolution")
    joined = ", ".join(["near", *(f"far{number + 1}" for number in range(len(rates))), "all"])
    rows += [
        "globalAveragePool(node=states)",
        f"reshape([{body.channels}, 1, 1])",
        f"unit(filters={filters}, kernel=1, activation=relu)",
        f"resample2d(sizes=[{height}, {width}], mode=linear, name=all)",
        f"concat([{joined}], axis=0)",
        f"unit(filters={filters}, kernel=1, activation=relu)",
        f"conv2d(classifier, filters={labels}, kernel=1, bias=classifier_b)",
    ]
    return [
        f"logits:output shape={{labels:{labels}, height:{height}, width:{width}}}",
        f"logits:layers\n{layers(*body.rows, *rows)}",
    ]


def _record(body: ConvNet, layer: str) -> None:
    body.record_unit(f"{layer}.convolution", f"{layer}.normalization")
