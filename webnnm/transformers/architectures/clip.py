"""CLIP: a text tower and an image tower that embed into the same space.

Source: A. Radford et al., "Learning transferable visual models from natural language supervision",
arXiv:2103.00020 (2021).

Not supported: images of sizes other than `image_size`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from webnnm.snapshots.foreign import Form, Reshaped
from webnnm.transformers.architectures.encoder import INPUTS
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    declared_bias_names,
    layers,
    linear_layers,
    linear_names,
    norm_names,
    output,
    projection_names,
    statements,
)
from webnnm.transformers.architectures.patches import Picture, picture
from webnnm.transformers.config import Config

TEXT, VISION = "CLIPTextModel", "CLIPVisionModel"
TOWER_CLASSES = {"clip_text_model": TEXT, "clip_vision_model": VISION}
"""`model_type` of a single tower → its class."""
WITH_PROJECTION = "WithProjection"
KINDS = (
    "CLIPModel",
    *(tower + end for tower in TOWER_CLASSES.values() for end in ("", WITH_PROJECTION)),
)
HIGHEST_TOKEN = 2
"""As end token, this means the highest token of each text, as in the first files."""
STATES = "last_hidden_state"


class Tower(NamedTuple):
    """The sizes of a tower, and how its text is written.

    Attributes: `prefix`, that of its blocks and parameters; `file_prefix`, that of names in the
    file; `projection_size`, the size of the shared space, 0 without projection; `with_other`,
    whether the other tower is loaded too; `tokens`, the number of tokens if they are not a
    sequence; `norm_block`, the name of the block of norms.
    """

    prefix: str
    file_prefix: str
    width: int
    inner: int
    heads: int
    depth: int
    activation: str
    epsilon: float
    projection_size: int
    with_other: bool
    tokens: int = 0
    norm_block: str = "norm"

    def norm(self, of: str) -> str:
        """Return a layer normalisation."""
        weight = f"{self.prefix}_{of}norm"
        option = "" if self.epsilon == 1e-5 else f", epsilon={self.epsilon}"
        return f"{self.norm_block}(weight={weight}, bias={weight}_b{option})"

    def outputs(self, states: list[str], pooling: list[str]) -> list[str]:
        """Return the outputs: of all tokens, and of the token that represents all of them."""
        projection = f"matmul({self.prefix}_projection, shape=[{self.projection_size}])"
        if self.with_other:
            vector = f"{self.prefix}_features"
            states = [*states[:-1], f"{states[-1][:-1]}, name={self.prefix}_states)"]
            return [
                *output(vector, self.projection_size, *states, *pooling, projection, tokens=False),
                *output(
                    f"{self.prefix}_embeds",
                    self.projection_size,
                    f"unit(node={vector})",
                    tokens=False,
                ),
            ]
        name, size = f"{self.prefix}_embeds", self.projection_size
        rows = [*pooling, projection]
        if not self.projection_size:
            name, size, rows = "pooler_output", self.width, pooling
        shape = f"shape=[{self.width}] sequence=tokens"
        if self.tokens:
            shape = f"shape={{tokens:{self.tokens}, features:{self.width}}}"
        return [
            f"{STATES}:output {shape}",
            f"{STATES}:layers\n{layers(*states)}",
            *output(name, size, *rows, tokens=False),
        ]


def write_model(config: Config) -> ModelText:
    """Return the text of both towers, or of one of them, and its name map."""
    single = TOWER_CLASSES.get(config.get("model_type"))
    kind = class_suffix(config, *KINDS, default=single or "CLIPModel")
    if single and not kind.startswith(single):
        raise config.not_supported("architectures", [kind], f"the folder has only a {single}")
    both = kind == "CLIPModel"
    text, vision = (
        (config, config) if single else map(config.part, ("text_config", "vision_config"))
    )
    shared = config.size("projection_dim", 512) if both else 0
    for unused in ("projection_dim", "logit_scale_init_value"):
        config.get(unused)
    lines = [f"model:name {config.get('model_type')}"]
    names: dict[str, str | Form | None] = {}
    for tower, tower_config, write in (
        (TEXT, text, write_text_tower),
        (VISION, vision, _write_image_tower),
    ):
        if not both and not kind.startswith(tower):
            tower_config.pass_over()
            continue
        tower_config.get("projection_dim")  # that of the whole model counts, if there is one
        size = shared
        if kind.endswith(WITH_PROJECTION):
            size = tower_config.size("projection_dim", 512)
        tower_lines, tower_names = write(tower_config, size, both, single is not None)
        lines, names = lines + tower_lines, names | tower_names
    if both:
        names["logit_scale"] = Reshaped("logit_scale", (1,))
        lines += zeroshot_weights(shared)
    others = ("text_model.*", "vision_model.*", "text_projection.*", "visual_projection.*")
    names |= dict.fromkeys(others) | ({} if both else {"logit_scale": None})
    lines += ["norm:layers layerNorm(scale=weight, bias=bias)"]
    prefix = {TEXT: "text_model.", VISION: "vision_model."}.get(single or "", "")
    return ModelText(statements(lines), names, prefix)


def zeroshot_weights(size: int) -> list[str]:
    """Return the output with the weights for zero-shot classification of images."""
    length = "reduceL2(axes=[features], keepDimensions=true, name=length)"
    return [
        f"unit:layers\n{layers(length, 'div([input, length])')}",
        "zeroshot_weights:param logit_scale shape=[1]",
        *output(
            "zeroshot_weights",
            size,
            "exp(node=logit_scale, name=scale)",
            "mul([text_embeds, scale])",
            tokens=False,
        ),
    ]


def read_tower(
    config: Config,
    prefix: str,
    sizes: tuple[int, int, int],
    *,
    activation: str = "quick_gelu",
    epsilon: float = 1e-5,
    **fields: Any,
) -> Tower:
    """Return the sizes of a tower from a config; `sizes` are the defaults of width, inner width and
    heads."""
    width, inner, heads = sizes
    config.flag("tie_word_embeddings", True)  # without effect: there are no logits of words
    return Tower(
        prefix=prefix,
        width=config.size("hidden_size", width),
        inner=config.size("intermediate_size", inner),
        heads=config.size("num_attention_heads", heads),
        depth=config.count("num_hidden_layers", 12),
        activation=config.activation("hidden_act", activation),
        epsilon=config.positive("layer_norm_eps", epsilon),
        **fields,
    )


Names = dict[str, str | Form | None]


def write_text_tower(
    config: Config, projection_size: int, with_other: bool, single: bool
) -> tuple[list[str], Names]:
    """Return the statements and the names of the text tower."""
    file_prefix = "" if single else "text_model."
    tower = read_tower(
        config,
        "text",
        (512, 2048, 8),
        file_prefix=file_prefix,
        projection_size=projection_size,
        with_other=with_other,
    )
    states = [
        "embedding(words, node=input_ids)",
        "positionalEmbedding(text_positions)",
        f"text_layer(repeat={tower.depth})",
        tower.norm(""),
    ]
    end = config.integer("eos_token_id", 49407)
    end_rows = ("argMax(node=input_ids, axis=tokens, name=ends)",)
    if end != HIGHEST_TOKEN:
        end_rows = (
            f"equal({end}, node=input_ids)",
            "cast(float32)",
            "argMax(axis=tokens, name=ends)",
        )
    last = f"gather(node={'text_states' if with_other else STATES}, indices=ends, axis=tokens)"
    outputs = tower.outputs(states, [*end_rows, last])
    block = outputs[0].partition(":")[0]
    tables = {
        "words": config.size("vocab_size", 49408),
        "text_positions": config.size("max_position_embeddings", 77),
    }
    lines = [
        *INPUTS,
        *(f"{block}:param {table} shape=[{rows}, {tower.width}]" for table, rows in tables.items()),
        *outputs,
        *write_layer(tower, ", causal=true, mask=attention_mask"),
    ]
    names: Names = {
        **tower_names(tower),
        "words": f"{file_prefix}embeddings.token_embedding.weight",
        "text_positions": f"{file_prefix}embeddings.position_embedding.weight",
        **norm_names("text_norm1", f"{file_prefix}final_layer_norm"),
    }
    return lines, names


def _write_image_tower(
    config: Config, projection_size: int, with_other: bool, single: bool
) -> tuple[list[str], Names]:
    """Return the statements and the names of the image tower."""
    file_prefix = "" if single else "vision_model."
    patching = picture(config, patch=32)
    tower = read_tower(
        config,
        "image",
        (768, 3072, 12),
        file_prefix=file_prefix,
        projection_size=projection_size,
        with_other=with_other,
        tokens=patching.patches + 1,
    )
    states = write_image_states(tower, patching)
    of = "" if with_other else f"node={STATES}, "
    pooling = [f"slice({of}[0, 0], [1, -1])", "flatten()", tower.norm("")]
    outputs = tower.outputs(states, pooling)
    lines = [*declare_image(tower, patching, outputs[0].partition(":")[0]), *outputs]
    return lines, image_names(tower)


def write_image_states(tower: Tower, seen: Picture) -> list[str]:
    """Return the layers from a picture to the states of its patches, a class token before them."""
    first = (*seen.tokens(tower.width, bias=False), tower.norm("first_"))
    return [*first, f"image_layer(repeat={tower.depth})"]


def declare_image(
    tower: Tower, seen: Picture, block: str, table: Picture | None = None
) -> list[str]:
    """Return the statements of an image tower besides its outputs; `block` has its parameters.

    `table` is the picture that the table of positions is for, if it is another.
    """
    return [
        seen.input,
        *(table or seen).parameters(block, tower.width),
        f"image_layer:param image_up_b shape=[{tower.inner}] shared=false",
        f"image_layer:param image_down_b shape=[{tower.width}] shared=false",
        *write_layer(tower, ""),
    ]


def image_names(tower: Tower, first_norm: str = "pre_layrnorm") -> Names:
    """Return the names of the parameters of an image tower; `first_norm`, that of a module."""
    prefix = tower.file_prefix
    return {
        **tower_names(tower),
        "cls_token": Reshaped(f"{prefix}embeddings.class_embedding", (1, tower.width)),
        "patch1": f"{prefix}embeddings.patch_embedding.weight",
        "position_embeddings": f"{prefix}embeddings.position_embedding.weight",
        **norm_names("image_first_norm1", f"{prefix}{first_norm}"),
        **norm_names("image_norm1", f"{prefix}post_layernorm"),
    }


def write_layer(tower: Tower, options: str) -> list[str]:
    """Return the block of the layers of a tower."""
    prefix, lead = tower.prefix, f"{tower.tokens}, " if tower.tokens else ""
    projections = ", ".join(f"{prefix}_w{letter}" for letter in "qkv")
    rows = layers(
        tower.norm("attention_"),
        f"attend({projections}, o={prefix}_wo, bias=true, heads={tower.heads}{options})",
        "residual(to=input, name=attended)",
        tower.norm("mlp_"),
        *linear_layers(f"{prefix}_up", f"{lead}{tower.inner}"),
        tower.activation,
        *linear_layers(f"{prefix}_down", f"{lead}{tower.width}"),
        "residual(to=attended)",
    )
    return [f"{prefix}_layer:layers\n{rows}"]


def tower_names(tower: Tower) -> Names:
    """Return the names of the parameters of the layers of a tower."""
    prefix, layer = tower.prefix, f"{tower.file_prefix}encoder.layers.{{n-1}}"
    projection = "text_projection" if prefix == "text" else "visual_projection"
    projection_name = linear_names(f"{prefix}_projection1", projection, bias=False)
    names: Names = {
        f"{tower.file_prefix}embeddings.position_ids": None,
        **(projection_name if tower.projection_size else {}),
        **norm_names(f"{prefix}_attention_norm{{n}}", f"{layer}.layer_norm1"),
        **norm_names(f"{prefix}_mlp_norm{{n}}", f"{layer}.layer_norm2"),
    }
    names |= projection_names(f"{prefix}_w", f"{layer}.self_attn")
    for part, name in (("up", "fc1"), ("down", "fc2")):
        parameter, file_name = f"{prefix}_{part}", f"{layer}.mlp.{name}"
        names |= linear_names(f"{parameter}{{n}}", file_name, bias=not tower.tokens)
        names |= (
            declared_bias_names(f"{parameter}_b", file_name, tower.depth) if tower.tokens else {}
        )
    return names
