"""MaskFormer: queries that each have a class, and a mask that is a product with features of pixels.

Source: B. Cheng et al., "Per-pixel classification is not all you need for semantic segmentation",
arXiv:2107.06278 (2021).

Not supported: other backbones than Swin and ResNet, absolute positions, other decoders than DETR's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.snapshots.foreign import Form
from webnnm.transformers.architectures import detr, swin
from webnnm.transformers.architectures.conv_net import COUNTERS, ConvNet
from webnnm.transformers.architectures.detection import DENSE, record_dense
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    count_classes,
    layers,
    prefix_names,
    statements,
)
from webnnm.transformers.architectures.parameter_names import ParameterNames
from webnnm.transformers.architectures.patches import Picture, check_patches, picture
from webnnm.transformers.architectures.resnet import UnitNames, write_stages
from webnnm.transformers.architectures.vision_encoder import read_backbone_keys
from webnnm.transformers.config import Config

SUFFIX = "ForInstanceSegmentation"
STATES = "transformer_decoder_last_hidden_state"
CLASSES, MASKS = "class_queries_logits", "masks_queries_logits"
ENCODER, DECODER = "pixel_level_module.encoder.", "pixel_level_module.decoder."
TRANSFORMER = "transformer_module."
UNUSED = (
    *("cross_entropy_weight", "dice_weight", "mask_weight", "no_object_weight"),
    *("use_auxiliary_loss", "output_auxiliary_logits", "num_attention_heads", "num_hidden_layers"),
    *("backbone", "use_timm_backbone", "use_pretrained_backbone", "backbone_kwargs"),
)
SWINS = ("swin", "maskformer-swin")
PATCH, GROUPS, HEAD_LAYERS = 4, 32, 3
"""The default side of patches, the groups of norms, the layers of the head of masks."""
BLOCKS = (
    "lateral:layers\n"
    + layers(
        "conv2d(level, filters=filters, kernel=1)",
        f"groupNorm(groups={GROUPS}, scale=level_norm, bias=level_norm_b)",
    ),
    "refined:layers\n"
    + layers(
        "conv2d(refine, filters=filters, kernel=3, padding=1)",
        f"groupNorm(groups={GROUPS}, scale=refine_norm, bias=refine_norm_b)",
        "relu()",
    ),
)


class Grid(NamedTuple):
    """The size of a feature map."""

    height: int
    width: int
    channels: int


class Backbone(NamedTuple):
    """The layers of a backbone, the statements that they call, and those of its constants.

    Attributes: `grids`, the sizes of the results of stages, stage1, stage2, …; `names`, its name
    map; `normed`, whether these have channels last, and are normalised before they are used.
    """

    rows: Sequence[str]
    blocks: Sequence[str]
    declared: Sequence[str]
    constants: Mapping[str, HostArray]
    grids: Sequence[Grid]
    names: Mapping[str, str | Form | None]
    normed: bool

    def read(self, names: ParameterNames, stage: int, name: str) -> list[str]:
        """Return the layers that name the features of a stage, channels first."""
        if not self.normed:
            return [f"identity(node=stage{stage}, name={name})"]
        names.weight("stage_norm", f"{ENCODER}hidden_states_norms.{stage - 1}")
        norm = f"norm(node=stage{stage}, weight=stage_norm, bias=stage_norm_b)"
        return [norm, f"transpose([2, 0, 1], name={name})"]


def write_model(config: Config) -> ModelText:
    """Return the text of a MaskFormer and its name map."""
    class_suffix(config, SUFFIX, default=f"MaskFormer{SUFFIX}")
    config.skip(*UNUSED)
    seen = picture(config, size=800, patch=None)
    part = config.part("backbone_config")
    part.require("model_type", *SWINS, "resnet")
    part.require("num_channels", seen.channels)
    read_backbone_keys(part)
    is_swin = part.text("model_type", SWINS[0]) in SWINS
    backbone = _write_swin(part, seen) if is_swin else _write_resnet(part, seen)
    decoder = config.part("decoder_config")
    decoder.require("model_type", "detr")
    decoder.require("position_embedding_type", "sine")
    width, count = decoder.size("d_model", 256), decoder.size("num_queries", 100)
    height, across, channels = backbone.grids[-1]
    tokens = height * across
    names = ParameterNames()
    rows = [*backbone.rows, *backbone.read(names, len(backbone.grids), "deepest")]
    if channels != width:
        rows.append(f"conv2d(project, filters={width}, kernel=1, bias=project_b)")
        names.weight("project", f"{TRANSFORMER}input_projection")
    decoding = detr.write_decoder(decoder, names, tokens, "memory", TRANSFORMER)
    names.names["query_positions"] = f"{TRANSFORMER}queries_embedder.weight"
    decoder.pass_over()  # what else there is concerns other parts of a DETR
    rows += [f"reshape([{width}, {tokens}])", "transpose([1, 0], name=memory)", *decoding[:3]]
    labels = count_classes(config) + 1
    record_dense(names, "class_predictor")
    source = statements(
        [
            "model:name maskformer",
            seen.input,
            f"{STATES}:output shape={{queries:{count}, features:{width}}}",
            *backbone.declared,
            f"{STATES}:param positions shape=[{tokens}, {width}] trainable=false",
            f"{STATES}:param query_positions shape=[{count}, {width}]",
            f"{STATES}:layers\n{layers(*rows)}",
            f"{CLASSES}:output shape={{queries:{count}, labels:{labels}}}",
            f"{CLASSES}:layers dense(node={STATES}, rows={count}, size={labels})",
            *_write_masks(config, names, backbone, (count, width)),
            *decoding[3:],
            *backbone.blocks,
            "" if backbone.normed else "norm:layers layerNorm(scale=weight, bias=bias)",
            *DENSE,
            *BLOCKS,
        ]
    )
    constants = {**backbone.constants, "positions": detr.measure_positions(height, across, width)}
    all_names = {**backbone.names, **names.names, **dict.fromkeys((COUNTERS, "criterion.*"))}
    modules = (*swin.MODULE_NAMES, *detr.MODULE_NAMES)
    return ModelText(source, all_names, "model.", constants, module_names=modules)


def _write_swin(config: Config, seen: Picture) -> Backbone:
    """Return the layers of a Swin transformer."""
    config.skip("encoder_stride", "hidden_size", "num_layers", "path_norm", "image_size")
    config.require("use_absolute_embeddings", False)
    patch = config.size("patch_size", PATCH)
    cut = check_patches(config, "patch_size", seen._replace(patch=(patch, patch)))
    if cut.height % patch or cut.width % patch:
        hint = f"height and width of pictures must be multiples of {patch}"
        raise config.not_supported("patch_size", patch, hint)
    body = swin.write_body(config, cut, pads_grids=True)
    names = prefix_names(
        body.names | dict.fromkeys((*swin.UNUSED, "layernorm.*")), f"{ENCODER}model."
    )
    grids = [Grid(*grid) for grid in body.grids]
    parameters = body.parameters(STATES)
    return Backbone(body.rows, body.blocks, parameters, body.constants, grids, names, True)


def _write_resnet(config: Config, seen: Picture) -> Backbone:
    """Return the layers of a residual network."""
    body = ConvNet(seen)
    body.add("identity(node=pixel_values)")
    blocks = write_stages(config, body, UnitNames(ENCODER))
    widths = config.integers("hidden_sizes", [256, 512, 1024, 2048], 1)
    sizes = zip(body.grids.values(), widths, strict=True)
    grids = [Grid(*grid, channels) for grid, channels in sizes]
    return Backbone(body.rows, blocks, (), {}, grids, body.names, False)


def _write_masks(
    config: Config, names: ParameterNames, backbone: Backbone, sizes: tuple[int, int]
) -> list[str]:
    """Return the statements of masks: features of pixels, from the last stage to the first.

    `sizes` are the number of queries and the features of each.
    """
    width, depth = config.size("fpn_feature_size", 256), config.size("mask_feature_size", 256)
    if width % GROUPS:
        hint = f"a multiple of {GROUPS}"
        raise config.not_supported("fpn_feature_size", width, hint)
    names.weight("refine", f"{DECODER}fpn.stem.0", bias=False)
    names.weight("refine_norm", f"{DECODER}fpn.stem.1")
    rows = [f"refined(node=deepest, filters={width})"]
    for number, stage in enumerate(range(len(backbone.grids) - 1, 0, -1)):
        layer = f"{DECODER}fpn.layers.{number}"
        height, across, _ = backbone.grids[stage - 1]
        rows += [
            "resample2d(scales=2)",
            f"slice([0, 0, 0], [{width}, {height}, {across}], name=enlarged{stage})",
            *backbone.read(names, stage, f"features{stage}"),
            f"lateral(filters={width})",
            f"add(enlarged{stage})",
            f"refined(filters={width})",
        ]
        for parameter, name in (("level", "proj"), ("refine", "block")):
            names.weight(parameter, f"{layer}.{name}.0", bias=False)
            names.weight(f"{parameter}_norm", f"{layer}.{name}.1")
    names.weight("pixels", f"{DECODER}mask_projection")
    height, across, _ = backbone.grids[0]
    count, inner = sizes
    rows += [
        f"conv2d(pixels, filters={depth}, kernel=3, padding=1, bias=pixels_b)",
        f"reshape([{depth}, {height * across}], name=canvas)",
    ]
    for number, size in enumerate((inner,) * (HEAD_LAYERS - 1) + (depth,)):
        node = "" if number else f"node={STATES}, "
        rows.append(f"dense({node}rows={count}, size={size})")
        rows += ["relu()"] if number < HEAD_LAYERS - 1 else []
        record_dense(names, f"mask_embedder.{number}.0")
    rows += ["matmul(canvas)", f"reshape([{count}, {height}, {across}])"]
    return [
        f"{MASKS}:output shape={{queries:{count}, height:{height}, width:{across}}}",
        f"{MASKS}:layers\n{layers(*rows)}",
    ]
