"""SegFormer: stages of attention whose keys are fewer than queries, and a head that joins them all.

Source: E. Xie et al., "SegFormer: simple and efficient design for semantic segmentation with
transformers", arXiv:2105.15203 (2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from webnnm.snapshots.foreign import Reshaped
from webnnm.transformers.architectures.conv_net import COUNTERS, STATES, ConvNet
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    count_classes,
    layers,
    linear_layers,
    linear_names,
    output,
    statements,
)
from webnnm.transformers.architectures.patches import picture
from webnnm.transformers.config import Config

MAX_WIDTH = 1 << 16
"""The most channels of a stage."""
BASE, CLASSES, SEGMENTS = "Model", "ForImageClassification", "ForSemanticSegmentation"
STAGES = {
    "depths": [2, 2, 2, 2],
    "sr_ratios": [8, 4, 2, 1],
    "hidden_sizes": [32, 64, 160, 256],
    "patch_sizes": [7, 3, 3, 3],
    "strides": [4, 2, 2, 2],
    "num_attention_heads": [1, 2, 5, 8],
    "mlp_ratios": [4, 4, 4, 4],
}
"""Keys with a number for each stage → their defaults."""
_STAGE = r"(^|\.)stages\.(\d+)\."
_BLOCK = r"(encoder\.block\.\d+\.\d+\.)"
MODULE_NAMES = (
    (_STAGE + r"patch_embeddings\.", r"\1encoder.patch_embeddings.\2."),
    (_STAGE + r"layer_norm\.", r"\1encoder.layer_norm.\2."),
    (_STAGE + r"blocks\.(\d+)\.", r"\1encoder.block.\2.\3."),
    (_BLOCK + r"layernorm_before\.", r"\1layer_norm_1."),
    (_BLOCK + r"layernorm_after\.", r"\1layer_norm_2."),
    (_BLOCK + r"attention\.q_proj\.", r"\1attention.self.query."),
    (_BLOCK + r"attention\.k_proj\.", r"\1attention.self.key."),
    (_BLOCK + r"attention\.v_proj\.", r"\1attention.self.value."),
    (_BLOCK + r"attention\.o_proj\.", r"\1attention.output.dense."),
    (_BLOCK + r"attention\.sequence_reduction\.sequence_reduction\.", r"\1attention.self.sr."),
    (_BLOCK + r"attention\.sequence_reduction\.layer_norm\.", r"\1attention.self.layer_norm."),
    (_BLOCK + r"mlp\.fc([12])\.", r"\1mlp.dense\2."),
    (r"decode_head\.linear_projections\.", "decode_head.linear_c."),
)
"""Names of the modules of transformers 5: pattern → the published name."""


def write_model(config: Config) -> ModelText:
    """Return the text of a SegFormer and its name map."""
    kind = class_suffix(config, BASE, CLASSES, SEGMENTS, default="SegformerModel")
    config.require("reshape_last_stage", True)
    for key in ("layer_norm_eps", "downsampling_rates", "decoder_hidden_size"):
        config.get(key)
    seen = picture(config, patch=None)
    body = ConvNet(seen)
    body.add("identity(node=pixel_values)")
    blocks, shapes = _write_stages(config, body)
    if kind == SEGMENTS:
        outputs = _write_head(config, body, shapes)
    elif kind == BASE:
        outputs = [
            f"{STATES}:output shape={body.shape}",
            f"{STATES}:layers\n{layers(*body.rows)}",
        ]
    else:
        size = count_classes(config)
        rows = (*body.rows, "globalAveragePool()", *linear_layers("classifier", size))
        outputs = output("logits", size, *rows, tokens=False)
        body.names |= linear_names("classifier1", "classifier")
    source = statements(["model:name segformer", seen.input, *outputs, *blocks])
    names = body.names | dict.fromkeys((COUNTERS, "classifier.*", "decode_head.*"))
    return ModelText(source, names, "segformer.", module_names=MODULE_NAMES)


def _write_stages(config: Config, body: ConvNet) -> tuple[list[str], list[tuple[int, int, int]]]:
    """Add the layers of all stages; return the blocks that they call, and their shapes."""
    count = config.count("num_encoder_blocks", 4)
    keys = {key: config.integers(key, default, 1, MAX_WIDTH) for key, default in STAGES.items()}
    if any(len(values) != count for values in keys.values()):
        raise config.wrong("num_encoder_blocks", f"as many as in {', '.join(STAGES)}")
    shapes: list[tuple[int, int, int]] = []
    looks, ratios = list[str](), list[int]()
    for stage, sizes in enumerate(zip(*keys.values(), strict=True)):
        depth, ratio, width, kernel, stride, heads, growth = sizes
        half = kernel // 2
        body.add(f"shrink(filters={width}, kernel={kernel}, stride={stride}, reach={half})")
        body.weight("patches", f"encoder.patch_embeddings.{stage}.proj")
        body.weight("patch_norm", f"encoder.patch_embeddings.{stage}.layer_norm")
        body.shrink(stride, kernel=kernel, padding=2 * half)
        height, across, inner = body.height, body.width, width * growth
        for number in range(depth):
            _record(body, f"encoder.block.{stage}.{number}", width, inner, ratio)
        ratios.append(ratio)
        few = f"[{width}, {(height // ratio) * (across // ratio)}]"
        cells = f"cells=[{width}, {height * across}]"
        look = f"reduced(ratio={ratio}, few={few}, " if ratio > 1 else "plain("
        looks.append(f"look{stage + 1}:layers {look}{cells}, heads={heads})")
        body.add(
            f"layer(look=look{stage + 1}, filters={width}, inner={inner}, "
            f"grid=[{width}, {height}, {across}]"
            f"{f', repeat={depth}' if depth > 1 else ''})",
            f"norm(weight=stage_norm, bias=stage_norm_b, name=stage{stage + 1})",
        )
        body.weight("stage_norm", f"encoder.layer_norm.{stage}")
        shapes.append((width, height, across))
        body.channels = width
    return [*_blocks(config.activation("hidden_act", "gelu"), ratios), *looks], shapes


def _record(body: ConvNet, layer: str, width: int, inner: int, ratio: int) -> None:
    """Record the tensors of a layer, whose MLP is stored as matrices."""
    attention = f"{layer}.attention"
    body.weight("attention_norm", f"{layer}.layer_norm_1")
    if ratio > 1:
        body.weight("reduce", f"{attention}.self.sr")
        body.weight("reduce_norm", f"{attention}.self.layer_norm")
    for letter, name in (("q", "query"), ("k", "key"), ("v", "value")):
        body.matrix(f"w{letter}", f"{attention}.self.{name}")
    body.matrix("wo", f"{attention}.output.dense")
    body.weight("mlp_norm", f"{layer}.layer_norm_2")
    body.weight("up", f"{layer}.mlp.dense1", partial(Reshaped, sizes=(inner, width, 1, 1)))
    body.weight("depthwise", f"{layer}.mlp.dwconv.dwconv")
    body.weight("down", f"{layer}.mlp.dense2", partial(Reshaped, sizes=(width, inner, 1, 1)))


def _blocks(activation: str, ratios: Sequence[int]) -> list[str]:
    """Return the statements of the blocks that the layers call."""
    shrink = layers(
        "conv2d(patches, filters=filters, kernel=kernel, strides=stride, padding=reach, "
        "bias=patches_b)",
        "norm(weight=patch_norm, bias=patch_norm_b)",
    )
    layer = layers(
        "norm(weight=attention_norm, bias=attention_norm_b)",
        "look()",
        "transpose([1, 0])",
        "reshape(grid)",
        "residual(to=input, name=attended)",
        "norm(weight=mlp_norm, bias=mlp_norm_b)",
        "conv2d(up, filters=inner, kernel=1, bias=up_b)",
        "conv2d(depthwise, filters=inner, kernel=3, padding=1, groups=inner, bias=depthwise_b)",
        activation,
        "conv2d(down, filters=filters, kernel=1, bias=down_b)",
        "residual(to=attended)",
    )
    cells = ("reshape(cells)", "transpose([1, 0])")
    attend = "attend(wq, wk, wv, o=wo, bias=true, heads=heads"
    reduced = layers(
        "conv2d(reduce, filters=filters, kernel=ratio, strides=ratio, bias=reduce_b)",
        "norm(weight=reduce_norm, bias=reduce_norm_b)",
        "reshape(few)",
        "transpose([1, 0], name=keys)",
        "reshape(cells, node=input)",
        cells[1],
        f"{attend}, to=keys)",
    )
    return [
        f"shrink:layers\n{shrink}",
        f"layer:layers\n{layer}",
        f"plain:layers\n{layers(*cells, f'{attend})')}" if min(ratios) == 1 else "",
        f"reduced:layers\n{reduced}" if max(ratios) > 1 else "",
        "norm:layers layerNorm(axes=[0], scale=weight, bias=bias)",
    ]


def _write_head(config: Config, body: ConvNet, shapes: list[tuple[int, int, int]]) -> list[str]:
    """Return the statements of the scores of classes at each pixel of the first stage."""
    width, labels = config.size("decoder_hidden_size", 256), count_classes(config)
    _, height, across = shapes[0]
    rows: list[str] = []
    for stage, (channels, *_) in enumerate(shapes):
        sizes = f"sizes=[{height}, {across}], " if stage else ""
        resize = f"resample2d({sizes}mode=linear, name=even{stage + 1})"
        project = f"conv2d(level, node=stage{stage + 1}, filters={width}, kernel=1, bias=level_b"
        rows += [f"{project})", resize] if stage else [f"{project}, name=even1)"]
        shape = (width, channels, 1, 1)
        body.weight("level", f"decode_head.linear_c.{stage}.proj", partial(Reshaped, sizes=shape))
    joined = ", ".join(f"even{stage}" for stage in range(len(shapes), 0, -1))
    body.weight("fuse", "decode_head.linear_fuse", bias=False)
    body.record_norm("decode_head.batch_norm")
    body.weight("classifier", "decode_head.classifier")
    rows += [
        f"concat([{joined}], axis=0)",
        f"conv2d(fuse, filters={width}, kernel=1)",
        "batchNorm(scale=batch_norm, bias=batch_norm_b)",
        "relu()",
        f"conv2d(classifier, filters={labels}, kernel=1, bias=classifier_b)",
    ]
    return [
        f"logits:output shape={{labels:{labels}, height:{height}, width:{across}}}",
        f"logits:layers\n{layers(*body.rows, *rows)}",
    ]
