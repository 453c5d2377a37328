"""Poolings and resampling in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional

from tests.parity.in_torch.common import Array, Reference, relaid, sides, trailing


def _pool(
    x: Array, layout: str, window: Sequence[int] | None, apply: Callable[[Array, Any], Array]
) -> Array:
    image = relaid(x, layout, "nchw")
    return relaid(apply(image, window or image.shape[2:]), "nchw", layout)


def _average_pool2d(
    x: Array,
    *,
    window_dimensions: Sequence[int] | None = None,
    padding: Sequence[int] = (0, 0, 0, 0),
    strides: tuple[int, int] = (1, 1),
    layout: str = "nchw",
    output_shape_rounding: str = "floor",
) -> Array:
    top, bottom, left, right = padding
    ceil = output_shape_rounding == "ceil"

    def apply(image: Array, window: Any) -> Array:
        if (top, left) == (bottom, right):
            return functional.avg_pool2d(
                image, window, strides, (top, left), ceil, count_include_pad=False
            )
        # PyTorch pads both sides alike: sums and numbers of real cells, one by one.
        sums, cells = (
            functional.avg_pool2d(
                functional.pad(t, sides(padding)), window, strides, 0, ceil, divisor_override=1
            )
            for t in (image, torch.ones_like(image))
        )
        return sums / cells

    return _pool(x, layout, window_dimensions, apply)


def _max_pool2d(
    x: Array,
    *,
    window_dimensions: Sequence[int] | None = None,
    padding: Sequence[int] = (0, 0, 0, 0),
    strides: tuple[int, int] = (1, 1),
    dilations: tuple[int, int] = (1, 1),
    layout: str = "nchw",
    output_shape_rounding: str = "floor",
) -> Array:
    def apply(image: Array, window: Any) -> Array:
        padded = functional.pad(image, sides(padding), value=float("-inf"))
        ceil = output_shape_rounding == "ceil"
        return functional.max_pool2d(padded, window, strides, 0, dilations, ceil)

    return _pool(x, layout, window_dimensions, apply)


def _l2_pool2d(
    x: Array,
    *,
    window_dimensions: Sequence[int] | None = None,
    padding: Sequence[int] = (0, 0, 0, 0),
    strides: tuple[int, int] = (1, 1),
    layout: str = "nchw",
) -> Array:
    # Without its ceil mode: windows that hang over the edge lose some of their weight there.
    def apply(image: Array, window: Any) -> Array:
        padded = functional.pad(image, sides(padding))
        return functional.lp_pool2d(padded, 2.0, tuple(window), strides)

    return _pool(x, layout, window_dimensions, apply)


def _resample2d(
    x: Array,
    *,
    mode: str = "nearest-neighbor",
    scales: tuple[float, float] = (1.0, 1.0),
    sizes: Sequence[int] | None = None,
    axes: Sequence[int] = (2, 3),
) -> Array:
    image, back = trailing(x, axes)
    target = sizes or [int(n * scale) for n, scale in zip(image.shape[2:], scales, strict=True)]
    # PyTorch's "nearest" takes the cell at a new cell's edge, "nearest-exact" that at its centre.
    ways: dict[str, Any] = {
        "nearest-neighbor": {"mode": "nearest-exact"},
        "linear": {"mode": "bilinear", "align_corners": False},
    }
    return functional.interpolate(image, list(target), **ways[mode]).permute(back)


REFERENCES: dict[str, Reference] = {
    "averagePool2d": _average_pool2d,
    "maxPool2d": _max_pool2d,
    "l2Pool2d": _l2_pool2d,
    "resample2d": _resample2d,
}
