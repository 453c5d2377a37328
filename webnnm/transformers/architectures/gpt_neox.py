"""GPT-NeoX: rotary positions in a part of each head, attention and MLP in parallel.

Source: S. Black et al., "GPT-NeoX-20B: An open-source autoregressive language model",
arXiv:2204.06745 (2022).

Not supported: `qk_layernorm`; `tie_word_embeddings` where the last product has a bias.
"""

from __future__ import annotations

from webnnm.snapshots.foreign import Form
from webnnm.transformers.architectures.attention import attention
from webnnm.transformers.architectures.decoder_blocks import Decoder, head_size, projection_parts
from webnnm.transformers.architectures.layer_kinds import (
    LayerKind,
    Positions,
    attention_options,
    call_layers,
)
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    linear_names,
    norm_names,
)
from webnnm.transformers.architectures.rotary_rates import Usual
from webnnm.transformers.config import Config

ROTATES = Positions(Usual(share=0.25, base_key="rotary_emb_base", share_key="rotary_pct"))


def write_model(config: Config) -> ModelText:
    """Return the text of a GPT-NeoX and its name map."""
    suffix = class_suffix(config, "ForCausalLM", "Model", default="GPTNeoXForCausalLM")
    width, heads = config.size("hidden_size", 6144), config.size("num_attention_heads", 64)
    bias = config.flag("attention_bias", True)
    kinds = [LayerKind()] * config.count("num_hidden_layers", 44)
    (options,) = attention_options(config, head_size(width, heads), kinds, ROTATES).values()
    decoder = Decoder(
        name="gpt_neox",
        in_logits=suffix == "ForCausalLM",
        vocabulary=config.size("vocab_size", 50432),
        width=width,
        inner=config.size("intermediate_size", 24576),
        calls=call_layers(kinds),
        attention={
            "attention": attention(width, heads, biases="qkvo" if bias else "", options=options)
        },
        activation=config.activation("hidden_act", "gelu"),
        epsilon=config.positive("layer_norm_eps", 1e-5),
        order="separate" if config.flag("use_parallel_residual", True) else "before",
        head="tied" if config.flag("tie_word_embeddings", False) else "own",
    )
    layer = "layers.{n-1}"
    fused = projection_parts(
        f"{layer}.attention.query_key_value", (width,) * 3, heads=heads, bias=bias
    )
    names: dict[str, str | Form | None] = {
        "embed_tokens": "embed_in.weight",
        **norm_names("attention_norm{n}", f"{layer}.input_layernorm"),
        **norm_names("mlp_norm{n}", f"{layer}.post_attention_layernorm"),
        **fused,
        **linear_names("wo{n}", f"{layer}.attention.dense", bias=bias),
        **linear_names("up{n}", f"{layer}.mlp.dense_h_to_4h"),
        **linear_names("down{n}", f"{layer}.mlp.dense_4h_to_h"),
        **norm_names("final_norm1", "final_layer_norm"),
        **decoder.head_names("embed_out"),
        "layers.*.attention.bias": None,
        "layers.*.attention.masked_bias": None,
        "*.rotary_emb.inv_freq": None,
    }
    modules = ((r"^lm_head\.", "embed_out."),)
    return ModelText(decoder.source(), names, "gpt_neox.", module_names=modules)
