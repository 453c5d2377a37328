"""Normalisations in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional

from tests.parity.in_torch.common import Array, Reference, relaid, trailing


def _flat(*tensors: Array | None) -> list[Array | None]:
    return [None if t is None else t.reshape(-1) for t in tensors]


def _given_statistics(
    x: Array,
    mean: Array,
    variance: Array,
    scale: Array | None = None,
    bias: Array | None = None,
    *,
    axes: Sequence[int] = (0,),
    epsilon: float = 1e-5,
) -> Array:
    assert tuple(axes) == (0,) and x.ndim == 2
    return _batch_normalization(x, mean, variance, scale, bias, epsilon=epsilon)


def _batch_normalization(
    x: Array,
    mean: Array,
    variance: Array,
    scale: Array | None = None,
    bias: Array | None = None,
    *,
    axis: int = 1,
    epsilon: float = 1e-5,
) -> Array:
    moved = x.movedim(axis, 1)
    y = functional.batch_norm(
        moved, mean.detach(), variance.detach(), scale, bias, eps=epsilon
    ).movedim(1, axis)
    # PyTorch has no gradients for given statistics: they come from the formula, whose value
    # is taken off again.
    place = [-1 if k == axis else 1 for k in range(x.ndim)]
    unit = (x.detach() - mean.reshape(place)) * torch.rsqrt(variance + epsilon).reshape(place)
    written = unit if scale is None else unit * scale.detach().reshape(place)
    return y + (written - written.detach())


def _layer_normalization(
    x: Array,
    scale: Array | None = None,
    bias: Array | None = None,
    *,
    axes: Sequence[int] | None = None,
    epsilon: float = 1e-5,
) -> Array:
    axes = range(1, x.ndim) if axes is None else axes
    moved, back = trailing(x, axes)
    sizes = [x.shape[axis] for axis in axes]
    return functional.layer_norm(moved, sizes, scale, bias, epsilon).permute(back)


def _instance_normalization(
    x: Array,
    scale: Array | None = None,
    bias: Array | None = None,
    *,
    layout: str = "nchw",
    epsilon: float = 1e-5,
) -> Array:
    image = relaid(x, layout, "nchw")
    y = functional.instance_norm(image, weight=scale, bias=bias, eps=epsilon)
    return relaid(y, "nchw", layout)


def _mean_variance_normalization(
    x: Array,
    mean: None = None,
    variance: None = None,
    scale: Array | None = None,
    bias: Array | None = None,
    **options: Any,
) -> Array:
    assert mean is None and variance is None
    return _layer_normalization(x, scale, bias, **options)


def _group_normalization(
    x: Array,
    mean: None = None,
    variance: None = None,
    scale: Array | None = None,
    bias: Array | None = None,
    *,
    axes: Sequence[int],
    epsilon: float = 1e-5,
) -> Array:
    assert mean is None and variance is None and tuple(axes) == tuple(range(2, x.ndim))
    merged = x.reshape(x.shape[0], -1, *x.shape[3:])
    y = functional.group_norm(merged, x.shape[1], *_flat(scale, bias), epsilon)
    return y.reshape(x.shape)


def _batch_statistics(
    x: Array,
    mean: None = None,
    variance: None = None,
    scale: Array | None = None,
    bias: Array | None = None,
    *,
    axes: Sequence[int],
    epsilon: float = 1e-5,
) -> Array:
    assert mean is None and variance is None and 1 not in axes and len(axes) == x.ndim - 1
    weights = _flat(scale, bias)
    return functional.batch_norm(x, None, None, *weights, training=True, eps=epsilon)


def _rms_norm(
    x: Array,
    scale: Array | None = None,
    *,
    axes: Sequence[int] = (-1,),
    epsilon: float = 1e-6,
) -> Array:
    axes = [axis % x.ndim for axis in axes]
    moved, back = trailing(x, axes)
    sizes = [x.shape[axis] for axis in axes]
    return functional.rms_norm(moved, sizes, scale, epsilon).permute(back)


REFERENCES: dict[str, Reference] = {
    "meanVarianceNormalization:given": _given_statistics,
    "batchNormalization": _batch_normalization,
    "layerNormalization": _layer_normalization,
    "instanceNormalization": _instance_normalization,
    "meanVarianceNormalization": _mean_variance_normalization,
    "meanVarianceNormalization:group": _group_normalization,
    "meanVarianceNormalization:batch": _batch_statistics,
    "rmsNorm": _rms_norm,
}
