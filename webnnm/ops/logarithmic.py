"""Exponentials and logarithms: expm1, log1p, log2, log10, logaddexp."""

from __future__ import annotations

import math

from webnnm.ops.declare.functions import binary, unary
from webnnm.ops.declare.operator import sample
from webnnm.ops.declare.tensors import Builder, Tensor
from webnnm.ops.hyperbolic import sinh_of_small

POSITIVE = (sample((2, 3), low=0.5, high=3), sample((), low=0.5, high=3))


def _expm1(b: Builder, x: Tensor) -> Tensor:
    """eˣ − 1 = 2·e^(x/2)·sinh(x/2), which loses no digits near 0."""
    half = b.max(-0.5, b.min(0.5, x * 0.5))
    near = 2.0 * sinh_of_small(half) * b.exp(half)
    far = b.greater(b.abs(x), 1.0)
    return b.where(far, b.exp(x) - 1.0, b.where(b.equal(x, x), near, x))


def _log1p(b: Builder, x: Tensor) -> Tensor:
    """ln(1 + x), with the rounding error of 1 + x added back.

    D. Goldberg, What Every Computer Scientist Should Know About Floating-Point Arithmetic (1991),
    theorem 4.
    """
    rounded = 1.0 + x
    added = rounded - 1.0
    none = b.equal(added, 0.0)
    near = b.log(rounded) * (x / b.where(none, 1.0, added))
    # Of ∞ the quotient is NaN; of large numbers it is 1.
    return b.where(none, x, b.where(b.equal(rounded, x), b.log(x), near))


def _logaddexp(b: Builder, x: Tensor, z: Tensor) -> Tensor:
    # ∞ − ∞ would be NaN.
    distance = b.where(b.equal(x, z), 0.0, b.abs(x - z))
    return b.where(b.greater(x, z), x, z) + b.log1p(b.exp(-distance))


def _logaddexp_gradient(b: Builder, g: Tensor, _y: Tensor, x: Tensor, z: Tensor) -> list[Tensor]:
    first = b.sigmoid(b.where(b.equal(x, z), 0.0, x - z))
    return [g * first, g * (1.0 - first)]


expm1 = unary(
    "expm1",
    "exp x − 1, precise near 0",
    _expm1,
    lambda b, y, x: y + 1.0,
    stablehlo=lambda h, x: h.exponential_minus_one(x),
)
log1p = unary(
    "log1p",
    "ln(1 + x), precise near 0",
    _log1p,
    lambda b, y, x: 1.0 / (1.0 + x),
    samples=(sample((2, 3), low=-0.5, high=3), sample((), low=-0.5, high=3)),
    stablehlo=lambda h, x: h.log_plus_one(x),
)
log2 = unary(
    "log2",
    "logarithm to the base 2",
    lambda b, x: b.log(x) * (1 / math.log(2)),
    lambda b, y, x: 1 / math.log(2) / x,
    samples=POSITIVE,
)
log10 = unary(
    "log10",
    "logarithm to the base 10",
    lambda b, x: b.log(x) * (1 / math.log(10)),
    lambda b, y, x: 1 / math.log(10) / x,
    samples=POSITIVE,
)
logaddexp = binary(
    "logaddexp",
    "ln(exp a + exp b)",
    _logaddexp,
    _logaddexp_gradient,
)
