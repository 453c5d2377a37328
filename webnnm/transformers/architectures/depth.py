"""DPT and Depth Anything: the depth of each pixel, from states of a vision transformer.

Sources: R. Ranftl et al., "Vision transformers for dense prediction", arXiv:2103.13413 (2021);
L. Yang et al., "Depth Anything", arXiv:2401.10891 (2024).

Not supported: images of other sizes, hybrid networks, `backbone_config` (`dpt`); other backbones
than DINOv2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from webnnm.snapshots.foreign import Reshaped
from webnnm.transformers.architectures import dinov2
from webnnm.transformers.architectures.depth_neck import (
    ADD,
    IGNORE,
    PROJECT,
    Body,
    Neck,
    neck_blocks,
    read_neck,
    write_fusion,
    write_head,
    write_maps,
)
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    layers,
    statements,
)
from webnnm.transformers.architectures.patches import picture
from webnnm.transformers.architectures.vision_encoder import (
    MLP_MODULE_NAMES,
    MODULE_NAMES,
    Encoder,
    Names,
    patch_names,
    read_backbone_keys,
)
from webnnm.transformers.config import Config

DEPTH, KIND = "predicted_depth", "ForDepthEstimation"
HIDDEN = 32
"""The channels of the last but one layer of DPT."""
UNUSED = (
    *("use_auxiliary_head", "auxiliary_loss_weight", "backbone_featmap_shape"),
    *("pooler_output_size", "pooler_act", "neck_ignore_stages", "semantic_classifier_dropout"),
)
"""Keys of other classes of DPT."""
DPT_ONLY = {
    "is_hybrid": False,
    "backbone_config": None,
    "backbone": None,
    "add_projection": False,
    "use_batch_norm_in_fusion_residual": False,
}
"""Keys for other variants of DPT → the supported value."""


class _Parts(NamedTuple):
    """What the two families differ in: `parameters` are the statements of those of the encoder,
    `blocks` those of the neck."""

    body: Body
    rows: Sequence[str]
    parameters: Sequence[str]
    blocks: Sequence[str]
    names: Names
    module_names: Sequence[tuple[str, str]]


def write_model(config: Config) -> ModelText:
    """Return the text of a DPT or a Depth Anything and its name map."""
    family = str(config.get("model_type", "dpt"))
    class_suffix(config, KIND, default=f"DPT{KIND}")
    config.require("head_in_index", -1)
    write = _write_depth_anything if family == "depth_anything" else _write_dpt
    body, rows, parameters, blocks, names, module_names = write(config)
    constants = {name: list(array.shape) for name, array in body.constants.items()}
    source = statements(
        [
            f"model:name {family}",
            body.encoder.seen.input,
            *parameters,
            *(f"{DEPTH}:param {n} shape={shape} trainable=false" for n, shape in constants.items()),
            f"{DEPTH}:output shape={{height:{body.height}, width:{body.width}}}",
            f"{DEPTH}:layers\n{layers(*rows, *body.rows)}",
            *blocks,
            *body.encoder.statements(),
        ]
    )
    unused = (
        "pooler.*",
        "layernorm.*",
        "*mask_token",
        "neck.fusion_stage.layers.0.residual_layer1.*",
    )
    names = names | body.names | dict.fromkeys(unused)
    prefix = "dpt." if family == "dpt" else ""
    return ModelText(
        source, names, prefix, {**body.constants, **body.more}, module_names=module_names
    )


def _write_depth_anything(config: Config) -> _Parts:
    """Return the parts of a Depth Anything."""
    part = config.part("backbone_config")
    part.require("model_type", "dinov2")
    part.require("apply_layernorm", True)
    read_backbone_keys(part)
    size = config.pair("image_size", [0, 0]) if "image_size" in config else None
    dino = dinov2.read_encoder(part, "backbone.", size)
    encoder = dino.encoder
    grid, patch = encoder.seen.grid, encoder.seen.patch
    if config.pair("patch_size", 14) != patch:
        raise config.not_supported("patch_size", config.get("patch_size"), "the backbone's is")
    config.require("reassemble_hidden_size", encoder.width)
    indices = part.integers("out_indices", [encoder.depth], 1)
    body = Body(encoder)
    rows = [
        *dino.rows(),
        *_write_states(part, encoder, [index - 1 for index in indices], "out_indices"),
    ]
    neck = _read_neck(config, [48, 96, 192, 384], 64, len(indices))
    for number in range(1, len(indices) + 1):
        body.add(f"final_norm(node=state{number}, name=normed{number})")
    end = write_fusion(body, neck, write_maps(body, neck, "normed"), doubles=False)
    pixels = grid[0] * patch[0], grid[1] * patch[1]
    head = ("head.conv1", "head.conv2", "head.conv3")
    write_head(body, neck.width, head, end, pixels, config.size("head_hidden_size", 32))
    config.require("depth_estimation_type", "relative", "metric")
    metric = config.text("depth_estimation_type", "relative") == "metric"
    scale = config.number("max_depth", 1)
    body.add(
        "sigmoid()" if metric else "relu()",
        f"mul({scale:g})" if scale != 1 else "",
        f"reshape([{pixels[0]}, {pixels[1]}])",
    )
    names = dinov2.encoder_names(part, dino)
    names |= {"last_norm": "backbone.layernorm.weight", "last_norm_b": "backbone.layernorm.bias"}
    size_of_norm = f"shape=[{encoder.width}]"
    parameters = (
        *dino.parameters(DEPTH),
        f"{DEPTH}:param last_norm {size_of_norm}, last_norm_b {size_of_norm}",
    )
    norm = "final_norm:layers norm(weight=last_norm, bias=last_norm_b)"
    blocks = [norm, dino.stretch_statement(), *neck_blocks(body, neck)]
    body.more = dino.constants()
    return _Parts(body, rows, parameters, blocks, names, MODULE_NAMES)


def _write_dpt(config: Config) -> _Parts:
    """Return the parts of a DPT with a vision transformer of its own."""
    for key, value in DPT_ONLY.items():
        config.require(key, value)
    config.require("use_bias_in_fusion_residual", None, True)
    for key in UNUSED:
        config.get(key)
    seen = picture(config, size=384)
    if seen.grid[0] != seen.grid[1]:
        raise config.not_supported("image_size", [seen.height, seen.width], "it must be square")
    encoder = Encoder.of(config, seen, seen.patches + 1)
    body = Body(encoder)
    key = "backbone_out_indices"
    indices = config.integers(key, [2, 5, 8, 11])
    rows = [*seen.tokens(encoder.width), *_write_states(config, encoder, indices, key)]
    config.require("readout_type", PROJECT, ADD, IGNORE)
    readout = config.text("readout_type", PROJECT)
    neck = _read_neck(config, [96, 192, 384, 768], 256, len(indices))
    size = write_fusion(body, neck, write_maps(body, neck, "state", readout), doubles=True)
    pixels = 2 * size[0], 2 * size[1]
    write_head(
        body, neck.width, ("head.head.0", "head.head.2", "head.head.4"), size, pixels, HIDDEN
    )
    body.add("relu()", f"reshape([{pixels[0]}, {pixels[1]}])")
    names = patch_names(encoder) | encoder.names()
    names["cls_token"] = Reshaped("embeddings.cls_token", (1, encoder.width))
    return _Parts(
        body,
        rows,
        seen.parameters(DEPTH, encoder.width),
        neck_blocks(body, neck, readout),
        names,
        (*MODULE_NAMES, *MLP_MODULE_NAMES),
    )


def _read_neck(config: Config, widths: list[int], width: int, count: int) -> Neck:
    """Return the sizes of a neck for a number of states."""
    neck = read_neck(config, widths, width)
    if len(neck.widths) != count:
        raise config.wrong("neck_hidden_sizes", f"a list of {count} integers, one for each state")
    return neck


def _write_states(config: Config, encoder: Encoder, indices: Sequence[int], key: str) -> list[str]:
    """Return the calls of layers up to the last of these, the result of each is state1, …"""
    rows: list[str] = []
    count = 0
    for number, index in enumerate(indices, 1):
        if not count <= index < encoder.depth:
            raise config.wrong(key, f"layers in ascending order, of {encoder.depth}")
        times = index + 1 - count
        rows.append(f"layer({f'repeat={times}, ' if times > 1 else ''}name=state{number})")
        count = index + 1
    return rows
