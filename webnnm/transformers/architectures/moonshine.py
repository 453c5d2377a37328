"""Moonshine: three convolutions along a wave, an encoder of frames, and a decoder of texts.

Source: N. Jeffries et al., "Moonshine: speech recognition for live transcription and voice
commands", arXiv:2410.15608 (2024).

Not supported: `attention_mask`: give sounds of different lengths one by one.
"""

from __future__ import annotations

from typing import NamedTuple

from webnnm.snapshots.foreign import Form, Part, Transposed
from webnnm.transformers.architectures.encoder_decoder import INPUTS
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    layers,
    linear_layers,
    linear_names,
    output,
    statements,
)
from webnnm.transformers.architectures.rotary_rates import Usual, rotation
from webnnm.transformers.config import Config

ENCODED = "encoder_last_hidden_state"
LOGITS = "ForConditionalGeneration"
ROTATION = Usual(share=0.9)
"""How the heads rotate if the config does not say."""


class Sizes(NamedTuple):
    """The sizes of a model; those of layers and activations are pairs for encoder and decoder."""

    vocabulary: int
    width: int
    inner: int
    heads: int
    biased: bool
    layers: tuple[int, int]
    activations: tuple[str, str]
    rotation: str


def write_model(config: Config) -> ModelText:
    """Return the text of a Moonshine and its name map."""
    default = f"Moonshine{LOGITS}"
    in_logits = class_suffix(config, LOGITS, "MoonshineModel", default=default) == LOGITS
    config.require("is_encoder_decoder", True)
    config.get("pad_head_dim_to_multiple_of")  # zeros, which change no product
    config.get("max_position_embeddings")  # angles have no limit
    sizes = _read_sizes(config)
    tied = config.flag("tie_word_embeddings", True)
    product = "words, bTranspose=true" if tied else f"proj_out, shape=[{sizes.vocabulary}]"
    name, size = ("logits", sizes.vocabulary) if in_logits else ("last_hidden_state", sizes.width)
    decoder = (
        "embedding(words, node=decoder_input_ids)",
        f"decoder_layer(repeat={sizes.layers[1]})",
        "norm(weight=decoder_norm)",
        f"matmul({product})" if in_logits else "",
    )
    source = statements(
        [
            "model:name moonshine",
            "input_values:input shape=[] sequence=samples",
            *INPUTS[2:],
            f"{name}:param words shape=[{sizes.vocabulary}, {sizes.width}]",
            *output(name, size, *decoder, sequence="decoder_tokens"),
            *output(ENCODED, sizes.width, *_encoder(sizes), sequence="samples"),
            f"encoder_layer:layers\n{_encoder_layer(sizes)}",
            f"decoder_layer:layers\n{_decoder_layer(sizes)}",
            "norm:layers layerNorm(scale=weight, epsilon=1e-5)",
        ]
    )
    last = {"proj_out1": Transposed("proj_out.weight")} if in_logits and not tied else {}
    return ModelText(source, _names(sizes) | (last or {"proj_out.weight": None}), "model.")


def _read_sizes(config: Config) -> Sizes:
    width = config.size("hidden_size", 288)
    heads = config.size("decoder_num_attention_heads", 8)
    config.require("encoder_num_attention_heads", heads)
    for stack in ("encoder", "decoder"):
        config.require(f"{stack}_num_key_value_heads", None, heads)
    if width % heads:
        raise config.wrong("hidden_size", f"a multiple of the {heads} heads")
    rotates = rotation(config, width // heads, ROTATION)
    return Sizes(
        vocabulary=config.size("vocab_size", 32768),
        width=width,
        inner=config.size("intermediate_size", 1152),
        heads=heads,
        biased=config.flag("attention_bias"),
        layers=(
            config.count("encoder_num_hidden_layers", 6),
            config.count("decoder_num_hidden_layers", 6),
        ),
        activations=(
            config.activation("encoder_hidden_act", "gelu"),
            config.activation("decoder_hidden_act", "silu"),
        ),
        rotation=f"{rotates.options()}, interleaved=true",
    )


def _encoder(sizes: Sizes) -> tuple[str, ...]:
    return (
        "reshape([1], node=input_values)",
        f"conv1d(conv1, filters={sizes.width}, kernel=127, strides=64)",
        "tanh()",
        "layerNorm(axes=[samples, channels], epsilon=1e-5)",
        "mul(wave_norm)",
        "add(wave_norm_b)",
        f"conv1d(conv2, filters={2 * sizes.width}, kernel=7, strides=3, bias=conv2_b)",
        "gelu()",
        f"conv1d(conv3, filters={sizes.width}, kernel=3, strides=2, bias=conv3_b)",
        "gelu()",
        f"encoder_layer(repeat={sizes.layers[0]})",
        "norm(weight=encoder_norm)",
    )


def _encoder_layer(sizes: Sizes) -> str:
    return layers(
        "norm(weight=encoder_attention_norm)",
        _attend("encoder", sizes, sizes.rotation),
        "residual(to=input, name=attended)",
        "norm(weight=encoder_mlp_norm)",
        *linear_layers("encoder_up", sizes.inner),
        sizes.activations[0],
        *linear_layers("encoder_down", sizes.width),
        "residual(to=attended)",
    )


def _decoder_layer(sizes: Sizes) -> str:
    own = f"{sizes.rotation}, causal=true, mask=decoder_attention_mask"
    return layers(
        "norm(weight=decoder_attention_norm)",
        _attend("decoder", sizes, own),
        "residual(to=input, name=attended)",
        "norm(weight=cross_norm)",
        _attend("cross", sizes, f"to={ENCODED}"),
        "residual(to=attended, name=informed)",
        "norm(weight=decoder_mlp_norm, name=normed)",
        f"matmul(decoder_up, shape=[{sizes.inner}])",
        "add(decoder_up_b, name=value)",
        f"matmul(decoder_gate, node=normed, shape=[{sizes.inner}])",
        "add(decoder_gate_b)",
        sizes.activations[1],
        "mul(value)",
        *linear_layers("decoder_down", sizes.width),
        "residual(to=informed)",
    )


def _attend(part: str, sizes: Sizes, options: str) -> str:
    """Return the layer of attention of a part of a block."""
    weights = ", ".join(f"{part}_w{letter}" for letter in "qkv")
    bias = "bias=[q, k, v], " if sizes.biased else ""
    return f"attend({weights}, o={part}_wo, {bias}heads={sizes.heads}, {options})"


def _names(sizes: Sizes) -> dict[str, str | Form | None]:
    names: dict[str, str | Form | None] = {
        "words": "decoder.embed_tokens.weight",
        "conv11": "encoder.conv1.weight",
        "wave_norm1": "encoder.groupnorm.weight",
        "wave_norm_b1": "encoder.groupnorm.bias",
        "encoder_norm1": "encoder.layer_norm.weight",
        "decoder_norm1": "decoder.norm.weight",
        "cross_norm{n}": "decoder.layers.{n-1}.post_attention_layernorm.weight",
        "decoder_mlp_norm{n}": "decoder.layers.{n-1}.final_layernorm.weight",
        "encoder_mlp_norm{n}": "encoder.layers.{n-1}.post_attention_layernorm.weight",
    }
    for number in (2, 3):
        names[f"conv{number}1"] = f"encoder.conv{number}.weight"
        names[f"conv{number}_b1"] = f"encoder.conv{number}.bias"
    for part, module in (
        ("encoder", "encoder.layers.{n-1}.self_attn"),
        ("decoder", "decoder.layers.{n-1}.self_attn"),
        ("cross", "decoder.layers.{n-1}.encoder_attn"),
    ):
        for letter in "qkvo":
            bias = sizes.biased and letter != "o"
            names |= linear_names(f"{part}_w{letter}{{n}}", f"{module}.{letter}_proj", bias=bias)
    for stack in ("encoder", "decoder"):
        layer = f"{stack}.layers.{{n-1}}"
        names[f"{stack}_attention_norm{{n}}"] = f"{layer}.input_layernorm.weight"
        names |= linear_names(f"{stack}_down{{n}}", f"{layer}.mlp.fc2")
    names |= linear_names("encoder_up{n}", "encoder.layers.{n-1}.mlp.fc1")
    fused = "decoder.layers.{n-1}.mlp.fc1"
    for index, part in enumerate(("up", "gate")):
        names[f"decoder_{part}{{n}}"] = Transposed(Part(f"{fused}.weight", index, 2))
        names[f"decoder_{part}_b{{n}}"] = Part(f"{fused}.bias", index, 2)
    return names
