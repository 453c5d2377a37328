"""DINOv3: a vision transformer whose queries and keys turn by the places of their patches.

Source: O. Siméoni et al., "DINOv3", arXiv:2508.10104 (2025); rotary positions: J. Su et al.,
"RoFormer: enhanced transformer with rotary position embedding", arXiv:2104.09864 (2021).
"""

from __future__ import annotations

import math

from webnnm.core.arrays import HostArray
from webnnm.snapshots.foreign import Reshaped
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    layers,
    norm_names,
    output,
    statements,
)
from webnnm.transformers.architectures.patches import MAX_PATCHES, picture
from webnnm.transformers.architectures.vision_encoder import (
    Encoder,
    LayerNames,
    Names,
    read_backbone_keys,
    select_token,
)
from webnnm.transformers.config import Config

FILES = LayerNames(
    attention_norm="norm1",
    mlp_norm="norm2",
    up="mlp.up_proj",
    down="mlp.down_proj",
    attention_scale="layer_scale1.lambda1",
    mlp_scale="layer_scale2.lambda1",
    layer="layer",
    query="attention.q_proj",
    key="attention.k_proj",
    value="attention.v_proj",
    joined="attention.o_proj",
    gate="mlp.gate_proj",
)
MODULE_NAMES = ((r"^model\.layer\.", "layer."),)
"""Names of the modules of transformers 5: pattern → the published name."""
STATES = "last_hidden_state"
ANGLES = "cosines", "sines"


def write_model(config: Config) -> ModelText:
    """Return the text of a DINOv3 and its name map."""
    class_suffix(config, "Model", default="DINOv3ViTModel")
    read_backbone_keys(config)
    for key in ("layerscale_value", "pos_embed_shift", "pos_embed_jitter", "pos_embed_rescale"):
        config.get(key)
    registers = config.integer("num_register_tokens", 0, 0, 1 << 10)
    encoder = _read_encoder(config, registers)
    width, seen, head = encoder.width, encoder.seen, encoder.width // encoder.heads
    before = ["cls_token", *(["registers"] if registers else [])]
    body = layers(
        seen.cut(width),
        f"reshape([{width}, {seen.patches}])",
        "transpose([1, 0], name=patches)",
        f"concat([{', '.join([*before, 'patches'])}], axis=0)",
        f"layer(repeat={encoder.depth})",
        "norm(weight=final_norm, bias=final_norm_b)",
    )
    turn = layers(
        f"reshape([{encoder.tokens}, {encoder.heads}, 2, {head // 2}], name=pairs)",
        "mul([pairs, cosines], name=kept)",
        "split([1, 1], node=pairs, axis=2, name=half)",
        "neg(node=half.1, name=minus)",
        "concat([minus, half.0], axis=2)",
        "mul(sines)",
        "add(kept)",
        f"reshape([{encoder.tokens}, {width}])",
    )
    shape = f"[{encoder.tokens}, 1, 1, {head // 2}]"
    source = statements(
        [
            "model:name dinov3_vit",
            seen.input,
            f"{STATES}:param cls_token shape=[1, {width}]",
            f"{STATES}:param registers shape=[{registers}, {width}]" if registers else "",
            *(f"{STATES}:param {name} shape={shape} trainable=false" for name in ANGLES),
            f"{STATES}:output shape={encoder.shape}",
            f"{STATES}:layers\n{body}",
            *output("pooler_output", width, *select_token(0, STATES), tokens=False),
            *encoder.statements(),
            f"turn:layers\n{turn}",
        ]
    )
    constants = _find_angles(config, encoder, 1 + registers)
    names = _name_parameters(encoder, registers)
    return ModelText(source, names, "", constants, module_names=MODULE_NAMES)


def _read_encoder(config: Config, registers: int) -> Encoder:
    """Return the sizes of an encoder; pictures may have another size than the config says."""
    seen = picture(config)
    height, width = config.pair("picture_size", [seen.height, seen.width])
    seen = seen._replace(height=height, width=width)
    if not 0 < seen.patches <= MAX_PATCHES:
        hint = f"pictures have from 1 to {MAX_PATCHES:,} patches"
        raise config.not_supported("picture_size", [height, width], hint)
    encoder = Encoder(
        seen=seen,
        tokens=seen.patches + 1 + registers,
        width=config.size("hidden_size", 384),
        inner=config.size("intermediate_size", 1536),
        heads=config.size("num_attention_heads", 6),
        depth=config.count("num_hidden_layers", 12),
        activation=config.activation("hidden_act", "gelu"),
        epsilon=config.positive("layer_norm_eps", 1e-5),
        biases="".join(
            letter
            for letter, name in zip("qkvo", ("query", "key", "value", "proj"), strict=True)
            if config.flag(f"{name}_bias", name != "key")
        ),
        files=FILES,
        gated=config.flag("use_gated_mlp", False),
        mlp_biases=config.flag("mlp_bias", True),
        turn="turn",
    )
    if encoder.width % (4 * encoder.heads):
        raise config.wrong("num_attention_heads", "heads whose size is a multiple of 4")
    return encoder


def _find_angles(config: Config, encoder: Encoder, first: int) -> dict[str, HostArray]:
    """Return the cosines and sines of all tokens; the `first` ones do not turn."""
    base = config.positive("rope_theta", 100.0)
    quarter = encoder.width // encoder.heads // 4
    rates = [2 * math.pi * base ** (-number / quarter) for number in range(quarter)]
    down, across = encoder.seen.grid
    angles = [[0.0] * (2 * quarter)] * first
    for row in range(down):
        for column in range(across):
            positions = (2 * row + 1) / down - 1, (2 * column + 1) / across - 1
            angles.append([rate * position for position in positions for rate in rates])
    shape = [len(angles), 1, 1, 2 * quarter]
    return {
        name: HostArray.of([turn(angle) for token in angles for angle in token], "float32", shape)
        for name, turn in zip(ANGLES, (math.cos, math.sin), strict=True)
    }


def _name_parameters(encoder: Encoder, registers: int) -> Names:
    """Return the names of all parameters."""
    patch, width = "embeddings.patch_embeddings", encoder.width
    names: Names = {
        **encoder.names(),
        **norm_names("final_norm1", "norm"),
        "patch1": f"{patch}.weight",
        "patch_b1": f"{patch}.bias",
        "cls_token": Reshaped("embeddings.cls_token", (1, width)),
        "embeddings.mask_token": None,
    }
    table = "embeddings.register_tokens"
    names |= {"registers": Reshaped(table, (registers, width))} if registers else {table: None}
    return names
