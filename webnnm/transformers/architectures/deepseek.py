"""DeepSeek: keys and values from a small latent vector, mixtures of many experts in groups.

Sources: DeepSeek-AI, "DeepSeek-V2", arXiv:2405.04434 (2024), and "DeepSeek-V3 technical report",
arXiv:2412.19437 (2024).

Not supported: files in float8; `mlp_bias`, `norm_topk_prob` of `deepseek_v2`; caches hold keys and
values of all heads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from webnnm.snapshots.foreign import Form, Part, Transposed
from webnnm.transformers.architectures.decoder_blocks import block_layers, call_norm, mlp_layers
from webnnm.transformers.architectures.mixture import Experts, mixture_layers, mixture_names
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    last_product,
    layers,
    linear_names,
    output,
    statements,
)
from webnnm.transformers.architectures.rotary_rates import latent_factor, rotation
from webnnm.transformers.config import MAX_COUNT, Config

EXPERTS = Experts(shared_key="n_shared_experts", shared_gate=False)
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "deepseek_v2": {
        "q_lora_rank": 1536,
        "first_k_dense_replace": 0,
        "n_routed_experts": 64,
        "n_shared_experts": 2,
        "moe_intermediate_size": 1407,
        "routed_scaling_factor": 1.0,
        "topk_method": "greedy",
    },
    "deepseek_v3": {
        "q_lora_rank": 1536,
        "first_k_dense_replace": 3,
        "n_routed_experts": 256,
        "n_shared_experts": 1,
        "moe_intermediate_size": 2048,
        "routed_scaling_factor": 2.5,
        "n_group": 8,
        "topk_group": 4,
        "num_experts_per_tok": 8,
        "norm_topk_prob": True,
    },
}
"""`model_type` → values of keys that a config leaves out."""
WITHOUT_EFFECT = ("head_dim", "qk_head_dim", "ep_size", "seq_aux")
"""Keys that repeat others, or are those of a training."""
PREDICTING = ("num_nextn_predict_layers", "num_mtp_layers")
"""Keys of the number of layers that predict further tokens, which a file has after the others."""


class Sizes(NamedTuple):
    """The sizes of attention.

    Attributes: `width` of the model; `heads`; `plain` and `turning`, the features of a head that
    do not rotate and that do; `value`, those of its values; `latent`, those from which keys and
    values are computed; `query`, those from which queries are, None if they are the input.
    """

    width: int
    heads: int
    plain: int
    turning: int
    value: int
    latent: int
    query: int | None


def write_model(config: Config) -> ModelText:
    """Return the text of a DeepSeek model and its name map."""
    name = config.get("model_type")
    config.given = {**DEFAULTS[name], **config.given}
    suffix = class_suffix(config, "ForCausalLM", "Model", default="DeepseekV3ForCausalLM")
    for key in WITHOUT_EFFECT:
        config.get(key)
    config.require("mlp_bias", False)
    in_logits, sizes = suffix == "ForCausalLM", _sizes(config)
    config.require("num_key_value_heads", sizes.heads)
    vocabulary, count = config.size("vocab_size"), config.count("num_hidden_layers")
    dense = min(config.integer("first_k_dense_replace"), count)
    tied = config.flag("tie_word_embeddings", False)
    output_name, size = ("logits", vocabulary) if in_logits else ("last_hidden_state", sizes.width)
    product = "embed_tokens, bTranspose=true" if tied else f"lm_head, shape=[{vocabulary}]"
    bias = config.flag("attention_bias")
    body = (
        "embedding(embed_tokens, node=input_ids)",
        f"layer(repeat={dense}, mlp=dense)" if dense else "",
        f"layer(repeat={count - dense}, mlp=mixture)" if count > dense else "",
        call_norm("final", bias=False),
        f"matmul({product})" if in_logits else "",
    )
    inner = config.size("intermediate_size")
    activation = config.activation("hidden_act", "silu")
    blocks = {
        "layer": block_layers("before", lambda *part: call_norm(*part, bias=False)),
        "attention": _attention(config, sizes, bias=bias),
        "dense": mlp_layers(inner, sizes.width, activation, prefix="dense_") if dense else "",
        "mixture": mixture_layers(config, EXPERTS, sizes.width, _router(config)),
    }
    if count == dense:
        del blocks["mixture"]
    source = statements(
        [
            f"model:name {name}",
            "input_ids:input int32 shape=[] sequence=tokens",
            "attention_mask:input int32 shape=[] sequence=tokens",
            "position_ids:input int32 shape=[] sequence=tokens",
            f"{output_name}:param embed_tokens shape=[{vocabulary}, {sizes.width}]",
            *output(output_name, size, *body),
            *(f"{block}:layers\n{text}" for block, text in blocks.items() if text),
            f"norm:layers rmsNorm(scale=weight, epsilon={config.positive('rms_norm_eps', 1e-6)})",
            # The norms of latent vectors do not follow the config.
            "latent_norm:layers rmsNorm(scale=weight, epsilon=1e-6)",
        ]
    )
    names = _names(config, sizes, count, dense, bias=bias) | last_product(in_logits and not tied)
    return ModelText(source, names, "model.")


def _sizes(config: Config) -> Sizes:
    queries = config.given["q_lora_rank"]
    return Sizes(
        width=config.size("hidden_size"),
        heads=config.size("num_attention_heads"),
        plain=config.size("qk_nope_head_dim", 128),
        turning=config.size("qk_rope_head_dim", 64),
        value=config.size("v_head_dim", 128),
        latent=config.size("kv_lora_rank", 512),
        query=None if queries is None else config.size("q_lora_rank"),
    )


def _attention(config: Config, sizes: Sizes, *, bias: bool) -> str:
    """Return the layers of attention: all heads have the features of keys that rotate in common."""
    heads, plain, turning = sizes.heads, sizes.plain, sizes.turning
    query = "input"
    rows: list[str] = []
    if sizes.query is not None:
        query = "query_latent"
        rows += [
            f"matmul(query_down, node=input, shape=[{sizes.query}])",
            "add(query_down_b)" if bias else "",
            "latent_norm(weight=query_norm, name=query_latent)",
        ]
    rows += [
        f"matmul(wq_turning, node={query}, shape=[{heads * turning}])",
        f"reshape([{heads}, {turning}], name=q_turning)",
        f"matmul(wq_plain, node={query}, shape=[{heads * plain}])",
        f"reshape([{heads}, {plain}], name=q_plain)",
        "concat([q_turning, q_plain], axis=1)",
        f"reshape([{heads * (turning + plain)}], name=q)",
        f"matmul(wk_turning, node=input, shape=[{turning}])",
        "add(wk_turning_b)" if bias else "",
        f"reshape([1, {turning}])",
        f"expand(newShape=[{heads}, {turning}], name=k_turning)",
        f"matmul(latent_down, node=input, shape=[{sizes.latent}])",
        "add(latent_down_b)" if bias else "",
        "latent_norm(weight=key_norm, name=latent)",
        f"matmul(wk_plain, node=latent, shape=[{heads * plain}])",
        f"reshape([{heads}, {plain}], name=k_plain)",
        "concat([k_turning, k_plain], axis=1)",
        f"reshape([{heads * (turning + plain)}], name=k)",
        f"matmul(wv, node=latent, shape=[{heads * sizes.value}], name=v)",
        f"attend(q, k, v, node=q, {_options(config, sizes)})",
        f"matmul(wo, shape=[{sizes.width}])",
        "add(wo_b)" if bias else "",
    ]
    return layers(*rows)


def _options(config: Config, sizes: Sizes) -> str:
    config.size("max_position_embeddings", 2048)
    angles = rotation(config, sizes.turning)._replace(size=sizes.turning)
    size = sizes.plain + sizes.turning
    factor = latent_factor(config)
    interleaved: bool = config.get("model_type") == "deepseek_v2"
    interleaved = interleaved or config.flag("rope_interleave", True)
    options = [
        f"heads={sizes.heads}, headSize={size}, valueSize={sizes.value}, causal=true",
        angles.options() + (", interleaved=true" if interleaved else ""),
        "positions=position_ids, segments=attention_mask",
    ]
    options += [f"scale={factor * size**-0.5}"] if factor != 1 else []
    return ", ".join(options)


def _router(config: Config) -> list[str]:
    """Return the layers that yield the shares of experts."""
    config.require("moe_layer_freq", 1)
    count, chosen = config.size("n_routed_experts"), config.size("num_experts_per_tok")
    groups, kept_groups = config.size("n_group", 1), config.size("topk_group", 1)
    factor = config.positive("routed_scaling_factor")
    by_bias: bool = config.get("model_type") == "deepseek_v3"
    if by_bias:
        config.require("scoring_func", "sigmoid")
        config.require("topk_method", "noaux_tc")
    else:
        config.require("scoring_func", "softmax")
        config.require("topk_method", "greedy", "group_limited_greedy")
        config.require("norm_topk_prob", False)
        if config.get("topk_method") == "greedy":
            groups = kept_groups = 1
    best = 2 if by_bias and groups > 1 else 1
    if count % groups or kept_groups > groups or best > count // groups:
        hint = f"topk_group={kept_groups} of n_group={groups}, equal in size"
        raise config.not_supported("n_routed_experts", count, hint)
    if chosen > count // groups * kept_groups:
        hint = f"there are {count // groups * kept_groups} experts to choose from"
        raise config.not_supported("num_experts_per_tok", chosen, hint)
    options = [f"count={chosen}"]
    options += ["normalize=true"] if by_bias and config.flag("norm_topk_prob") else []
    if groups > 1:
        options += [f"groups={groups}, keptGroups={kept_groups}, best={best}"]
    options += ["name=shares"] if factor == 1 else []
    keep = ", ".join(options)
    return [
        f"matmul(router, node=input, shape=[{count}])",
        "sigmoid(name=scores)" if by_bias else "softmax()",
        "add(preferences, name=choice)" if by_bias else "",
        f"keepLargest({'choice, node=scores, ' if by_bias else ''}{keep})",
        f"mul({factor}, name=shares)" if factor != 1 else "",
    ]


def _names(
    config: Config, sizes: Sizes, count: int, dense: int, *, bias: bool
) -> dict[str, str | Form | None]:
    layer, heads = "layers.{n-1}", sizes.heads
    attention = f"{layer}.self_attn"
    names: dict[str, str | Form | None] = {
        "embed_tokens": "embed_tokens.weight",
        "final_norm1": "norm.weight",
        "attention_norm{n}": f"{layer}.input_layernorm.weight",
        "mlp_norm{n}": f"{layer}.post_attention_layernorm.weight",
        "key_norm{n}": f"{attention}.kv_a_layernorm.weight",
        "*.rotary_emb.inv_freq": None,
    }
    for key in PREDICTING:
        more = config.integer(key, 0, 0, MAX_COUNT)
        names |= {f"layers.{count + k}.*": None for k in range(more)}
    queries = f"{attention}.q_proj.weight"
    if sizes.query is not None:
        names |= linear_names("query_down{n}", f"{attention}.q_a_proj", bias=bias)
        names["query_norm{n}"] = f"{attention}.q_a_layernorm.weight"
        queries = f"{attention}.q_b_proj.weight"
    parts = (heads * sizes.plain, heads * sizes.turning)
    names["wq_plain{n}"] = Transposed(Part(queries, 0, parts, heads=heads))
    names["wq_turning{n}"] = Transposed(Part(queries, 1, parts, heads=heads))
    down = f"{attention}.kv_a_proj_with_mqa"
    for index, parameter in enumerate(("latent_down", "wk_turning")):
        parts = (sizes.latent, sizes.turning)
        names[f"{parameter}{{n}}"] = Transposed(Part(f"{down}.weight", index, parts))
        if bias:
            names[f"{parameter}_b{{n}}"] = Part(f"{down}.bias", index, parts)
    for index, parameter in enumerate(("wk_plain", "wv")):
        parts = (heads * sizes.plain, heads * sizes.value)
        up = Part(f"{attention}.kv_b_proj.weight", index, parts, heads=heads)
        names[f"{parameter}{{n}}"] = Transposed(up)
    names |= linear_names("wo{n}", f"{attention}.o_proj", bias=bias)
    for part in ("gate", "up", "down") if dense else ():
        names |= linear_names(f"dense_{part}{{n}}", f"{layer}.mlp.{part}_proj", bias=False)
    if count > dense:
        offset = f"{dense - 1:+}" if dense != 1 else ""
        mixture = f"layers.{{n{offset}}}"
        names |= mixture_names(config, EXPERTS, mixture, sizes.width)
        if config.get("model_type") == "deepseek_v3":
            names["preferences{n}"] = f"{mixture}.mlp.gate.e_score_correction_bias"
    return names
