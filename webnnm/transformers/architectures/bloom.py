"""BLOOM, Falcon and MPT: positions by linear biases or rotation, fused projections.

Sources: BigScience Workshop, "BLOOM: A 176B-parameter open-access multilingual language model",
arXiv:2211.05100 (2022); E. Almazrouei et al., "The Falcon series of open language models",
arXiv:2311.16867 (2023); MosaicML NLP Team, "Introducing MPT-7B" (2023).

Not supported: `apply_residual_connection_post_layernorm` of `bloom`; `prefix_lm`, `qk_ln` and
multi-query attention of `mpt`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from webnnm.ops.declare.linear_bias import default_slopes
from webnnm.snapshots.foreign import Form
from webnnm.transformers.architectures.attention import attention
from webnnm.transformers.architectures.decoder_blocks import (
    Decoder,
    Order,
    call_norm,
    head_size,
    projection_parts,
)
from webnnm.transformers.architectures.layer_kinds import (
    LayerKind,
    Positions,
    attention_options,
    call_layers,
)
from webnnm.transformers.architectures.model_text import (
    InputRules,
    ModelText,
    class_suffix,
    linear_names,
    norm_names,
)
from webnnm.transformers.config import Config

MASK, POSITIONS = "segments=attention_mask", "positions=position_ids"
WITHOUT_EFFECT = (
    *("offset_alibi", "seq_length", "skip_bias_add", "skip_bias_add_qkv", "slow_but_exact"),
    *(
        "attention_softmax_in_fp32",
        "bias_dropout_fusion",
        "masked_softmax_fusion",
        "hidden_dropout",
    ),
    *("init_device", "verbose", "norm_type", "learned_pos_emb", "logit_scale"),
)
"""Keys that these models have, and on which no number depends."""


def write_model(config: Config) -> ModelText:
    """Return the text of a BLOOM, Falcon or MPT and its name map."""
    for key in WITHOUT_EFFECT:
        config.get(key)
    write = {"bloom": _write_bloom, "falcon": _write_falcon, "mpt": _write_mpt}
    return write[config.text("model_type")](config)


def _read_one(config: Config, key: str, earlier: str, default: int) -> int:
    """Return a size that has two names."""
    return config.size(key, config.size(earlier, default))


def _write_bloom(config: Config) -> ModelText:
    suffix = class_suffix(config, "ForCausalLM", "Model", default="BloomForCausalLM")
    config.require("apply_residual_connection_post_layernorm", False)
    width = _read_one(config, "n_embed", "hidden_size", 64)
    heads = _read_one(config, "n_head", "num_attention_heads", 8)
    count = config.count("n_layer", config.count("num_hidden_layers", 2))
    options = f"causal=true, alibi=true, {POSITIONS}, {MASK}"
    decoder = Decoder(
        name="bloom",
        in_logits=suffix == "ForCausalLM",
        vocabulary=config.size("vocab_size", 250880),
        width=width,
        inner=4 * width,
        calls=call_layers([LayerKind()] * count),
        attention={"attention": attention(width, heads, biases="qkvo", options=options)},
        activation="geluTanh()",
        epsilon=config.positive("layer_norm_epsilon", 1e-5),
        head="tied" if config.flag("tie_word_embeddings", True) else "own",
        embedded=(call_norm("embed"),),
    )
    names = _names(decoder, (width,) * 3, heads, bias=True)
    names |= norm_names("embed_norm1", "word_embeddings_layernorm")
    return _model(decoder, names, by_mask=True)


def _write_falcon(config: Config) -> ModelText:
    suffix = class_suffix(config, "ForCausalLM", "Model", default="FalconForCausalLM")
    width, heads = config.size("hidden_size", 4544), config.size("num_attention_heads", 71)
    size, new = head_size(width, heads), config.flag("new_decoder_architecture", False)
    shares_key, kv_heads = config.flag("multi_query", True), config.size("num_kv_heads", heads)
    if not new:
        kv_heads = 1 if shares_key else heads
    parallel = config.flag("parallel_attn", True)
    if new and not parallel:
        raise config.not_supported("parallel_attn", False, "the new architecture needs it")
    order: Order = "parallel" if parallel else "before"
    if config.size("num_ln_in_parallel_attn", 2 if new else 1) == 2 and new:
        order = "separate"
    bias, alibi = config.flag("bias", False), config.flag("alibi", False)
    kinds = [LayerKind()] * config.count("num_hidden_layers", 32)
    (options,) = attention_options(config, size, kinds, Positions()).values()
    if alibi:  # slopes are scaled with the products of queries and keys
        slopes = [slope / math.sqrt(size) for slope in default_slopes(heads)]
        options = f"causal=true, alibi=[{', '.join(map(repr, slopes))}], {POSITIONS}, {MASK}"
    biases = "qkvo" if bias else ""
    decoder = Decoder(
        name="falcon",
        in_logits=suffix == "ForCausalLM",
        vocabulary=config.size("vocab_size", 65024),
        width=width,
        inner=config.size("ffn_hidden_size", 4 * width),
        calls=call_layers(kinds),
        attention={
            "attention": attention(width, heads, biases=biases, kv_heads=kv_heads, options=options)
        },
        activation=config.activation("activation", "gelu"),
        epsilon=config.positive("layer_norm_epsilon", 1e-5),
        order=order,
        mlp_bias=bias,
        head="tied" if config.flag("tie_word_embeddings", True) else "own",
    )
    widths = (width, kv_heads * size, kv_heads * size)
    norms = {"attention": "ln_attn", "mlp": "ln_mlp"} if order == "separate" else NORMS
    names = _names(decoder, widths, kv_heads, bias=bias, norms=norms)
    return _model(decoder, names, by_mask=alibi)


NORMS = {"attention": "input_layernorm", "mlp": "post_attention_layernorm"}


def _names(
    decoder: Decoder,
    widths: tuple[int, int, int],
    groups: int,
    *,
    bias: bool,
    norms: Mapping[str, str] = NORMS,
) -> dict[str, str | Form | None]:
    """Return the names that BLOOM and Falcon have in common."""
    layer = "h.{n-1}"
    names: dict[str, str | Form | None] = {
        "embed_tokens": "word_embeddings.weight",
        **projection_parts(
            f"{layer}.self_attention.query_key_value", widths, heads=groups, bias=bias
        ),
        **linear_names("wo{n}", f"{layer}.self_attention.dense", bias=bias),
        **linear_names("up{n}", f"{layer}.mlp.dense_h_to_4h", bias=bias),
        **linear_names("down{n}", f"{layer}.mlp.dense_4h_to_h", bias=bias),
        **norm_names("final_norm1", "ln_f"),
        **decoder.head_names(),
    }
    for part, name in norms.items():
        if part != "mlp" or decoder.order != "parallel":
            names |= norm_names(f"{part}_norm{{n}}", f"{layer}.{name}")
    return names


def _write_mpt(config: Config) -> ModelText:
    suffix = class_suffix(config, "ForCausalLM", "Model", default="MptForCausalLM")
    width, heads = config.size("d_model", 2048), config.size("n_heads", 16)
    for key, value in (("no_bias", True), ("embedding_fraction", 1.0), ("expansion_ratio", 4)):
        config.require(key, value)
    part = config.part("attn_config")
    part.require("attn_type", "multihead_attention")
    for key in ("prefix_lm", "qk_ln", "attn_uses_sequence_id"):
        part.require(key, False)
    part.require("alibi", True)
    part.require("alibi_bias_max", 8)
    part.get("attn_impl")
    options = [f"causal=true, alibi=true, {MASK}"]
    if "softmax_scale" in part:
        options += [f"scale={part.positive('softmax_scale')}"]
    limit = part.positive("clip_qkv") if "clip_qkv" in part else None
    text = attention(width, heads, biases="", options=", ".join(options), limit=limit)
    config.integer("max_seq_len", 2048)
    decoder = Decoder(
        name="mpt",
        in_logits=suffix == "ForCausalLM",
        vocabulary=config.size("vocab_size", 50368),
        width=width,
        inner=4 * width,
        calls=call_layers([LayerKind()] * config.count("n_layers", 24)),
        attention={"attention": text},
        activation="gelu()",
        epsilon=config.positive("layer_norm_epsilon", 1e-5),
        norm_bias=False,
        mlp_bias=False,
        head="tied" if config.flag("tie_word_embeddings", True) else "own",
        positions=False,
    )
    block = "blocks.{n-1}"
    names: dict[str, str | Form | None] = {
        "embed_tokens": "wte.weight",
        "attention_norm{n}": f"{block}.norm_1.weight",
        "mlp_norm{n}": f"{block}.norm_2.weight",
        **projection_parts(f"{block}.attn.Wqkv", (width,) * 3),
        **linear_names("wo{n}", f"{block}.attn.out_proj", bias=False),
        **linear_names("up{n}", f"{block}.ffn.up_proj", bias=False),
        **linear_names("down{n}", f"{block}.ffn.down_proj", bias=False),
        "final_norm1": "norm_f.weight",
        **decoder.head_names(),
    }
    return _model(decoder, names, by_mask=False)


def _model(decoder: Decoder, names: Mapping[str, str | Form | None], *, by_mask: bool) -> ModelText:
    rules = InputRules(padding_by="attention_mask") if by_mask else InputRules()
    return ModelText(decoder.source(), names, "transformer.", input_rules=rules)
