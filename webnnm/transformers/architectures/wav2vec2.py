"""Wav2Vec2, HuBERT and WavLM: convolutions that turn a wave into frames, and their encoder.

Sources: A. Baevski et al., "wav2vec 2.0", arXiv:2006.11477 (2020); W.-N. Hsu et al., "HuBERT",
arXiv:2106.07447 (2021).

Not supported: adapters, `use_weighted_layer_sum`, `conv_pos_batch_norm`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from webnnm.core.shapes import is_integer
from webnnm.transformers.architectures.encoder import (
    CLASSES,
    HIDDEN,
    MODEL,
    Modules,
    Names,
    average_tokens,
    write_attention,
    write_layer,
)
from webnnm.transformers.architectures.model_text import (
    ModelText,
    class_suffix,
    count_classes,
    layers,
    linear_layers,
    linear_names,
    norm_names,
    output,
    statements,
)
from webnnm.transformers.architectures.wavlm import (
    Distances,
    declare_tables,
    name_gates,
    read_distances,
    write_gated_attention,
    write_gates,
)
from webnnm.transformers.config import Config

FAMILIES = {"hubert": "Hubert", "wav2vec2": "Wav2Vec2", "wavlm": "WavLM"}
"""`model_type` → the prefix of class names."""
STRIDES = [5, 2, 2, 2, 2, 2, 2]
"""The strides of the convolutions if a config does not name them."""
CTC, FRAMES = "ForCTC", "ForAudioFrameClassification"
INPUTS = (
    "input_values:input shape=[] sequence=samples",
    "attention_mask:input int32 shape=[] sequence=samples",
)
MODULES = Modules(
    "encoder.layers.{n-1}",
    q="attention.q_proj",
    k="attention.k_proj",
    v="attention.v_proj",
    o="attention.out_proj",
    attention_norm="layer_norm",
    up="feed_forward.intermediate_dense",
    down="feed_forward.output_dense",
    mlp_norm="final_layer_norm",
)
UNUSED_KEYS = (
    *("mask_time_prob", "mask_time_length", "mask_time_min_masks", "apply_spec_augment"),
    *("mask_feature_prob", "mask_feature_length", "mask_feature_min_masks"),
    *("mask_channel_length", "mask_channel_min_space", "mask_channel_other", "mask_channel_prob"),
    *("mask_channel_selection", "mask_time_min_space", "mask_time_other", "mask_time_selection"),
    *("num_codevectors_per_group", "num_codevector_groups", "contrastive_logits_temperature"),
    *("num_negatives", "codevector_dim", "proj_codevector_dim", "diversity_loss_weight"),
    *("ctc_loss_reduction", "ctc_zero_infinity", "tdnn_dim", "tdnn_kernel", "tdnn_dilation"),
    *("xvector_output_dim", "num_feat_extract_layers", "num_ctc_classes", "gradient_checkpointing"),
    *("adapter_kernel_size", "adapter_stride", "num_adapter_layers", "tokenizer_class"),
)
"""Keys for training, for heads of other classes, and for adapters, which are refused."""


class Convolution(NamedTuple):
    """A convolution along the wave."""

    filters: int
    kernel: int
    stride: int


class Sizes(NamedTuple):
    """The sizes of a model, and its kinds of normalisation.

    Attributes: `convolutions`, from samples to frames; `all_normed`, whether each of them is
    followed by a norm of the channels, or the first by one along the wave; `projects_normed`,
    whether frames are normalised before their projection; `norm_first`, whether norms come before
    attention and MLP; `kernel` and `groups`, of the convolution that tells positions; `distances`,
    what attention adds by distance, None for nothing.
    """

    convolutions: Sequence[Convolution]
    bias: bool
    all_normed: bool
    projects_normed: bool
    width: int
    heads: int
    inner: int
    depth: int
    norm_first: bool
    kernel: int
    groups: int
    distances: Distances | None


def write_model(config: Config) -> ModelText:
    """Return the text of a model of the family and its name map."""
    name = config.text("model_type")
    is_hubert = name == "hubert"
    kinds = (MODEL, CTC, CLASSES) if is_hubert else (MODEL, CTC, CLASSES, FRAMES)
    kind = class_suffix(config, *kinds, default=f"{FAMILIES[name]}Model")
    for key in ("add_adapter", "use_weighted_layer_sum", "conv_pos_batch_norm"):
        config.require(key, False)
    config.require("adapter_attn_dim", None)
    for key in UNUSED_KEYS:
        config.get(key)
    sizes = _read_sizes(config)
    config.require("output_hidden_size", None, sizes.width)
    activation = config.activation("hidden_act", "gelu")
    frame_activation = config.activation("feat_extract_activation", "gelu")
    body = (*read_wave(sizes), *_encode(sizes, frame_activation))
    outputs, block, names = _write_outputs(config, kind, sizes.width, body)
    if kind == MODEL and not is_hubert:
        outputs += [
            f"extract_features:output shape=[{sizes.convolutions[-1].filters}] sequence=samples",
            "extract_features:layers identity(node=features_of_frames)",
        ]
    epsilon = config.positive("layer_norm_eps", 1e-5)
    source = statements(
        [
            f"model:name {name}",
            *INPUTS,
            f"{block}:param position_scale shape=[1, 1, {sizes.kernel}]",
            f"{block}:param position_filter shape={filter_shape(sizes)}",
            *(declare_tables(block, sizes.distances, sizes.heads) if sizes.distances else ()),
            *outputs,
            *convolution_blocks(sizes, frame_activation),
            f"count_frames:layers\n{count_frames(sizes)}",
            f"layer:layers\n{_write_layer(sizes, activation)}",
            f"gate_distances:layers\n{write_gates(sizes.width, sizes.heads)}"
            if sizes.distances
            else "",
            f"norm:layers layerNorm(scale=weight, bias=bias, epsilon={epsilon})",
        ]
    )
    return ModelText(source, _names(config, sizes) | names, f"{name}.")


def read_convolutions(config: Config) -> list[Convolution]:
    """Return the convolutions from samples to frames."""
    numbers = [
        _integers(config, key, default)
        for key, default in (
            ("conv_dim", [512] * 7),
            ("conv_kernel", [10, 3, 3, 3, 3, 2, 2]),
            ("conv_stride", STRIDES),
        )
    ]
    if len({len(values) for values in numbers}) != 1:
        lengths = [len(values) for values in numbers]
        hint = "conv_dim, conv_kernel and conv_stride have one number for each convolution"
        raise config.not_supported("conv_dim", lengths, hint)
    return [Convolution(*row) for row in zip(*numbers, strict=True)]


def _read_sizes(config: Config) -> Sizes:
    config.require("feat_extract_norm", "group", "layer")
    is_wavlm = config.text("model_type") == "wavlm"
    return Sizes(
        convolutions=read_convolutions(config),
        bias=config.flag("conv_bias"),
        all_normed=config.text("feat_extract_norm", "group") == "layer",
        projects_normed=is_wavlm or config.flag("feat_proj_layer_norm", True),
        width=config.size("hidden_size", 768),
        heads=config.size("num_attention_heads", 12),
        inner=config.size("intermediate_size", 3072),
        depth=config.count("num_hidden_layers", 12),
        norm_first=config.flag("do_stable_layer_norm"),
        kernel=config.size("num_conv_pos_embeddings", 128),
        groups=config.size("num_conv_pos_embedding_groups", 16),
        distances=read_distances(config) if is_wavlm else None,
    )


def _integers(config: Config, key: str, default: list[int]) -> list[int]:
    """Return a list of numbers from 1."""
    value: Any = config.get(key, default)
    numbers = cast("list[Any]", value) if isinstance(value, list) else []
    if not numbers or not all(is_integer(number) and number > 0 for number in numbers):
        raise config.wrong(key, "a list of integers from 1")
    return numbers


def filter_shape(sizes: Sizes) -> list[int]:
    """Return the shape of the filter of the convolution for positions."""
    return [sizes.width, sizes.width // sizes.groups, sizes.kernel]


def read_wave(sizes: Sizes) -> tuple[str, ...]:
    """Return the layers from a wave to its frames."""
    first, *others = sizes.convolutions
    block = "convolution" if sizes.all_normed else "plain_convolution"
    product, bias = linear_layers("project", sizes.width)
    return (
        "reshape([1], node=input_values)",
        f"convolution({_options(first)})",
        *(f"{block}({_options(convolution)})" for convolution in others),
        "norm(weight=frame_norm, bias=frame_norm_b, name=features_of_frames)"
        if sizes.projects_normed
        else "",
        product,
        f"{bias[:-1]}, name=projected)",
    )


def _options(convolution: Convolution) -> str:
    return (
        f"filters={convolution.filters}, kernel={convolution.kernel}, strides={convolution.stride}"
    )


def convolution_blocks(sizes: Sizes, activation: str) -> list[str]:
    """Return the statements of convolutions with and without a norm."""
    bias = ", bias=conv_b" if sizes.bias else ""
    convolution = f"conv1d(conv, filters=filters, kernel=kernel, strides=strides{bias})"
    norm = (
        ("layerNorm(scale=conv_norm, bias=conv_norm_b, epsilon=1e-5)",)
        if sizes.all_normed
        else ("layerNorm(axes=[samples], epsilon=1e-5)", "mul(conv_norm)", "add(conv_norm_b)")
    )
    plain = f"plain_convolution:layers\n{layers(convolution, activation)}"
    return [
        f"convolution:layers\n{layers(convolution, *norm, activation)}",
        *([] if sizes.all_normed or len(sizes.convolutions) == 1 else [plain]),
    ]


def count_frames(sizes: Sizes) -> str:
    """Return the layers of which frames count: those of samples that are not padding."""
    shorter = [
        row
        for one in sizes.convolutions
        for row in (f"sub({one.kernel})", f"div({one.stride})", "floor()", "add(1)")
    ]
    last = shorter.pop()
    return layers(
        "cast(float32, node=attention_mask)",
        "reduceSum(axes=[samples])",
        *shorter,
        f"{last[:-1]}, name=count)",
        "reduceSum(node=input, axes=[features], name=sums)",
        "equal([sums, sums])",
        "cast(float32)",
        "cumulativeSum(axis=samples)",
        "lesserOrEqual(count)",
        "cast(int32)",
    )


def _encode(sizes: Sizes, activation: str) -> tuple[str, ...]:
    """Return the layers of the encoder of frames."""
    norm = "norm(weight=encoder_norm, bias=encoder_norm_b)"
    return (
        "count_frames(name=frames)",
        "cast(float32)",
        "reshape([1])",
        "mul(projected, name=counted_frames)",
        *convolve_positions(sizes, activation, "counted_frames"),
        "" if sizes.norm_first else norm,
        f"layer(repeat={sizes.depth})",
        norm if sizes.norm_first else "",
    )


def convolve_positions(sizes: Sizes, activation: str, node: str) -> tuple[str, ...]:
    """Return the layers that add to frames what a convolution tells of their positions."""
    padding = sizes.kernel // 2
    ends = f"[{padding}, {padding - (sizes.kernel % 2 == 0)}]"
    return (
        "reduceL2(node=position_filter, axes=[0, 1], keepDimensions=true, name=lengths)",
        "div([position_filter, lengths])",
        "mul(position_scale, name=position_kernel)",
        f"conv1d(position_kernel, node={node}, padding={ends}, groups={sizes.groups}, "
        "bias=position_b)",
        activation,
        f"add({node})",
    )


def _write_layer(sizes: Sizes, activation: str) -> str:
    attention = write_attention(sizes.heads, mask="frames")
    gated = sizes.distances is not None
    if sizes.distances is not None:
        node = "normed" if sizes.norm_first else "input"
        attention = write_gated_attention(sizes.heads, sizes.distances, "frames", node)
    if not sizes.norm_first:
        return write_layer(sizes.width, sizes.inner, activation, attention)
    return layers(
        f"norm(weight=attention_norm, bias=attention_norm_b{', name=normed' * gated})",
        attention,
        "residual(to=input, name=attended)",
        "norm(weight=mlp_norm, bias=mlp_norm_b)",
        *linear_layers("up", sizes.inner),
        activation,
        *linear_layers("down", sizes.width),
        "residual(to=attended)",
    )


def _write_outputs(
    config: Config, kind: str, width: int, body: Sequence[str]
) -> tuple[list[str], str, Names]:
    """Return the statements of the outputs, their block, and the names of the head."""
    unused: Names = dict.fromkeys(("lm_head.*", "projector.*", "classifier.*", "quantizer.*"))
    unused |= dict.fromkeys(("masked_spec_embed", "project_q.*", "project_hid.*"))
    for key in ("vocab_size", "classifier_proj_size"):
        config.get(key)
    if kind == MODEL:
        return output(HIDDEN, width, *body, sequence="samples"), HIDDEN, unused
    if kind == CTC:
        size = config.size("vocab_size", 32)
        rows = (*body, *linear_layers("lm_head", size))
        names = unused | linear_names("lm_head1", "lm_head")
        return output("logits", size, *rows, sequence="samples"), "logits", names
    size = count_classes(config)
    names = unused | linear_names("classifier1", "classifier")
    rows = (*body, *linear_layers("classifier", size))
    if kind == CLASSES:
        product, bias = linear_layers("projector", config.size("classifier_proj_size", 256))
        rows = (
            *body,
            product,
            f"{bias[:-1]}, name=encoded)",
            *average_tokens("encoded", mask="frames", sequence="samples"),
            *linear_layers("classifier", size),
        )
        names |= linear_names("projector1", "projector")
    return output("logits", size, *rows, tokens=kind == FRAMES, sequence="samples"), "logits", names


def _names(config: Config, sizes: Sizes) -> Names:
    names: Names = {
        **name_wave(config, sizes, "encoder", "feature_extractor"),
        **norm_names("encoder_norm1", "encoder.layer_norm"),
        **MODULES.names(),
    }
    if sizes.distances is not None:
        names |= name_gates(sizes.heads, sizes.depth)
    return names


def name_wave(config: Config, sizes: Sizes, module: str, extractor: str) -> Names:
    """Return the names of what makes frames of a wave: a part `extractor` with convolutions, the
    projection beside it, and the convolution for positions, in `module`."""
    conv = f"{module}.pos_conv_embed.conv"
    is_older = any(name.endswith(f"{conv}.weight_g") for name in config.tensors or ())
    scale, filters = (
        ("weight_g", "weight_v")
        if is_older
        else (f"parametrizations.weight.original{index}" for index in range(2))
    )
    beside = f"{extractor.rpartition('.')[0]}.".removeprefix(".")
    names: Names = {
        "position_scale": f"{conv}.{scale}",
        "position_filter": f"{conv}.{filters}",
        "position_b1": f"{conv}.bias",
        **linear_names("project1", f"{beside}feature_projection.projection"),
    }
    if sizes.projects_normed:
        names |= norm_names("frame_norm1", f"{beside}feature_projection.layer_norm")
    for index in range(len(sizes.convolutions)):
        layer = f"{extractor}.conv_layers.{index}"
        names[f"conv{index + 1}"] = f"{layer}.conv.weight"
        if sizes.bias:
            names[f"conv_b{index + 1}"] = f"{layer}.conv.bias"
        if sizes.all_normed or index == 0:
            names |= norm_names(f"conv_norm{index + 1}", f"{layer}.layer_norm")
    return names
