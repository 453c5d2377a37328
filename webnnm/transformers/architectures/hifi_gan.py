"""HiFi-GAN: transposed convolutions that make a wave of frames, each followed by residual blocks.

Source: J. Kong et al., "HiFi-GAN: generative adversarial networks for efficient and high fidelity
speech synthesis", arXiv:2010.05646 (2020). Frames behind the end of a sound are zero in front of
every convolution, so that a longer graph gives the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from webnnm.core.shapes import is_integer
from webnnm.transformers.architectures.model_text import layers
from webnnm.transformers.architectures.parameter_names import ParameterNames
from webnnm.transformers.config import Config

LAST_SLOPE = 0.01
"""The slope for negative numbers in front of the last convolution."""
END_KERNEL = 7
"""The kernel of the first and of the last convolution."""


class Stage(NamedTuple):
    """A transposed convolution: its rate, its kernel, and the channels of its result."""

    rate: int
    kernel: int
    channels: int


class Vocoder(NamedTuple):
    """The sizes of a HiFi-GAN.

    Attributes: `channels`, of the first convolution; `kernels` and `dilations` of the residual
    blocks of each stage; `slope`, for negative numbers; `is_simple`, whether units of these blocks
    have one convolution, not two.
    """

    channels: int
    stages: Sequence[Stage]
    kernels: Sequence[int]
    dilations: Sequence[Sequence[int]]
    slope: float
    is_simple: bool = False

    @property
    def rate(self) -> int:
        """The number of samples for each frame."""
        return math.prod(stage.rate for stage in self.stages)


def read_vocoder(config: Config, rates: Sequence[int], kernels: Sequence[int]) -> Vocoder:
    """Return the sizes that a config has; `rates` and `kernels` are the defaults of its stages."""
    channels = config.size("upsample_initial_channel", 512)
    upsampling = [
        read_integers(config, key, default)
        for key, default in (("upsample_rates", rates), ("upsample_kernel_sizes", kernels))
    ]
    if len(upsampling[0]) != len(upsampling[1]):
        raise config.wrong("upsample_kernel_sizes", f"{len(upsampling[0])} numbers, one per rate")
    stages: list[Stage] = []
    for number, (rate, kernel) in enumerate(zip(*upsampling, strict=True), start=1):
        if kernel < rate or (kernel - rate) % 2:
            hint = f"for a rate of {rate}, {rate}, {rate + 2}, {rate + 4} and so on are supported"
            raise config.not_supported("upsample_kernel_sizes", kernel, hint)
        stages.append(Stage(rate, kernel, channels // 2**number))
    if not stages[-1].channels:
        raise config.wrong("upsample_initial_channel", f"at least {2 ** len(stages)}")
    block_kernels = read_integers(config, "resblock_kernel_sizes", (3, 7, 11))
    if any(kernel % 2 == 0 for kernel in block_kernels):
        raise config.wrong("resblock_kernel_sizes", "odd numbers")
    dilations = _read_dilations(config, len(block_kernels))
    slope = config.number("leaky_relu_slope", 0.1)
    config.require("resblock_type", 1, 2)
    is_simple = config.integer("resblock_type", 1) == 2
    return Vocoder(channels, stages, block_kernels, dilations, slope, is_simple)


def read_integers(config: Config, key: str, default: Sequence[int]) -> list[int]:
    """Return a list of numbers from 1."""
    value: Any = config.get(key, [*default])
    numbers = cast("list[Any]", value) if isinstance(value, list) else []
    if not numbers or not all(is_integer(number) and number > 0 for number in numbers):
        raise config.wrong(key, "a list of integers from 1")
    return numbers


def _read_dilations(config: Config, count: int) -> list[list[int]]:
    key = "resblock_dilation_sizes"
    value: Any = config.get(key, [[1, 3, 5]] * 3)
    rows = cast("list[Any]", value) if isinstance(value, list) else []
    if len(rows) != count:
        raise config.wrong(key, f"{count} lists, one per kernel of resblock_kernel_sizes")
    for row in rows:
        numbers = cast("list[Any]", row) if isinstance(row, list) else []
        if not numbers or not all(is_integer(number) and number > 0 for number in numbers):
            raise config.wrong(key, "lists of integers from 1")
    return rows


def write_vocoder(
    vocoder: Vocoder, mask: str, condition: Sequence[str] = (), *, biased: bool
) -> list[str]:
    """Return the layers that make a wave of the frames before them.

    `mask` names numbers `[1]` for each frame, 0 behind the end; `condition` are layers after the
    first convolution; `biased`, whether the last one has a bias.
    """
    bias = ", bias=last_conv_b" if biased else ""
    padding = END_KERNEL // 2
    rows = [
        f"conv1d(first_conv, filters={vocoder.channels}, kernel={END_KERNEL}, padding={padding}, "
        "bias=first_conv_b)",
        *condition,
        f"mul({mask}, name=frames0)",
    ]
    for number, stage in enumerate(vocoder.stages, start=1):
        before = mask if number == 1 else f"valid{number - 1}"
        rows += [
            f"convTranspose1d(ones{stage.rate}, node={before}, kernel={stage.rate}, "
            f"strides={stage.rate}, name=valid{number})",
            f"leakyRelu(alpha={vocoder.slope}, node=frames{number - 1})",
            f"convTranspose1d(grow, filters={stage.channels}, kernel={stage.kernel}, "
            f"strides={stage.rate}, padding={(stage.kernel - stage.rate) // 2}, bias=grow_b)",
            f"mul(valid{number}, name=grown{number})",
        ]
        names: list[str] = []
        for index in range(len(vocoder.kernels)):
            names.append(f"branch{number}_{index + 1}")
            options = f"filters={stage.channels}, valid=valid{number}"
            rows.append(f"branch{index + 1}({options}, node=grown{number}, name={names[-1]})")
        rows += [f"add([{', '.join(names)}])"] if len(names) > 1 else []
        rows.append(f"mul({1 / len(names)}, name=frames{number})")
    return [
        *rows,
        f"leakyRelu(alpha={LAST_SLOPE})",
        f"conv1d(last_conv, filters=1, kernel={END_KERNEL}, padding={padding}{bias})",
        "tanh()",
    ]


def vocoder_blocks(vocoder: Vocoder, block: str) -> list[str]:
    """Return the statements of what `write_vocoder` calls; `block` is the one it stands in."""
    statements = [
        f"{block}:constants ones{rate} [1, 1, {rate}] 1"
        for rate in sorted({stage.rate for stage in vocoder.stages})
    ]
    for index, (kernel, dilations) in enumerate(
        zip(vocoder.kernels, vocoder.dilations, strict=True), start=1
    ):
        rows = [
            f"unit(filters=filters, valid=valid, kernel={kernel}, dilations={dilation}, "
            f"padding={dilation * (kernel - 1) // 2}"
            f"{'' if vocoder.is_simple else f', last={(kernel - 1) // 2}'})"
            for dilation in dilations
        ]
        statements.append(f"branch{index}:layers\n{layers(*rows)}")
    second = (
        f"leakyRelu(alpha={vocoder.slope})",
        "mul(valid)",
        "conv1d(narrow, filters=filters, kernel=kernel, padding=last, bias=narrow_b)",
    )
    unit = layers(
        f"leakyRelu(alpha={vocoder.slope})",
        "conv1d(wide, filters=filters, kernel=kernel, dilations=dilations, padding=padding, "
        "bias=wide_b)",
        *(() if vocoder.is_simple else second),
        "mul(valid)",
        "residual(to=input)",
    )
    return [*statements, f"unit:layers\n{unit}"]


def name_vocoder(
    parameters: ParameterNames, vocoder: Vocoder, module: str, *, biased: bool
) -> None:
    """Record the tensors of a vocoder; `module` is the prefix of their names."""
    parameters.weight("first_conv", f"{module}conv_pre")
    count = len(vocoder.kernels)
    for number in range(len(vocoder.stages)):
        parameters.weight("grow", f"{module}upsampler.{number}")
        for branch, dilations in enumerate(vocoder.dilations):
            for index in range(len(dilations)):
                block = f"{module}resblocks.{number * count + branch}"
                if vocoder.is_simple:
                    parameters.weight("wide", f"{block}.convs.{index}")
                    continue
                parameters.weight("wide", f"{block}.convs1.{index}")
                parameters.weight("narrow", f"{block}.convs2.{index}")
    parameters.weight("last_conv", f"{module}conv_post", bias=biased)
