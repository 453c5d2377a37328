"""ConvNeXt 1 and 2, and that of DINOv3: large filters of each channel, an MLP at each pixel.

Source: Z. Liu et al., "A ConvNet for the 2020s", arXiv:2201.03545 (2022); S. Woo et al.,
"ConvNeXt V2: co-designing and scaling ConvNets with masked autoencoders", arXiv:2301.00808 (2023);
O. Siméoni et al., "DINOv3", arXiv:2508.10104 (2025).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from webnnm.snapshots.foreign import Reshaped
from webnnm.transformers.architectures.conv_net import (
    BASE,
    CLASSES,
    STATES,
    ConvNet,
    write_outputs,
)
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    layers,
    linear_names,
    norm_names,
    output,
    statements,
)
from webnnm.transformers.architectures.patches import picture
from webnnm.transformers.architectures.vision_encoder import read_backbone_keys, select_token
from webnnm.transformers.config import MAX_COUNT, Config

INNER = 4
"""How many times more channels the middle of an MLP has."""
DINO = "dinov3_convnext"
MODULE_NAMES = ((r"^model\.stages\.", "stages."),)
"""Names of the modules of transformers 5 in DINOv3: pattern → the published name."""


class _Files(NamedTuple):
    """The names in files: `start` of what cuts patches, `down` in a stage, others in a layer."""

    start: tuple[str, str] = ("embeddings.patch_embeddings", "embeddings.layernorm")
    stages: str = "encoder.stages"
    down: str = "downsampling_layer"
    depthwise: str = "dwconv"
    norm: str = "layernorm"
    expand: str = "pwconv1"
    reduce: str = "pwconv2"
    scale: str = "layer_scale_parameter"


FILES = _Files()
DINO_FILES = _Files(
    start=("stages.0.downsample_layers.0", "stages.0.downsample_layers.1"),
    stages="stages",
    down="downsample_layers",
    depthwise="depthwise_conv",
    norm="layer_norm",
    expand="pointwise_conv1",
    reduce="pointwise_conv2",
    scale="gamma",
)


def write_model(config: Config) -> ModelText:
    """Return the text of a ConvNeXt and its name map."""
    family = str(config.get("model_type", "convnext"))
    if family == DINO:
        return _write_dino(config)
    kind = class_suffix(config, BASE, CLASSES, default="ConvNextModel")
    read_backbone_keys(config)
    seen = picture(config, patch=None)
    body = ConvNet(seen)
    body.add("identity(node=pixel_values)")
    again = family == "convnextv2"
    scaled = not again and config.number("layer_scale_init_value", 1e-6) > 0
    height, width = config.pair("patch_size", 4)
    if height != width:
        raise config.not_supported("patch_size", [height, width], "patches must be square")
    count = config.count("num_stages", 4)
    _write_stages(config, body, FILES, height, count, scaled=scaled, again=again)
    epsilon = config.positive("layer_norm_eps", 1e-12)
    last = f"layerNorm(scale=final_norm, bias=final_norm_b, epsilon={epsilon})"
    size = f"[{body.channels}]"
    outputs = write_outputs(config, kind, body, "globalAveragePool()", last, pooled_shape=size)
    activation = config.activation("hidden_act", "gelu")
    blocks = _blocks(activation, scaled=scaled, again=again)
    source = statements([f"model:name {family}", seen.input, *outputs, *blocks])
    names = body.names | norm_names("final_norm1", "layernorm") | {"classifier.*": None}
    names |= linear_names("classifier1", "classifier") if kind == CLASSES else {}
    return ModelText(source, names, f"{family}.")


def _write_dino(config: Config) -> ModelText:
    """Return the text of the network of DINOv3, whose result is that of its transformers.

    The mean of all pixels is the first token.
    """
    class_suffix(config, BASE, default="DINOv3ConvNextModel")
    read_backbone_keys(config)
    config.get("layer_scale_init_value")
    seen = picture(config, patch=None)
    body = ConvNet(seen)
    body.add("identity(node=pixel_values)")
    _write_stages(config, body, DINO_FILES, 4, None, scaled=True, again=False)
    width, pixels = body.channels, body.height * body.width
    epsilon = config.positive("layer_norm_eps", 1e-6)
    body.name_last("maps")
    body.add(
        "globalAveragePool()",
        f"reshape([1, {width}], name=mean)",
        f"reshape([{width}, {pixels}], node=maps)",
        "transpose([1, 0], name=pixels)",
        "concat([mean, pixels], axis=0)",
        f"layerNorm(scale=final_norm, bias=final_norm_b, epsilon={epsilon})",
    )
    blocks = _blocks(
        config.activation("hidden_act", "gelu"), scaled=True, again=False, epsilon=epsilon
    )
    source = statements(
        [
            f"model:name {DINO}",
            seen.input,
            f"{STATES}:output shape={{tokens:{pixels + 1}, features:{width}}}",
            f"{STATES}:layers\n{layers(*body.rows)}",
            *output("pooler_output", width, *select_token(0, STATES), tokens=False),
            *blocks,
        ]
    )
    names = body.names | norm_names("final_norm1", "layer_norm")
    return ModelText(source, names, "", module_names=MODULE_NAMES)


def _write_stages(
    config: Config,
    body: ConvNet,
    files: _Files,
    patch: int,
    count: int | None,
    *,
    scaled: bool,
    again: bool,
) -> None:
    """Add the layers of `count` stages, by default of all."""
    widths = config.integers("hidden_sizes", [96, 192, 384, 768], 1)
    depths = config.integers("depths", [3, 3, 9, 3], 1, MAX_COUNT)
    if count is None:
        count = len(widths)
        if len(depths) != count:
            raise config.wrong("depths", f"{count} integers, one for each of hidden_sizes")
    if len(widths) < count or len(depths) < count:
        raise config.wrong("num_stages", "at most the numbers of hidden_sizes and of depths")
    channels = widths[0]
    body.add(f"conv2d(patch, filters={channels}, kernel={patch}, strides={patch}, bias=patch_b)")
    body.weight("patch", files.start[0])
    body.shrink(patch, kernel=patch)
    body.add("norm(weight=patch_norm, bias=patch_norm_b)")
    body.weight("patch_norm", files.start[1])
    for stage, (width, depth) in enumerate(zip(widths[:count], depths[:count], strict=True)):
        stage_name = f"{files.stages}.{stage}"
        if stage or channels != width:
            stride = 2 if stage else 1
            body.add(f"shrink(filters={width}, stride={stride})")
            body.weight("down_norm", f"{stage_name}.{files.down}.0")
            body.weight("down", f"{stage_name}.{files.down}.1")
            body.shrink(stride, kernel=2)
        for number in range(depth):
            layer = f"{stage_name}.layers.{number}"
            _record(body, files, layer, width, scaled=scaled, again=again)
        times = f", repeat={depth}" if depth > 1 else ""
        body.add(f"layer(filters={width}, inner={INNER * width}{times})")
        channels = width
    body.channels = channels


def _record(
    body: ConvNet, files: _Files, layer: str, width: int, *, scaled: bool, again: bool
) -> None:
    """Record the tensors of a layer, whose MLP is stored as matrices."""
    inner = INNER * width
    body.weight("depthwise", f"{layer}.{files.depthwise}")
    body.weight("layer_norm", f"{layer}.{files.norm}")
    body.weight("expand", f"{layer}.{files.expand}", partial(Reshaped, sizes=(inner, width, 1, 1)))
    body.weight("reduce", f"{layer}.{files.reduce}", partial(Reshaped, sizes=(width, inner, 1, 1)))
    if again:
        cells = partial(Reshaped, sizes=(inner, 1, 1))
        body.declare("response_scale", f"{layer}.grn.weight", cells)
        body.declare("response_b", f"{layer}.grn.bias", cells)
    if scaled:
        cells = partial(Reshaped, sizes=(width, 1, 1))
        body.declare("layer_scale", f"{layer}.{files.scale}", cells)


def _blocks(activation: str, *, scaled: bool, again: bool, epsilon: float = 1e-6) -> list[str]:
    """Return the statements of the blocks that the layers call."""
    layer = layers(
        "conv2d(depthwise, filters=filters, kernel=7, padding=3, groups=filters, bias=depthwise_b)",
        "norm(weight=layer_norm, bias=layer_norm_b)",
        "conv2d(expand, filters=inner, kernel=1, bias=expand_b)",
        activation,
        "responses()" if again else "",
        "conv2d(reduce, filters=filters, kernel=1, bias=reduce_b)",
        "mul(layer_scale)" if scaled else "",
        "residual(to=input)",
    )
    down = layers(
        "norm(weight=down_norm, bias=down_norm_b)",
        "conv2d(down, filters=filters, kernel=2, strides=stride, bias=down_b)",
    )
    responses = layers(
        "reduceL2(axes=[height, width], keepDimensions=true, name=lengths)",
        "reduceMean(axes=[channels], keepDimensions=true)",
        "add(1e-6, name=mean)",
        "div([lengths, mean], name=shares)",
        "mul([input, shares])",
        "mul(response_scale)",
        "add(response_b)",
        "residual(to=input)",
    )
    parameters = [
        f"responses:param {name} shape=[inner, 1, 1] shared=false"
        for name in ("response_scale", "response_b")
    ]
    return [
        "layer:param layer_scale shape=[filters, 1, 1] shared=false" if scaled else "",
        f"layer:layers\n{layer}",
        f"shrink:layers\n{down}",
        *((*parameters, f"responses:layers\n{responses}") if again else ()),
        f"norm:layers layerNorm(axes=[channels], scale=weight, bias=bias, epsilon={epsilon})",
    ]
