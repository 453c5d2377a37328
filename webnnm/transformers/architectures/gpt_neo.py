"""GPT-Neo and GPT-BigCode: learned positions, windows in some layers or keys for all heads.

Sources: S. Black et al., "GPT-Neo: Large scale autoregressive language modeling with
Mesh-Tensorflow" (2021); L. Ben Allal et al., "SantaCoder: don't reach for the stars!",
arXiv:2301.03988 (2023).

Not supported: `qk_layernorm`; `tie_word_embeddings` where the last product has a bias.
"""

from __future__ import annotations

from typing import Any

from webnnm.snapshots.foreign import Form
from webnnm.transformers.architectures.attention import attention
from webnnm.transformers.architectures.decoder_blocks import Decoder, head_size, projection_parts
from webnnm.transformers.architectures.layer_kinds import LayerKind, call_layers
from webnnm.transformers.architectures.model_text import (
    InputRules,
    ModelText,
    class_suffix,
    linear_names,
    norm_names,
    projection_names,
)
from webnnm.transformers.config import Config

WITHOUT_EFFECT = (
    *("attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "inference_runner"),
    *("validate_runner_input", "pre_allocate_kv_cache", "max_batch_size", "max_sequence_length"),
    "num_key_value_heads",
)
"""Keys of how numbers are computed, not which, and one that follows from another."""
OPTIONS = "causal=true, segments=attention_mask"


def write_model(config: Config) -> ModelText:
    """Return the text of a GPT-Neo or GPT-BigCode and its name map."""
    if config.get("model_type") == "gpt_bigcode":
        return _write_bigcode(config)
    suffix = class_suffix(config, "ForCausalLM", "Model", default="GPTNeoForCausalLM")
    width, heads = config.size("hidden_size", 2048), config.size("num_heads", 16)
    kinds = _list_kinds(config, config.count("num_layers", 24))
    window = config.size("window_size", 256)
    options = {
        kind: f"{OPTIONS}, scale=1{f', window={window}' if kind.window else ''}"
        for kind in sorted({*kinds})
    }
    decoder = Decoder(
        name="gpt_neo",
        in_logits=suffix == "ForCausalLM",
        vocabulary=config.size("vocab_size", 50257),
        width=width,
        inner=config.size("intermediate_size", 4 * width),
        calls=call_layers(kinds),
        attention={
            kind.name if len(options) > 1 else "attention": attention(
                width, heads, biases="o", options=text
            )
            for kind, text in options.items()
        },
        activation=config.activation("activation_function", "gelu_new"),
        epsilon=config.positive("layer_norm_epsilon", 1e-5),
        head="tied" if config.flag("tie_word_embeddings", True) else "own",
        table=config.size("max_position_embeddings", 2048),
    )
    attended = "h.{n-1}.attn.attention"
    names = _names(decoder) | projection_names("w", attended, biases="o")
    names |= {"h.*.attn.attention.bias": None, "h.*.attn.attention.masked_bias": None}
    rules = InputRules(position_rows="max_position_embeddings")
    return ModelText(decoder.source(), names, "transformer.", input_rules=rules)


def _list_kinds(config: Config, layers: int) -> list[LayerKind]:
    """Return the kinds of attention, which a config lists, or as patterns with their number."""
    key = "attention_types"
    patterns: Any = config.get(key, [[["global", "local"], layers // 2]])
    try:
        names = [name for pattern, times in patterns for _ in range(times) for name in pattern]
    except (TypeError, ValueError) as error:
        raise config.wrong(key, 'a list of pairs such as [["global", "local"], 12]') from error
    names = config.texts("attention_layers", names)
    if len(names) != layers or not {*names} <= {"global", "local"}:
        hint = f'{layers} layers have to be "global" or "local"'
        raise config.not_supported(key, patterns, hint)
    return [LayerKind(window=name == "local") for name in names]


def _write_bigcode(config: Config) -> ModelText:
    suffix = class_suffix(config, "ForCausalLM", "Model", default="GPTBigCodeForCausalLM")
    config.require("scale_attn_weights", True)
    config.require("add_cross_attention", False)
    for key in WITHOUT_EFFECT:
        config.get(key)
    width, heads = config.size("n_embd", 768), config.size("n_head", 12)
    kv_heads = 1 if config.flag("multi_query", True) else heads
    text = attention(width, heads, biases="qkvo", kv_heads=kv_heads, options=OPTIONS)
    decoder = Decoder(
        name="gpt_bigcode",
        in_logits=suffix == "ForCausalLM",
        vocabulary=config.size("vocab_size", 50257),
        width=width,
        inner=config.size("n_inner", 4 * width),
        calls=call_layers([LayerKind()] * config.count("n_layer", 12)),
        attention={"attention": text},
        activation=config.activation("activation_function", "gelu_pytorch_tanh"),
        epsilon=config.positive("layer_norm_epsilon", 1e-5),
        head="tied" if config.flag("tie_word_embeddings", True) else "own",
        table=config.size("n_positions", 1024),
    )
    attended, shared = "h.{n-1}.attn", kv_heads * head_size(width, heads)
    widths = (width, shared, shared)
    names = _names(decoder)
    names |= projection_parts(f"{attended}.c_attn", widths, heads=kv_heads, bias=True)
    names |= linear_names("wo{n}", f"{attended}.c_proj")
    names |= {"h.*.attn.bias": None, "h.*.attn.masked_bias": None}
    rules = InputRules(position_rows="n_positions")
    return ModelText(decoder.source(), names, "transformer.", input_rules=rules)


def _names(decoder: Decoder) -> dict[str, str | Form | None]:
    """Return the names of what both have in common."""
    return {
        "embed_tokens": "wte.weight",
        "embed_positions": "wpe.weight",
        **norm_names("attention_norm{n}", "h.{n-1}.ln_1"),
        **norm_names("mlp_norm{n}", "h.{n-1}.ln_2"),
        **linear_names("up{n}", "h.{n-1}.mlp.c_fc"),
        **linear_names("down{n}", "h.{n-1}.mlp.c_proj"),
        **norm_names("final_norm1", "ln_f"),
        **decoder.head_names(),
    }
