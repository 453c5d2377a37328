"""SpeechT5 that transcribes: the frames of Wav2Vec2, an encoder with distances, a text decoder.

Source: J. Ao et al., "SpeechT5: unified-modal encoder-decoder pre-training for spoken language
processing", arXiv:2110.07205 (2021).

Not supported: classes that speak; sounds of more frames than the position table has, 2²¹ numbers at
most.
"""

from __future__ import annotations

from typing import NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.snapshots.foreign import Form, Transposed
from webnnm.transformers.architectures.encoder import Modules, write_layer
from webnnm.transformers.architectures.encoder_decoder import ENCODED, INPUTS, POSITIONS
from webnnm.transformers.architectures.model_text import (
    InputRules,
    ModelText,
    class_suffix,
    layers,
    linear_layers,
    linear_names,
    norm_names,
    output,
    projection_names,
    statements,
)
from webnnm.transformers.architectures.wav2vec2 import (
    INPUTS as WAVE_INPUTS,
)
from webnnm.transformers.architectures.wav2vec2 import (
    Sizes as WaveSizes,
)
from webnnm.transformers.architectures.wav2vec2 import (
    convolution_blocks,
    convolve_positions,
    filter_shape,
    name_wave,
    read_convolutions,
    read_wave,
)
from webnnm.transformers.architectures.waves import MAX_NUMBERS, halves_from
from webnnm.transformers.config import Config

LOGITS = "ForSpeechToText"
ENCODER = Modules(
    "encoder.wrapped_encoder.layers.{n-1}",
    q="attention.q_proj",
    k="attention.k_proj",
    v="attention.v_proj",
    o="attention.out_proj",
    attention_norm="layer_norm",
    up="feed_forward.intermediate_dense",
    down="feed_forward.output_dense",
    mlp_norm="final_layer_norm",
)
DECODER_LAYER = "decoder.wrapped_decoder.layers.{n-1}"
UNUSED_KEYS = (
    *("apply_spec_augment", "mask_time_prob", "mask_time_length", "mask_time_min_masks"),
    *("mask_feature_prob", "mask_feature_length", "mask_feature_min_masks", "num_mel_bins"),
    *("speech_decoder_prenet_layers", "speech_decoder_prenet_units", "speaker_embedding_dim"),
    *("speech_decoder_postnet_layers", "speech_decoder_postnet_units", "reduction_factor"),
    *("speech_decoder_postnet_kernel", "use_guided_attention_loss"),
    *("guided_attention_loss_num_heads", "guided_attention_loss_sigma"),
    "num_feat_extract_layers",  # those of conv_dim
)
"""Keys for training, and for classes that speak."""


class Sizes(NamedTuple):
    """The sizes of a model.

    Attributes: `wave`, those of its frames and of the encoder; `decoder`, its layers, heads and
    the width of its MLP; `span`, the distances that count on either side; `positions`, of frames
    and of tokens; `padding`, the token of padding; `scale`, of embeddings.
    """

    wave: WaveSizes
    vocabulary: int
    decoder: tuple[int, int, int]
    span: int
    positions: tuple[int, int]
    padding: int
    scale: float
    activation: str


def write_model(config: Config) -> ModelText:
    """Return the text of a SpeechT5 that transcribes, and its name map."""
    class_suffix(config, LOGITS, default=f"SpeechT5{LOGITS}")
    config.require("is_encoder_decoder", True)
    for key in UNUSED_KEYS:
        config.get(key)
    sizes = _read_sizes(config)
    wave, width = sizes.wave, sizes.wave.width
    tied = config.flag("tie_word_embeddings", True)
    product = "words, bTranspose=true" if tied else f"lm_head, shape=[{sizes.vocabulary}]"
    frame_activation = config.activation("feat_extract_activation", "gelu")
    decoder = (
        "placed(table=words, ids=decoder_input_ids, places=decoder_position_ids)",
        f"decoder_layer(repeat={sizes.decoder[0]})",
        f"matmul({product})",
    )
    head_size = width // wave.heads
    epsilon = config.positive("layer_norm_eps", 1e-5)
    attention = (
        f"attend(wq, wk, wv, o=wo, bias=true, heads={wave.heads}, mask=frames, "
        f"relativeKeys=all_distances, maxDistance={sizes.span})"
    )
    source = statements(
        [
            "model:name speecht5",
            *WAVE_INPUTS,
            *INPUTS[2:],
            POSITIONS[1],
            f"logits:param words shape=[{sizes.vocabulary}, {width}]",
            f"logits:param waves shape=[{sizes.positions[1]}, {width}] lrm=0",
            f"{ENCODED}:param position_scale shape=[1, 1, {wave.kernel}]",
            f"{ENCODED}:param position_filter shape={filter_shape(wave)}",
            f"{ENCODED}:param distances shape=[{2 * sizes.span}, {head_size}]",
            f"{ENCODED}:param frame_waves shape=[{sizes.positions[0]}, {width}] lrm=0",
            *output("logits", sizes.vocabulary, *decoder, sequence="decoder_tokens"),
            *output(ENCODED, width, *_encode(sizes, frame_activation), sequence="samples"),
            *convolution_blocks(wave, frame_activation),
            *_declare_filters(wave),
            f"last_samples:layers\n{_pick_frames(wave)}",
            f"placed:layers\n{_place(sizes)}",
            f"layer:layers\n{write_layer(width, wave.inner, sizes.activation, attention)}",
            f"decoder_layer:layers\n{_write_decoder_layer(sizes)}",
            f"norm:layers layerNorm(scale=weight, bias=bias, epsilon={epsilon})",
        ]
    )
    module = "text_decoder_postnet.lm_head.weight"
    names = _names(config, sizes)
    names |= {module: None} if tied else {"lm_head1": Transposed(module)}
    rules = InputRules(padding_by="input_ids", position_rows="max_text_positions")
    return ModelText(source, names, "speecht5.", _write_waves(sizes), rules)


def _read_sizes(config: Config) -> Sizes:
    width = config.size("hidden_size", 768)
    heads = tuple(config.size(f"{stack}_attention_heads", 12) for stack in ("encoder", "decoder"))
    if any(width % count for count in heads):
        raise config.wrong("hidden_size", f"a multiple of {heads[0]} and {heads[1]} heads")
    config.require("feat_extract_norm", "group", "layer")
    wave = WaveSizes(
        convolutions=read_convolutions(config),
        bias=config.flag("conv_bias"),
        all_normed=config.text("feat_extract_norm", "group") == "layer",
        projects_normed=True,
        width=width,
        heads=heads[0],
        inner=config.size("encoder_ffn_dim", 3072),
        depth=config.count("encoder_layers", 12),
        norm_first=False,
        kernel=config.size("num_conv_pos_embeddings", 128),
        groups=config.size("num_conv_pos_embedding_groups", 16),
        distances=None,
    )
    frames = config.size("max_speech_positions", 4000)
    return Sizes(
        wave=wave,
        vocabulary=config.size("vocab_size", 81),
        decoder=(
            config.count("decoder_layers", 6),
            heads[1],
            config.size("decoder_ffn_dim", 3072),
        ),
        span=config.integer("encoder_max_relative_position", 160, 2),
        positions=(min(frames, MAX_NUMBERS // width), config.size("max_text_positions", 450)),
        padding=config.integer("pad_token_id", 1),
        scale=width**0.5 if config.flag("scale_embedding") else 1.0,
        activation=config.activation("hidden_act", "gelu"),
    )


def _encode(sizes: Sizes, activation: str) -> tuple[str, ...]:
    """Return the layers from a wave to the states of its frames; padding has no position."""
    heads = sizes.wave.heads
    copies = ", ".join(["distances"] * heads)
    return (
        f"concat([{copies}], axis=-1, name=all_distances)"
        if heads > 1
        else "identity(node=distances, name=all_distances)",
        *read_wave(sizes.wave),
        "last_samples(node=attention_mask, name=frames)",
        "reshape([1])",
        "cast(uint8, name=counted)",
        *convolve_positions(sizes.wave, activation, "projected"),
        "identity(name=convolved)",
        "positionalEmbedding(frame_waves, name=with_waves)",
        "where(counted, with_waves, convolved)",
        "norm(weight=encoder_norm, bias=encoder_norm_b)",
        f"layer(repeat={sizes.wave.depth})",
    )


def _declare_filters(wave: WaveSizes) -> list[str]:
    """Return the statements of filters that pick the last number of a window."""
    return [
        f"last_samples:constants last{kernel} [1, 1, {kernel}] {[0] * (kernel - 1) + [1]}"
        for kernel in sorted({convolution.kernel for convolution in wave.convolutions})
    ]


def _pick_frames(wave: WaveSizes) -> str:
    """Return the layers of which frames count: those whose last sample does.

    Nothing but the mask is read, so that a decoder need not compute the frames for each token.
    """
    return layers(
        "cast(float32, node=input)",
        "reshape([1])",
        *(
            f"conv1d(last{one.kernel}, kernel={one.kernel}, strides={one.stride})"
            for one in wave.convolutions
        ),
        "reshape([])",
        "cast(int32)",
    )


def _place(sizes: Sizes) -> str:
    """Return the layers of embeddings in which padding has no position."""
    return layers(
        f"notEqual({sizes.padding}, node=ids)",
        "cast(float32)",
        "reshape([1], name=counts)",
        "embedding(table, node=ids)",
        f"mul({sizes.scale}, name=embedded)",
        "embedding(waves, node=places)",
        "mul(counts)",
        "add(embedded)",
    )


def _write_decoder_layer(sizes: Sizes) -> str:
    _, heads, inner = sizes.decoder
    own = f"bias=true, heads={heads}, causal=true, mask=decoder_attention_mask"
    cross = f"bias=true, heads={heads}, to={ENCODED}, mask=frames"
    return layers(
        f"attend(decoder_wq, decoder_wk, decoder_wv, o=decoder_wo, {own})",
        "residual(to=input)",
        "norm(weight=decoder_attention_norm, bias=decoder_attention_norm_b, name=attended)",
        f"attend(cross_wq, cross_wk, cross_wv, o=cross_wo, {cross})",
        "residual(to=attended)",
        "norm(weight=cross_norm, bias=cross_norm_b, name=informed)",
        *linear_layers("decoder_up", inner),
        sizes.activation,
        *linear_layers("decoder_down", sizes.wave.width),
        "residual(to=informed)",
        "norm(weight=decoder_mlp_norm, bias=decoder_mlp_norm_b)",
    )


def _write_waves(sizes: Sizes) -> dict[str, HostArray]:
    """Return the position tables, which files do not have."""
    width, first = sizes.wave.width, sizes.padding + 1
    frames, tokens = sizes.positions
    return {
        "frame_waves": halves_from(frames, width, first),
        "waves": halves_from(tokens, width, first),
    }


def _names(config: Config, sizes: Sizes) -> dict[str, str | Form | None]:
    prenet = "encoder.prenet"
    names: dict[str, str | Form | None] = {
        **name_wave(config, sizes.wave, prenet, f"{prenet}.feature_encoder"),
        **norm_names("encoder_norm1", "encoder.wrapped_encoder.layer_norm"),
        "distances": "encoder.wrapped_encoder.embed_positions.pe_k.weight",
        "words": "decoder.prenet.embed_tokens.weight",
        **ENCODER.names(),
        **projection_names("decoder_w", f"{DECODER_LAYER}.self_attn"),
        **projection_names("cross_w", f"{DECODER_LAYER}.encoder_attn"),
        f"{prenet}.masked_spec_embed": None,
        f"{prenet}.pos_sinusoidal_embed.*": None,
        "decoder.prenet.embed_positions.*": None,
    }
    for parameter, module in (
        ("decoder_attention_norm", "self_attn_layer_norm"),
        ("cross_norm", "encoder_attn_layer_norm"),
        ("decoder_mlp_norm", "final_layer_norm"),
    ):
        names |= norm_names(f"{parameter}{{n}}", f"{DECODER_LAYER}.{module}")
    for parameter, module in (("up", "intermediate_dense"), ("down", "output_dense")):
        path = f"{DECODER_LAYER}.feed_forward.{module}"
        names |= linear_names(f"decoder_{parameter}{{n}}", path)
    return names
