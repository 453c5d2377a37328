"""Logic bit by bit on integers: bitwiseAnd, bitwiseOr, bitwiseXor, written with arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webnnm.core.dtypes import DataType
from webnnm.ops.declare.algebra import broadcast_type
from webnnm.ops.declare.layer import LayerRules, TensorSlot
from webnnm.ops.declare.operator import Composite, Slot, no_gradient, sample
from webnnm.ops.declare.rules import broadcast_shape, build_broadcast
from webnnm.ops.declare.tensors import Builder, Tensor

INTEGERS: frozenset[DataType] = frozenset({"uint8", "int8", "uint32", "int32"})


LOWEST = -(2**31)
MODULUS = 2**32


def _negative(b: Builder, x: Tensor) -> Tensor:
    return b.lesser(x, b.constant(0, x.dtype))


def _wrapped(b: Builder, x: Tensor) -> Tensor:
    """Return the int32 of the same lowest bits."""
    if x.dtype != "uint32":
        return x if x.dtype == "int32" else b.cast(x, type="int32")
    wide = b.cast(x, type="int64")
    return b.cast(b.where(b.greater(wide, 2**31 - 1), wide - MODULUS, wide), type="int32")


def _unwrapped(b: Builder, x: Tensor, dtype: DataType) -> Tensor:
    """Return the number of another type with the lowest bits of an int32."""
    if dtype == "uint32":
        wide = b.cast(x, type="int64")
        x = b.where(_negative(b, wide), wide + MODULUS, wide)
    return x if x.dtype == dtype else b.cast(x, type=dtype)


def _digits(b: Builder, x: Tensor, powers: Tensor) -> Tensor:
    """Return all bits but the sign of an int32, as 0 and 1 along a new last dimension."""
    positive = b.where(_negative(b, x), x - LOWEST, x)
    halves = b.div(b.reshape(positive, new_shape=(*x.shape, 1)), powers)
    two = b.constant(2, "int32")
    return halves - b.div(halves, two) * two


def _and(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    powers = b.constant([2**k for k in range(31)], "int32")
    common = _digits(b, x, powers) * _digits(b, y, powers) * powers
    found = b.reduce_sum(common, axes=[common.rank - 1])
    return b.where(b.logical_and(_negative(b, x), _negative(b, y)), found + LOWEST, found)


def _bitwise(
    name: str,
    summary: str,
    decompose: Callable[[Builder, Tensor, Tensor, Tensor], Tensor],
    reference: Callable[[Any, Any, Any], Any],
    stablehlo: Callable[[Any, Any, Any], Any],
) -> Composite:
    def in_arithmetic(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        p, q = _wrapped(b, x), _wrapped(b, y)
        return _unwrapped(b, decompose(b, p, q, _and(b, p, q)), x.dtype)

    return Composite(
        name=name,
        summary=summary,
        operands=(Slot(name="a", dtypes=INTEGERS), Slot(name="b", dtypes=INTEGERS, like=0)),
        options={},
        decompose=in_arithmetic,
        infer=broadcast_type,
        gradient=no_gradient,
        reference=reference,
        stablehlo=stablehlo,
        # No method of WebNN: backends find that out and decompose it, the reference does not.
        native=name,
        batch="elementwise",
        layer=LayerRules(
            slots=(TensorSlot(name="y"),), shape=broadcast_shape, build=build_broadcast
        ),
        samples=(
            sample((2, 3), (3,), dtypes=("uint8", "uint8"),
                   values=([[0, 1, 255], [170, 12, 128]], [85, 10, 129])),
            sample((4,), (), dtypes=("int32", "int32"), values=([-1, 0, 2**31 - 1, -(2**31)], -6)),
            sample((3,), (3,), dtypes=("int8", "int8"), values=([-128, -1, 100], [127, -2, 28])),
            sample((2, 1), (2,), dtypes=("uint32", "uint32"),
                   values=([[2**32 - 1], [5]], [2**31, 6])),
        ),
    )  # fmt: skip


bitwise_and = _bitwise(
    "bitwiseAnd",
    "bits that are set in both",
    lambda b, x, y, both: both,
    lambda np, x, y: x & y,
    lambda h, x, y: h.bitwise_and(x, y),
)
bitwise_or = _bitwise(
    "bitwiseOr",
    "bits that are set in one at least",
    lambda b, x, y, both: x - both + y,
    lambda np, x, y: x | y,
    lambda h, x, y: h.bitwise_or(x, y),
)
bitwise_xor = _bitwise(
    "bitwiseXor",
    "bits that are set in exactly one",
    lambda b, x, y, both: (x - both) + (y - both),
    lambda np, x, y: x ^ y,
    lambda h, x, y: h.bitwise_xor(x, y),
)
