"""How long each token of a text is spoken, for VITS: from noise by splines, or by convolutions.

Sources: J. Kim et al., "Conditional variational autoencoder with adversarial learning for
end-to-end text-to-speech" (VITS), arXiv:2106.06103 (2021), section 2.2.2 and appendix B.
"""

from __future__ import annotations

from typing import NamedTuple

from webnnm.snapshots.foreign import Reshaped
from webnnm.transformers.architectures.coupling import make_product
from webnnm.transformers.architectures.model_text import layers, linear_layers
from webnnm.transformers.architectures.parameter_names import ParameterNames
from webnnm.transformers.config import Config

MODULE = "duration_predictor"
NOISE = "duration_noise"
"""The input of the noise, two numbers for each token."""
MAX_DEPTH = 12
"""Dilations are powers of the kernel, so that a dozen convolutions reach over any text."""


class Durations(NamedTuple):
    """The sizes of a predictor of durations.

    Attributes: `width`, of tokens; `is_stochastic`, whether durations depend on noise; `flows`,
    that is, splines of `bins` up to a `bound`, each with `depth` convolutions of a `kernel` whose
    dilations are its powers, and of which only trainings read the last one; `filters` and
    `epsilon`, of a predictor without noise; `speaker`, the size of the embeddings of speakers, 0
    for none.
    """

    width: int
    is_stochastic: bool
    kernel: int
    flows: int
    depth: int
    bins: int
    bound: float
    filters: int
    epsilon: float
    speaker: int

    @property
    def calls(self) -> int:
        """The flows that durations go through: nothing reads the result of the last one."""
        return self.flows - 1


def read_durations(config: Config, width: int, epsilon: float, speaker: int) -> Durations:
    """Return the sizes that a config has."""
    kernel = config.size("duration_predictor_kernel_size", 3)
    if kernel % 2 == 0:
        raise config.wrong("duration_predictor_kernel_size", "an odd number")
    config.require("depth_separable_channels", 2)
    is_stochastic = config.flag("use_stochastic_duration_prediction", True)
    # Only convolutions have filters.
    read_filters = config.integer if is_stochastic else config.size
    filters = read_filters("duration_predictor_filter_channels", 256)
    flows = config.count("duration_predictor_num_flows", 4)
    return Durations(
        width=width,
        is_stochastic=is_stochastic,
        kernel=kernel,
        flows=flows,
        depth=config.integer("depth_separable_num_layers", 3, 1, MAX_DEPTH),
        bins=config.integer("duration_predictor_flow_bins", 10, 2),
        bound=config.positive("duration_predictor_tail_bound", 5.0),
        filters=filters,
        epsilon=epsilon,
        speaker=speaker,
    )


def call_predictor(durations: Durations, mask: str) -> list[str]:
    """Return the layers from states of tokens to the logarithms of their durations."""
    if durations.is_stochastic and not durations.calls:
        return [f"reverse(node={NOISE}, axes=[-1], name=latents)", *_undo_scale(mask)]
    speaker: list[str] = []
    if durations.speaker:
        speaker = [
            "identity(name=states)",
            f"matmul(duration_speaker, node=speaker_embeddings, shape=[{durations.width}])",
            "add(duration_speaker_b)",
            "add(states)",
        ]
    if not durations.is_stochastic:
        size, kernel = durations.filters, durations.kernel
        convolution = f"conv1d(duration_conv, filters={size}, kernel={kernel}, "
        convolution += f"padding={kernel // 2}, bias=duration_conv_b)"
        norm = f"layerNorm(scale=duration_norm, bias=duration_norm_b, epsilon={durations.epsilon})"
        row = (f"mul({mask})", convolution, "relu()", norm)
        return [*speaker, *row, *row, f"mul({mask})", *linear_layers("duration", 1), f"mul({mask})"]
    calls = durations.calls
    return [
        *linear_layers("duration_enter", durations.width),
        *speaker,
        "separable()",
        *linear_layers("duration_leave", durations.width),
        f"mul({mask}, name=conditions)",
        f"spline_flow(node={NOISE})",
        *([f"spline_flow(repeat={calls - 1})"] if calls > 1 else []),
        "reverse(axes=[-1], name=latents)",
        *_undo_scale(mask),
    ]


def _undo_scale(mask: str) -> list[str]:
    """Return the layers from the latents to the first of both: the logarithms."""
    return [
        "neg(node=duration_stretch)",
        "exp(name=shrink)",
        "sub([latents, duration_shift])",
        "mul(shrink)",
        "split([1, 1], axis=-1)",
        f"mul({mask})",
    ]


def predictor_blocks(durations: Durations, block: str, mask: str) -> list[str]:
    """Return the statements of what `call_predictor` calls; `block` is the one it stands in."""
    if not durations.is_stochastic:
        return []
    parameters = f"{block}:param duration_shift shape=[2], duration_stretch shape=[2]"
    if not durations.calls:
        return [parameters]
    width, kernel, bins = durations.width, durations.kernel, durations.bins
    convolutions: list[str] = []
    for index in range(durations.depth):
        dilation = kernel**index
        padding = dilation * (kernel - 1) // 2
        convolutions.append(f"separable_layer(dilations={dilation}, padding={padding})")
    scale = width**-0.5
    spline = layers(
        "reverse(axes=[-1])",
        "split([1, 1], axis=-1, name=half)",
        f"matmul(flow_enter, node=half.0, shape=[{width}])",
        "add(flow_enter_b)",
        "add(conditions)",
        "separable()",
        *linear_layers("flow_leave", 3 * bins - 1),
        f"mul({mask})",
        f"split([{bins}, {bins}, {bins - 1}], axis=-1, name=part)",
        f"mul({scale}, node=part.0, name=widths)",
        f"mul({scale}, node=part.1, name=heights)",
        "reshape([], node=half.1)",
        f"rationalSpline(widths, heights, part.2, bound={durations.bound}, inverse=true)",
        "reshape([1], name=bent)",
        "concat([half.0, bent], axis=-1)",
        f"mul({mask})",
    )
    layer = layers(
        f"mul({mask})",
        f"conv1d(separate, filters={width}, kernel={kernel}, dilations=dilations, "
        f"padding=padding, groups={width}, bias=separate_b)",
        "layerNorm(scale=separate_norm, bias=separate_norm_b, epsilon=1e-5)",
        "gelu()",
        *linear_layers("joint", width),
        "layerNorm(scale=joint_norm, bias=joint_norm_b, epsilon=1e-5)",
        "gelu()",
        "residual(to=input)",
    )
    return [
        parameters,
        f"spline_flow:layers\n{spline}",
        f"separable:layers\n{layers(*convolutions, f'mul({mask})')}",
        f"separable_layer:layers\n{layer}",
    ]


def name_predictor(parameters: ParameterNames, durations: Durations) -> None:
    """Record the tensors of a predictor, and those that only trainings read."""
    width = durations.width
    for parameter, tensor in (("shift", "translate"), ("stretch", "log_scale")):
        if durations.is_stochastic:
            origin = Reshaped(f"{MODULE}.flows.0.{tensor}", (2,))
            parameters.names[f"duration_{parameter}"] = origin
    if durations.is_stochastic:
        parameters.names |= {f"{MODULE}.flows.1.*": None, f"{MODULE}.post_*": None}
        if not durations.calls:
            parameters.names |= {f"{MODULE}.co*": None}
            return
    if durations.speaker:
        form = make_product(durations.speaker, width)
        parameters.weight("duration_speaker", f"{MODULE}.cond", form)
    if not durations.is_stochastic:
        for number in (1, 2):
            parameters.weight("duration_conv", f"{MODULE}.conv_{number}")
            parameters.weight("duration_norm", f"{MODULE}.norm_{number}")
        parameters.weight("duration", f"{MODULE}.proj", make_product(durations.filters, 1))
        return
    form = make_product(width, width)
    parameters.weight("duration_enter", f"{MODULE}.conv_pre", form)
    _name_separable(parameters, durations, f"{MODULE}.conv_dds")
    parameters.weight("duration_leave", f"{MODULE}.conv_proj", form)
    for number in range(durations.flows, 1, -1):
        layer = f"{MODULE}.flows.{number}"
        parameters.weight("flow_enter", f"{layer}.conv_pre", make_product(1, width))
        _name_separable(parameters, durations, f"{layer}.conv_dds")
        leave = make_product(width, 3 * durations.bins - 1)
        parameters.weight("flow_leave", f"{layer}.conv_proj", leave)


def _name_separable(parameters: ParameterNames, durations: Durations, module: str) -> None:
    form = make_product(durations.width, durations.width)
    for index in range(durations.depth):
        parameters.weight("separate", f"{module}.convs_dilated.{index}")
        parameters.weight("separate_norm", f"{module}.norms_1.{index}")
        parameters.weight("joint", f"{module}.convs_pointwise.{index}", form)
        parameters.weight("joint_norm", f"{module}.norms_2.{index}")
