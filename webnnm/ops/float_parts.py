"""Signs, neighbours and sizes of floats: copysign, signbit, nextafter, trunc, hypot."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from webnnm.core.dtypes import FLOAT, FLOAT_INFO
from webnnm.ops.declare.algebra import scalar_like
from webnnm.ops.declare.functions import BINARY, binary, is_negative, negate, unary
from webnnm.ops.declare.operator import Composite, Slot, no_gradient, sample
from webnnm.ops.declare.tensors import Builder, Tensor, TensorType


def _copysign(b: Builder, x: Tensor, z: Tensor) -> Tensor:
    size = b.abs(x)
    return b.where(is_negative(b, z), negate(size), size)


def _copysign_gradient(b: Builder, g: Tensor, y: Tensor, x: Tensor, z: Tensor) -> list[Any]:
    return [g * b.sign(x) * b.copysign(scalar_like(b, 1, z), z), None]


def _trunc(b: Builder, x: Tensor) -> Tensor:
    return b.where(b.lesser(x, 0.0), b.ceil(x), b.floor(x))


def _hypot(b: Builder, x: Tensor, z: Tensor) -> Tensor:
    p, q = b.abs(x), b.abs(z)
    first = b.greater(p, q)
    large, small = b.where(first, p, q), b.where(first, q, p)
    ratio = b.where(b.equal(large, 0.0), small, small / large)
    infinite = b.logical_or(b.equal(p, math.inf), b.equal(q, math.inf))
    return b.where(infinite, math.inf, large * b.sqrt(1.0 + ratio * ratio))


def _hypot_gradient(b: Builder, g: Tensor, y: Tensor, x: Tensor, z: Tensor) -> list[Tensor]:
    zero = b.equal(y, 0.0)
    shared = b.where(zero, 0.0, g / b.where(zero, 1.0, y))
    return [shared * x, shared * z]


def _nextafter(b: Builder, x: Tensor, z: Tensor) -> Tensor:
    """Return x ± a little more than half a step, which rounds to its neighbour.

    S. M. Rump, P. Zimmermann, S. Boldo, G. Melquiond, Computing Predecessor and Successor in
    Rounding to Nearest (BIT 49, 2009).
    """
    if x.dtype == "float16":
        wide = b.cast(x, type="float32")
        step = b.max(2.0**-24, b.abs(wide) * (2.0**-11 + 2.0**-21))
        back: Any = -step
        up, down = (b.cast(wide + s, type="float16") for s in (step, back))
    else:
        size = b.abs(x)
        tiny, small = b.lesser(size, 2.0**-125), b.lesser(size, 2.0**-102)
        scale = b.where(small, 2.0**24, 1.0)
        scaled = x * scale
        step = b.abs(scaled) * (2.0**-24 + 2.0**-47)
        steps: tuple[tuple[float, Any], ...] = ((2.0**-149, step), (-(2.0**-149), -step))
        up, down = (b.where(tiny, x + f, (scaled + s) / scale) for f, s in steps)
    largest = FLOAT_INFO[x.dtype].max
    up = b.where(b.equal(x, -math.inf), -largest, up)
    down = b.where(b.equal(x, math.inf), largest, down)
    neighbour = b.where(b.greater(z, x), up, b.where(b.lesser(z, x), down, z))
    return b.where(b.equal(x, x), neighbour, x)


def _byte(x: TensorType) -> TensorType:
    return TensorType("uint8", x.shape)


def _signbit(np: Any, x: Any) -> Any:
    return np.astype(np.signbit(x), np.uint8)


copysign = binary(
    "copysign",
    "magnitude of a with the sign of b",
    _copysign,
    _copysign_gradient,
    samples=tuple(replace(s, kinks=(0.0,)) for s in BINARY),
    exact=True,
)
hypot = binary(
    "hypot",
    "√(a² + b²) without overflow; gradient 0 at 0",
    _hypot,
    _hypot_gradient,
    exact=True,
)
nextafter = replace(
    binary(
        "nextafter",
        "the next float after a towards b",
        _nextafter,
        lambda b, g, y, x, z: [g, None],
    ),
    decompose=_nextafter,
)
trunc = unary(
    "trunc",
    "round towards zero",
    _trunc,
    None,
    samples=(sample((2, 3), kinks=(-1.0, 0.0, 1.0)), sample((), kinks=(-1.0, 0.0, 1.0))),
    exact=True,
)
signbit = Composite(
    name="signbit",
    summary="1 for negative numbers and −0, else 0",
    operands=(Slot(name="input", dtypes=FLOAT),),
    options={},
    decompose=is_negative,
    infer=_byte,
    gradient=no_gradient,
    reference=_signbit,
    native="signbit",
    batch="elementwise",
    layer=None,
    samples=(sample((2, 3)), sample((4,), dtypes=("float32",), values=([0.0, -0.0, -1e-40, 2.0],))),
)
