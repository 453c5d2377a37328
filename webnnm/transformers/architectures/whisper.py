"""Whisper: an audio encoder after two convolutions, and a decoder that writes a transcript.

Source: A. Radford et al., "Robust speech recognition via large-scale weak supervision",
arXiv:2212.04356 (2022).

Not supported: `scale_embedding`.
"""

from __future__ import annotations

from typing import NamedTuple

from webnnm.snapshots.foreign import Form, Transposed
from webnnm.transformers.architectures.encoder_decoder import ENCODED, INPUTS
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    declared_bias_names,
    layers,
    linear_layers,
    linear_names,
    norm_names,
    output,
    projection_names,
    statements,
)
from webnnm.transformers.config import Config

STRIDE = 2
"""How many frames of sound become one position."""
STACKS = ("encoder", "decoder")
BIASES = "bias=[q, v, o]"
"""The projections with a bias: that of keys has none."""
UNUSED_KEYS = (
    *("mask_time_prob", "mask_time_length", "mask_time_min_masks"),
    *("mask_feature_prob", "mask_feature_length", "mask_feature_min_masks"),
    *("suppress_tokens", "begin_suppress_tokens", "median_filter_width", "alignment_heads"),
    *("apply_spec_augment", "lang_ids", "classifier_proj_size"),
)
"""Keys of the config for training, for the choice of tokens, and for classifiers."""


class Sizes(NamedTuple):
    """The sizes of a model; those of layers are pairs for encoder and decoder."""

    vocabulary: int
    width: int
    bands: int
    positions: tuple[int, int]
    layers: tuple[int, int]
    heads: tuple[int, int]
    inner: tuple[int, int]


def write_model(config: Config) -> ModelText:
    """Return the text of a Whisper and its name map."""
    suffix = class_suffix(
        config,
        "ForConditionalGeneration",
        "WhisperModel",
        default="WhisperForConditionalGeneration",
    )
    config.require("is_encoder_decoder", True)
    for key in ("scale_embedding", "use_weighted_layer_sum"):
        config.require(key, False)
    config.require("num_hidden_layers", config.get("encoder_layers", 4))
    for key in UNUSED_KEYS:
        config.get(key)
    sizes, in_logits = _sizes(config), suffix == "ForConditionalGeneration"
    tied = config.flag("tie_word_embeddings", True)
    product = "words, bTranspose=true" if tied else f"proj_out, shape=[{sizes.vocabulary}]"
    logits = (f"matmul({product})",) if in_logits else ()
    name, size = ("logits", sizes.vocabulary) if in_logits else ("last_hidden_state", sizes.width)
    tokens = sizes.positions[0]
    activation = config.activation("activation_function", "gelu")
    source = statements(
        [
            "model:name whisper",
            f"input_features:input shape={{channels:{sizes.bands}, length:{STRIDE * tokens}}}",
            *INPUTS[2:],
            f"{name}:param words shape=[{sizes.vocabulary}, {sizes.width}]",
            *(
                f"{name}:param {stack}_positions shape=[{count}, {sizes.width}]"
                for stack, count in zip(STACKS, sizes.positions, strict=True)
            ),
            *output(name, size, *_decoder(sizes), *logits, sequence="decoder_tokens"),
            f"{ENCODED}:output shape={{tokens:{tokens}, features:{sizes.width}}}",
            f"{ENCODED}:layers\n{layers(*_encoder(sizes))}",
            f"encoder_layer:param encoder_up_b shape=[{sizes.inner[0]}] shared=false",
            f"encoder_layer:param encoder_down_b shape=[{sizes.width}] shared=false",
            *(f"{stack}_layer:layers\n{_layer(sizes, stack, activation)}" for stack in STACKS),
            "norm:layers layerNorm(scale=weight, bias=bias, epsilon=1e-5)",
        ]
    )
    last = {"proj_out1": Transposed("proj_out.weight")} if in_logits and not tied else {}
    return ModelText(source, _names(sizes) | (last or {"proj_out.weight": None}), "model.")


def _sizes(config: Config) -> Sizes:
    def size_pair(key: str, default: int) -> tuple[int, int]:
        read_size = config.count if key == "layers" else config.size
        return read_size(f"encoder_{key}", default), read_size(f"decoder_{key}", default)

    return Sizes(
        vocabulary=config.size("vocab_size", 51865),
        width=config.size("d_model", 384),
        bands=config.size("num_mel_bins", 80),
        positions=(
            config.size("max_source_positions", 1500),
            config.size("max_target_positions", 448),
        ),
        layers=size_pair("layers", 4),
        heads=size_pair("attention_heads", 6),
        inner=size_pair("ffn_dim", 1536),
    )


def _encoder(sizes: Sizes) -> tuple[str, ...]:
    convolution = f"filters={sizes.width}, kernel=3, padding=1"
    return (
        f"conv1d(conv1, node=input_features, {convolution}, bias=conv1_b)",
        "gelu()",
        f"conv1d(conv2, {convolution}, strides={STRIDE}, bias=conv2_b)",
        "gelu()",
        "transpose([1, 0])",
        "positionalEmbedding(encoder_positions)",
        f"encoder_layer(repeat={sizes.layers[0]})",
        "norm(weight=encoder_norm, bias=encoder_norm_b)",
    )


def _decoder(sizes: Sizes) -> tuple[str, ...]:
    return (
        "embedding(words, node=decoder_input_ids)",
        "positionalEmbedding(decoder_positions)",
        f"decoder_layer(repeat={sizes.layers[1]})",
        "norm(weight=decoder_norm, bias=decoder_norm_b)",
    )


def _layer(sizes: Sizes, stack: str, activation: str) -> str:
    """Return the layers of a block of the encoder or the decoder."""
    index, is_decoder = STACKS.index(stack), stack == "decoder"
    heads = f"{BIASES}, heads={sizes.heads[index]}"
    lead = "" if is_decoder else f"{sizes.positions[0]}, "
    masked = ", causal=true, mask=decoder_attention_mask" if is_decoder else ""
    cross = (
        "norm(weight=cross_norm, bias=cross_norm_b)",
        f"attend(cross_wq, cross_wk, cross_wv, o=cross_wo, {heads}, to={ENCODED})",
        "residual(to=attended, name=informed)",
    )
    return layers(
        f"norm(weight={stack}_attention_norm, bias={stack}_attention_norm_b)",
        f"attend({stack}_wq, {stack}_wk, {stack}_wv, o={stack}_wo, {heads}{masked})",
        "residual(to=input, name=attended)",
        *(cross if is_decoder else ()),
        f"norm(weight={stack}_mlp_norm, bias={stack}_mlp_norm_b)",
        *linear_layers(f"{stack}_up", f"{lead}{sizes.inner[index]}"),
        activation,
        *linear_layers(f"{stack}_down", f"{lead}{sizes.width}"),
        f"residual(to={'informed' if is_decoder else 'attended'})",
    )


def _names(sizes: Sizes) -> dict[str, str | Form | None]:
    names: dict[str, str | Form | None] = {
        "words": "decoder.embed_tokens.weight",
        **norm_names("cross_norm{n}", "decoder.layers.{n-1}.encoder_attn_layer_norm"),
        **projection_names("cross_w", "decoder.layers.{n-1}.encoder_attn", biases="qvo"),
    }
    for part in ("conv1", "conv2"):
        names |= {f"{part}1": f"encoder.{part}.weight", f"{part}_b1": f"encoder.{part}.bias"}
    for stack in STACKS:
        layer = f"{stack}.layers.{{n-1}}"
        names |= {f"{stack}_positions": f"{stack}.embed_positions.weight"}
        names |= norm_names(f"{stack}_norm1", f"{stack}.layer_norm")
        names |= norm_names(f"{stack}_attention_norm{{n}}", f"{layer}.self_attn_layer_norm")
        names |= norm_names(f"{stack}_mlp_norm{{n}}", f"{layer}.final_layer_norm")
        for part, name in (("up", "fc1"), ("down", "fc2")):
            parameter, file_name = f"{stack}_{part}", f"{layer}.{name}"
            names |= linear_names(f"{parameter}{{n}}", file_name, bias=stack == "decoder")
            if stack == "encoder":
                names |= declared_bias_names(f"{parameter}_b", file_name, sizes.layers[0])
        names |= projection_names(f"{stack}_w", f"{layer}.self_attn", biases="qvo")
    return names
