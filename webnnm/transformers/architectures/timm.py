"""Networks of timm, by the `architecture` that a config names: MobileNet 3 and 4.

Sources: A. Howard et al., "Searching for MobileNetV3", arXiv:1905.02244 (2019); D. Qin et al.,
"MobileNetV4: universal models for the mobile ecosystem", arXiv:2404.10518 (2024).

Not supported: `model_args` that change a network; labels that only timm itself has; the crop mode
`border`.
"""

from __future__ import annotations

from functools import partial

from webnnm.core.errors import DataError, suggestion
from webnnm.snapshots.foreign import Reshaped
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
from webnnm.transformers.architectures.timm_networks import NAMES, Layer, Network, find_network
from webnnm.transformers.config import Config

DIVISOR = 8
"""Channels are multiples of it."""
SQUEEZED = 0.25
"""The share of channels that decide on the weights of all."""
WITHOUT_EFFECT = ("num_features", "label_names", "label_descriptions")
"""Keys that repeat what the network has, or name its classes."""
CONVOLUTIONS = {
    "separable": (("conv_dw", "bn1"), ("conv_pw", "bn2")),
    "inverted": (("conv_pw", "bn1"), ("conv_dw", "bn2"), ("conv_pwl", "bn3")),
    "fused": (("conv_exp", "bn1"), ("conv_pwl", "bn2")),
}
"""Kind of layer → the names of its convolutions and norms in files."""
UNIVERSAL = {
    (True, True): "extra_depthwise",
    (False, True): "inverted",
    (True, False): "conv_next",
    (False, False): "feed_forward",
}
"""Whether channels are convolved alone before they grow, and after it → the name of the block."""


def write_model(config: Config) -> ModelText:
    """Return the text of a network of timm and its name map."""
    classes = config.integer("num_classes", 1000, 0)
    default = f"TimmWrapper{CLASSES if classes else BASE}"
    kind = class_suffix(config, BASE, CLASSES, default=default)
    name = config.text("architecture")
    network = find_network(name)
    if network is None:
        message = f'config.json: the architecture "{name}" of timm is unknown'
        hint = suggestion(name, NAMES) or f"known: {', '.join(NAMES)}"
        raise DataError("NNM817", message, hint=hint)
    if kind == CLASSES and not classes:
        raise config.wrong("num_classes", 'at least 1; architecture="TimmWrapperModel" has none')
    for key in WITHOUT_EFFECT:
        config.get(key)
    arguments = config.part("model_args")
    for part in (config, arguments):
        part.require("global_pool", "avg")
    arguments.require("in_chans", 3)
    arguments.require("num_classes", classes)
    arguments.get("drop_rate")
    config.require("do_pooling", *((True,) if kind == BASE else (True, False)))
    data = config.part("pretrained_cfg")
    size = data.integers("input_size", [3, 224, 224], 1)
    if len(size) != 3 or size[0] != 3:
        raise data.wrong("input_size", "3 colours, height and width")
    data.pass_over()
    seen = picture(config, size=size[1:], patch=None)
    network_body = _Body(network, ConvNet(seen))
    network_body.write()
    body = network_body.body
    outputs = write_outputs(
        config,
        kind,
        body,
        *network_body.head(),
        "flatten()" if kind == BASE else "",
        pooled_shape=f"[{network.head}]",
        classes=classes,
    )
    units = unit_statements(f"{network.activation}()", network.epsilon)
    blocks = network_body.blocks()
    source = statements([f"model:name {name}", seen.input, *outputs, *blocks, *units])
    names = body.names | dict.fromkeys((COUNTERS, "classifier.*"))
    names |= linear_names("classifier1", "classifier") if kind == CLASSES else {}
    return ModelText(source, names, "timm_model.")


class _Body:
    """The layers of a network, and the blocks that they call."""

    def __init__(self, network: Network, body: ConvNet) -> None:
        self.network, self.body = network, body
        self._used: dict[str, str] = {}

    def write(self) -> None:
        """Add the layers of all stages."""
        network, body = self.network, self.body
        body.add("identity(node=pixel_values)")
        stem = self._scale(network.stem) if network.scales_stem else network.stem
        self._convolve(stem, 3, 2, "conv_stem", "bn1")
        for number, stage in enumerate(network.stages):
            steps = [layer for layer in stage for _ in range(layer.times)]
            for index, layer in enumerate(steps):
                stride = layer.stride if index == 0 else 1
                self._add(layer, stride, f"blocks.{number}.{index}")

    def head(self) -> list[str]:
        """Return the layers after the stages, which see the picture as one pixel."""
        network, body = self.network, self.body
        rows = ["globalAveragePool()", f"reshape([{body.channels}, 1, 1])"]
        if network.version == 3:
            body.weight("head", "conv_head")
            head = f"conv2d(head, filters={network.head}, kernel=1, bias=head_b)"
            return [*rows, head, "act()"]
        body.record_unit("conv_head", "norm_head")
        return [*rows, body.unit(network.head, 1)]

    def blocks(self) -> list[str]:
        """Return the statements of the blocks."""
        gate = f"hardSigmoid(alpha={1 / 6}, beta=0.5)"
        weighted = any("weighted()" in block for block in self._used.values())
        scaled = any("scaled()" in block for block in self._used.values())
        return [
            *(f"{name}:layers\n{rows}" for name, rows in self._used.items()),
            weight_channels("relu()", gate) if weighted else "",
            "scaled:param scale shape=[filters, 1, 1] shared=false" if scaled else "",
            "scaled:layers mul(scale)" if scaled else "",
        ]

    def _scale(self, channels: int) -> int:
        return round_channels(channels * self.network.factor, DIVISOR, DIVISOR)

    def _reach(self, kernel: int) -> int | str:
        return "same" if self.network.same else kernel // 2

    def _convolve(
        self, filters: int, kernel: int, stride: int, convolution: str, norm: str
    ) -> None:
        body = self.body
        body.add(body.unit(filters, kernel, stride, padding=kernel > 1 and self._reach(kernel)))
        body.record_unit(convolution, norm)
        body.shrink(stride)
        body.channels = filters

    def _add(self, layer: Layer, stride: int, file: str) -> None:
        """Add a layer; `file` is the beginning of the names of its tensors."""
        filters, before = self._scale(layer.channels), self.body.channels
        if layer.kind == "plain":
            self._convolve(filters, layer.kernel, stride, f"{file}.conv", f"{file}.bn1")
            return
        inner = round_channels(before * layer.growth, DIVISOR, DIVISOR)
        call = {"inner": inner, "filters": filters}
        if layer.kind == "attention":
            name, more = self._add_attention(layer, file)
            call = {"filters": filters, **more}
        elif layer.kind == "universal":
            name, more = self._add_universal(layer, stride, file)
            call |= more
        else:
            name, more = self._add_mobile(layer, stride, file)
            call |= more
        if stride == 1 and before == filters:
            block = f"residual_{name}"
            options = ", ".join(f"{key}={key}" for key in call)
            self._used[block] = layers(f"{name}({options})", "residual(to=input)")
            name = block
        self.body.call(f"{name}({', '.join(f'{key}={value}' for key, value in call.items())})")
        self.body.shrink(stride)
        self.body.channels = filters

    def _add_mobile(self, layer: Layer, stride: int, file: str) -> tuple[str, dict[str, int | str]]:
        """Return the block of a layer with at most one convolution of each channel alone."""
        kind, body = layer.kind, self.body
        name = f"squeezing_{kind}" if layer.squeezes else kind
        depthwise = _depthwise("inner", "kernel", "active", "stride")
        grow = "unit(filters=inner, kernel=1, activation=active)"
        if kind == "fused":
            grow = depthwise.replace("groups=inner, ", "")
        self._used[name] = layers(
            grow if kind != "separable" else "",
            depthwise if kind != "fused" else "",
            "weighted()" if layer.squeezes else "",
            "unit(filters=filters, kernel=1, activation=identity)",
        )
        *first, last = CONVOLUTIONS[kind]
        for convolution, norm in first:
            body.record_unit(f"{file}.{convolution}", f"{file}.{norm}")
        more: dict[str, int | str] = {
            "kernel": layer.kernel,
            "stride": stride,
            "reach": self._reach(layer.kernel),
            "active": "relu" if layer.rectifies else "act",
        }
        if layer.squeezes:
            body.weight("squeeze", f"{file}.se.conv_reduce")
            body.weight("excite", f"{file}.se.conv_expand")
            inner = round_channels(body.channels * layer.growth, DIVISOR, DIVISOR)
            more["squeezed"] = round_channels(inner * SQUEEZED, DIVISOR, DIVISOR)
        body.record_unit(f"{file}.{last[0]}", f"{file}.{last[1]}")
        return name, more

    def _add_universal(
        self, layer: Layer, stride: int, file: str
    ) -> tuple[str, dict[str, int | str]]:
        """Return the block of a layer of MobileNet 4, in one of its four forms."""
        has_first, has_middle = layer.first > 0, layer.kernel > 0
        name = UNIVERSAL[has_first, has_middle]
        self._used[name] = layers(
            _depthwise("channels", "first", "identity", "" if has_middle else "stride")
            if has_first
            else "",
            "unit(filters=inner, kernel=1, activation=act)",
            _depthwise("inner", "kernel", "act", "stride") if has_middle else "",
            "unit(filters=filters, kernel=1, activation=identity)",
            "scaled()" if self.network.scales_layers else "",
        )
        more: dict[str, int | str] = {}
        if has_first:
            more |= {"channels": self.body.channels, "first": layer.first}
            more["first_reach"] = self._reach(layer.first)
        if has_middle:
            more |= {"kernel": layer.kernel, "reach": self._reach(layer.kernel)}
        if has_first or has_middle:
            more["stride"] = stride
        parts = (
            *(["dw_start"] if has_first else []),
            "pw_exp",
            *(["dw_mid"] if has_middle else []),
            "pw_proj",
        )
        for part in parts:
            self.body.record_unit(f"{file}.{part}.conv", f"{file}.{part}.bn")
        self._record_scale(file, self._scale(layer.channels))
        return name, more

    def _add_attention(self, layer: Layer, file: str) -> tuple[str, dict[str, int | str]]:
        """Return the block of attention whose heads share keys and values."""
        body, shrinks = self.body, layer.shrunk > 1
        name = "attention" if not shrinks else "coarse_attention"
        shrink = (
            "unit(node=normal, filters=channels, kernel=3, strides=shrunk, padding=1, "
            "groups=channels, activation=identity)"
        )
        rows = ["norm(name=normal)", "conv2d(query, filters=wide, kernel=1)"]
        rows += ["reshape([wide, count])", "transpose([1, 0], name=q)"]
        for letter, filters in (("k", "key"), ("v", "value")):
            node = "" if shrinks else "node=normal, "
            rows += [shrink] if shrinks else []
            rows += [f"conv2d({filters}, {node}filters=size, kernel=1)"]
            rows += ["reshape([size, few])", f"transpose([1, 0], name={letter})"]
        rows += ["attend(q, k, v, node=q, heads=heads, kvHeads=1)", "transpose([1, 0])"]
        rows += ["reshape([wide, height, width])", "conv2d(join, filters=filters, kernel=1)"]
        self._used[name] = layers(*rows, "scaled()" if self.network.scales_layers else "")
        self._used["norm"] = (
            f"  batchNorm(scale=batch_norm, bias=batch_norm_b, epsilon={self.network.epsilon})"
        )
        body.record_norm(f"{file}.norm")
        body.weight("query", f"{file}.attn.query.proj", bias=False)
        for part in ("key", "value"):
            if shrinks:
                body.record_unit(f"{file}.attn.{part}.down_conv", f"{file}.attn.{part}.norm")
            body.weight(part, f"{file}.attn.{part}.proj", bias=False)
        body.weight("join", f"{file}.attn.output.proj", bias=False)
        self._record_scale(file, self._scale(layer.channels))
        height, width = (-(-side // layer.shrunk) for side in (body.height, body.width))
        more: dict[str, int | str] = {"wide": layer.heads * layer.size, "size": layer.size}
        more |= {"heads": layer.heads, "count": body.height * body.width, "few": height * width}
        more |= {"height": body.height, "width": body.width}
        more |= {"channels": body.channels, "shrunk": layer.shrunk} if shrinks else {}
        return name, more

    def _record_scale(self, file: str, filters: int) -> None:
        if self.network.scales_layers:
            form = partial(Reshaped, sizes=(filters, 1, 1))
            self.body.declare("scale", f"{file}.layer_scale.gamma", form)


def _depthwise(channels: str, kernel: str, activation: str, stride: str) -> str:
    """Return the call of a convolution of each channel alone."""
    reach = "first_reach" if kernel == "first" else "reach"
    options = f"filters={channels}, kernel={kernel}{f', strides={stride}' if stride else ''}"
    return f"unit({options}, padding={reach}, groups={channels}, activation={activation})"
