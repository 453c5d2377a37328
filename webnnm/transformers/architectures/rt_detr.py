"""RT-DETR: feature maps of three sizes, and queries that refine boxes layer by layer.

Sources: Y. Zhao et al., "DETRs beat YOLOs on real-time object detection", arXiv:2304.08069 (2023);
W. Lv et al., "RT-DETRv2: Improved baseline with bag-of-freebies", arXiv:2407.17140 (2024).

Not supported: other backbones than `rt_detr_resnet`, `normalize_before`, `eval_size`,
`learn_initial_query`, pictures whose sides are not multiples of 32.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.snapshots.foreign import Transposed
from webnnm.transformers.architectures.conv_net import COUNTERS, ConvNet
from webnnm.transformers.architectures.detection import (
    DENSE,
    Attention,
    record_dense,
    write_attention,
    write_mlp,
)
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    count_classes,
    layers,
    statements,
)
from webnnm.transformers.architectures.patches import MAX_PATCHES, Picture, picture
from webnnm.transformers.architectures.resnet import UnitNames, write_stages
from webnnm.transformers.architectures.vision_encoder import read_backbone_keys
from webnnm.transformers.config import Config

STATES, MEMORY, BACKBONE = "last_hidden_state", "memory", "backbone.model."
SECOND = "rt_detr_v2"
UNUSED = (
    *("freeze_backbone_batch_norms", "auxiliary_loss", "is_encoder_decoder", "num_denoising"),
    *("label_noise_ratio", "box_noise_scale", "disable_custom_kernels", "with_box_refine"),
    *("matcher_alpha", "matcher_gamma", "use_focal_loss", "focal_loss_alpha", "focal_loss_gamma"),
    *("weight_loss_vfl", "weight_loss_bbox", "weight_loss_giou", "backbone_kwargs", "feat_strides"),
    *("encoder_in_channels", "decoder_in_channels", "use_timm_backbone", "backbone"),
    *("use_pretrained_backbone", "tie_word_embeddings"),
)
MODULE_NAMES = (
    (r"(_attn)\.o_proj\.", r"\1.out_proj."),
    (r"(layers\.\d+)\.mlp\.fc", r"\1.fc"),
    (r"encoder\.aifi\.(\d+)\.", r"encoder.encoder.\1."),
)
"""Names of the modules of transformers 5: pattern → the published name."""
BLOCKS = 3
"""The blocks in a row of a fusion of two maps."""
ANCHOR = 0.05
"""The size of anchors in the largest map, as a share of the picture; twice as large in the next."""
MARGIN = 1e-2
"""Anchors nearer to the border, or larger or smaller by this, propose nothing."""
LARGEST = 3.4028234663852886e38
"""The logit of their boxes: the largest number of float32."""
MAX_NUMBERS = 1 << 22
"""The most numbers of a table of positions."""
SMALL = 1e-5
"""The least share of which a logit is taken."""


class Map(NamedTuple):
    """A feature map: the name of its layer, and its size."""

    name: str
    height: int
    width: int


def write_model(config: Config) -> ModelText:
    """Return the text of an RT-DETR and its name map."""
    family = config.text("model_type", "rt_detr")
    class_suffix(config, "ForObjectDetection", default="RTDetrForObjectDetection")
    config.skip(*UNUSED)
    config.require("normalize_before", False)
    config.require("batch_norm_eps", 1e-5)
    config.require("eval_size", None)
    config.require("learn_initial_query", False)
    seen = picture(config, size=640, patch=None)
    anchor_size = config.get("anchor_image_size")
    if anchor_size not in (None, [seen.height, seen.width]):
        hint = f"pictures are {seen.height} x {seen.width}"
        raise config.not_supported("anchor_image_size", anchor_size, hint)
    body = ConvNet(seen)
    body.add("identity(node=pixel_values)")
    backbone = config.part("backbone_config")
    backbone.require("model_type", "rt_detr_resnet")
    backbone.require("num_channels", body.channels)
    maps = _read_maps(backbone, seen)
    blocks = write_stages(backbone, body, UnitNames(BACKBONE), gentle=True)
    width = config.size("d_model", 256)
    encoded, encoder, positions = _write_encoder(config, body, maps)
    levels = _write_levels(config, body, encoded, width)
    cells = sum(level.height * level.width for level in levels)
    outputs = _write_decoder(config, body, levels, family)
    anchors, present = _place_anchors(levels)
    source = statements(
        [
            f"model:name {family}",
            seen.input,
            *(
                f"{STATES}:param positions{number or ''} shape={[*array.shape]} trainable=false"
                for number, array in enumerate(positions)
            ),
            f"{STATES}:param anchors shape=[{cells}, 4] trainable=false",
            f"{STATES}:param present shape=[{cells}, 1] trainable=false",
            *outputs,
            *encoder,
            *blocks,
            "norm:layers layerNorm(scale=weight, bias=bias, "
            f"epsilon={config.positive('layer_norm_eps', 1e-5)})",
            *DENSE,
        ]
    )
    constants = {f"positions{n or ''}": array for n, array in enumerate(positions)}
    constants |= {"anchors": anchors, "present": present}
    unused = (COUNTERS, "denoising_class_embed.*", "decoder.class_embed.*", "*n_points_scale")
    names = body.names | dict.fromkeys(unused)
    return ModelText(source, names, "model.", constants, module_names=MODULE_NAMES)


def _read_maps(config: Config, seen: Picture) -> list[Map]:
    """Return the maps of a backbone that are used, largest first."""
    stages = len(config.integers("depths", [3, 4, 6, 3], 1))
    indices = config.integers("out_indices", [*range(2, stages + 1)], 1)
    named = config.texts("out_features", [f"stage{n}" for n in indices])
    read_backbone_keys(config)
    early = config.flag("downsample_in_first_stage", False)
    maps: list[Map] = []
    height, width = seen.height, seen.width
    for stage in range(1, stages + 1):
        for _ in range(2 + early if stage == 1 else 1):
            height, width = (height + 1) // 2, (width + 1) // 2
        if f"stage{stage}" in named:
            maps.append(Map(f"stage{stage}", height, width))
    if not maps or {one.name for one in maps} != {*named}:
        raise config.not_supported("out_features", named, "the last stages of the backbone")
    if sum(one.height * one.width for one in maps) > MAX_PATCHES:
        hint = f"pictures of up to {MAX_PATCHES:,} cells can be used"
        raise config.not_supported("image_size", [seen.height, seen.width], hint)
    for larger, smaller in pairwise(maps):
        if larger[1:] != (2 * smaller.height, 2 * smaller.width):
            hint = f"height and width are multiples of {2 ** (stages + 1)}"
            raise config.not_supported("image_size", [seen.height, seen.width], hint)
    return maps


def _write_encoder(
    config: Config, body: ConvNet, maps: list[Map]
) -> tuple[list[Map], list[str], list[HostArray]]:
    """Add the layers of the encoder: attention within maps, then fusions down and up.

    Return the fused maps, the blocks, and the positions of the cells of maps with attention.
    """
    width, depth = config.size("encoder_hidden_dim", 256), _count_layers(config)
    attending = config.integers("encode_proj_layers", [2], 0)
    if not depth:
        config.skip("encoder_activation_function", "encoder_ffn_dim", "encoder_attention_heads")
    inner = int(width * config.positive("hidden_expansion", 1.0))
    projected: list[Map] = []
    positions: list[HostArray] = []
    blocks: list[str] = []
    for number, (source, height, across) in enumerate(maps):
        body.add(f"unit(node={source}, filters={width}, kernel=1, activation=identity)")
        body.record_unit(f"encoder_input_proj.{number}.0", f"encoder_input_proj.{number}.1")
        name = f"map{number + 1}"
        if depth and number in attending:
            cells = height * across
            table = f"positions{len(positions) or ''}"
            block = f"encoder{len(positions) or ''}"
            body.add(
                f"reshape([{width}, {cells}])",
                f"transpose([1, 0]), {block}_layer(repeat={depth}), transpose([1, 0])",
                f"reshape([{width}, {height}, {across}])",
            )
            order = attending.index(number)
            blocks += _write_layer(config, body, (block, table, f"encoder.encoder.{order}"), cells)
            positions.append(_wave(config, height, across, width))
        body.name_last(name)
        projected.append(Map(name, height, across))
    activation = config.activation("activation_function", "silu")

    def fuse(name: str, file: str) -> str:
        """Record the tensors of a fusion, and return its call."""
        for part in ("conv1", *(f"bottlenecks.{n}.conv{k}" for n in range(BLOCKS) for k in (1, 2))):
            body.record_unit(f"{file}.{part}.conv", f"{file}.{part}.norm")
        for part in ("conv2", *(("conv3",) if inner != width else ())):
            body.record_unit(f"{file}.{part}.conv", f"{file}.{part}.norm")
        return f"fuse(name={name})"

    count = len(projected) - 1
    down = [projected[-1]]
    for number, source in enumerate(reversed(projected[:-1])):
        lateral = f"encoder.lateral_convs.{number}"
        body.record_unit(f"{lateral}.conv", f"{lateral}.norm")
        body.add(
            f"unit(node={down[-1].name}, filters={width}, kernel=1, activation=mix, "
            f"name=lateral{number + 1})",
            f"resample2d(scales=[2, 2], name=above{number + 1})",
            f"concat([above{number + 1}, {source.name}], axis=0)",
            fuse(f"down{number + 1}", f"encoder.fpn_blocks.{number}"),
        )
        down[-1] = down[-1]._replace(name=f"lateral{number + 1}")
        down.append(source._replace(name=f"down{number + 1}"))
    down.reverse()
    up = [down[0]]
    for number, source in enumerate(down[1:]):
        unit = f"encoder.downsample_convs.{number}"
        body.record_unit(f"{unit}.conv", f"{unit}.norm")
        body.add(
            f"unit(node={up[-1].name}, filters={width}, kernel=3, strides=2, padding=1, "
            f"activation=mix, name=below{number + 1})",
            f"concat([below{number + 1}, {source.name}], axis=0)",
            fuse(f"up{number + 1}", f"encoder.pan_blocks.{number}"),
        )
        up.append(source._replace(name=f"up{number + 1}"))
    blocks += [f"mix:layers {activation}", *(_fusion_blocks(width, inner) if count else ())]
    return up, blocks, positions


def _count_layers(config: Config) -> int:
    """Return the number of layers of attention within a map, of which there may be none."""
    return config.count("encoder_layers", 1) if config.get("encoder_layers", 1) != 0 else 0


def _fusion_blocks(width: int, inner: int) -> list[str]:
    """Return the blocks of a fusion: some of its convolutions are summed before the activation."""
    fuse = layers(
        f"unit(filters={inner}, kernel=1, activation=mix)",
        f"double(repeat={BLOCKS}, name=one)",
        f"unit(node=input, filters={inner}, kernel=1, activation=mix)",
        "add(one)",
        f"unit(filters={width}, kernel=1, activation=mix)" if inner != width else "",
    )
    double = layers(
        f"unit(filters={inner}, kernel=3, padding=1, activation=identity, name=wide)",
        f"unit(node=input, filters={inner}, kernel=1, activation=identity)",
        "add(wide)",
        "mix()",
    )
    return [f"fuse:layers\n{fuse}", f"double:layers\n{double}"]


def _write_layer(config: Config, names: ConvNet, of: tuple[str, str, str], cells: int) -> list[str]:
    """Return the block of a layer of attention within a map: its name, its positions, its file."""
    block, table, file = of
    width, inner = config.size("encoder_hidden_dim", 256), config.size("encoder_ffn_dim", 1024)
    sizes = Attention(cells, cells, width, config.size("encoder_attention_heads", 8))
    rows: list[str] = []
    for number in range(_count_layers(config)):
        layer = f"{file}.layers.{number}"
        rows = [
            f"add([input, {table}], name=placed)",
            *write_attention(names, f"{layer}.self_attn", sizes, ("placed", "placed", "input")),
            "residual(to=input)",
            "norm(weight=attention_norm, bias=attention_norm_b, name=attended)",
            f"dense(rows={cells}, size={inner})",
            config.activation("encoder_activation_function", "gelu"),
            f"dense(rows={cells}, size={width})",
            "residual(to=attended)",
            "norm(weight=mlp_norm, bias=mlp_norm_b)",
        ]
        record_dense(names, f"{layer}.fc1")
        record_dense(names, f"{layer}.fc2")
        names.weight("attention_norm", f"{layer}.self_attn_layer_norm")
        names.weight("mlp_norm", f"{layer}.final_layer_norm")
    return [f"{block}_layer:layers\n{layers(*rows)}"]


def _write_levels(config: Config, body: ConvNet, maps: list[Map], width: int) -> list[Map]:
    """Add the layers that make cells of all maps, one after the other, the rows of a matrix."""
    count = config.integer("num_feature_levels", 3, 1)
    count = config.integer("decoder_n_levels", count, 1)
    if count != len(maps):
        raise config.not_supported("num_feature_levels", count, f"there are {len(maps)} maps")
    for number, (name, height, across) in enumerate(maps):
        unit = f"decoder_input_proj.{number}"
        body.record_unit(f"{unit}.0", f"{unit}.1")
        body.add(
            f"unit(node={name}, filters={width}, kernel=1, activation=identity)",
            f"reshape([{width}, {height * across}])",
            f"transpose([1, 0], name=cells{number + 1})",
        )
    cells = ", ".join(f"cells{number + 1}" for number in range(len(maps)))
    body.add(f"concat([{cells}], axis=0, name={MEMORY})" if count > 1 else "identity(name=memory)")
    return maps


def _write_decoder(config: Config, body: ConvNet, levels: list[Map], family: str) -> list[str]:
    """Return the statements of the queries, of the layers that refine them, and of the outputs."""
    width, count = config.size("d_model", 256), config.size("num_queries", 300)
    depth, labels = config.count("decoder_layers", 6), count_classes(config)
    cells = sum(level.height * level.width for level in levels)
    params = _declare_places(body, width)
    body.add(
        "mul(present)",
        f"dense(rows={cells}, size={width})",
        "norm(weight=proposal_norm, bias=proposal_norm_b, name=proposals)",
        f"dense(rows={cells}, size={labels})",
        "reduceMax(axes=[1])",
        f"topIndices(count={count}, name=best)",
        "embedding(anchors, name=near)",
        "gather(node=proposals, indices=best, axis=0, name=queries)",
    )
    record_dense(body, "enc_output.0")
    body.weight("proposal_norm", "enc_output.1")
    record_dense(body, "enc_score_head")
    sizes, states, boxes = (width, width, 4), "queries", "boxes"
    body.add(*write_mlp(body, "enc_bbox_head", count, sizes), "add(near)", "sigmoid(name=boxes)")
    layer: list[str] = []
    for number in range(depth):
        name = f"states{number + 1}"
        body.add(f"decoder_layer(node={states}, boxes={boxes}, name={name})")
        layer = _write_decoder_layer(config, body, number, levels, family)
        body.add(f"logit(node={boxes}, name=before{number + 1})")
        first, *others = write_mlp(body, f"decoder.bbox_embed.{number}", count, sizes)
        states, boxes = name, f"boxes{number + 1}"
        body.add(first.replace("(", f"(node={states}, ", 1), *others)
        body.add(f"add(before{number + 1})", f"sigmoid(name={boxes})")
    body.add(f"identity(node={states})")
    record_dense(body, f"decoder.class_embed.{depth - 1}")
    part = layers(
        f"max({SMALL}, name=share)",
        "neg(node=input)",
        "add(1)",
        f"max({SMALL}, name=rest)",
        "div([share, rest])",
        "log()",
    )
    return [
        f"{STATES}:output shape={{queries:{count}, features:{width}}}",
        *params,
        f"{STATES}:layers\n{layers(*body.rows)}",
        f"logits:output shape={{queries:{count}, labels:{labels}}}",
        f"logits:layers dense(node={STATES}, rows={count}, size={labels})",
        f"pred_boxes:output shape={{queries:{count}, coordinates:4}}",
        f"pred_boxes:layers identity(node={boxes})",
        f"decoder_layer:layers\n{layers(*layer)}",
        f"logit:layers\n{part}",
    ]


def _declare_places(names: ConvNet, width: int) -> list[str]:
    """Return the statements of the parameters that all layers share: boxes become positions."""
    shapes = {"place_up": (4, 2 * width), "place_down": (2 * width, width)}
    for number, parameter in enumerate(shapes):
        layer = f"decoder.query_pos_head.layers.{number}"
        names.names[parameter] = Transposed(f"{layer}.weight")
        names.names[f"{parameter}_b"] = f"{layer}.bias"
    return [
        f"{STATES}:param {name}{ending} shape={[*sizes]}"
        for parameter, shape in shapes.items()
        for name, ending, sizes in ((parameter, "", shape), (parameter, "_b", shape[1:]))
    ]


def _write_decoder_layer(
    config: Config, names: ConvNet, number: int, levels: list[Map], family: str
) -> list[str]:
    """Return the layers of the decoder's block, and record the tensors of one of its layers."""
    layer = f"decoder.layers.{number}"
    width, count = config.size("d_model", 256), config.size("num_queries", 300)
    heads, points = config.size("decoder_attention_heads", 8), config.size("decoder_n_points", 4)
    cells = sum(level.height * level.width for level in levels)
    places = heads * len(levels) * points
    sizes = [side for level in levels for side in level[1:]]
    options = f"heads={heads}, points={points}, levels={sizes}"
    if family == SECOND:
        config.require("decoder_method", "default", "discrete")
        nearest = config.text("decoder_method", "default") == "discrete"
        scale = config.number("decoder_offset_scale", 0.5)
        options += f", scale={scale}" + ", nearest=true" * nearest
    own = Attention(count, count, width, heads)
    rows = [
        "matmul(place_up, node=boxes)",
        "add(place_up_b)",
        "relu()",
        "matmul(place_down)",
        "add(place_down_b, name=places)",
        "add([input, places], name=placed)",
        *write_attention(names, f"{layer}.self_attn", own, ("placed", "placed", "input")),
        "residual(to=input)",
        "norm(weight=query_norm, bias=query_norm_b, name=attended)",
        "add([attended, places], name=asking)",
        f"dense(rows={count}, size={2 * places}, name=offsets)",
        f"dense(node=asking, rows={count}, size={places}, name=scores)",
        f"dense(node={MEMORY}, rows={cells}, size={width})",
        f"deformableAttend(offsets, scores, boxes, {options})",
        f"dense(rows={count}, size={width})",
        "residual(to=attended)",
        "norm(weight=cross_norm, bias=cross_norm_b, name=looked)",
        f"dense(rows={count}, size={config.size('decoder_ffn_dim', 1024)})",
        config.activation("decoder_activation_function", "relu"),
        f"dense(rows={count}, size={width})",
        "residual(to=looked)",
        "norm(weight=decoded_norm, bias=decoded_norm_b)",
    ]
    cross = f"{layer}.encoder_attn"
    for name in ("sampling_offsets", "attention_weights", "value_proj", "output_proj"):
        record_dense(names, f"{cross}.{name}")
    record_dense(names, f"{layer}.fc1")
    record_dense(names, f"{layer}.fc2")
    for parameter, name in (
        ("query", "self_attn"),
        ("cross", "encoder_attn"),
        ("decoded", "final"),
    ):
        names.weight(f"{parameter}_norm", f"{layer}.{name}_layer_norm")
    return rows


def _wave(config: Config, height: int, across: int, width: int) -> HostArray:
    """Return the positions of the cells of a map: sines and cosines of rows, then of columns."""
    if width % 4:
        raise config.wrong("encoder_hidden_dim", "a multiple of 4")
    if height * across * width > MAX_NUMBERS:
        hint = "smaller maps, or fewer features"
        raise config.not_supported("encoder_hidden_dim", width, hint)
    base = config.positive("positional_encoding_temperature", 10000)
    rates = [base ** (-4 * k / width) for k in range(width // 4)]

    def waves(index: int) -> list[float]:
        return [turn(index * rate) for turn in (math.sin, math.cos) for rate in rates]

    cells = [[*waves(row), *waves(column)] for row in range(height) for column in range(across)]
    return HostArray.of(cells, "float32", [height * across, width])


def _place_anchors(levels: list[Map]) -> tuple[HostArray, HostArray]:
    """Return the logits of a box around each cell, and 1 for those that propose something."""
    anchors: list[list[float]] = []
    present: list[float] = []
    for number, (_, height, across) in enumerate(levels):
        side = ANCHOR * 2**number
        for row in range(height):
            for column in range(across):
                box = [(column + 0.5) / across, (row + 0.5) / height, side, side]
                fits = all(MARGIN < share < 1 - MARGIN for share in box)
                present.append(float(fits))
                anchors.append([math.log(n / (1 - n)) if fits else LARGEST for n in box])
    count = len(anchors)
    return HostArray.of(anchors, "float32", [count, 4]), HostArray.of(
        present, "float32", [count, 1]
    )
