"""Idefics 3 and SmolVLM: a language model whose text has the patches of pictures in it.

Sources: H. Laurençon et al., "Building and better understanding vision-language models",
arXiv:2408.12637 (2024); A. Marafioti et al., "SmolVLM", arXiv:2504.05299 (2025).
"""

from __future__ import annotations

from webnnm.core.errors import DataError
from webnnm.notation import parse
from webnnm.notation.formatter import format_document
from webnnm.transformers.architectures import llama
from webnnm.transformers.architectures.clip import (
    Names,
    read_tower,
    tower_names,
    write_layer,
)
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    layers,
    linear_names,
    norm_names,
    prefix_names,
)
from webnnm.transformers.architectures.patches import picture
from webnnm.transformers.config import Config
from webnnm.transformers.picture_tokens import FEATURES, IMAGE_TOKEN, SEQUENCE, STATES

CLASS = "ForConditionalGeneration"
TEXTS = ("llama", "mistral", "qwen2", "smollm2")
"""`model_type` of texts whose embeddings are used as they are."""
WIDTH, INNER, HEADS, IMAGE, PATCH = 1152, 3072, 16, 224, 32
"""The sizes of pictures where a config has none."""
TEXT_ONLY = ("neftune_noise_alpha", "perceiver_config", "pixel_shuffle_factor")
PICTURE_ONLY = ("max_image_size", "size", "use_base_siglip")
"""Keys of the first configs, which have no effect."""


def write_model(config: Config) -> ModelText:
    """Return the text of a language model with the tower of pictures, and its name map."""
    class_suffix(config, CLASS, default=CLASS)
    config.get("vocab_size")  # that of the text counts
    config.get("use_reentrant_checkpointing")
    tied = config.flag("tie_word_embeddings")
    own = {"architectures": ["LlamaForCausalLM"], "tie_word_embeddings": tied}
    text = config.part("text_config", own)
    kind = text.text("model_type", "llama")
    if kind not in TEXTS:
        raise text.not_supported("model_type", kind, f"supported are {', '.join(TEXTS)}")
    text.given["model_type"] = kind
    for key in ("qk_layer_norms", "use_resampler", "rope_interleaved"):
        text.require(key, False)
    for key in TEXT_ONLY:
        text.get(key)
    vision = config.part("vision_config")
    width, token = text.size("hidden_size"), config.integer("image_token_id", IMAGE_TOKEN)
    lines, names = _write_tower(config, vision, width)
    model = llama.write_model(
        text,
        inputs=[f"{FEATURES}:input shape=[{width}] sequence={SEQUENCE}"],
        embedded=[f"replaceTokens({FEATURES}, ids=input_ids, token={token})"],
    )
    source = model.source.replace(f"model:name {kind}", f"model:name {config.get('model_type')}")
    heads = {name: origin for name, origin in model.names.items() if "lm_head" in name}
    body = {name: origin for name, origin in model.names.items() if name not in heads}
    return ModelText(
        format_document(parse(source + lines)),
        {**prefix_names(body, "text_model."), **heads, **names},
        "model.",
        input_rules=model.input_rules,
    )


def _write_tower(config: Config, vision: Config, width: int) -> tuple[str, Names]:
    """Return the statements of the tower of pictures, and its names."""
    for key in PICTURE_ONLY:
        vision.get(key)
    seen = picture(vision, size=IMAGE, patch=PATCH)
    side, factor = seen.grid[0], config.size("scale_factor", 2)
    if seen.grid[1] != side or side % factor:
        message = f"{seen.grid[0]} x {seen.grid[1]} patches cannot be joined by {factor} x {factor}"
        raise DataError("NNM818", f"config.json: {message}", hint="scale_factor divides the grid")
    prefix = "vision_model."
    tower = read_tower(
        vision,
        "image",
        (WIDTH, INNER, HEADS),
        activation="gelu_pytorch_tanh",
        epsilon=1e-6,
        file_prefix=prefix,
        projection_size=0,
        with_other=True,
        tokens=seen.patches,
        norm_block="layer_norm",
    )
    tokens, joined = side // factor, tower.width * factor * factor
    body = layers(
        *seen.tokens(tower.width, before=()),
        f"image_layer(repeat={tower.depth})",
        tower.norm(""),
        f"reshape([{side}, {tokens}, {tower.width * factor}])",
        "transpose([1, 0, 2])",
        f"reshape([{tokens}, {tokens}, {joined}])",
        "transpose([1, 0, 2])",
        f"reshape([{tokens * tokens}, {joined}])",
        f"matmul(connector, shape=[{tokens * tokens}, {width}])",
    )
    lines = [
        seen.input,
        f"{STATES}:output shape={{tokens:{tokens * tokens}, features:{width}}}",
        *seen.parameters(STATES, tower.width, tokens={}),
        f"{STATES}:layers\n{body}",
        f"image_layer:param image_up_b shape=[{tower.inner}] shared=false",
        f"image_layer:param image_down_b shape=[{tower.width}] shared=false",
        *write_layer(tower, ""),
        "layer_norm:layers layerNorm(scale=weight, bias=bias)",
    ]
    names: Names = {
        **tower_names(tower),
        "patch1": f"{prefix}embeddings.patch_embedding.weight",
        "patch_b1": f"{prefix}embeddings.patch_embedding.bias",
        "position_embeddings": f"{prefix}embeddings.position_embedding.weight",
        **norm_names("image_norm1", f"{prefix}post_layernorm"),
        **linear_names("connector1", "connector.modality_projection.proj", bias=False),
    }
    return "".join(f"{line};\n" for line in lines), names
