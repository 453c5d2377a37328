"""Maps from states of a vision transformer, joined from coarse to fine, and a head for one number.

Source: R. Ranftl et al., "Vision transformers for dense prediction", arXiv:2103.13413 (2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from webnnm.core.arrays import HostArray
from webnnm.snapshots.foreign import Part, Transposed
from webnnm.transformers.architectures.conv_net import ConvNet
from webnnm.transformers.architectures.model_text import layers
from webnnm.transformers.architectures.stretching import stretch_linear
from webnnm.transformers.architectures.vision_encoder import Encoder
from webnnm.transformers.config import Config

Size = tuple[int, int]
PROJECT, ADD, IGNORE = "project", "add", "ignore"
"""What becomes of the class token: patches are projected with it, it is added, or ignored."""
MAX_FACTOR = 64
"""The largest factor of a map."""


class Neck(NamedTuple):
    """The channels of maps, how much larger than the patches they are, and the channels of what
    joins them."""

    widths: Sequence[int]
    factors: Sequence[float]
    width: int


def read_neck(config: Config, widths: list[int], width: int) -> Neck:
    """Return the sizes of a neck from a config. Raises `DataError` NNM818 for invalid sizes."""
    widths = config.integers("neck_hidden_sizes", widths, 1)
    key = "reassemble_factors"
    factors: Any = config.get(key, [4, 2, 1, 0.5])
    if not isinstance(factors, list) or not all(map(_is_factor, cast("list[Any]", factors))):
        raise config.wrong(key, "a list of integers, or of 1 divided by integers")
    if len(cast("list[Any]", factors)) != len(widths):
        raise config.wrong(key, f"a list of {len(widths)} numbers")
    return Neck(widths, factors, config.size("fusion_hidden_size", width))


def _is_factor(value: Any) -> bool:
    """Return whether a map can be made larger by this factor: an integer, or 1 divided by one."""
    is_number = type(value) in (int, float) and 1 / MAX_FACTOR <= value <= MAX_FACTOR
    return is_number and (value if value >= 1 else 1 / value) % 1 == 0


class Body(ConvNet):
    """The layers of neck and head, and tensors that files do not have: `constants` of the neck, and
    `more` of the encoder."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder.seen)
        self.encoder = encoder
        self.constants: dict[str, HostArray] = {}
        self.more: dict[str, HostArray] = {}

    def stretch(self, old: Size, new: Size) -> None:
        """Make a map larger or smaller, its corners staying in place."""
        if old == new:
            return
        names = [f"stretch_{a}_{b}" for a, b in zip(old, new, strict=True)]
        for name, a, b in zip(names, old, new, strict=True):
            self.constants[name] = stretch_linear(a, b)
        self.add(f"stretch(down={names[0]}, across={names[1]})")


def write_maps(body: Body, neck: Neck, states: str, readout: str = IGNORE) -> list[Size]:
    """Add the layers from states of this prefix to maps, level1, level2, …; return their sizes."""
    encoder = body.encoder
    height, width = encoder.seen.grid
    sizes: list[Size] = []
    for number, (channels, factor) in enumerate(zip(neck.widths, neck.factors, strict=True)):
        layer = f"neck.reassemble_stage.layers.{number}"
        if readout == PROJECT:
            _record_readout(body, f"neck.reassemble_stage.readout_projects.{number}.0")
        body.add(
            f"read(node={states}{number + 1})",
            "transpose([1, 0])",
            f"reshape([{encoder.width}, {height}, {width}])",
            f"conv2d(map, filters={channels}, kernel=1, bias=map_b)",
        )
        body.weight("map", f"{layer}.projection")
        size = height, width
        if factor > 1:
            step = int(factor)
            size = height * step, width * step
            body.add(
                f"convTranspose2d(resize, filters={channels}, kernel={step}, strides={step}, "
                "bias=resize_b)"
            )
        elif factor < 1:
            step = round(1 / factor)
            size = (height - 1) // step + 1, (width - 1) // step + 1
            body.add(
                f"conv2d(resize, filters={channels}, kernel=3, strides={step}, padding=1, "
                "bias=resize_b)"
            )
        if factor != 1:
            body.weight("resize", f"{layer}.resize")
        level = f"conv2d(smooth, filters={neck.width}, kernel=3, padding=1"
        body.add(f"{level}, name=level{number + 1})")
        body.weight("smooth", f"neck.convs.{number}", bias=False)
        sizes.append(size)
    return sizes


def write_fusion(body: Body, neck: Neck, sizes: Sequence[Size], *, doubles: bool) -> Size:
    """Add the layers that join all maps, the last first, and return the size of the result.

    Each result becomes as large as the next map, or twice as large as it is.
    """
    size = sizes[-1]
    for number in range(len(sizes)):
        index = len(sizes) - 1 - number
        layer = f"neck.fusion_stage.layers.{number}"
        if number:
            target = f"sizes=[{size[0]}, {size[1]}]"
            fits = sizes[index] == size
            body.add(
                "" if fits else f"resample2d(node=level{index + 1}, {target}, mode=linear)",
                f"refine(node=level{index + 1})" if fits else "refine()",
                f"add(joined{number})",
            )
            _record_refine(body, f"{layer}.residual_layer1")
        body.add("refine()" if number else f"refine(node=level{index + 1})")
        _record_refine(body, f"{layer}.residual_layer2")
        new = sizes[index - 1] if index and not doubles else (2 * size[0], 2 * size[1])
        body.stretch(size, new)
        size = new
        join = f"conv2d(join, filters={neck.width}, kernel=1, bias=join_b"
        body.add(f"{join}, name=joined{number + 1})")
        body.weight("join", f"{layer}.projection")
    return size


def write_head(
    body: Body, width: int, names: tuple[str, str, str], old: Size, new: Size, inner: int
) -> None:
    """Add the convolutions from a map of one size to a number for each pixel of another."""
    body.add(f"conv2d(head, filters={width // 2}, kernel=3, padding=1, bias=head_b)")
    body.stretch(old, new)
    body.add(
        f"conv2d(head, filters={inner}, kernel=3, padding=1, bias=head_b)",
        "relu()",
        "conv2d(head, filters=1, kernel=1, bias=head_b)",
    )
    for name in names:
        body.weight("head", name)
    body.height, body.width = new


def _record_refine(body: Body, layer: str) -> None:
    for number in (1, 2):
        body.weight("refine_filter", f"{layer}.convolution{number}")


def _record_readout(body: Body, layer: str) -> None:
    """Record the matrix for patches and the class token, which are one in files."""
    for index, parameter in enumerate(("patch_read", "class_read")):
        body.weight(parameter, layer, partial(_half, index), bias=False)
    body.declare("read_b", f"{layer}.bias")


def _half(index: int, name: str) -> Transposed:
    return Transposed(Part(name, index, 2, axis=1))


def neck_blocks(body: Body, neck: Neck, readout: str = IGNORE) -> list[str]:
    """Return the statements of the blocks that the layers call."""
    encoder = body.encoder
    width, patches = encoder.width, encoder.seen.patches
    first, rest = "slice([0, 0], [1, -1]", "slice([1, 0], [-1, -1]"
    reads = {
        IGNORE: (f"{rest})",),
        ADD: (f"{first}, name=all)", f"{rest}, node=input)", "add(all)"),
        PROJECT: (
            f"{first})",
            f"matmul(class_read, shape=[1, {width}])",
            "add(read_b, name=all)",
            f"{rest}, node=input)",
            f"matmul(patch_read, shape=[{patches}, {width}])",
            "add(all)",
            encoder.activation,
        ),
    }
    convolution = f"conv2d(refine_filter, filters={neck.width}, kernel=3, padding=1, "
    convolution += "bias=refine_filter_b)"
    refine = layers("relu()", convolution, "relu()", convolution, "residual(to=input)")
    stretch = layers(
        "matmul(across)", "transpose([0, 2, 1])", "matmul(down)", "transpose([0, 2, 1])"
    )
    return [
        f"read:param read_b shape=[{width}] shared=false" if readout == PROJECT else "",
        f"read:layers\n{layers(*reads[readout])}",
        f"refine:layers\n{refine}",
        f"stretch:layers\n{stretch}" if body.constants else "",
    ]
