"""The Llama family: rotary positions, RMS norms, gated MLP, grouped-query attention.

Sources: H. Touvron et al., "Llama", arXiv:2302.13971; A. Jiang et al., "Mistral 7B",
arXiv:2310.06825; Qwen2, arXiv:2407.10671; Qwen3, arXiv:2505.09388; Gemma, arXiv:2403.08295.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from webnnm.snapshots.foreign import Form
from webnnm.transformers.architectures.attention import attention
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    last_product,
    layers,
    linear_names,
    output,
    statements,
)
from webnnm.transformers.architectures.rotary_rates import rotation
from webnnm.transformers.config import Config


class Variant(NamedTuple):
    """The differences between the members of the family.

    Attributes: `bias`, which of the projections q, k, v, o have one, or "" to follow
    `attention_bias`; `norms`, whether queries and keys are normalised in each head; `mlp_bias`,
    whether the config may ask for it; `gemma`, whether embeddings are scaled and weights of norms
    are around 0; `epsilon`, that of the norms; `tied`, whether the last product uses the
    embeddings.
    """

    bias: str = ""
    norms: bool = False
    mlp_bias: bool = False
    gemma: bool = False
    epsilon: float = 1e-6
    tied: bool = False


VARIANTS: Mapping[str, Variant] = {
    "llama": Variant(mlp_bias=True),
    "smollm2": Variant(mlp_bias=True),
    "mistral": Variant(),
    "qwen2": Variant(bias="qkv"),
    "qwen3": Variant(norms=True),
    "gemma": Variant(gemma=True, tied=True),
}


class Sizes(NamedTuple):
    """The sizes of a model."""

    width: int
    vocabulary: int
    inner: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int


def write_model(config: Config) -> ModelText:
    """Return the text of a model of the family and its name map."""
    name = config.get("model_type")
    variant = VARIANTS[name]
    kind = class_suffix(config, "ForCausalLM", "Model", default="LlamaForCausalLM")
    tied = config.flag("tie_word_embeddings", variant.tied)
    sizes, in_logits = _sizes(config), kind == "ForCausalLM"
    biases = variant.bias or ("qkvo" if config.flag("attention_bias") else "")
    mlp_bias = variant.mlp_bias and config.flag("mlp_bias")
    output_name = "logits" if in_logits else "last_hidden_state"
    size = sizes.vocabulary if in_logits else sizes.width
    product = "embed_tokens, bTranspose=true" if tied else f"lm_head, shape=[{sizes.vocabulary}]"
    kinds = _kinds(config, sizes.layers)
    body = (
        "embedding(embed_tokens, node=input_ids)",
        f"mul({sizes.width**0.5})" if variant.gemma else "",
        *_call_layers(kinds),
        "norm(weight=final_norm)",
        f"matmul({product})" if in_logits else "",
    )
    layer = layers(
        "norm(weight=attention_norm)",
        "attention()",
        "residual(to=input, name=attended)",
        "norm(weight=mlp_norm)",
        "mlp()",
        "residual(to=attended)",
    )
    options = _options(config, sizes, {*kinds})
    mixed = len(options) > 1
    attentions = {
        BLOCKS[kind] if mixed else "attention": attention(
            sizes.width,
            sizes.heads,
            biases=biases,
            kv_heads=sizes.kv_heads,
            head_size=sizes.head_size,
            options=text,
            norms=variant.norms,
        )
        for kind, text in options.items()
    }
    source = statements(
        [
            f"model:name {name}",
            "input_ids:input int32 shape=[] sequence=tokens",
            "attention_mask:input int32 shape=[] sequence=tokens",
            "position_ids:input int32 shape=[] sequence=tokens",
            f"{output_name}:param embed_tokens shape=[{sizes.vocabulary}, {sizes.width}]",
            *output(output_name, size, *body),
            f"layer:layers\n{layer}",
            *(f"{block}:layers\n{text}" for block, text in attentions.items()),
            f"mlp:layers\n{_mlp(config, sizes, mlp_bias, variant.gemma)}",
            f"norm:layers {_norm(variant, config.positive('rms_norm_eps', variant.epsilon))}",
        ]
    )
    names = _names(variant, biases, mlp_bias) | last_product(in_logits and not tied)
    return ModelText(source, names, "model.")


def _sizes(config: Config) -> Sizes:
    heads, width = config.size("num_attention_heads"), config.size("hidden_size")
    return Sizes(
        width=width,
        vocabulary=config.size("vocab_size"),
        inner=config.size("intermediate_size"),
        layers=config.count("num_hidden_layers"),
        heads=heads,
        kv_heads=config.size("num_key_value_heads", heads),
        head_size=config.size("head_dim", max(1, width // heads)),
    )


def _options(config: Config, sizes: Sizes, kinds: Collection[str]) -> dict[str, str]:
    """Return the options of attention that depend on positions, by kind of attention."""
    config.size("max_position_embeddings", 2048)
    angles = rotation(config, sizes.head_size)
    shared = f"causal=true, rope={angles.text()}, positions=position_ids, segments=attention_mask"
    scale = config.positive("attention_multiplier", 1 / math.sqrt(sizes.head_size))
    if angles.factor != 1 or "attention_multiplier" in config:  # of queries and keys alike
        shared += f", scale={angles.factor**2 * scale}"
    options = {FULL: shared}
    if SLIDING in kinds:
        options[SLIDING] = f"{shared}, window={config.size('sliding_window')}"
    return {kind: options[kind] for kind in sorted(kinds)}


FULL, SLIDING = "full_attention", "sliding_attention"
BLOCKS = {FULL: "full", SLIDING: "windowed"}
"""Kind of attention → its block, if a model has both kinds."""


def _call_layers(kinds: Sequence[str]) -> list[str]:
    """Return the calls of all layers, one for consecutive layers of the same kind."""
    if len({*kinds}) == 1:
        return [f"layer(repeat={len(kinds)})"]
    runs = ((kind, len([*run])) for kind, run in groupby(kinds))
    return [f"layer(repeat={count}, attention={BLOCKS[kind]})" for kind, count in runs]


def _kinds(config: Config, layers: int) -> list[str]:
    """Return the kind of attention of each layer, which older configs give by numbers."""
    listed = config.texts("layer_types", [])
    limited = config.flag("use_sliding_window", "sliding_window" in config)
    first = config.integer("max_window_layers", 0)
    if listed:
        if len(listed) != layers or not {*listed} <= {*BLOCKS}:
            hint = f"{layers} of {FULL} or {SLIDING}"
            raise config.not_supported("layer_types", listed, hint)
        return listed
    if not (limited and "sliding_window" in config):
        return [FULL] * layers
    return [SLIDING if layer >= first else FULL for layer in range(layers)]


def _mlp(config: Config, sizes: Sizes, bias: bool, gemma: bool) -> str:
    activation = "hidden_activation" if "hidden_activation" in config else "hidden_act"
    if config.get("hidden_act") == "gelu" and gemma:  # early configs meant the other one
        config.given["hidden_act"] = "gelu_pytorch_tanh"
    return layers(
        f"matmul(up, node=input, shape=[{sizes.inner}]{'' if bias else ', name=value'})",
        "add(up_b, name=value)" if bias else "",
        f"matmul(gate, node=input, shape=[{sizes.inner}])",
        "add(gate_b)" if bias else "",
        config.activation(activation, "gelu_pytorch_tanh" if gemma else "silu"),
        "mul(value)",
        f"matmul(down, shape=[{sizes.width}])",
        "add(down_b)" if bias else "",
    )


def _norm(variant: Variant, epsilon: float) -> str:
    if variant.gemma:
        return f"rmsNorm(epsilon={epsilon}, name=normed), mul(weight), add(normed)"
    return f"rmsNorm(scale=weight, epsilon={epsilon})"


def _names(variant: Variant, biases: str, mlp_bias: bool) -> dict[str, str | Form | None]:
    layer = "layers.{n-1}"
    names: dict[str, str | Form | None] = {
        "embed_tokens": "embed_tokens.weight",
        "attention_norm{n}": f"{layer}.input_layernorm.weight",
        "mlp_norm{n}": f"{layer}.post_attention_layernorm.weight",
        "final_norm1": "norm.weight",
        "*.rotary_emb.inv_freq": None,
    }
    for part in "qkvo":
        names |= linear_names(
            f"w{part}{{n}}", f"{layer}.self_attn.{part}_proj", bias=part in biases
        )
    for part in ("gate", "up", "down"):
        names |= linear_names(f"{part}{{n}}", f"{layer}.mlp.{part}_proj", bias=mlp_bias)
    if variant.norms:
        for part in "qk":
            names[f"{part}_norm{{n}}"] = f"{layer}.self_attn.{part}_norm.weight"
    return names
