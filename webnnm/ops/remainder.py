"""Division towards −∞: floorDivide, and its remainder."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from webnnm.core.dtypes import FLOAT, DataType, is_float
from webnnm.ops.declare.algebra import broadcast_type
from webnnm.ops.declare.functions import in_float32, is_negative, negate
from webnnm.ops.declare.operator import (
    Composite,
    Decompose,
    Gradient,
    Reference,
    Slot,
    no_gradient,
    sample,
)
from webnnm.ops.declare.tensors import Builder, Tensor

TYPES: frozenset[DataType] = FLOAT.union(("int64", "uint64", "int32", "uint32", "int8", "uint8"))
ROUNDS = 3
"""Quotients of 24 bits each that the browser subtracts: it resolves at most 72 bits."""
SPLITTER = 2.0**12 + 1
LARGE, SMALLER = 2.0**100, 2.0**-60


def _halves(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return two numbers of twelve bits whose sum is x."""
    far = SPLITTER * x
    head = far - (far - x)
    return head, x - head


def _subtract_product(x: Tensor, q: Tensor, y: Tensor) -> Tensor:
    """Return x − q·y without rounding the product.

    T. J. Dekker, A floating-point technique for extending the available precision (1971).
    """
    (a, c), (d, e) = _halves(q), _halves(y)
    product = q * y
    return (x - product) - (((a * d - product) + a * e + c * d) + c * e)


def _within_range(b: Builder, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return both scaled down so that nothing overflows, and the scale."""
    scale = b.where(b.greater(b.abs(y), LARGE), SMALLER, 1.0)
    return x * scale, y * scale, scale


def _float_remainder(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    size, divisor = b.abs(x), b.abs(y)
    rest, unit, scale = _within_range(b, size, divisor)
    for _ in range(ROUNDS):
        rest = _subtract_product(rest, b.min(LARGE, b.floor(rest / unit)), unit)
    rest = b.where(b.lesser(rest, 0.0), rest + unit, rest)
    rest = b.where(b.greater_or_equal(rest, unit), rest - unit, rest) / scale
    is_exact = b.lesser(size / divisor, 2.0 ** (24 * ROUNDS))
    rest = b.where(b.lesser(size, divisor), size, b.where(is_exact, rest, math.nan))
    below = is_negative(b, y)
    kept = b.logical_or(b.equal(rest, 0.0), b.equal(is_negative(b, x), below))
    signed = b.where(kept, rest, divisor - rest)
    return b.where(below, negate(signed), signed)


def _float_quotient(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    ratio = x / y
    floor = b.floor(ratio)
    p, q, _ = _within_range(b, x, y)
    # A quotient just short of an integer was rounded to it.
    left = _subtract_product(p, floor, q)
    signs_differ = b.logical_xor(is_negative(b, x), is_negative(b, y))
    over = b.where(is_negative(b, y), b.greater(left, 0.0), b.lesser(left, 0.0))
    # It is not −0 either, unless x is a zero.
    lost = b.logical_and(b.equal(ratio, 0.0), b.not_equal(x, 0.0))
    over = b.logical_or(over, b.logical_and(lost, signs_differ))
    quotient = b.where(over, floor - 1.0, floor)
    # As in the array API, where Python's own differ: ∞ // 2 is ∞, 1 // −∞ is −0.
    infinite = b.logical_or(b.equal(b.abs(x), math.inf), b.equal(b.abs(y), math.inf))
    return b.where(infinite, ratio, quotient)


def _integer_parts(b: Builder, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the truncated quotient, its remainder, and whether that has the wrong sign."""
    zero = b.constant(0, x.dtype)
    quotient = b.div(x, y)
    rest = x - quotient * y
    signs_differ = b.logical_xor(b.lesser(rest, zero), b.lesser(y, zero))
    return quotient, rest, b.logical_and(b.not_equal(rest, zero), signs_differ)


def _integer_remainder(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    _, rest, over = _integer_parts(b, x, y)
    return b.where(b.equal(y, 0), 0, b.where(over, rest + y, rest))


def _integer_quotient(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    quotient, _, over = _integer_parts(b, x, y)
    return b.where(b.equal(y, 0), 0, b.where(over, quotient - 1, quotient))


def _of_floats_or_integers(floats: Decompose, integers: Decompose) -> Decompose:
    def decompose(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        return (in_float32(floats) if is_float(x.dtype) else integers)(b, x, y)

    return decompose


def _kernel(name: str) -> Callable[..., Any]:
    def reference(np: Any, x: Any, y: Any) -> Any:
        if np.isdtype(x.dtype, "real floating"):
            result = getattr(np, name)(x, y)
            infinite = np.isinf(x) | np.isinf(y)
            return np.where(infinite, x / y, result) if name == "floor_divide" else result
        by_zero: Any = y == 0
        result = getattr(np, name)(x, np.where(by_zero, np.ones_like(y), y))
        return np.where(by_zero, np.zeros_like(result), result)

    return reference


def _declare(
    name: str, summary: str, decompose: Decompose, reference: Reference, gradient: Gradient
) -> Composite:
    return Composite(
        name=name,
        summary=summary,
        operands=(Slot(name="a", dtypes=TYPES), Slot(name="b", dtypes=TYPES, like=0)),
        options={},
        decompose=decompose,
        infer=broadcast_type,
        gradient=gradient,
        reference=reference,
        native=name,  # WebNN has no such method: backends detect that and decompose it
        batch="elementwise",
        layer=None,
        samples=(
            sample((3,), (2, 1), values=([-1.7, 2.6, 0.4], [[0.75], [-1.25]])),
            sample((), (), values=(7.3, 2.0)),
            sample((2, 3), (3,), dtypes=("int32", "int32"),
                   values=([[7, -7, 7], [-7, 6, -(2**31)]], [3, 3, -2])),
            sample((4,), (), dtypes=("uint8", "uint8"), values=([0, 7, 200, 255], 7)),
        ),
    )  # fmt: skip


def _remainder_gradient(b: Builder, g: Tensor, _y: Tensor, x: Tensor, z: Tensor) -> list[Tensor]:
    return [g, -g * b.floor_divide(x, z)]


remainder = _declare(
    "remainder",
    "a − b·⌊a/b⌋, with the sign of b; 0 for integers divided by 0",
    _of_floats_or_integers(_float_remainder, _integer_remainder),
    _kernel("remainder"),
    _remainder_gradient,
)
floor_divide = _declare(
    "floorDivide",
    "⌊a/b⌋; 0 for integers divided by 0",
    _of_floats_or_integers(_float_quotient, _integer_quotient),
    _kernel("floor_divide"),
    no_gradient,
)
