"""GPT-J and CodeGen: rotary positions of neighbouring features, attention and MLP in parallel.

Sources: B. Wang, A. Komatsuzaki, "GPT-J-6B" (2021); E. Nijkamp et al., "CodeGen: An open large
language model for code with multi-turn program synthesis", arXiv:2203.13474 (2022).

Not supported: `qk_layernorm`; `tie_word_embeddings` where the last product has a bias.
"""

from __future__ import annotations

from webnnm.snapshots.foreign import Form, Part, Transposed
from webnnm.transformers.architectures.attention import attention
from webnnm.transformers.architectures.decoder_blocks import Decoder, head_size
from webnnm.transformers.architectures.layer_kinds import LayerKind, call_layers
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    linear_names,
    norm_names,
    projection_names,
)
from webnnm.transformers.config import Config

GROUPS = 4
"""CodeGen was trained on as many devices: each has stored queries, values and keys of its own."""


def write_model(config: Config) -> ModelText:
    """Return the text of a GPT-J or CodeGen and its name map."""
    name = config.text("model_type")
    suffix = class_suffix(config, "ForCausalLM", "Model", default="GPTJForCausalLM")
    width, heads = config.size("n_embd", 4096), config.size("n_head", 16)
    if config.flag("tie_word_embeddings", False):
        raise config.not_supported("tie_word_embeddings", True, "the last product has a bias")
    if name == "codegen" and heads % GROUPS:
        raise config.not_supported("n_head", heads, f"it has to be a multiple of {GROUPS}")
    rotating = config.size("rotary_dim", 64)
    size = f", rotarySize={rotating}" if rotating != head_size(width, heads) else ""
    options = (
        f"causal=true, rope=10000{size}, interleaved=true, positions=position_ids, "
        "segments=attention_mask"
    )
    decoder = Decoder(
        name=name,
        in_logits=suffix == "ForCausalLM",
        vocabulary=config.size("vocab_size", 50400),
        width=width,
        inner=config.size("n_inner", 4 * width),
        calls=call_layers([LayerKind()] * config.count("n_layer", 28)),
        attention={"attention": attention(width, heads, biases="", options=options)},
        activation=config.activation("activation_function", "gelu_new"),
        epsilon=config.positive("layer_norm_epsilon", 1e-5),
        order="parallel",
        head="biased",
    )
    layer = "h.{n-1}"
    names: dict[str, str | Form | None] = {
        "embed_tokens": "wte.weight",
        **norm_names("attention_norm{n}", f"{layer}.ln_1"),
        **linear_names("up{n}", f"{layer}.mlp.fc_in"),
        **linear_names("down{n}", f"{layer}.mlp.fc_out"),
        **norm_names("final_norm1", "ln_f"),
        **decoder.head_names(),
        "h.*.attn.bias": None,
        "h.*.attn.masked_bias": None,
        "h.*.attn.causal_mask": None,
        "h.*.attn.embed_positions": None,
    }
    if name == "gptj":
        names |= projection_names("w", f"{layer}.attn", biases="")
    else:
        names |= linear_names("wo{n}", f"{layer}.attn.out_proj", bias=False)
        for index, letter in enumerate("qvk"):
            part = Part(f"{layer}.attn.qkv_proj.weight", index, (width,) * 3, heads=GROUPS)
            names[f"w{letter}{{n}}"] = Transposed(part)
    return ModelText(decoder.source(), names, "transformer.")
