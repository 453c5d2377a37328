"""Vision transformers: patches of an image as tokens, and a class token.

Source: A. Dosovitskiy et al., "An image is worth 16x16 words", arXiv:2010.11929 (2020).
"""

from __future__ import annotations

from webnnm.snapshots.foreign import Form, Reshaped
from webnnm.transformers.architectures.attention import attention
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    count_classes,
    declared_bias_names,
    layers,
    linear_layers,
    linear_names,
    norm_names,
    output,
    statements,
)
from webnnm.transformers.architectures.patches import picture
from webnnm.transformers.config import Config

FIRST = ("slice([0, 0], [1, -1])", "flatten()")
"""Layers that select the class token."""
_LAYER = r"(^|\.)layers\.(\d+)\."
MODULE_NAMES = (
    (_LAYER + r"attention\.q_proj\.", r"\1encoder.layer.\2.attention.attention.query."),
    (_LAYER + r"attention\.k_proj\.", r"\1encoder.layer.\2.attention.attention.key."),
    (_LAYER + r"attention\.v_proj\.", r"\1encoder.layer.\2.attention.attention.value."),
    (_LAYER + r"attention\.o_proj\.", r"\1encoder.layer.\2.attention.output.dense."),
    (_LAYER + r"mlp\.fc1\.", r"\1encoder.layer.\2.intermediate.dense."),
    (_LAYER + r"mlp\.fc2\.", r"\1encoder.layer.\2.output.dense."),
    (_LAYER + r"(layernorm_(?:before|after))\.", r"\1encoder.layer.\2.\3."),
)
"""Names of the modules of transformers 5: pattern → the published name."""


def write_model(config: Config) -> ModelText:
    """Return the text of a vision transformer and its name map."""
    kind = class_suffix(config, "Model", "ForImageClassification", default="ViTModel")
    width = config.size("hidden_size", 768)
    heads, inner = config.size("num_attention_heads", 12), config.size("intermediate_size", 3072)
    count = config.count("num_hidden_layers", 12)
    seen = picture(config)
    config.get("encoder_stride")
    tokens = seen.patches + 1
    biases = "qkvo" if config.flag("qkv_bias", True) else "o"
    activation = config.activation("hidden_act", "gelu")
    body = [
        *seen.tokens(width),
        f"layer(repeat={count})",
        "norm(weight=final_norm, bias=final_norm_b)",
    ]
    layer = layers(
        "norm(weight=attention_norm, bias=attention_norm_b)",
        "attention()",
        "residual(to=input, name=attended)",
        "norm(weight=mlp_norm, bias=mlp_norm_b)",
        *linear_layers("up", f"{tokens}, {inner}"),
        activation,
        *linear_layers("down", f"{tokens}, {width}"),
        "residual(to=attended)",
    )
    name, outputs = _outputs(config, kind, width, tokens, body)
    epsilon = config.positive("layer_norm_eps", 1e-12)
    source = statements(
        [
            "model:name vit",
            seen.input,
            *seen.parameters(name, width),
            *outputs,
            f"layer:param up_b shape=[{inner}] shared=false",
            f"layer:param down_b shape=[{width}] shared=false",
            f"attention:param wo_b shape=[{width}] shared=false" if biases == "o" else "",
            f"layer:layers\n{layer}",
            f"attention:layers\n{attention(width, heads, biases=biases, tokens=tokens)}",
            f"norm:layers layerNorm(scale=weight, bias=bias, epsilon={epsilon})",
        ]
    )
    names = _names(kind, biases, width, tokens, count)
    return ModelText(source, names, "vit.", module_names=MODULE_NAMES)


def _outputs(
    config: Config, kind: str, width: int, tokens: int, body: list[str]
) -> tuple[str, list[str]]:
    """Return the block with the layers of the encoder, and the statements of all outputs."""
    pooled, size = config.activation("pooler_act", "tanh"), config.size("pooler_output_size", width)
    if kind != "Model":
        size = count_classes(config)
        rows = (*body, *FIRST, *linear_layers("classifier", size))
        return "logits", output("logits", size, *rows, tokens=False)
    first = FIRST[0].replace("(", "(node=last_hidden_state, ", 1)
    pooler = (first, *FIRST[1:], *linear_layers("pooler", size), pooled)
    return "last_hidden_state", [
        f"last_hidden_state:output shape={{tokens:{tokens}, features:{width}}}",
        f"last_hidden_state:layers\n{layers(*body)}",
        *output("pooler_output", size, *pooler, tokens=False),
    ]


def _names(
    kind: str, biases: str, width: int, tokens: int, count: int
) -> dict[str, str | Form | None]:
    layer = "encoder.layer.{n-1}"
    names: dict[str, str | Form | None] = {
        "cls_token": Reshaped("embeddings.cls_token", (1, width)),
        "position_embeddings": Reshaped("embeddings.position_embeddings", (tokens, width)),
        "patch1": "embeddings.patch_embeddings.projection.weight",
        "patch_b1": "embeddings.patch_embeddings.projection.bias",
        **norm_names("attention_norm{n}", f"{layer}.layernorm_before"),
        **norm_names("mlp_norm{n}", f"{layer}.layernorm_after"),
        **norm_names("final_norm1", "layernorm"),
    }
    for parameter, name in (("up", "intermediate"), ("down", "output"), ("wo", "attention.output")):
        file_name, is_declared = f"{layer}.{name}.dense", parameter != "wo" or biases == "o"
        names |= linear_names(f"{parameter}{{n}}", file_name, bias=not is_declared)
        names |= declared_bias_names(f"{parameter}_b", file_name, count) if is_declared else {}
    for parameter, name in (("q", "query"), ("k", "key"), ("v", "value")):
        file_name = f"{layer}.attention.attention.{name}"
        names |= linear_names(f"w{parameter}{{n}}", file_name, bias=parameter in biases)
    names |= linear_names("pooler1", "pooler.dense") if kind == "Model" else {}
    names |= linear_names("classifier1", "classifier") if kind != "Model" else {}
    return names | dict.fromkeys(("pooler.*", "classifier.*", "embeddings.mask_token"))
