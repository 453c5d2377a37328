"""Phi and StarCoder 2: rotary positions, projections with biases, an MLP without a gate.

Sources: Y. Li et al., "Textbooks are all you need II", arXiv:2309.05463 (2023); A. Lozhkov et al.,
"StarCoder 2 and The Stack v2", arXiv:2402.19173 (2024).

Not supported: `qk_layernorm`; `tie_word_embeddings` where the last product has a bias.
"""

from __future__ import annotations

from typing import NamedTuple

from webnnm.snapshots.foreign import Form
from webnnm.transformers.architectures.attention import attention
from webnnm.transformers.architectures.decoder_blocks import Decoder, Order, head_size
from webnnm.transformers.architectures.layer_kinds import (
    Positions,
    attention_options,
    call_layers,
    list_kinds,
)
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    linear_names,
    norm_names,
)
from webnnm.transformers.architectures.rotary_rates import Usual
from webnnm.transformers.config import Config


class Variant(NamedTuple):
    """The differences between the two.

    Attributes: `order`, that of norms; `share` of the features of a head that rotate; `epsilon_key`
    and `activation`, defaults of the config; `tied`, whether the last product uses the embeddings;
    `files`, the names of the layers in files.
    """

    order: Order
    share: float | None
    epsilon_key: str
    activation: str
    tied: bool
    bias_key: str
    kv_heads: int | None
    files: tuple[str, str, str, str]


VARIANTS = {
    "phi": Variant(
        order="parallel",
        share=0.5,
        epsilon_key="layer_norm_eps",
        activation="gelu_new",
        tied=False,
        bias_key="",
        kv_heads=None,
        files=("self_attn.dense", "mlp.fc1", "mlp.fc2", "final_layernorm"),
    ),
    "starcoder2": Variant(
        order="before",
        share=None,
        epsilon_key="norm_epsilon",
        activation="gelu_pytorch_tanh",
        tied=True,
        bias_key="use_bias",
        kv_heads=2,
        files=("self_attn.o_proj", "mlp.c_fc", "mlp.c_proj", "norm"),
    ),
}


def write_model(config: Config) -> ModelText:
    """Return the text of a model and its name map."""
    name = config.text("model_type")
    variant = VARIANTS[name]
    suffix = class_suffix(config, "ForCausalLM", "Model", default="PhiForCausalLM")
    config.require("qk_layernorm", False)
    width, heads = config.size("hidden_size"), config.size("num_attention_heads")
    bias = config.flag(variant.bias_key, True) if variant.bias_key else True
    positions = Positions(Usual(share=variant.share))
    kinds = list_kinds(config, config.count("num_hidden_layers"), positions)
    (options,) = attention_options(config, head_size(width, heads), kinds, positions).values()
    kv_heads = config.size("num_key_value_heads", variant.kv_heads or heads)
    biases = "qkvo" if bias else ""
    tied = config.flag("tie_word_embeddings", variant.tied)
    decoder = Decoder(
        name=name,
        in_logits=suffix == "ForCausalLM",
        vocabulary=config.size("vocab_size"),
        width=width,
        inner=config.size("intermediate_size"),
        calls=call_layers(kinds),
        attention={
            "attention": attention(width, heads, biases=biases, kv_heads=kv_heads, options=options)
        },
        activation=config.activation("hidden_act", variant.activation),
        epsilon=config.positive(variant.epsilon_key, 1e-5),
        order=variant.order,
        mlp_bias=bias,
        head="biased" if name == "phi" else "tied" if tied else "own",
    )
    if name == "phi" and tied:
        raise config.not_supported("tie_word_embeddings", True, "the last product has a bias")
    out, up, down, final = variant.files
    layer = "layers.{n-1}"
    names: dict[str, str | Form | None] = {
        "embed_tokens": "embed_tokens.weight",
        **norm_names("attention_norm{n}", f"{layer}.input_layernorm"),
        **linear_names("wo{n}", f"{layer}.{out}", bias=bias),
        **linear_names("up{n}", f"{layer}.{up}", bias=bias),
        **linear_names("down{n}", f"{layer}.{down}", bias=bias),
        **norm_names("final_norm1", final),
        **decoder.head_names(),
        "*.rotary_emb.inv_freq": None,
    }
    for letter in "qkv":
        names |= linear_names(f"w{letter}{{n}}", f"{layer}.self_attn.{letter}_proj", bias=bias)
    if variant.order == "before":
        names |= norm_names("mlp_norm{n}", f"{layer}.post_attention_layernorm")
    return ModelText(decoder.source(), names, "model.")
