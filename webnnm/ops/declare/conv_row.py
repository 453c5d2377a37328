"""What convolutions along one dimension share: they are those of images with one row."""

from __future__ import annotations

from collections.abc import Callable

from webnnm.notation.syntax import Items, Value
from webnnm.ops.declare import values
from webnnm.ops.declare.layer import BuildView, ShapeView
from webnnm.ops.declare.layout import Role
from webnnm.ops.declare.tensors import Builder, Tensor

Ends = tuple[int, int]
"""The padding at the beginning and at the end."""


def apply_to_row(
    convolve: Callable[..., Tensor],
    b: Builder,
    x: Tensor,
    kernel: Tensor,
    bias: Tensor | None,
    input_layout: str,
    *,
    padding: Ends,
    strides: int,
    dilations: int,
    groups: int,
) -> Tensor:
    """Return what a convolution of images makes of signals, as images with one row."""
    row = input_layout.index("l")
    result = convolve(
        b.reshape(x, new_shape=(*x.shape[:row], 1, *x.shape[row:])),
        b.reshape(kernel, new_shape=(*kernel.shape[:2], 1, kernel.shape[2])),
        bias=bias,
        padding=(0, 0, *padding),
        strides=(1, strides),
        dilations=(1, dilations),
        groups=groups,
        input_layout=input_layout.replace("l", "hw"),
    )
    return b.reshape(result, new_shape=(*result.shape[:row], *result.shape[row + 1 :]))


def read_ends(value: Value) -> Ends:
    """Read a number for both ends, or `[beginning, ending]`."""
    ends = values.integers(value)
    ends = ends * 2 if not isinstance(value, Items) else ends
    if len(ends) != 2 or min(ends) < 0:
        raise ValueError("expected non-negative numbers: [beginning, ending]")
    return ends[0], ends[1]


def find_roles(layer: ShapeView | BuildView, names: tuple[str | None, ...]) -> tuple[Role, int]:
    """Return which dimensions are the length and the channels. Raises NNM405, NNM411."""
    if len(names) == 2:
        transposed = names[0] == "channels" or names[1] == "length"
        return (1, 0) if transposed else (0, 1)
    if len(names) != 1:
        layer.fail(
            "NNM405",
            f"{len(names)} feature dimensions, but two are needed here",
            hint="length and channels, or the channels of a sequence",
        )
    return "sequence", 0
