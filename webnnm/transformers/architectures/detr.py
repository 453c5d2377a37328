"""DETR: features of a residual network, and a transformer whose decoder has a query per object.

Source: N. Carion et al., "End-to-end object detection with transformers", arXiv:2005.12872 (2020).

Not supported: `pixel_mask`, other backbones than ResNet, `dilation`, learned positions.
"""

from __future__ import annotations

import math

from webnnm.core.arrays import HostArray
from webnnm.core.errors import suggestion
from webnnm.transformers.architectures.conv_net import COUNTERS, ConvNet
from webnnm.transformers.architectures.detection import (
    DENSE,
    Attention,
    record_dense,
    write_attention,
    write_boxes,
)
from webnnm.transformers.architectures.detr_masks import (
    MASK_MODULE_NAMES,
    read_mask_sizes,
    write_masks,
)
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    count_classes,
    layers,
    statements,
)
from webnnm.transformers.architectures.parameter_names import ParameterNames
from webnnm.transformers.architectures.patches import picture
from webnnm.transformers.architectures.resnet import TimmNames, UnitNames, write_stages
from webnnm.transformers.architectures.vision_encoder import read_backbone_keys
from webnnm.transformers.config import Config

KINDS = ("Model", "ForObjectDetection", "ForSegmentation")
STATES, MEMORY = "last_hidden_state", "encoder_last_hidden_state"
BACKBONE = "backbone.conv_encoder.model."
DEEP, SHALLOW = (256, 512, 1024, 2048), (64, 128, 256, 512)
TIMM = {
    "resnet18": ("basic", SHALLOW, (2, 2, 2, 2)),
    "resnet34": ("basic", SHALLOW, (3, 4, 6, 3)),
    "resnet50": ("bottleneck", DEEP, (3, 4, 6, 3)),
    "resnet101": ("bottleneck", DEEP, (3, 4, 23, 3)),
    "resnet152": ("bottleneck", DEEP, (3, 8, 36, 3)),
}
"""Networks of the library timm by name: the kind of their layers, widths and depths."""
UNUSED = (
    *("auxiliary_loss", "use_pretrained_backbone", "backbone_kwargs", "is_encoder_decoder"),
    *("num_hidden_layers", "mask_loss_coefficient", "dice_loss_coefficient", "scale_embedding"),
    "max_position_embeddings",
)
MODULE_NAMES = (
    (r"(^|\.)backbone\.model\.", r"\1backbone.conv_encoder.model."),
    (r"(_attn)\.o_proj\.", r"\1.out_proj."),
    (r"(coder\.layers\.\d+)\.mlp\.fc", r"\1.fc"),
)
"""Names of the modules of transformers 5: pattern → the published name."""
TEMPERATURE = 10_000


def write_model(config: Config) -> ModelText:
    """Return the text of a DETR and its name map."""
    kind = class_suffix(config, *KINDS, default="DetrForObjectDetection")
    config.require("position_embedding_type", "sine")
    config.require("dilation", False)
    for key in UNUSED:
        config.get(key)
    seen = picture(config, size=800, patch=None)
    body = ConvNet(seen)
    body.add("identity(node=pixel_values)")
    blocks = _write_backbone(config, body)
    width, count = config.size("d_model", 256), config.size("num_queries", 100)
    tokens = body.height * body.width
    has_masks = kind == KINDS[-1]
    sizes = read_mask_sizes(config, body) if has_masks else None
    body.add(
        f"conv2d(project, filters={width}, kernel=1, bias=project_b, name=projected)",
        f"reshape([{width}, {tokens}])",
        "transpose([1, 0])",
    )
    body.weight("project", "input_projection")
    encoder, decoder = _write_encoder(config, body, tokens), write_decoder(config, body, tokens)
    body.names["query_positions"] = "query_position_embeddings.weight"
    outputs = [
        f"{MEMORY}:output shape={{tokens:{tokens}, features:{width}}}",
        f"{MEMORY}:param positions shape=[{tokens}, {width}] trainable=false",
        f"{MEMORY}:layers\n{layers(*body.rows, encoder[0])}",
        f"{STATES}:output shape={{queries:{count}, features:{width}}}",
        f"{STATES}:param query_positions shape=[{count}, {width}]",
        f"{STATES}:layers\n{layers(*decoder[:3])}",
    ]
    owner = "detr." if has_masks else ""
    if kind != "Model":
        outputs += _write_heads(config, body, count, width, owner)
    if sizes is not None:
        outputs += write_masks(body, sizes, STATES, MEMORY)
    source = statements(
        [
            "model:name detr",
            seen.input,
            *outputs,
            *encoder[1:],
            *decoder[3:],
            *blocks,
            "norm:layers layerNorm(scale=weight, bias=bias)",
            *DENSE,
        ]
    )
    positions = {"positions": measure_positions(body.height, body.width, width)}
    names = body.names | dict.fromkeys((COUNTERS, "class_labels_classifier.*", "bbox_predictor.*"))
    modules = (*MODULE_NAMES, *MASK_MODULE_NAMES)
    return ModelText(source, names, f"{owner}model.", positions, module_names=modules)


def _write_backbone(config: Config, body: ConvNet) -> list[str]:
    """Add the layers of the residual network, and return the blocks that they call."""
    part = config.part("backbone_config")
    read_backbone_keys(part)
    name = config.text("backbone", part.text("backbone", ""))
    config.get("use_timm_backbone")
    if not name:
        part.require("model_type", "resnet")
        part.require("num_channels", body.channels)
        return write_stages(part, body, UnitNames(BACKBONE))
    if name not in TIMM:
        hint = suggestion(name, TIMM) or f"supported are {', '.join(TIMM)}"
        raise config.not_supported("backbone", name, hint)
    part.pass_over()
    layer_type, widths, depths = TIMM[name]
    values = {"hidden_sizes": [*widths], "depths": [*depths], "layer_type": layer_type}
    return write_stages(Config(values), body, TimmNames(BACKBONE))


def _write_encoder(config: Config, names: ParameterNames, tokens: int) -> list[str]:
    """Return the call of the layers of the encoder, and their statement."""
    width, depth = config.size("d_model", 256), config.count("encoder_layers", 6)
    inner = config.size("encoder_ffn_dim", 2048)
    sizes = Attention(tokens, tokens, width, config.size("encoder_attention_heads", 8))
    rows: list[str] = []
    for number in range(depth):
        layer = f"encoder.layers.{number}"
        rows = [
            "add([input, positions], name=placed)",
            *write_attention(names, f"{layer}.self_attn", sizes, ("placed", "placed", "input")),
            "residual(to=input)",
            "norm(weight=attention_norm, bias=attention_norm_b, name=attended)",
            *_write_mlp(config, names, layer, (tokens, width, inner)),
            "residual(to=attended)",
            "norm(weight=mlp_norm, bias=mlp_norm_b)",
        ]
        names.weight("attention_norm", f"{layer}.self_attn_layer_norm")
        names.weight("mlp_norm", f"{layer}.final_layer_norm")
    return [f"encoder_layer(repeat={depth})", f"encoder_layer:layers\n{layers(*rows)}"]


def write_decoder(
    config: Config, names: ParameterNames, tokens: int, memory: str = MEMORY, owner: str = ""
) -> list[str]:
    """Return the three layers of the decoder, and the statement that they repeat.

    `memory` names the states of cells; the layers read `positions` and `query_positions`, too.
    The names of tensors begin with the `owner`.
    """
    width, depth = config.size("d_model", 256), config.count("decoder_layers", 6)
    count, inner = config.size("num_queries", 100), config.size("decoder_ffn_dim", 2048)
    heads = config.size("decoder_attention_heads", 8)
    own, cross = (
        Attention(count, count, width, heads),
        Attention(count, tokens, width, heads, "cross_"),
    )
    rows: list[str] = []
    for number in range(depth):
        layer = f"{owner}decoder.layers.{number}"
        rows = [
            "add([input, query_positions], name=placed)",
            *write_attention(names, f"{layer}.self_attn", own, ("placed", "placed", "input")),
            "residual(to=input)",
            "norm(weight=query_norm, bias=query_norm_b, name=attended)",
            "add([attended, query_positions], name=asking)",
            f"add([{memory}, positions], name=offered)",
            *write_attention(names, f"{layer}.encoder_attn", cross, ("asking", "offered", memory)),
            "residual(to=attended)",
            "norm(weight=cross_norm, bias=cross_norm_b, name=looked)",
            *_write_mlp(config, names, layer, (count, width, inner)),
            "residual(to=looked)",
            "norm(weight=decoded_norm, bias=decoded_norm_b)",
        ]
        for parameter, name in (
            ("query", "self_attn"),
            ("cross", "encoder_attn"),
            ("decoded", "final"),
        ):
            names.weight(f"{parameter}_norm", f"{layer}.{name}_layer_norm")
    names.weight("final_norm", f"{owner}decoder.layernorm")
    return [
        f"slice(node={memory}, [0, 0], [1, -1])",
        f"mul(0), mul(query_positions), decoder_layer(repeat={depth})",
        "norm(weight=final_norm, bias=final_norm_b)",
        f"decoder_layer:layers\n{layers(*rows)}",
    ]


def _write_mlp(
    config: Config, names: ParameterNames, layer: str, sizes: tuple[int, int, int]
) -> tuple[str, ...]:
    rows, width, inner = sizes
    record_dense(names, f"{layer}.fc1")
    record_dense(names, f"{layer}.fc2")
    activation = config.activation("activation_function", "relu")
    return f"dense(rows={rows}, size={inner})", activation, f"dense(rows={rows}, size={width})"


def _write_heads(config: Config, names: ConvNet, count: int, width: int, owner: str) -> list[str]:
    """Return the statements of scores and boxes, whose tensors begin with the `owner`."""
    labels = count_classes(config) + 1
    record_dense(names, f"{owner}class_labels_classifier")
    call = f"dense(node={STATES}, rows={count}, size={labels})"
    return [
        f"logits:output shape={{queries:{count}, labels:{labels}}}",
        f"logits:layers {call}",
        *write_boxes(names, count, width, STATES, owner),
    ]


def measure_positions(height: int, width: int, size: int) -> HostArray:
    """Return waves over rows, then over columns, of the cells of a grid, row by row."""
    half = size // 2
    rates = [TEMPERATURE ** (-2 * (k // 2) / half) for k in range(half)]

    def waves(index: int, length: int) -> list[float]:
        angle = (index + 1) / (length + 1e-6) * 2 * math.pi
        return [(math.cos if k % 2 else math.sin)(angle * rate) for k, rate in enumerate(rates)]

    down, across = ([waves(n, length) for n in range(length)] for length in (height, width))
    cells = [[*row, *column] for row in down for column in across]
    return HostArray.of(cells, "float32", [height * width, size])
