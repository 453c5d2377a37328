"""CLIPSeg: a small decoder draws what a text names, from layers of CLIP's image tower.

Source: T. Lüddecke, A. S. Ecker, "Image segmentation using text and image prompts",
arXiv:2112.10003 (2021).

Not supported: pictures that are not squares, queries that are images.
"""

from __future__ import annotations

from itertools import pairwise

from webnnm.transformers.architectures.clip import (
    Tower,
    declare_image,
    image_names,
    read_tower,
    write_image_states,
    write_text_tower,
)
from webnnm.transformers.architectures.detection import (
    DENSE,
    Attention,
    record_dense,
    write_attention,
)
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    layers,
    linear_layers,
    statements,
)
from webnnm.transformers.architectures.parameter_names import ParameterNames
from webnnm.transformers.architectures.patches import Picture, check_patches, picture
from webnnm.transformers.architectures.stretching import (
    declare_stretching,
    stretching_constants,
    write_stretching,
)
from webnnm.transformers.config import Config

CONDITION = "conditional_embeddings"
"""The output with the vector of a text."""


def write_model(config: Config) -> ModelText:
    """Return the text of a CLIPSeg and its name map."""
    class_suffix(config, "ForImageSegmentation", default="CLIPSegForImageSegmentation")
    size = config.size("projection_dim", 512)
    for unused in ("logit_scale_init_value", "decoder_hidden_act"):
        config.get(unused)
    text_lines, text_names = write_text_tower(config.part("text_config"), size, True, False)
    vision = config.part("vision_config")
    table = seen = picture(vision, patch=32)
    if "image_size" in config:
        height, width = config.pair("image_size", [0, 0])
        seen = check_patches(config, "image_size", seen._replace(height=height, width=width))
    if seen.grid[0] != seen.grid[1] or table.grid[0] != table.grid[1]:
        raise config.not_supported("image_size", [seen.height, seen.width], "it must be square")
    vision.get("projection_dim")
    tower = read_tower(
        vision,
        "image",
        (768, 3072, 12),
        file_prefix="vision_model.",
        projection_size=0,
        with_other=True,
        tokens=seen.patches + 1,
    )
    names = ParameterNames()
    names.names |= text_names | image_names(tower)
    # Nothing needs the last norm of the image, and what comes after the layers that are read.
    for parameter in ("image_norm1", "image_norm_b1"):
        del names.names[parameter]
    body = [*_write_image(config, tower, seen, table), *_write_decoder(config, names, tower)]
    side, reduced = seen.grid[0], config.size("reduce_dim", 64)
    drawing, scale = _write_drawing(config, names, seen.patch[0], reduced)
    body += [
        f"slice([1, 0], [{seen.patches}, -1])",
        "transpose([1, 0])",
        f"reshape([{reduced}, {side}, {side}])",
        *drawing,
        f"reshape([{side * scale}, {side * scale}])",
    ]
    stretches = seen.grid != table.grid
    source = statements(
        [
            f"model:name {config.get('model_type')}",
            *(
                line.replace("text_features:", f"{CONDITION}:", 1)
                for line in text_lines
                # The decoder takes the place of CLIP's embeddings of texts.
                if not line.startswith("text_embeds:")
            ),
            *declare_image(tower, seen, "logits", table),
            *(declare_stretching("logits", table.grid, seen.grid) if stretches else ()),
            f"logits:output shape={{height:{side * scale}, width:{side * scale}}}",
            f"logits:layers\n{layers(*body)}",
            write_stretching(table.grid, seen.grid, tower.width) if stretches else "",
            *DENSE,
            "norm:layers layerNorm(scale=weight, bias=bias)",
        ]
    )
    unused = ("vision_model.*", "logit_scale", "visual_projection.*", "*embeddings.position_ids")
    constants = stretching_constants(table.grid, seen.grid) if stretches else {}
    return ModelText(source, names.names | dict.fromkeys(unused), "clip.", constants)


def _write_image(config: Config, tower: Tower, seen: Picture, table: Picture) -> list[str]:
    """Return the layers of the image tower, as far as they are read, with names for what is."""
    rows = write_image_states(tower, seen)[:-1]
    if seen.grid != table.grid:
        at = next(k for k, row in enumerate(rows) if row.startswith("positionalEmbedding"))
        call = "stretch_table(table=position_embeddings, name=positions)"
        rows = [call, *rows[:at], "add(positions)", *rows[at + 1 :]]
    numbers = sorted({*_read_layers(config)})
    if numbers[-1] >= tower.depth:
        raise config.not_supported("extract_layers", numbers, f"there are {tower.depth} layers")
    return [
        *rows,
        *(
            f"image_layer(repeat={number - before}, name=seen{number})"
            for before, number in pairwise([-1, *numbers])
        ),
    ]


def _read_layers(config: Config) -> list[int]:
    """Return the numbers of the layers whose states the decoder reads."""
    numbers = config.integers("extract_layers", [3, 6, 9], 0)
    if not numbers:
        raise config.wrong("extract_layers", "the numbers of layers")
    return numbers


def _write_decoder(config: Config, names: ParameterNames, tower: Tower) -> list[str]:
    """Return the layers of the decoder, the last states of the image first."""
    width, inner = config.size("reduce_dim", 64), config.size("decoder_intermediate_size", 2048)
    rows = tower.tokens
    sizes = Attention(rows, rows, width, config.size("decoder_num_attention_heads", 4))
    conditional = config.integer("conditional_layer", 0, 0)
    body: list[str] = []
    for number, source in enumerate(reversed(_read_layers(config))):
        layer = f"decoder.layers.{number}"
        body.append(f"dense(node=seen{source}, rows={rows}, size={width})")
        record_dense(names, f"decoder.reduces.{number}")
        body += [f"add(drawn{number})"] if number else []
        if number == conditional:
            body[-1] = f"{body[-1][:-1]}, name=reduced)"
            for film in ("film_mul", "film_add"):
                first, *others = linear_layers(film, width)
                body += [first.replace("(", f"(node={CONDITION}, ", 1), *others]
                body[-1] = f"{body[-1][:-1]}, name={film}s)"
                names.matrix(film, f"decoder.{film}")
            body += ["mul([reduced, film_muls])", "add(film_adds)"]
        body[-1] = f"{body[-1][:-1]}, name=read{number})"
        prefix = f"l{number}_"
        body += [
            *write_attention(
                names, f"{layer}.self_attn", sizes._replace(prefix=prefix), (f"read{number}",) * 3
            ),
            f"residual(to=read{number})",
            f"{tower.norm('drawn_')[:-1]}, name=attended{number})",
            f"dense(rows={rows}, size={inner})",
            "relu()",
            f"dense(rows={rows}, size={width})",
            f"residual(to=attended{number})",
            f"{tower.norm('drawn_')[:-1]}, name=drawn{number + 1})",
        ]
        names.weight("image_drawn_norm", f"{layer}.layer_norm1")
        record_dense(names, f"{layer}.mlp.fc1")
        record_dense(names, f"{layer}.mlp.fc2")
        names.weight("image_drawn_norm", f"{layer}.layer_norm2")
    return body


def _write_drawing(
    config: Config, names: ParameterNames, patch: int, width: int
) -> tuple[list[str], int]:
    """Return the layers that turn each patch into a square of pixels, and the side of that."""
    file = "decoder.transposed_convolution"
    if not config.flag("use_complex_transposed_convolution", False):
        names.weight("grow", file)
        options = f"filters=1, kernel={patch}, strides={patch}"
        return [f"convTranspose2d(grow, {options}, bias=grow_b)"], patch
    step = patch // 4
    if not step:
        hint = '"patch_size" is at least 4 then'
        raise config.not_supported("use_complex_transposed_convolution", True, hint)
    for parameter, number in (("smooth", 0), ("grow", 2), ("grow", 4)):
        names.weight(parameter, f"{file}.{number}")
    options = f"kernel={step}, strides={step}, bias=grow_b"
    return [
        f"conv2d(smooth, filters={width}, kernel=3, padding=1, bias=smooth_b)",
        "relu()",
        f"convTranspose2d(grow, filters={width // 2}, {options})",
        "relu()",
        f"convTranspose2d(grow, filters=1, {options})",
    ], step * step
