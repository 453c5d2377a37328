"""OPT: learned positions, an MLP with relu, norms before or after attention and MLP.

Source: S. Zhang et al., "OPT: Open pre-trained transformer language models", arXiv:2205.01068.

Not supported: `layer_norm_elementwise_affine` of false.
"""

from __future__ import annotations

from webnnm.snapshots.foreign import Form, Part
from webnnm.transformers.architectures.model_text import (
    InputRules,
    ModelText,
    class_suffix,
    last_product,
    layers,
    linear_layers,
    linear_names,
    norm_names,
    output,
    projection_names,
    statements,
)
from webnnm.transformers.config import Config

OFFSET = 2
"""Rows before those of the positions: the second one is that of padding, whose results mean
nothing."""


def write_model(config: Config) -> ModelText:
    """Return the text of an OPT and its name map."""
    suffix = class_suffix(config, "ForCausalLM", "Model", default="OPTForCausalLM")
    in_logits = suffix == "ForCausalLM"
    config.require("layer_norm_elementwise_affine", True)
    first = config.flag("do_layer_norm_before", True)
    last_norm = first and not config.flag("_remove_final_layer_norm", False)
    bias = config.flag("enable_bias", True)
    tied = config.flag("tie_word_embeddings", True)
    vocabulary, width = config.size("vocab_size", 50272), config.size("hidden_size", 768)
    embedded = config.size("word_embed_proj_dim", width)
    projected = embedded != width
    positions = config.size("max_position_embeddings", 2048)
    name, size = ("logits", vocabulary) if in_logits else ("last_hidden_state", embedded)
    product = "embed_tokens, bTranspose=true" if tied else f"lm_head, shape=[{vocabulary}]"
    body = (
        "embedding(embed_positions, node=position_ids, name=positions)",
        "embedding(embed_tokens, node=input_ids)",
        f"matmul(project_in, shape=[{width}])" if projected else "",
        "add(positions)",
        f"layer(repeat={config.count('num_hidden_layers', 12)})",
        "norm(weight=final_norm, bias=final_norm_b)" if last_norm else "",
        f"matmul(project_out, shape=[{embedded}])" if projected else "",
        f"matmul({product})" if in_logits else "",
    )
    source = statements(
        [
            "model:name opt",
            "input_ids:input int32 shape=[] sequence=tokens",
            "attention_mask:input int32 shape=[] sequence=tokens",
            "position_ids:input int32 shape=[] sequence=tokens",
            f"{name}:param embed_tokens shape=[{vocabulary}, {embedded}]",
            f"{name}:param embed_positions shape=[{positions}, {width}]",
            *output(name, size, *body),
            f"layer:layers\n{_layer(config, width, first=first, bias=bias)}",
            "norm:layers layerNorm(scale=weight, bias=bias, epsilon=1e-5)",
        ]
    )
    names = _names(positions, bias=bias, projected=projected, last_norm=last_norm)
    names |= last_product(in_logits and not tied)
    input_rules = InputRules(padding_by="attention_mask", position_rows="max_position_embeddings")
    return ModelText(source, names, "model.", input_rules=input_rules)


def _layer(config: Config, width: int, *, first: bool, bias: bool) -> str:
    """Return the layers of a block, with norms before attention and MLP or after them."""
    heads = config.size("num_attention_heads", 12)
    biased = "bias=true, " if bias else ""

    attention = (
        f"attend(wq, wk, wv, o=wo, {biased}heads={heads}, causal=true, segments=attention_mask)"
    )
    mlp = (
        *linear_layers("up", config.size("ffn_dim", 3072), bias=bias),
        config.activation("activation_function", "relu"),
        *linear_layers("down", width, bias=bias),
    )
    norms = [f"norm(weight={part}_norm, bias={part}_norm_b" for part in ("attention", "mlp")]
    if first:
        return layers(
            f"{norms[0]})",
            attention,
            "residual(to=input, name=attended)",
            f"{norms[1]})",
            *mlp,
            "residual(to=attended)",
        )
    return layers(
        attention,
        "residual(to=input)",
        f"{norms[0]}, name=attended)",
        *mlp,
        "residual(to=attended)",
        f"{norms[1]})",
    )


def _names(
    positions: int, *, bias: bool, projected: bool, last_norm: bool
) -> dict[str, str | Form | None]:
    layer = "decoder.layers.{n-1}"
    names: dict[str, str | Form | None] = {
        "embed_tokens": "decoder.embed_tokens.weight",
        "embed_positions": Part("decoder.embed_positions.weight", 1, (OFFSET, positions)),
        **norm_names("attention_norm{n}", f"{layer}.self_attn_layer_norm"),
        **norm_names("mlp_norm{n}", f"{layer}.final_layer_norm"),
        **linear_names("up{n}", f"{layer}.fc1", bias=bias),
        **linear_names("down{n}", f"{layer}.fc2", bias=bias),
    }
    names |= projection_names("w", f"{layer}.self_attn", biases="qkvo" if bias else "")
    if projected:
        names |= linear_names("project_in1", "decoder.project_in", bias=False)
        names |= linear_names("project_out1", "decoder.project_out", bias=False)
    if last_norm:
        names |= norm_names("final_norm1", "decoder.final_layer_norm")
    return names
