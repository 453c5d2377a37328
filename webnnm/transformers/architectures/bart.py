"""BART: an encoder as in BERT, and a decoder that also looks at what the encoder made.

Source: M. Lewis et al., "BART", arXiv:1910.13461 (2019).
"""

from __future__ import annotations

from typing import NamedTuple

from webnnm.formats.foreign import Form, Part, Reshaped
from webnnm.transformers.architectures.encoder import linear
from webnnm.transformers.architectures.encoder_decoder import INPUTS
from webnnm.transformers.architectures.written import (
    Written,
    head,
    last_product,
    layers,
    linear_names,
    norm_names,
    output,
    statements,
)
from webnnm.transformers.config import Config

OFFSET = 2
"""Rows of the tables of positions that are never used."""

STACKS = ("encoder", "decoder")


class Sizes(NamedTuple):
    """The sizes of a model; those of the layers for encoder and decoder."""

    vocabulary: int
    width: int
    positions: int
    layers: tuple[int, int]
    heads: tuple[int, int]
    inner: tuple[int, int]


def written(config: Config) -> Written:
    """Return the text of a BART and its name map."""
    kind = head(
        config, "ForConditionalGeneration", "BartModel", default="BartForConditionalGeneration"
    )
    config.only("is_encoder_decoder", True)
    for key in ("num_hidden_layers", "normalize_before", "add_final_layer_norm"):
        config.only(key, config.get("encoder_layers", 12) if key.startswith("num") else False)
    config.only("normalize_embedding", True)
    sizes, in_logits = _sizes(config), kind == "ForConditionalGeneration"
    tied = config.flag("tie_word_embeddings", True)
    scale = config.flag("scale_embedding")
    product = "shared, bTranspose=true" if tied else f"lm_head, shape=[{sizes.vocabulary}]"
    scores = (f"matmul({product})", "add(final_logits_bias)") if in_logits else ()
    name, size = ("logits", sizes.vocabulary) if in_logits else ("last_hidden_state", sizes.width)
    encoder, decoder = (_stack(sizes, stack, scale) for stack in STACKS)
    activation = config.activation("activation_function", "gelu")
    source = statements(
        [
            "model:name bart",
            *INPUTS,
            f"{name}:param shared shape=[{sizes.vocabulary}, {sizes.width}]",
            f"{name}:param final_logits_bias shape=[{sizes.vocabulary}]" if in_logits else "",
            *(
                f"{name}:param {stack}_positions shape=[{sizes.positions}, {sizes.width}]"
                for stack in STACKS
            ),
            *output(name, size, *decoder, *scores, sequence="decoder_tokens"),
            *output("encoder_last_hidden_state", sizes.width, *encoder),
            *(f"{s}_layer:layers\n{_layer(sizes, s, activation)}" for s in STACKS),
            "norm:layers layerNorm(scale=weight, bias=bias, epsilon=1e-5)",
        ]
    )
    return Written(
        source, _names(sizes, in_logits) | last_product(in_logits and not tied), "model."
    )


def _sizes(config: Config) -> Sizes:
    def both(key: str, default: int) -> tuple[int, int]:
        return config.size(f"encoder_{key}", default), config.size(f"decoder_{key}", default)

    return Sizes(
        vocabulary=config.size("vocab_size", 50265),
        width=config.size("d_model", 1024),
        positions=config.size("max_position_embeddings", 1024),
        layers=both("layers", 12),
        heads=both("attention_heads", 16),
        inner=both("ffn_dim", 4096),
    )


def _stack(sizes: Sizes, stack: str, scale: bool) -> tuple[str, ...]:
    """Return the layers of the encoder or the decoder."""
    ids = "input_ids" if stack == "encoder" else "decoder_input_ids"
    return (
        f"embedding(shared, node={ids})",
        f"mul({sizes.width**0.5})" if scale else "",
        f"positionalEmbedding({stack}_positions)",
        f"norm(weight={stack}_norm, bias={stack}_norm_b)",
        f"{stack}_layer(repeat={sizes.layers[STACKS.index(stack)]})",
    )


def _layer(sizes: Sizes, stack: str, activation: str) -> str:
    """Return the layers of a block of the encoder or the decoder."""
    place, decodes = STACKS.index(stack), stack == "decoder"
    mask = "causal=true, mask=decoder_attention_mask" if decodes else "mask=attention_mask"
    heads = f"bias=true, heads={sizes.heads[place]}"

    def words(part: str) -> str:
        return ", ".join(f"{part}_w{word}" for word in "qkv") + f", o={part}_wo"

    cross = (
        f"attend({words('cross')}, {heads}, to=encoder_last_hidden_state, mask=attention_mask)",
        "residual(to=attended)",
        "norm(weight=cross_norm, bias=cross_norm_b, name=informed)",
    )
    return layers(
        f"attend({words(stack)}, {heads}, {mask})",
        "residual(to=input)",
        f"norm(weight={stack}_attention_norm, bias={stack}_attention_norm_b, name=attended)",
        *(cross if decodes else ()),
        *linear(f"{stack}_up", sizes.inner[place]),
        activation,
        *linear(f"{stack}_down", sizes.width),
        f"residual(to={'informed' if decodes else 'attended'})",
        f"norm(weight={stack}_mlp_norm, bias={stack}_mlp_norm_b)",
    )


def _names(sizes: Sizes, in_logits: bool) -> dict[str, str | Form | None]:
    found: dict[str, str | Form | None] = {
        "shared": "shared.weight",
        "encoder.embed_tokens.weight": None,
        "decoder.embed_tokens.weight": None,
        **norm_names("cross_norm{n}", "decoder.layers.{n-1}.encoder_attn_layer_norm"),
        **_attention("cross", "decoder.layers.{n-1}.encoder_attn"),
    }
    for stack in STACKS:
        layer = f"{stack}.layers.{{n-1}}"
        table = Part(f"{stack}.embed_positions.weight", 1, (OFFSET, sizes.positions))
        found |= {f"{stack}_positions": table}
        found |= norm_names(f"{stack}_norm1", f"{stack}.layernorm_embedding")
        found |= norm_names(f"{stack}_attention_norm{{n}}", f"{layer}.self_attn_layer_norm")
        found |= norm_names(f"{stack}_mlp_norm{{n}}", f"{layer}.final_layer_norm")
        found |= linear_names(f"{stack}_up{{n}}", f"{layer}.fc1")
        found |= linear_names(f"{stack}_down{{n}}", f"{layer}.fc2")
        found |= _attention(stack, f"{layer}.self_attn")
    logits_bias = Reshaped("final_logits_bias", (sizes.vocabulary,)) if in_logits else None
    return found | {"final_logits_bias": logits_bias}


def _attention(part: str, place: str) -> dict[str, str | Form]:
    found: dict[str, str | Form] = {}
    for word, name in (("q", "q_proj"), ("k", "k_proj"), ("v", "v_proj"), ("o", "out_proj")):
        found |= linear_names(f"{part}_w{word}{{n}}", f"{place}.{name}")
    return found
