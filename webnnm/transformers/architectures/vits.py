"""VITS: an encoder of texts, durations of their tokens, and a decoder of frames to a wave.

Source: J. Kim et al., "Conditional variational autoencoder with adversarial learning for
end-to-end text-to-speech", arXiv:2106.06103 (2021). The text has two parts that share no input:
between them, the durations say for how many frames each token stands.

Not supported: other `depth_separable_channels` than 2, even kernels of WaveNets and durations,
`upsample_kernel_sizes` that differ from their rate by an odd number.
"""

from __future__ import annotations

from typing import NamedTuple

from webnnm.snapshots.foreign import Form, Reshaped
from webnnm.transformers.architectures.coupling import (
    VOICE,
    Coupling,
    call_flows,
    flow_blocks,
    make_product,
    name_flows,
)
from webnnm.transformers.architectures.durations import (
    NOISE,
    Durations,
    call_predictor,
    name_predictor,
    predictor_blocks,
    read_durations,
)
from webnnm.transformers.architectures.encoder_decoder import INPUTS
from webnnm.transformers.architectures.hifi_gan import (
    Vocoder,
    name_vocoder,
    read_vocoder,
    vocoder_blocks,
    write_vocoder,
)
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    layers,
    output,
    statements,
)
from webnnm.transformers.architectures.parameter_names import ParameterNames
from webnnm.transformers.config import Config

DURATIONS, MEANS, DEVIATIONS = "log_durations", "prior_means", "prior_log_deviations"
"""Outputs for each token of a text."""
FRAMES = ("frame_means", "frame_log_deviations", "frame_noise")
"""Inputs of the decoder: the numbers of the token of each frame, and normal noise."""
FRAME_MASK, WAVE = "frame_mask", "waveform"
SPEAKER, SPEAKERS = "speaker_embeddings", "num_speakers"
UNUSED_KEYS = (
    *("spectrogram_bins", "posterior_encoder_num_wavenet_layers", "wavenet_dropout"),
    *("noise_scale", "noise_scale_duration", "speaking_rate", "sampling_rate"),
    *("phoneme_id_map", "phoneme_type"),
)
"""Keys for training, and those that the host reads."""


class Sizes(NamedTuple):
    """The sizes of a model; `window` is that of nearby distances, None without."""

    vocabulary: int
    width: int
    heads: int
    window: int | None
    inner: int
    kernel: int
    depth: int
    biased: bool
    activation: str
    epsilon: float
    speakers: int
    durations: Durations
    flows: Coupling
    vocoder: Vocoder


def write_model(config: Config) -> ModelText:
    """Return the text of a VITS and its name map."""
    class_suffix(config, "VitsModel", default="VitsModel")
    for key in UNUSED_KEYS:
        config.get(key)
    sizes = _read_sizes(config)
    speaker = sizes.flows.speaker
    channels = sizes.flows.channels
    mask = (f"cast(float32, node={FRAME_MASK})", "reshape([1], name=frames)")
    condition = (
        "identity(name=decoded)",
        f"matmul(wave_speaker, node={VOICE}, shape=[{sizes.vocoder.channels}])",
        "add(wave_speaker_b)",
        "add(decoded)",
    )
    wave = (
        *mask,
        f"exp(node={FRAMES[1]})",
        f"mul({FRAMES[2]})",
        f"add({FRAMES[0]})",
        call_flows(sizes.flows),
        "mul(frames)",
        *write_vocoder(sizes.vocoder, "frames", condition if speaker else (), biased=False),
    )
    table = f"speakers shape=[{sizes.speakers}, {speaker}]"
    source = statements(
        [
            "model:name vits",
            *INPUTS[:2],
            f"{NOISE}:input shape=[2] sequence=tokens" if sizes.durations.is_stochastic else "",
            "speaker_id:input int32 shape=[]" if speaker else "",
            *(f"{name}:input shape=[{channels}] sequence=frames" for name in FRAMES),
            f"{FRAME_MASK}:input int32 shape=[] sequence=frames",
            f"{VOICE}:input shape=[{speaker}]" if speaker else "",
            f"{SPEAKER}:param {table}" if speaker else "",
            *(
                output(SPEAKER, speaker, "embedding(speakers, node=speaker_id)", tokens=False)
                if speaker
                else ()
            ),
            *output(MEANS, channels, "identity(node=prior.0)"),
            *output(DEVIATIONS, channels, "identity(node=prior.1)"),
            *output(DURATIONS, 1, *_encode(sizes), *call_predictor(sizes.durations, "counts")),
            *output(WAVE, 1, *wave, sequence="frames"),
            *predictor_blocks(sizes.durations, DURATIONS, "counts"),
            *flow_blocks(sizes.flows, "frames"),
            *vocoder_blocks(sizes.vocoder, WAVE),
            *_declare_tables(sizes),
            f"layer:layers\n{_write_layer(sizes)}",
            f"norm:layers layerNorm(scale=weight, bias=bias, epsilon={sizes.epsilon})",
        ]
    )
    return ModelText(source, _names(sizes), "")


def _read_sizes(config: Config) -> Sizes:
    width, heads = config.size("hidden_size", 192), config.size("num_attention_heads", 2)
    if width % heads:
        raise config.wrong("hidden_size", f"a multiple of the {heads} heads")
    channels = config.size("flow_size", 192)
    kernel = config.size("wavenet_kernel_size", 5)
    for key, number, expected in (("flow_size", channels, 0), ("wavenet_kernel_size", kernel, 1)):
        if number % 2 != expected:
            raise config.wrong(key, "an odd number" if expected else "an even number")
    speakers = config.integer(SPEAKERS, 1, 1)
    speaker = config.integer("speaker_embedding_size", 0, 0)
    if speakers > 1 and not speaker:
        raise config.wrong("speaker_embedding_size", f"above 0 for {speakers} speakers")
    speaker = speaker if speakers > 1 else 0
    epsilon = config.positive("layer_norm_eps", 1e-5)
    near = "flow.flows.0.wavenet.in_layers.0"
    has_window = "window_size" not in config.given or config.given["window_size"] is not None
    return Sizes(
        vocabulary=config.size("vocab_size", 38),
        width=width,
        heads=heads,
        window=config.integer("window_size", 4, 1) if has_window else None,
        inner=config.size("ffn_dim", 768),
        kernel=config.size("ffn_kernel_size", 3),
        depth=config.count("num_hidden_layers", 6),
        biased=config.flag("use_bias", True),
        activation=config.activation("hidden_act", "relu"),
        epsilon=epsilon,
        speakers=speakers,
        durations=read_durations(config, width, epsilon, speaker),
        flows=Coupling(
            count=config.count("prior_encoder_num_flows", 4),
            channels=channels,
            width=width,
            depth=config.count("prior_encoder_num_wavenet_layers", 4),
            kernel=kernel,
            dilation=config.integer("wavenet_dilation_rate", 1, 1),
            speaker=speaker,
            is_older=f"{near}.weight_g" in (config.tensors or ()),
            is_normed=f"{near}.weight" not in (config.tensors or ()),
        ),
        vocoder=read_vocoder(config, (8, 8, 2, 2), (16, 16, 4, 4)),
    )


def _encode(sizes: Sizes) -> tuple[str, ...]:
    """Return the layers of the encoder; `prior` has the means and deviations of its tokens."""
    channels = sizes.flows.channels
    return (
        "cast(float32, node=attention_mask)",
        "reshape([1], name=counts)",
        "embedding(words, node=input_ids)",
        f"mul({sizes.width**0.5})",
        "mul(counts)",
        f"layer(repeat={sizes.depth})",
        "mul(counts, name=encoded)",
        f"matmul(project, shape=[{2 * channels}])",
        "add(project_b)",
        "mul(counts)",
        f"split([{channels}, {channels}], axis=-1, name=prior)",
        "identity(node=encoded)",
    )


def _declare_tables(sizes: Sizes) -> list[str]:
    words = f"{DURATIONS}:param words shape=[{sizes.vocabulary}, {sizes.width}]"
    if sizes.window is None:
        return [words]
    shape = [2 * sizes.window + 1, sizes.width // sizes.heads]
    return [
        words,
        f"layer:param near_keys shape={shape} shared=false, near_values shape={shape} shared=false",
    ]


def _write_layer(sizes: Sizes) -> str:
    options = f"heads={sizes.heads}, mask=attention_mask"
    options += ", bias=true" if sizes.biased else ""
    options += ", nearKeys=near_keys, nearValues=near_values" if sizes.window is not None else ""
    padding = f"padding=[{(sizes.kernel - 1) // 2}, {sizes.kernel // 2}]"
    return layers(
        f"attend(wq, wk, wv, o=wo, {options})",
        "residual(to=input)",
        "norm(weight=attention_norm, bias=attention_norm_b, name=attended)",
        "mul(counts)",
        f"conv1d(up, filters={sizes.inner}, kernel={sizes.kernel}, {padding}, bias=up_b)",
        sizes.activation,
        "mul(counts)",
        f"conv1d(down, filters={sizes.width}, kernel={sizes.kernel}, {padding}, bias=down_b)",
        "mul(counts)",
        "residual(to=attended)",
        "norm(weight=mlp_norm, bias=mlp_norm_b)",
    )


def _names(sizes: Sizes) -> dict[str, str | Form | None]:
    parameters = ParameterNames()
    rows = 2 * (sizes.window or 0) + 1

    def make_table(name: str) -> Form:
        return Reshaped(name, (rows, sizes.width // sizes.heads))

    parameters.names["words"] = "text_encoder.embed_tokens.weight"
    for index in range(sizes.depth):
        layer = f"text_encoder.encoder.layers.{index}"
        for letter, module in zip("qkvo", ("q_proj", "k_proj", "v_proj", "out_proj"), strict=True):
            parameters.matrix(f"w{letter}", f"{layer}.attention.{module}", bias=sizes.biased)
        if sizes.window is not None:
            for parameter, tensor in (("near_keys", "emb_rel_k"), ("near_values", "emb_rel_v")):
                parameters.declare(parameter, f"{layer}.attention.{tensor}", make_table)
        parameters.weight("attention_norm", f"{layer}.layer_norm")
        parameters.weight("up", f"{layer}.feed_forward.conv_1")
        parameters.weight("down", f"{layer}.feed_forward.conv_2")
        parameters.weight("mlp_norm", f"{layer}.final_layer_norm")
    form = make_product(sizes.width, 2 * sizes.flows.channels)
    parameters.weight("project", "text_encoder.project", form)
    name_predictor(parameters, sizes.durations)
    name_flows(parameters, sizes.flows, "flow.flows")
    name_vocoder(parameters, sizes.vocoder, "decoder.", biased=False)
    parameters.names["posterior_encoder.*"] = None
    if sizes.flows.speaker:
        parameters.names["speakers"] = "embed_speaker.weight"
        form = make_product(sizes.flows.speaker, sizes.vocoder.channels)
        parameters.weight("wave_speaker", "decoder.cond", form)
    return parameters.names
