"""The Llama family: rotary positions, gated MLP, grouped-query attention, mostly RMS norms.

Sources: H. Touvron et al., "Llama", arXiv:2302.13971; A. Jiang et al., "Mistral 7B",
arXiv:2310.06825; Qwen2, arXiv:2407.10671; Qwen3, arXiv:2505.09388; Gemma, arXiv:2403.08295, 2
(arXiv:2408.00118) and 3 (arXiv:2503.19786); Phi-3, arXiv:2404.14219; Granite 3 (IBM, 2024); OLMo 2,
arXiv:2501.00656; Stable LM 2, arXiv:2402.17834; Command R (Cohere, 2024); SmolLM3 (Hugging Face,
2025); gpt-oss, arXiv:2508.10925.

Not supported by `llama`, `smollm2`, `mistral`, `qwen2`, `qwen3`, `gemma`: texts longer than in
training if `rope_type` is dynamic or longrope.
Not supported by `smollm3`, `phi3`, `gemma2`, `gemma3_text`, `granite`, `olmo2`, `stablelm`,
`cohere`: texts longer than in training if `rope_type` is dynamic or longrope; `qk_layernorm`,
`use_qk_norm`, `use_bidirectional_attention`.
Not supported by `mixtral`, `qwen2_moe`, `qwen3_moe`, `olmoe`, `granitemoe`: models with other
layers than mixtures; every expert is computed for each token.
Not supported by `gpt_oss`: files whose experts are stored in MXFP4: load a version in bfloat16.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from webnnm.snapshots.foreign import Form, Part, Transposed
from webnnm.transformers.architectures.attention import attention
from webnnm.transformers.architectures.decoder_blocks import (
    Order,
    block_layers,
    call_norm,
    mlp_layers,
    projection_parts,
)
from webnnm.transformers.architectures.layer_kinds import (
    Positions,
    attention_options,
    call_layers,
    list_kinds,
)
from webnnm.transformers.architectures.mixture import Experts, mixture_layers, mixture_names
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    last_product,
    linear_names,
    norm_names,
    output,
    statements,
)
from webnnm.transformers.architectures.rotary_rates import Usual
from webnnm.transformers.config import Config


class Variant(NamedTuple):
    """The differences between the members of the family.

    Attributes:

    - `bias`: which of the projections q, k, v, o have one, or the key of a flag and those that have
      one if it is true.
    - `norms`: how queries and keys are normalised: in each head, over all heads, or not.
    - `mlp_bias`: whether the config may ask for it.
    - `gemma`: whether embeddings are scaled and weights of norms are around 0.
    - `epsilon`: that of the norms. `centred`: whether they are layer normalisations, with a scale
      or also a bias.
    - `order`: where norms stand.
    - `sinks`: whether each head has the score of one more key, without a value.
    - `fused`: whether projections of the same input are stored as one.
    - `tied`: whether the last product uses the embeddings.
    - `positions`: how attention depends on them.
    - `experts`: those in place of an MLP, if there are any.
    - `defaults`: the values of keys that a config leaves out; only members that have one here know
      a key for a factor, a limit or parallel blocks.
    """

    bias: str | tuple[str, str] = ("attention_bias", "qkvo")
    norms: Literal["", "heads", "all"] = ""
    mlp_bias: bool = False
    gemma: bool = False
    epsilon: float = 1e-6
    centred: Literal["", "scale", "bias"] = ""
    order: Order = "before"
    sinks: bool = False
    fused: bool = False
    tied: bool = False
    positions: Positions = Positions()
    experts: Experts | None = None
    defaults: Mapping[str, Any] = {}


GRANITE = {
    "attention_multiplier": 1.0,
    "embedding_multiplier": 1.0,
    "residual_multiplier": 1.0,
    "logits_scaling": 1.0,
}
GEMMA_2 = {
    "num_key_value_heads": 4,
    "head_dim": 256,
    "query_pre_attn_scalar": 256,
    "sliding_window": 4096,
}
YARN = {
    "rope_type": "yarn",
    "factor": 32.0,
    "truncate": False,
    "original_max_position_embeddings": 4096,
}
"""How gpt-oss stretches angles unless its config says otherwise."""
VARIANTS: Mapping[str, Variant] = {
    "llama": Variant(mlp_bias=True),
    "smollm2": Variant(mlp_bias=True),
    "smollm3": Variant(
        mlp_bias=True,
        tied=True,
        positions=Positions(Usual(2e6)),
        defaults={
            "num_key_value_heads": 4,
            "use_sliding_window": False,
            "no_rope_layer_interval": 4,
        },
    ),
    "mistral": Variant(),
    "qwen2": Variant(bias="qkv"),
    "qwen3": Variant(norms="heads"),
    "gemma": Variant(gemma=True, tied=True),
    "gemma2": Variant(
        gemma=True,
        tied=True,
        order="both",
        positions=Positions(
            scale_key="query_pre_attn_scalar",
            softcap_key="attn_logit_softcapping",
            every=("sliding_window_pattern", 2),
        ),
        defaults={**GEMMA_2, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0},
    ),
    "gemma3_text": Variant(
        gemma=True,
        norms="heads",
        tied=True,
        order="both",
        positions=Positions(
            Usual(1e6),
            local=Usual(base_key="rope_local_base_freq"),
            scale_key="query_pre_attn_scalar",
            every=("sliding_window_pattern", 6),
        ),
        defaults={**GEMMA_2, "final_logit_softcapping": None},
    ),
    "phi3": Variant(
        bias="",
        epsilon=1e-5,
        fused=True,
        positions=Positions(Usual(share=1.0)),
        defaults={"original_max_position_embeddings": 4096},
    ),
    "granite": Variant(mlp_bias=True, defaults=GRANITE),
    "granitemoe": Variant(
        experts=Experts("granite", "intermediate_size", 2, normalised=True),
        defaults=GRANITE,
    ),
    "mixtral": Variant(
        bias="",
        epsilon=1e-5,
        positions=Positions(Usual(1e6)),
        experts=Experts("mixtral", "intermediate_size", 2, normalised=True),
        defaults={"num_key_value_heads": 8},
    ),
    "qwen2_moe": Variant(
        bias=("qkv_bias", "qkv"),
        experts=Experts(chosen=4, shared_key="shared_expert_intermediate_size"),
        defaults={"num_key_value_heads": 16, "qkv_bias": True},
    ),
    "qwen3_moe": Variant(norms="heads", experts=Experts(), defaults={"num_key_value_heads": 4}),
    "olmoe": Variant(
        norms="all",
        epsilon=1e-5,
        experts=Experts(inner_key="intermediate_size"),
    ),
    "gpt_oss": Variant(
        sinks=True,
        epsilon=1e-5,
        positions=Positions(Usual(150000.0, settings=YARN), every=("sliding_window_pattern", 2)),
        experts=Experts("gpt_oss", "intermediate_size", 4, normalised=True),
        defaults={
            "head_dim": 64,
            "num_key_value_heads": 8,
            "num_local_experts": 128,
            "sliding_window": 128,
            "attention_bias": True,
        },
    ),
    "olmo2": Variant(epsilon=1e-5, norms="all", order="after"),
    "stablelm": Variant(
        bias=("use_qkv_bias", "qkv"),
        epsilon=1e-5,
        centred="bias",
        positions=Positions(Usual(share=0.25)),
        defaults={"use_parallel_residual": False},
    ),
    "cohere": Variant(
        epsilon=1e-5,
        centred="scale",
        order="parallel",
        tied=True,
        positions=Positions(Usual(5e5), interleaved=True),
        defaults={"logit_scale": 0.0625},
    ),
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


def write_model(
    config: Config, *, inputs: Sequence[str] = (), embedded: Sequence[str] = ()
) -> ModelText:
    """Return the text of a model of the family and its name map.

    `inputs` are the statements of further inputs, `embedded` layers after the embedding.
    """
    name = config.get("model_type")
    variant = VARIANTS[name]
    kind = class_suffix(config, "ForCausalLM", "Model", default="LlamaForCausalLM")
    config.given = {**variant.defaults, **config.given}
    if "use_parallel_residual" in variant.defaults and config.flag("use_parallel_residual"):
        variant = variant._replace(order="parallel")
    for key in ("qk_layernorm", "use_qk_norm", "use_bidirectional_attention"):
        config.require(key, False)
    config.require("clip_qkv", None)
    if name == "gpt_oss":
        for key in ("experts_per_token", "initial_context_length"):  # given by other keys, too
            config.get(key)
    tied = config.flag("tie_word_embeddings", variant.tied)
    sizes, in_logits = _sizes(config), kind == "ForCausalLM"
    biases = _biases(config, variant)
    mlp_bias = variant.mlp_bias and config.flag("mlp_bias")
    output_name = "logits" if in_logits else "last_hidden_state"
    size = sizes.vocabulary if in_logits else sizes.width
    product = "embed_tokens, bTranspose=true" if tied else f"lm_head, shape=[{sizes.vocabulary}]"
    kinds = list_kinds(config, sizes.layers, variant.positions)
    logit_layers = _limit_logits(config, variant)
    body = (
        "embedding(embed_tokens, node=input_ids)",
        *embedded,
        _scale_embeddings(config, variant, sizes.width),
        *call_layers(kinds),
        call_norm("final", bias=variant.centred == "bias"),
        *((f"matmul({product})", *logit_layers) if in_logits else ()),
    )
    options = attention_options(config, sizes.head_size, kinds, variant.positions)
    mixed = len(options) > 1
    attentions = {
        kind.name if mixed else "attention": attention(
            sizes.width,
            sizes.heads,
            biases=biases,
            kv_heads=sizes.kv_heads,
            head_size=sizes.head_size,
            options=f"{text}, sinks=sink" if variant.sinks else text,
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
            *inputs,
            f"{output_name}:param embed_tokens shape=[{sizes.vocabulary}, {sizes.width}]",
            *output(output_name, size, *body),
            f"layer:layers\n{_layer(config, variant)}",
            *(f"{block}:layers\n{text}" for block, text in attentions.items()),
            f"mlp:layers\n{_mlp(config, variant, sizes, mlp_bias)}",
            f"norm:layers {_norm_layers(config, variant)}",
        ]
    )
    names = _names(config, variant, sizes, biases, mlp_bias) | last_product(in_logits and not tied)
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


def _biases(config: Config, variant: Variant) -> str:
    """Return which of the projections q, k, v and o have a bias."""
    if isinstance(variant.bias, str):
        return variant.bias
    key, letters = variant.bias
    return letters if config.flag(key) else ""


def _scale_embeddings(config: Config, variant: Variant, width: int) -> str:
    factor = width**0.5 if variant.gemma else _factor(config, variant, "embedding_multiplier")
    return f"mul({factor})" if factor != 1 else ""


def _factor(config: Config, variant: Variant, key: str) -> float:
    """Return a factor, 1 for members of the family that do not know its key."""
    return config.positive(key, 1) if key in variant.defaults else 1


def _limit_logits(config: Config, variant: Variant) -> list[str]:
    """Return the layers after the last product: a factor, a smooth limit."""
    factor, divisor = (_factor(config, variant, key) for key in ("logit_scale", "logits_scaling"))
    rows = [f"mul({factor / divisor})"] if factor != divisor else []
    key = "final_logit_softcapping"
    if key in variant.defaults and key in config:
        cap = config.positive(key)
        rows += [f"mul({1 / cap})", "tanh()", f"mul({cap})"]
    return rows


def _layer(config: Config, variant: Variant) -> str:
    """Return the layers of a block."""
    factor = _factor(config, variant, "residual_multiplier")
    scaled = f"mul({factor})" if factor != 1 else ""
    norm = partial(call_norm, bias=variant.centred == "bias")
    return block_layers(variant.order, norm, scaled)


def _norm_layers(config: Config, variant: Variant) -> str:
    if variant.centred:
        epsilon = config.positive("layer_norm_eps", variant.epsilon)
        bias = ", bias=bias" if variant.centred == "bias" else ""
        return f"layerNorm(scale=weight{bias}, epsilon={epsilon})"
    epsilon = config.positive("rms_norm_eps", variant.epsilon)
    if variant.gemma:
        return f"rmsNorm(scale=weight, scaleOffset=1, epsilon={epsilon}, init=zeros)"
    return f"rmsNorm(scale=weight, epsilon={epsilon})"


def _mlp(config: Config, variant: Variant, sizes: Sizes, bias: bool) -> str:
    gemma = variant.gemma
    if variant.experts is not None:
        return mixture_layers(config, variant.experts, sizes.width)
    activation = "hidden_activation" if "hidden_activation" in config else "hidden_act"
    if config.get("hidden_act") == "gelu" and gemma:  # early configs meant the other one
        config.given["hidden_act"] = "gelu_pytorch_tanh"
    function = config.activation(activation, "gelu_pytorch_tanh" if gemma else "silu")
    return mlp_layers(sizes.inner, sizes.width, function, bias=bias)


NORMS = {
    "before": {"attention": "input_layernorm", "mlp": "post_attention_layernorm"},
    "parallel": {"attention": "input_layernorm"},
    "after": {"attended": "post_attention_layernorm", "transformed": "post_feedforward_layernorm"},
    "both": {
        "attention": "input_layernorm",
        "attended": "post_attention_layernorm",
        "mlp": "pre_feedforward_layernorm",
        "transformed": "post_feedforward_layernorm",
    },
}
"""Order of norms → the names in files of those that a layer has."""


def _names(
    config: Config, variant: Variant, sizes: Sizes, biases: str, mlp_bias: bool
) -> dict[str, str | Form | None]:
    layer = "layers.{n-1}"
    names: dict[str, str | Form | None] = {
        "embed_tokens": "embed_tokens.weight",
        "*.rotary_emb.inv_freq": None,
    }
    norms = {"final_norm1": "norm"}
    norms |= {f"{part}_norm{{n}}": f"{layer}.{n}" for part, n in NORMS[variant.order].items()}
    for parameter, name in norms.items():
        with_bias = variant.centred == "bias"
        names |= norm_names(parameter, name) if with_bias else {parameter: f"{name}.weight"}
    names |= linear_names("wo{n}", f"{layer}.self_attn.o_proj", bias="o" in biases)
    if variant.experts is not None:
        names |= mixture_names(config, variant.experts, layer, sizes.width)
    else:
        names |= linear_names("down{n}", f"{layer}.mlp.down_proj", bias=mlp_bias)
    if variant.fused:
        shared = sizes.kv_heads * sizes.head_size
        widths = (sizes.heads * sizes.head_size, shared, shared)
        names |= projection_parts(f"{layer}.self_attn.qkv_proj", widths)
        for index, part in enumerate(("gate", "up")):
            names[f"{part}{{n}}"] = Transposed(Part(f"{layer}.mlp.gate_up_proj.weight", index, 2))
    else:
        for part in "qkv":
            name = f"{layer}.self_attn.{part}_proj"
            names |= linear_names(f"w{part}{{n}}", name, bias=part in biases)
        for part in ("gate", "up") if variant.experts is None else ():
            names |= linear_names(f"{part}{{n}}", f"{layer}.mlp.{part}_proj", bias=mlp_bias)
    if variant.sinks:
        names["sink{n}"] = f"{layer}.self_attn.sinks"
    if variant.norms:
        for part in "qk":
            names[f"{part}_norm{{n}}"] = f"{layer}.self_attn.{part}_norm.weight"
    return names
