"""Convolutions in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence

from torch.nn import functional

from tests.parity.in_torch.common import Array, Reference, relaid, sides


def _conv1d(
    x: Array,
    kernel: Array,
    bias: Array | None = None,
    *,
    padding: Sequence[int] = (0, 0),
    strides: int = 1,
    dilations: int = 1,
    groups: int = 1,
    input_layout: str = "ncl",
) -> Array:
    padded = functional.pad(relaid(x, input_layout, "ncl"), list(padding))
    y = functional.conv1d(padded, kernel, bias, strides, 0, dilations, groups)
    return relaid(y, "ncl", input_layout)


def _conv2d(
    x: Array,
    kernel: Array,
    bias: Array | None = None,
    *,
    padding: Sequence[int] = (0, 0, 0, 0),
    strides: tuple[int, int] = (1, 1),
    dilations: tuple[int, int] = (1, 1),
    groups: int = 1,
    input_layout: str = "nchw",
    filter_layout: str = "oihw",
) -> Array:
    padded = functional.pad(relaid(x, input_layout, "nchw"), sides(padding))
    cells = relaid(kernel, filter_layout, "oihw")
    y = functional.conv2d(padded, cells, bias, strides, 0, dilations, groups)
    return relaid(y, "nchw", input_layout)


def _conv_transpose2d(
    x: Array,
    kernel: Array,
    bias: Array | None = None,
    *,
    padding: Sequence[int] = (0, 0, 0, 0),
    strides: tuple[int, int] = (1, 1),
    dilations: tuple[int, int] = (1, 1),
    groups: int = 1,
    input_layout: str = "nchw",
    filter_layout: str = "iohw",
    output_padding: tuple[int, int] = (0, 0),
    output_sizes: tuple[int, int] | None = None,
) -> Array:
    image = relaid(x, input_layout, "nchw")
    cells = relaid(kernel, filter_layout, "iohw")
    top, bottom, left, right = padding
    if output_sizes is not None:
        spans = [
            (image.shape[k + 2] - 1) * strides[k] + (cells.shape[k + 2] - 1) * dilations[k] + 1
            for k in range(2)
        ]
        output_padding = (
            output_sizes[0] - (spans[0] - top - bottom),
            output_sizes[1] - (spans[1] - left - right),
        )
    # PyTorch pads both sides alike: what differs between them is cut off here.
    even = min(top, bottom), min(left, right)
    y = functional.conv_transpose2d(
        image, cells, bias, strides, even, output_padding, groups, dilations
    )
    height, width = y.shape[2:]
    y = y[
        :,
        :,
        top - even[0] : height - (bottom - even[0]),
        left - even[1] : width - (right - even[1]),
    ]
    return relaid(y, "nchw", input_layout)


REFERENCES: dict[str, Reference] = {
    "conv1d": _conv1d,
    "conv2d": _conv2d,
    "convTranspose2d": _conv_transpose2d,
}
