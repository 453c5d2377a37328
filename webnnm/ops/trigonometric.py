"""Inverse trigonometric functions: acos, asin, atan, atan2."""

from __future__ import annotations

import math

from webnnm.ops.declare.functions import (
    binary,
    is_negative,
    negate,
    odd,
    polynomial,
    unary,
    where_nan,
)
from webnnm.ops.declare.operator import sample
from webnnm.ops.declare.tensors import Builder, Tensor

INSIDE = (sample((2, 3), low=-0.9, high=0.9), sample((), low=-0.9, high=0.9))
STEEP = math.tan(math.pi / 8)

# Polynomials and their ranges: asinf.c and atanf.c of Cephes (S. L. Moshier, netlib.org/cephes).


def _arc_of_small(x: Tensor) -> Tensor:
    """Return asin x for 0 ≤ x ≤ 0.5."""
    z = x * x
    series = polynomial(
        z, 4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1
    )
    return series * z * x + x


def _asin(b: Builder, size: Tensor) -> Tensor:
    large = b.greater(size, 0.5)
    half = b.sqrt(b.max(0.0, (1.0 - size) * 0.5))
    arc = _arc_of_small(b.where(large, half, size))
    result = b.where(large, math.pi / 2 - 2.0 * arc, arc)
    return where_nan(b, b.greater(size, 1.0), result)


def _acos(b: Builder, x: Tensor) -> Tensor:
    size = b.abs(x)
    large = b.greater(size, 0.5)
    half = b.sqrt(b.max(0.0, (1.0 - size) * 0.5))
    arc = _arc_of_small(b.where(large, half, size))
    positive = b.greater(x, 0.0)
    near = b.where(positive, 2.0 * arc, math.pi - 2.0 * arc)
    result = b.where(large, near, math.pi / 2 - b.where(positive, arc, -arc))
    return b.where(b.lesser_or_equal(size, 1.0), result, math.nan)


def _angle(b: Builder, slope: Tensor) -> Tensor:
    """Return atan x for 0 ≤ x ≤ 1."""
    steep = b.greater(slope, STEEP)
    x = b.where(steep, (slope - 1.0) / (slope + 1.0), slope)
    z = x * x
    series = polynomial(z, 8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1)
    result = series * z * x + x
    return b.where(steep, result + math.pi / 4, result)


def _atan(b: Builder, size: Tensor) -> Tensor:
    steep = b.greater(size, 1.0)
    result = _angle(b, b.where(steep, 1.0 / b.max(1.0, size), size))
    return b.where(steep, math.pi / 2 - result, result)


def _atan2(b: Builder, y: Tensor, x: Tensor) -> Tensor:
    height, width = b.abs(y), b.abs(x)
    steep = b.greater(height, width)
    small, large = b.where(steep, width, height), b.where(steep, height, width)
    # 0/0 and ∞/∞ are the slopes of no sides and of equal ones.
    equal = b.equal(small, large)
    slope = b.where(equal, b.where(b.equal(small, 0.0), small, 1.0), small / large)
    angle = _angle(b, slope)
    angle = b.where(steep, math.pi / 2 - angle, angle)
    angle = b.where(is_negative(b, x), math.pi - angle, angle)
    angle = b.where(is_negative(b, y), negate(angle), angle)
    is_valid = b.logical_and(b.equal(y, y), b.equal(x, x))
    return b.where(is_valid, angle, math.nan)


def _atan2_gradient(b: Builder, g: Tensor, _r: Tensor, y: Tensor, x: Tensor) -> list[Tensor]:
    # Divided by the larger side first: squares of both may leave the range.
    scale = b.max(b.abs(x), b.abs(y))
    p, q = y / scale, x / scale
    unit = g / scale / (p * p + q * q)
    return [unit * q, -(unit * p)]


acos = unary(
    "acos",
    "inverse cosine, from 0 to π",
    _acos,
    lambda b, y, x: -1.0 / b.sqrt((1.0 - x) * (1.0 + x)),
    samples=INSIDE,
)
asin = unary(
    "asin",
    "inverse sine, from −π/2 to π/2",
    odd(_asin),
    lambda b, y, x: 1.0 / b.sqrt((1.0 - x) * (1.0 + x)),
    samples=INSIDE,
)
atan = unary(
    "atan",
    "inverse tangent, from −π/2 to π/2",
    odd(_atan),
    lambda b, y, x: 1.0 / (1.0 + x * x),
)
atan2 = binary(
    "atan2",
    "angle of the point (b, a), from −π to π",
    _atan2,
    _atan2_gradient,
    stablehlo=lambda h, y, x: h.atan2(y, x),
)
