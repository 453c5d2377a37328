"""Florence-2: a BART whose encoder reads a picture, seen by a DaViT, and a task in words.

Source: B. Xiao et al., "Florence-2: advancing a unified representation for a variety of vision
tasks", arXiv:2311.06242 (2023).

Not supported: `tie_word_embeddings` of false in `text_config`, the names of tensors in files of
`microsoft`: load those of `florence-community`.
"""

from __future__ import annotations

from webnnm.notation import parse
from webnnm.notation.formatter import format_document
from webnnm.snapshots.foreign import Form, Part, Reshaped, Transposed
from webnnm.transformers.architectures.bart import VARIANTS, write_language
from webnnm.transformers.architectures.conv_net import ConvNet
from webnnm.transformers.architectures.davit import write_stages
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    layers,
    norm_names,
    prefix_names,
)
from webnnm.transformers.architectures.patches import Picture
from webnnm.transformers.config import Config
from webnnm.transformers.picture_tokens import FEATURES, IMAGE_TOKENS, SEQUENCE, STATES

CLASS = "ForConditionalGeneration"
LANGUAGE = VARIANTS["bart"]._replace(logits_bias=False, shift_right=False)
TOWER, PROJECTOR = "vision_tower.", "multi_modal_projector."
SIDE = 768
"""The height and width of pictures: those of its processor."""


def write_model(config: Config) -> ModelText:
    """Return the text of a Florence-2 and its name map."""
    class_suffix(config, CLASS, default=f"Florence2{CLASS}")
    config.require("is_encoder_decoder", True)
    tied = config.flag("tie_word_embeddings", True)
    if not config.object("text_config").get("tie_word_embeddings", True):
        hint = "the encoder and the decoder read the same table"
        raise config.not_supported("text_config.tie_word_embeddings", False, hint)
    own = {"architectures": [f"Bart{CLASS}"], "tie_word_embeddings": tied}
    text = config.part("text_config", own)
    text.require("model_type", "bart")
    width = text.size("d_model", 1024)
    token = config.integer("image_token_id", IMAGE_TOKENS["florence2"])
    lines, names = _write_tower(config, config.part("vision_config"), width)
    model = write_language(
        text,
        LANGUAGE,
        inputs=[f"{FEATURES}:input shape=[{width}] sequence={SEQUENCE}"],
        embedded=[f"replaceTokens({FEATURES}, ids=input_ids, token={token})"],
    )
    source = model.source.replace("model:name bart", "model:name florence2")
    heads = {name: origin for name, origin in model.names.items() if "lm_head" in name}
    body = {name: origin for name, origin in model.names.items() if name not in heads}
    return ModelText(
        format_document(parse(source + lines)),
        {**prefix_names(body, "language_model."), **heads, **names},
        "model.",
        input_rules=model.input_rules,
    )


def _write_tower(
    config: Config, vision: Config, width: int
) -> tuple[str, dict[str, str | Form | None]]:
    """Return the statements of the tower of pictures, and its names."""
    if vision.size("projection_dim", 1024) != width:
        raise vision.wrong("projection_dim", f"the width of texts, {width}")
    vision.get("model_type")
    sides = config.pair("image_size", SIDE)
    seen = Picture(vision.size("in_channels", 3), *sides, (1, 1))
    body = ConvNet(seen)
    body.add("identity(node=pixel_values)")
    blocks = write_stages(vision, body, TOWER)
    channels, height, across = body.channels, body.height, body.width
    rows, moments = (
        vision.size("max_position_embeddings", 50),
        vision.size("max_temporal_embeddings", 100),
    )
    if max(height, across) > rows:
        hint = f"the last grid has {height} x {across} cells"
        raise vision.not_supported("max_position_embeddings", rows, hint)
    half, cells = channels // 2, height * across
    project = layers(
        *body.rows,
        "transpose([1, 2, 0])",
        f"split([{channels - half}, {half}], axis=-1, name=part)",
        "add(picture_columns, node=part.0, name=by_column)",
        "add(picture_rows, node=part.1, name=by_row)",
        "concat([by_column, by_row], axis=-1)",
        f"reshape([{cells}, {channels}])",
        "add(picture_moment, name=cells)",
        "reduceMean(axes=[0], keepDimensions=true, name=mean)",
        "concat([mean, cells], axis=0)",
        f"matmul(projection, shape=[{cells + 1}, {width}])",
        "layerNorm(scale=projection_norm, bias=projection_norm_b)",
    )
    lines = [
        seen.input,
        f"{STATES}:output shape={{tokens:{cells + 1}, features:{width}}}",
        f"{STATES}:param picture_columns shape=[{across}, {channels - half}]",
        f"{STATES}:param picture_rows shape=[{height}, 1, {half}]",
        f"{STATES}:param picture_moment shape=[{channels}] trainable=false",
        f"{STATES}:layers\n{project}",
        *blocks,
    ]
    tables = f"{PROJECTOR}image_position_embed."
    names: dict[str, str | Form | None] = {
        **body.names,
        "picture_columns": _first_rows(f"{tables}column_embeddings.weight", across, rows),
        "picture_rows": Reshaped(
            _first_rows(f"{tables}row_embeddings.weight", height, rows), (height, 1, half)
        ),
        "picture_moment": Reshaped(
            _first_rows(f"{PROJECTOR}visual_temporal_embed.pos_idx_to_embed", 1, moments),
            (channels,),
        ),
        "projection1": Transposed(f"{PROJECTOR}image_projection.weight"),
        **norm_names("projection_norm1", f"{PROJECTOR}image_proj_norm"),
    }
    return "".join(f"{line};\n" for line in lines), names


def _first_rows(name: str, count: int, rows: int) -> str | Form:
    """Return the first rows of a table."""
    return Part(name, 0, (count, rows - count)) if count < rows else name
