"""PVT: stages of attention, each on fewer patches, with a token for all of them in the last.

Source: W. Wang et al., "Pyramid vision transformer: a versatile backbone for dense prediction
without convolutions", arXiv:2102.12122 (2021).

Not supported: images of other sizes.
"""

from __future__ import annotations

from typing import NamedTuple

from webnnm.snapshots.foreign import Reshaped
from webnnm.transformers.architectures.conv_net import BASE, CLASSES, STATES, ConvNet
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    layers,
    linear_layers,
    linear_names,
    output,
    statements,
)
from webnnm.transformers.architectures.patches import MAX_PATCHES, picture
from webnnm.transformers.architectures.vision_encoder import select_token
from webnnm.transformers.config import Config

MAX_WIDTH = 1 << 16
"""The most channels of a stage."""
LABELS = 1000
"""The number of classes where a config names none."""
STAGES = {
    "depths": [2, 2, 2, 2],
    "sequence_reduction_ratios": [8, 4, 2, 1],
    "hidden_sizes": [64, 128, 320, 512],
    "strides": [4, 2, 2, 2],
    "patch_sizes": [4, 2, 2, 2],
    "num_attention_heads": [1, 2, 5, 8],
    "mlp_ratios": [8, 8, 4, 4],
}
"""Keys with a number for each stage → their defaults."""


class _Stage(NamedTuple):
    """The numbers of a stage. Files call the sides of filters strides, and their steps sizes."""

    depth: int
    ratio: int
    width: int
    kernel: int
    stride: int
    heads: int
    growth: int


def write_model(config: Config) -> ModelText:
    """Return the text of a PVT and its name map."""
    kind = class_suffix(config, BASE, CLASSES, default="PvtModel")
    side = config.size("image_size", 224)
    seen = picture(config, patch=None)
    body = ConvNet(seen)
    epsilon = config.positive("layer_norm_eps", 1e-6)
    biased = config.flag("qkv_bias", True)
    body.add("identity(node=pixel_values)")
    looks, tokens = _write_stages(config, body, side, biased=biased)
    width = body.channels
    body.add("norm(weight=final_norm, bias=final_norm_b)")
    body.weight("final_norm", "encoder.layer_norm")
    if kind == BASE:
        block = STATES
        config.get("num_labels")
        outputs = [
            f"{STATES}:output shape={{tokens:{tokens}, features:{width}}}",
            f"{STATES}:layers\n{layers(*body.rows)}",
        ]
    else:
        block, size = "logits", len(config.object("id2label")) or config.size("num_labels", LABELS)
        rows = (*body.rows, *select_token(0), *linear_layers("classifier", size))
        outputs = output(block, size, *rows, tokens=False)
        body.names |= linear_names("classifier1", "classifier")
    source = statements(
        [
            "model:name pvt",
            seen.input,
            f"{block}:param cls_token shape=[1, {width}]",
            *outputs,
            *_blocks(config.activation("hidden_act", "gelu"), epsilon, looks, biased=biased),
        ]
    )
    return ModelText(source, body.names | {"classifier.*": None}, "pvt.")


def _write_stages(
    config: Config, body: ConvNet, side: int, *, biased: bool
) -> tuple[list[str], int]:
    """Add the layers of all stages; return the blocks of their attention, and how many tokens the
    last one has."""
    count = config.count("num_encoder_blocks", 4)
    keys = {key: config.integers(key, default, 1, MAX_WIDTH) for key, default in STAGES.items()}
    if any(len(values) != count for values in keys.values()):
        raise config.wrong("num_encoder_blocks", f"as many as in {', '.join(STAGES)}")
    looks, tokens = list[str](), 0
    for index, numbers in enumerate(zip(*keys.values(), strict=True)):
        stage, last = _Stage(*numbers), index == count - 1
        width, inner = stage.width, stage.width * stage.growth
        patches = f"encoder.patch_embeddings.{index}"
        rows = (
            f"conv2d(patch, filters={width}, kernel={stage.kernel}, strides={stage.stride}, "
            "bias=patch_b)"
        )
        body.shrink(stage.stride, kernel=stage.kernel)
        height, across = body.height, body.width
        table = (side // 2 ** (index + 1) if index else side) // stage.stride
        if min(height, across) < 1 or height * across > MAX_PATCHES or table != height:
            hint = f"stage {index + 1} has {height} x {across} patches, {table} x {table} positions"
            raise config.not_supported("image_size", side, hint)
        if stage.ratio > 1 and (last or stage.ratio > height):
            hint = "the last stage reduces nothing, others at most to one patch"
            raise config.not_supported("sequence_reduction_ratios", [*keys.values()][1], hint)
        tokens = height * across + last
        body.add(rows, f"reshape([{width}, {height * across}])", "transpose([1, 0])")
        body.weight("patch", f"{patches}.projection")
        body.add("norm(weight=patch_norm, bias=patch_norm_b)")
        body.weight("patch_norm", f"{patches}.layer_norm")
        if last:
            body.name_last("patches")
            body.add("concat([cls_token, patches], axis=0)")
            body.names["cls_token"] = Reshaped(f"{patches}.cls_token", (1, width))
        body.add(f"positionalEmbedding(positions, size={tokens})")
        table_name = f"{patches}.position_embeddings"
        body.names[f"positions{index + 1}"] = Reshaped(table_name, (tokens, width))
        for number in range(stage.depth):
            _record(body, f"encoder.block.{index}.{number}", stage.ratio, biased=biased)
        few = (height // stage.ratio) * (across // stage.ratio)
        grid = f"grid=[{width}, {height}, {across}], few=[{width}, {few}], filters={width}"
        look = f"reduced(ratio={stage.ratio}, {grid}, " if stage.ratio > 1 else "plain("
        looks.append(f"look{index + 1}:layers {look}heads={stage.heads})")
        times = f", repeat={stage.depth}" if stage.depth > 1 else ""
        sizes = f"tokens={tokens}, width={width}, inner={inner}"
        body.add(f"layer(look=look{index + 1}, {sizes}{times})")
        if not last:
            body.add("transpose([1, 0])", f"reshape([{width}, {height}, {across}])")
        body.channels = width
    return looks, tokens


def _record(body: ConvNet, layer: str, ratio: int, *, biased: bool) -> None:
    """Record the tensors of a layer."""
    attention = f"{layer}.attention"
    body.weight("attention_norm", f"{layer}.layer_norm_1")
    if ratio > 1:
        body.weight("reduce", f"{attention}.self.sequence_reduction")
        body.weight("reduce_norm", f"{attention}.self.layer_norm")
    for letter, name in (("q", "query"), ("k", "key"), ("v", "value")):
        body.matrix(f"w{letter}", f"{attention}.self.{name}", bias=biased)
    body.matrix("wo", f"{attention}.output.dense")
    body.weight("mlp_norm", f"{layer}.layer_norm_2")
    for number, name in enumerate(("up", "down"), 1):
        body.matrix(name, f"{layer}.mlp.dense{number}", bias=False)
        body.declare(f"{name}_b", f"{layer}.mlp.dense{number}.bias")


def _blocks(activation: str, epsilon: float, looks: list[str], *, biased: bool) -> list[str]:
    """Return the statements of the blocks that the stages call."""
    layer = layers(
        "norm(weight=attention_norm, bias=attention_norm_b)",
        "look()",
        "residual(to=input, name=attended)",
        "norm(weight=mlp_norm, bias=mlp_norm_b)",
        *linear_layers("up", "tokens, inner"),
        activation,
        *linear_layers("down", "tokens, width"),
        "residual(to=attended)",
    )
    attend = f"attend(wq, wk, wv, o=wo, bias={'true' if biased else '[o]'}, heads=heads"
    reduced = layers(
        "transpose([1, 0])",
        "reshape(grid)",
        "conv2d(reduce, filters=filters, kernel=ratio, strides=ratio, bias=reduce_b)",
        "reshape(few)",
        "transpose([1, 0])",
        "norm(weight=reduce_norm, bias=reduce_norm_b, name=keys)",
        f"{attend}, node=input, to=keys)",
    )
    reduces = any("reduced(" in look for look in looks)
    return [
        "layer:param up_b shape=[inner] shared=false, down_b shape=[width] shared=false",
        f"layer:layers\n{layer}",
        *looks,
        f"plain:layers {attend})",
        f"reduced:layers\n{reduced}" if reduces else "",
        f"norm:layers layerNorm(scale=weight, bias=bias, epsilon={epsilon})",
    ]
