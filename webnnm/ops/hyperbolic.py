"""Hyperbolic functions and their inverses: cosh, sinh, acosh, asinh, atanh."""

from __future__ import annotations

import math

from webnnm.ops.declare.functions import odd, polynomial, unary, where_nan
from webnnm.ops.declare.operator import sample
from webnnm.ops.declare.tensors import Builder, Tensor

LARGE = 2.0**13
"""From this value on, √(x² ± 1) is x in float32."""


def sinh_of_small(x: Tensor) -> Tensor:
    """Return sinh x for −1 ≤ x ≤ 1: sinhf.c of Cephes (S. L. Moshier, netlib.org/cephes)."""
    z = x * x
    series = polynomial(z, 2.03721912945e-4, 8.33028376239e-3, 1.66667160211e-1)
    return series * z * x + x


def _half_exponential(b: Builder, size: Tensor) -> Tensor:
    """Return eˣ/2 as e^(x−1)·e/2, which stays finite where eˣ no longer is."""
    return b.exp(size - 1.0) * (math.e / 2)


def _sinh(b: Builder, size: Tensor) -> Tensor:
    half = _half_exponential(b, size)
    return b.where(b.greater(size, 1.0), half - 0.25 / half, sinh_of_small(b.min(1.0, size)))


def _cosh(b: Builder, x: Tensor) -> Tensor:
    half = _half_exponential(b, b.abs(x))
    return half + 0.25 / half


def _asinh(b: Builder, size: Tensor) -> Tensor:
    x = b.min(LARGE, size)
    square = x * x
    near = b.log1p(x + square / (1.0 + b.sqrt(square + 1.0)))
    return b.where(b.greater(size, LARGE), b.log(size) + math.log(2), near)


def _acosh(b: Builder, x: Tensor) -> Tensor:
    above = b.min(LARGE, b.max(0.0, x - 1.0))
    near = b.log1p(above + b.sqrt(above * (above + 2.0)))
    result = b.where(b.greater(x, LARGE), b.log(x) + math.log(2), near)
    return b.where(b.greater_or_equal(x, 1.0), result, math.nan)


def _atanh(b: Builder, size: Tensor) -> Tensor:
    inside = b.min(1.0, size)
    result = 0.5 * b.log1p(2.0 * inside / (1.0 - inside))
    return where_nan(b, b.greater(size, 1.0), result)


sinh = unary("sinh", "hyperbolic sine", odd(_sinh), lambda b, y, x: b.cosh(x))
cosh = unary("cosh", "hyperbolic cosine", _cosh, lambda b, y, x: b.sinh(x))
asinh = unary(
    "asinh",
    "inverse hyperbolic sine",
    odd(_asinh),
    lambda b, y, x: 1.0 / b.hypot(x, 1.0),
)
acosh = unary(
    "acosh",
    "inverse hyperbolic cosine, not negative",
    _acosh,
    lambda b, y, x: 1.0 / (b.sqrt(x - 1.0) * b.sqrt(x + 1.0)),
    samples=(sample((2, 3), low=1.5, high=4), sample((), low=1.5, high=4)),
)
atanh = unary(
    "atanh",
    "inverse hyperbolic tangent",
    odd(_atanh),
    lambda b, y, x: 1.0 / ((1.0 - x) * (1.0 + x)),
    samples=(sample((2, 3), low=-0.9, high=0.9), sample((), low=-0.9, high=0.9)),
)
