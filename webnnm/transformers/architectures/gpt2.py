"""GPT-2: learned positions, norms before attention and MLP, fused query, key and value projections.

Source: A. Radford et al., "Language models are unsupervised multitask learners" (2019).

Not supported: `scale_attn_by_inverse_layer_idx`, `add_cross_attention`.
"""

from __future__ import annotations

from webnnm.snapshots.foreign import Form, Part
from webnnm.transformers.architectures.encoder_decoder import TextDecoder, pass_states
from webnnm.transformers.architectures.model_text import (
    InputRules,
    ModelText,
    class_suffix,
    last_product,
    layers,
    linear_layers,
    norm_names,
    output,
    prefix_names,
    statements,
)
from webnnm.transformers.config import Config


def write_model(config: Config) -> ModelText:
    """Return the text of a GPT-2 and its name map."""
    kind = class_suffix(config, "LMHeadModel", "Model", default="GPT2LMHeadModel")
    config.require("add_cross_attention", False)
    tied = config.flag("tie_word_embeddings", True)
    vocabulary, width = config.size("vocab_size", 50257), config.size("n_embd", 768)
    ends_in_logits = kind == "LMHeadModel"
    name, size = ("logits", vocabulary) if ends_in_logits else ("last_hidden_state", width)
    body = _body(config)
    product = _product(tied, vocabulary) if ends_in_logits else ""
    source = statements(
        [
            "model:name gpt2",
            *_inputs(),
            *_parameters(config, name, vocabulary, width),
            *output(name, size, *body, product),
            *_blocks(config, width),
        ]
    )
    names = _names() | last_product(ends_in_logits and not tied)
    return ModelText(source, names, "transformer.", input_rules=INPUT_RULES)


def write_decoder(config: Config, states: str) -> TextDecoder:
    """Return the parts of a GPT-2 that attends to the states of another model."""
    config.require("add_cross_attention", True)
    config.get("is_decoder")
    tied = config.flag("tie_word_embeddings", True)
    vocabulary, width = config.size("vocab_size", 50257), config.size("n_embd", 768)
    names = prefix_names(_names(DECODER, crosses=True), "transformer.")
    names |= last_product(not tied)
    return TextDecoder(
        vocabulary,
        width,
        _inputs(DECODER),
        _parameters(config, "logits", vocabulary, width, DECODER),
        (*_body(config, DECODER, pass_states(states)), _product(tied, vocabulary, DECODER)),
        _blocks(config, width, DECODER, states),
        prefix_names(names, "decoder."),
        input_rules=INPUT_RULES,
    )


INPUT_RULES = InputRules(position_rows="n_positions")
DECODER = "decoder_"
"""What precedes the names of inputs, parameters and blocks in a model with an encoder."""


def _inputs(prefix: str = "") -> tuple[str, ...]:
    names = ("input_ids", "attention_mask", "position_ids")
    return tuple(f"{prefix}{n}:input int32 shape=[] sequence={prefix}tokens" for n in names)


def _parameters(
    config: Config, block: str, vocabulary: int, width: int, prefix: str = ""
) -> tuple[str, ...]:
    return (
        f"{block}:param {prefix}wte shape=[{vocabulary}, {width}]",
        f"{block}:param {prefix}wpe shape=[{config.size('n_positions', 1024)}, {width}]",
    )


def _body(config: Config, prefix: str = "", arguments: str = "") -> tuple[str, ...]:
    """Return the layers of all blocks; `arguments` are those of the block."""
    return (
        f"embedding({prefix}wpe, node={prefix}position_ids, name=positions)",
        f"embedding({prefix}wte, node={prefix}input_ids)",
        "add(positions)",
        f"{prefix}block(repeat={config.count('n_layer', 12)}{arguments})",
        f"norm(weight={prefix}final_norm, bias={prefix}final_norm_b)",
    )


def _product(tied: bool, vocabulary: int, prefix: str = "") -> str:
    """Return the layer that computes logits."""
    return (
        f"matmul({prefix}wte, bTranspose=true)"
        if tied
        else f"matmul(lm_head, shape=[{vocabulary}])"
    )


def _blocks(config: Config, width: int, prefix: str = "", states: str = "") -> tuple[str, ...]:
    """Return the statements of blocks; they attend to `states` too, if there are some."""
    config.require("scale_attn_weights", True)
    config.require("scale_attn_by_inverse_layer_idx", False)
    p, heads = prefix, f"bias=true, heads={config.size('n_head', 12)}"
    cross = (
        "norm(weight=cross_norm, bias=cross_norm_b)",
        f"attend(cross_wq, cross_wk, cross_wv, o=cross_wo, {heads}, to={states})",
        "residual(to=attended, name=informed)",
    )
    block = layers(
        f"norm(weight={p}attention_norm, bias={p}attention_norm_b)",
        f"attend({p}wq, {p}wk, {p}wv, o={p}wo, {heads}, causal=true, segments={p}attention_mask)",
        "residual(to=input, name=attended)",
        *(cross if states else ()),
        f"norm(weight={p}mlp_norm, bias={p}mlp_norm_b)",
        *linear_layers(f"{p}fc", config.size("n_inner", 4 * width)),
        config.activation("activation_function", "gelu_new"),
        *linear_layers(f"{p}proj", width),
        f"residual(to={'informed' if states else 'attended'})",
    )
    epsilon = config.positive("layer_norm_epsilon", 1e-5)
    return (
        f"{p}block:layers\n{block}",
        f"norm:layers layerNorm(scale=weight, bias=bias, epsilon={epsilon})",
    )


def _names(prefix: str = "", *, crosses: bool = False) -> dict[str, str | Form | None]:
    """Return the name map; the layers that GPT-2 calls Conv1D store `[in, out]`."""
    p, attention = prefix, dict[str, str | Form | None]()
    for index, letter in enumerate("qkv"):
        layer = "h.{n-1}.attn.c_attn"
        attention[f"{p}w{letter}{{n}}"] = Part(f"{layer}.weight", index, 3, axis=1)
        attention[f"{p}w{letter}_b{{n}}"] = Part(f"{layer}.bias", index, 3)
    if crosses:
        layer = "h.{n-1}.crossattention"
        attention |= norm_names("cross_norm{n}", "h.{n-1}.ln_cross_attn")
        for parameter, name in (("cross_wq", "q_attn"), ("cross_wo", "c_proj")):
            attention[f"{parameter}{{n}}"] = f"{layer}.{name}.weight"
            attention[f"{parameter}_b{{n}}"] = f"{layer}.{name}.bias"
        for index, parameter in enumerate(("cross_wk", "cross_wv")):
            attention[f"{parameter}{{n}}"] = Part(f"{layer}.c_attn.weight", index, 2, axis=1)
            attention[f"{parameter}_b{{n}}"] = Part(f"{layer}.c_attn.bias", index, 2)
        attention |= dict.fromkeys(("h.*.crossattention.bias", "h.*.crossattention.masked_bias"))
    return {
        f"{p}wte": "wte.weight",
        f"{p}wpe": "wpe.weight",
        **attention,
        f"{p}wo{{n}}": "h.{n-1}.attn.c_proj.weight",
        f"{p}wo_b{{n}}": "h.{n-1}.attn.c_proj.bias",
        **norm_names(f"{p}attention_norm{{n}}", "h.{n-1}.ln_1"),
        **norm_names(f"{p}mlp_norm{{n}}", "h.{n-1}.ln_2"),
        f"{p}fc{{n}}": "h.{n-1}.mlp.c_fc.weight",
        f"{p}fc_b{{n}}": "h.{n-1}.mlp.c_fc.bias",
        f"{p}proj{{n}}": "h.{n-1}.mlp.c_proj.weight",
        f"{p}proj_b{{n}}": "h.{n-1}.mlp.c_proj.bias",
        **norm_names(f"{p}final_norm1", "ln_f"),
        "h.*.attn.bias": None,
        "h.*.attn.masked_bias": None,
    }
