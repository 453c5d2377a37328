"""GPT-2: learned positions, norms before attention and MLP, fused query, key and value projections.

Source: A. Radford et al., "Language models are unsupervised multitask learners" (2019).
"""

from __future__ import annotations

from webnnm.snapshots.foreign import Form, Part
from webnnm.transformers.architectures.model_text import (
    InputRules,
    ModelText,
    class_suffix,
    last_product,
    layers,
    norm_names,
    output,
    statements,
)
from webnnm.transformers.config import Config


def write_model(config: Config) -> ModelText:
    """Return the text of a GPT-2 and its name map."""
    kind = class_suffix(config, "LMHeadModel", "Model", default="GPT2LMHeadModel")
    config.require("scale_attn_weights", True)
    config.require("scale_attn_by_inverse_layer_idx", False)
    config.require("add_cross_attention", False)
    tied = config.flag("tie_word_embeddings", True)
    vocabulary, width = config.size("vocab_size", 50257), config.size("n_embd", 768)
    epsilon = config.positive("layer_norm_epsilon", 1e-5)
    inner = config.size("n_inner", 4 * width)
    ends_in_logits = kind == "LMHeadModel"
    name, size = ("logits", vocabulary) if ends_in_logits else ("last_hidden_state", width)
    product = "matmul(wte, bTranspose=true)" if tied else f"matmul(lm_head, shape=[{vocabulary}])"
    body = (
        "embedding(wpe, node=position_ids, name=positions)",
        "embedding(wte, node=input_ids)",
        "add(positions)",
        f"block(repeat={config.count('n_layer', 12)})",
        "norm(weight=final_norm, bias=final_norm_b)",
        product if ends_in_logits else "",
    )
    block = layers(
        "norm(weight=attention_norm, bias=attention_norm_b)",
        f"attend(wq, wk, wv, o=wo, bias=true, heads={config.size('n_head', 12)}, causal=true, "
        "segments=attention_mask)",
        "residual(to=input, name=attended)",
        "norm(weight=mlp_norm, bias=mlp_norm_b)",
        f"matmul(fc, shape=[{inner}])",
        "add(fc_b)",
        config.activation("activation_function", "gelu_new"),
        f"matmul(proj, shape=[{width}])",
        "add(proj_b)",
        "residual(to=attended)",
    )
    source = statements(
        [
            "model:name gpt2",
            "input_ids:input int32 shape=[] sequence=tokens",
            "attention_mask:input int32 shape=[] sequence=tokens",
            "position_ids:input int32 shape=[] sequence=tokens",
            f"{name}:param wte shape=[{vocabulary}, {width}]",
            f"{name}:param wpe shape=[{config.size('n_positions', 1024)}, {width}]",
            *output(name, size, *body),
            f"block:layers\n{block}",
            f"norm:layers layerNorm(scale=weight, bias=bias, epsilon={epsilon})",
        ]
    )
    names = _names() | last_product(ends_in_logits and not tied)
    input_rules = InputRules(position_rows="n_positions")
    return ModelText(source, names, "transformer.", input_rules=input_rules)


def _names() -> dict[str, str | Form | None]:
    """Return the name map; the layers that GPT-2 calls Conv1D store `[in, out]`."""
    attention: dict[str, Form] = {}
    for index, parameter in enumerate(("wq", "wk", "wv")):
        attention[f"{parameter}{{n}}"] = Part("h.{n-1}.attn.c_attn.weight", index, 3, axis=1)
        attention[f"{parameter}_b{{n}}"] = Part("h.{n-1}.attn.c_attn.bias", index, 3)
    return {
        "wte": "wte.weight",
        "wpe": "wpe.weight",
        **attention,
        "wo{n}": "h.{n-1}.attn.c_proj.weight",
        "wo_b{n}": "h.{n-1}.attn.c_proj.bias",
        **norm_names("attention_norm{n}", "h.{n-1}.ln_1"),
        **norm_names("mlp_norm{n}", "h.{n-1}.ln_2"),
        "fc{n}": "h.{n-1}.mlp.c_fc.weight",
        "fc_b{n}": "h.{n-1}.mlp.c_fc.bias",
        "proj{n}": "h.{n-1}.mlp.c_proj.weight",
        "proj_b{n}": "h.{n-1}.mlp.c_proj.bias",
        **norm_names("final_norm1", "ln_f"),
        "h.*.attn.bias": None,
        "h.*.attn.masked_bias": None,
    }
