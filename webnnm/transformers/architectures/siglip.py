"""SigLIP 1 and 2: a text tower and an image tower whose pairs are scored one by one.

Sources: X. Zhai et al., "Sigmoid loss for language image pre-training", arXiv:2303.15343 (2023);
M. Tschannen et al., "SigLIP 2", arXiv:2502.14786 (2025).

Not supported by `siglip2`: `vision_use_head` of false.
Not supported by `siglip`: images of sizes other than `image_size`, `vision_use_head` of false.
"""

from __future__ import annotations

import math
from typing import Any

from webnnm.snapshots.foreign import Part, Reshaped, Transposed
from webnnm.transformers.architectures.any_patches import (
    MASK,
    SEQUENCE,
    average_patches,
    declare_patches,
    embed_patches,
    pool_patches,
    resize_positions,
)
from webnnm.transformers.architectures.clip import (
    STATES,
    Names,
    Tower,
    read_tower,
    tower_names,
    write_layer,
    zeroshot_weights,
)
from webnnm.transformers.architectures.encoder import INPUTS
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    count_classes,
    layers,
    linear_layers,
    linear_names,
    norm_names,
    output,
    statements,
)
from webnnm.transformers.architectures.patches import picture
from webnnm.transformers.config import MAX_PICTURE, Config

TEXT, VISION, CLASSES, BOTH = "TextModel", "VisionModel", "ForImageClassification", "Model"
"""What the names of classes end with."""
SINGLE = {"text_model": TEXT, "vision_model": VISION}
"""What the `model_type` of a single tower ends with → that of its class."""
SECOND = "siglip2"
DEFAULTS = (768, 3072, 12)
"""Width, inner width and heads of a tower."""
END = "last int32 [] -1"
"""A constant: the position of the token that represents a text."""


def write_model(config: Config) -> ModelText:
    """Return the text of both towers, or of one of them, and its name map."""
    family, _, part = config.text("model_type", "siglip").partition("_")
    single = SINGLE.get(part)
    default = family.capitalize() + (single or BOTH)
    kind = class_suffix(config, BOTH, TEXT, VISION, CLASSES, default=default)
    if single and kind != single:
        raise config.not_supported("architectures", [kind], f"the folder has only a {default}")
    text, vision = (config.part("text_config"), config.part("vision_config"))
    if single:
        text = vision = config
    config.get("initializer_factor")
    lines, names = [f"model:name {config.get('model_type')}"], Names()
    for other, (tower_config, write) in {
        VISION: (text, _write_text),
        TEXT: (vision, _write_any_image if family == SECOND else _write_image),
    }.items():
        if kind == other or (kind == CLASSES and other == VISION):
            tower_config.pass_over() if not single else None
            continue
        tower_lines, new_names = write(config, tower_config, kind, single is not None)
        lines, names = lines + tower_lines, names | new_names
    if kind == BOTH:
        size = text.size("projection_size", text.size("hidden_size", DEFAULTS[0]))
        lines += [
            *zeroshot_weights(size),
            "zeroshot_biases:param logit_bias shape=[1]",
            *output(
                "zeroshot_biases",
                1,
                "slice([0], [1], node=zeroshot_weights)",
                "mul(0)",
                "add(logit_bias)",
                tokens=False,
            ),
        ]
        names |= {key: Reshaped(key, (1,)) for key in ("logit_scale", "logit_bias")}
    lines += ["norm:layers layerNorm(scale=weight, bias=bias)"]
    unused = ("text_model.*", "vision_model.*", "classifier.*", "logit_*", "head.*")
    prefix = {TEXT: "text_model.", VISION: "vision_model."}.get(single or "", "")
    return ModelText(statements(lines), names | dict.fromkeys(unused), prefix)


def _outputs(
    tower: Tower, states: list[str], pooling: list[str], size: int, sequence: str = "tokens"
) -> list[str]:
    """Return the outputs of a tower: of all tokens, and a vector for all together."""
    if tower.with_other:
        vector = f"{tower.prefix}_features"
        states = [*states[:-1], f"{states[-1][:-1]}, name={tower.prefix}_states)"]
        return [
            *output(vector, size, *states, *pooling, tokens=False),
            *output(f"{tower.prefix}_embeds", size, f"unit(node={vector})", tokens=False),
        ]
    shape = f"shape=[{tower.width}] sequence={sequence}"
    if tower.tokens:
        shape = f"shape={{tokens:{tower.tokens}, features:{tower.width}}}"
    return [
        f"{STATES}:output {shape}",
        f"{STATES}:layers\n{layers(*states)}",
        *output("pooler_output", size, *pooling, tokens=False),
    ]


def _read_tower(config: Config, prefix: str, file_prefix: str, kind: str, **fields: Any) -> Tower:
    """Return the sizes of a tower, with the defaults of SigLIP."""
    return read_tower(
        config,
        prefix,
        DEFAULTS,
        activation="gelu_pytorch_tanh",
        epsilon=1e-6,
        file_prefix=file_prefix,
        projection_size=0,
        with_other=kind == BOTH,
        **fields,
    )


def _write_text(
    _config: Config, config: Config, kind: str, single: bool
) -> tuple[list[str], Names]:
    """Return the statements and the names of the text tower."""
    file_prefix = "" if single else "text_model."
    tower = _read_tower(config, "text", file_prefix, kind)
    size = config.size("projection_size", tower.width)
    states = [
        "embedding(words, node=input_ids)",
        "positionalEmbedding(text_positions)",
        f"text_layer(repeat={tower.depth})",
        tower.norm(""),
    ]
    node = "text_states" if tower.with_other else STATES
    pooling = [f"gather(last, node={node}, axis=tokens)", *linear_layers("text_head", size)]
    outputs = _outputs(tower, states, pooling, size)
    block = outputs[0].partition(":")[0]
    tables = {
        "words": config.size("vocab_size", 32000),
        "text_positions": config.size("max_position_embeddings", 64),
    }
    lines = [
        *INPUTS,
        END,
        *(f"{block}:param {table} shape=[{rows}, {tower.width}]" for table, rows in tables.items()),
        *outputs,
        *write_layer(tower, ", mask=attention_mask"),
    ]
    names: Names = {
        **tower_names(tower),
        "words": f"{file_prefix}embeddings.token_embedding.weight",
        "text_positions": f"{file_prefix}embeddings.position_embedding.weight",
        **norm_names("text_norm1", f"{file_prefix}final_layer_norm"),
        **linear_names("text_head1", f"{file_prefix}head"),
    }
    return lines, names


def _write_image(
    full_config: Config, config: Config, kind: str, single: bool
) -> tuple[list[str], Names]:
    """Return the statements and the names of the image tower."""
    file_prefix = "" if single else "vision_model."
    seen = picture(config)
    tower = _read_tower(config, "image", file_prefix, kind, tokens=seen.patches)
    config.require("vision_use_head", True)
    states = [
        *seen.tokens(tower.width, before=()),
        f"image_layer(repeat={tower.depth})",
        tower.norm(""),
    ]
    names = _image_names(tower, file_prefix, kind)
    if kind == CLASSES:
        size = count_classes(full_config)
        rows = (*states, "reduceMean(axes=[0])", *linear_layers("classifier", size))
        outputs = output("logits", size, *rows, tokens=False)
        names |= linear_names("classifier1", "classifier")
    else:
        node = "image_states" if tower.with_other else STATES
        outputs = _outputs(tower, states, [f"image_pool(node={node})"], tower.width)
    block = outputs[0].partition(":")[0]
    lines = [
        seen.input,
        *seen.parameters(block, tower.width, tokens={}),
        f"image_pool:param image_probe shape=[1, {tower.width}]" if kind != CLASSES else "",
        *outputs,
        f"image_layer:param image_up_b shape=[{tower.inner}] shared=false",
        f"image_layer:param image_down_b shape=[{tower.width}] shared=false",
        *write_layer(tower, ""),
        *(_pool(tower, *_attend_to_all(tower)) if kind != CLASSES else ()),
    ]
    return lines, names


def _write_any_image(
    full_config: Config, config: Config, kind: str, single: bool
) -> tuple[list[str], Names]:
    """Return the statements and the names of an image tower for pictures of any shape."""
    file_prefix = "" if single else "vision_model."
    tower = _read_tower(config, "image", file_prefix, kind)
    config.require("vision_use_head", True)
    side = math.isqrt(config.size("num_patches", 256))
    config.require("num_patches", side**2)
    patch = config.integer("patch_size", 16, 1, MAX_PICTURE)
    if tower.width % tower.heads:
        raise config.wrong("num_attention_heads", f"a divisor of {tower.width} features")
    states = [*embed_patches(tower.width), f"image_layer(repeat={tower.depth})", tower.norm("")]
    names = _image_names(tower, file_prefix, kind)
    names |= {"patch1": Transposed(f"{file_prefix}embeddings.patch_embedding.weight")}
    if kind == CLASSES:
        size = count_classes(full_config)
        rows = (*states, *average_patches(), *linear_layers("classifier", size))
        outputs = output("logits", size, *rows, tokens=False)
        names |= linear_names("classifier1", "classifier")
    else:
        query_bias = Part(f"{file_prefix}head.attention.in_proj_bias", 0, 3)
        names["pool_wq_b1"] = Reshaped(query_bias, (1, tower.width))
        node = "image_states" if tower.with_other else STATES
        pooling = [f"image_pool(node={node})"]
        outputs = _outputs(tower, states, pooling, tower.width, SEQUENCE)
    block = outputs[0].partition(":")[0]
    numbers = config.size("num_channels", 3) * patch**2
    lines = [
        *declare_patches(numbers, side),
        f"{block}:param position_embeddings shape=[{side**2}, {tower.width}]",
        f"image_pool:param image_probe shape=[1, {tower.width}]" if kind != CLASSES else "",
        *outputs,
        *resize_positions(side),
        *write_layer(tower, f", mask={MASK}"),
        *(_pool(tower, *pool_patches(tower.width, tower.heads)) if kind != CLASSES else ()),
    ]
    return lines, names


def _pool(tower: Tower, *attention: str) -> list[str]:
    """Return the block whose one query attends to all patches."""
    rows = layers(
        *attention,
        f"layerNorm(scale=pool_norm, bias=pool_norm_b, epsilon={tower.epsilon})",
        *linear_layers("pool_up", tower.inner),
        tower.activation,
        *linear_layers("pool_down", tower.width),
        "residual(to=pooled)",
    )
    return [f"image_pool:layers\n{rows}"]


def _attend_to_all(tower: Tower) -> list[str]:
    """Return the layers of attention of one query, `image_probe`, to a fixed number of patches."""
    return [
        "slice([0, 0], [1, -1])",
        "mul(0)",
        "add(image_probe)",
        f"attend(pool_wq, pool_wk, pool_wv, o=pool_wo, bias=true, heads={tower.heads}, to=input)",
        "flatten(name=pooled)",
    ]


def _image_names(tower: Tower, file_prefix: str, kind: str) -> Names:
    """Return the names of the parameters of the image tower."""
    names: Names = {
        **tower_names(tower),
        "patch1": f"{file_prefix}embeddings.patch_embedding.weight",
        "patch_b1": f"{file_prefix}embeddings.patch_embedding.bias",
        "position_embeddings": f"{file_prefix}embeddings.position_embedding.weight",
        **norm_names("image_norm1", f"{file_prefix}post_layernorm"),
    }
    if kind == CLASSES:
        return names
    head = f"{file_prefix}head"
    for index, letter in enumerate("qkv"):
        names[f"pool_w{letter}1"] = Transposed(Part(f"{head}.attention.in_proj_weight", index, 3))
        names[f"pool_w{letter}_b1"] = Part(f"{head}.attention.in_proj_bias", index, 3)
    return names | {
        "image_probe": Reshaped(f"{head}.probe", (1, tower.width)),
        **linear_names("pool_wo1", f"{head}.attention.out_proj"),
        **norm_names("pool_norm1", f"{head}.layernorm"),
        **linear_names("pool_up1", f"{head}.mlp.fc1"),
        **linear_names("pool_down1", f"{head}.mlp.fc2"),
    }
