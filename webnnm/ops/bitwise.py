"""Bits of integers, by arithmetic: bitwiseAnd, bitwiseOr, bitwiseXor, bitwiseInvert, shifts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webnnm.core.dtypes import SIGNED, DataType
from webnnm.ops.declare.algebra import broadcast_type, same_as_first
from webnnm.ops.declare.layer import LayerRules, TensorSlot
from webnnm.ops.declare.operator import Composite, Slot, no_gradient, sample
from webnnm.ops.declare.rules import broadcast_shape, build_broadcast
from webnnm.ops.declare.tensors import Builder, Tensor

INTEGERS: frozenset[DataType] = frozenset({"uint8", "int8", "uint32", "int32", "uint64", "int64"})

MODULUS = 2**32
BITS = {"int32": 32, "int64": 64}


def _negative(b: Builder, x: Tensor) -> Tensor:
    return b.lesser(x, b.constant(0, x.dtype))


def _to_signed(b: Builder, x: Tensor) -> Tensor:
    """Return the int32 or int64 with the same lowest bits."""
    if x.dtype == "uint64":
        return b.cast(x, type="int64")
    if x.dtype != "uint32":
        return x if x.dtype in BITS else b.cast(x, type="int32")
    wide = b.cast(x, type="int64")
    return b.cast(b.where(b.greater(wide, 2**31 - 1), wide - MODULUS, wide), type="int32")


def _from_signed(b: Builder, x: Tensor, dtype: DataType) -> Tensor:
    """Return the number of another type with the lowest bits of an int32 or int64."""
    if dtype == "uint32":
        wide = b.cast(x, type="int64")
        x = b.where(_negative(b, wide), wide + MODULUS, wide)
    return x if x.dtype == dtype else b.cast(x, type=dtype)


def _lowest(x: Tensor) -> int:
    return -(2 ** (BITS[x.dtype] - 1))


def _powers(b: Builder, x: Tensor) -> Tensor:
    """Return the numbers of a type with a single bit set, except the sign."""
    return b.constant([2**k for k in range(BITS[x.dtype] - 1)], x.dtype)


def _digits(b: Builder, x: Tensor, powers: Tensor) -> Tensor:
    """Return all bits except the sign, as 0 and 1 along a new last dimension."""
    positive = b.where(_negative(b, x), x - _lowest(x), x)
    halves = b.div(b.reshape(positive, new_shape=(*x.shape, 1)), powers)
    two = b.constant(2, x.dtype)
    return halves - b.div(halves, two) * two


def _and(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    powers = _powers(b, x)
    common = _digits(b, x, powers) * _digits(b, y, powers) * powers
    bits = b.reduce_sum(common, axes=[common.rank - 1])
    return b.where(b.logical_and(_negative(b, x), _negative(b, y)), bits + _lowest(x), bits)


def _bitwise(
    name: str,
    summary: str,
    decompose: Callable[[Builder, Tensor, Tensor, Tensor], Tensor],
    reference: Callable[[Any, Any, Any], Any],
    stablehlo: Callable[[Any, Any, Any], Any],
) -> Composite:
    def in_arithmetic(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        p, q = _to_signed(b, x), _to_signed(b, y)
        return _from_signed(b, decompose(b, p, q, _and(b, p, q)), x.dtype)

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
        # WebNN has no such method: backends detect that and decompose it, the reference does not.
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
            sample((2,), (2,), dtypes=("int64", "int64"), values=([-1, 2**40 + 5], [7, 2**40 + 3])),
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
    "bits that are set in at least one",
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


def _clamp_count(b: Builder, count: Tensor, bits: int) -> Tensor:
    """Return counts as indices, those that are negative or too large as `bits`."""
    count = b.cast(count, type="int64")
    outside = b.logical_or(_negative(b, count), b.greater(count, bits - 1))
    return b.cast(b.where(outside, bits, count), type="int32")


def _shift_left(b: Builder, x: Tensor, count: Tensor) -> Tensor:
    p = _to_signed(b, x)
    bits = BITS[p.dtype]
    factors = b.constant([*(2**k for k in range(bits - 1)), _lowest(p), 0], p.dtype)
    return _from_signed(b, p * b.gather(factors, _clamp_count(b, count, bits)), x.dtype)


def _shift_signed(b: Builder, x: Tensor, count: Tensor) -> Tensor:
    """Return ⌊x / 2ⁿ⌋ of an int32 or int64."""
    size = b.where(_negative(b, x), -1 - x, x)
    last = BITS[x.dtype] - 2
    quotient = b.div(size, b.gather(_powers(b, x), b.min(count, last)))
    quotient = b.where(b.greater(count, last), 0, quotient)
    return b.where(_negative(b, x), -1 - quotient, quotient)


def _shift_right(b: Builder, x: Tensor, count: Tensor) -> Tensor:
    p = b.cast(x, type="int64") if x.dtype == "uint32" else _to_signed(b, x)
    shift = _clamp_count(b, count, BITS[p.dtype])
    if x.dtype != "uint64":
        return (
            b.cast(_shift_signed(b, p, shift), type=x.dtype)
            if p != x
            else _shift_signed(b, p, shift)
        )
    # The highest bit is not a sign: without it all numbers are positive.
    one = b.constant(1, "int32")
    half = _shift_signed(b, p, one)
    half = b.where(_negative(b, p), half - _lowest(p), half)
    rest = _shift_signed(b, half, b.max(shift - 1, 0))
    return b.cast(b.where(b.equal(shift, 0), p, rest), type="uint64")


def _invert(b: Builder, x: Tensor) -> Tensor:
    return _from_signed(b, -1 - _to_signed(b, x), x.dtype)


def _shift(
    name: str,
    summary: str,
    decompose: Callable[[Builder, Tensor, Tensor], Tensor],
    reference: Callable[[Any, Any, Any], Any],
    stablehlo: Callable[[Any, Any, Any], Any],
) -> Composite:
    return Composite(
        name=name,
        summary=summary,
        operands=(Slot(name="a", dtypes=INTEGERS), Slot(name="b", dtypes=INTEGERS, like=0)),
        options={},
        decompose=decompose,
        infer=broadcast_type,
        gradient=no_gradient,
        reference=reference,
        stablehlo=stablehlo,
        native=name,
        batch="elementwise",
        layer=None,
        samples=(
            sample((2, 3), (3,), dtypes=("uint8", "uint8"),
                   values=([[0, 1, 255], [170, 12, 128]], [0, 3, 7])),
            sample((4,), (), dtypes=("int32", "int32"), values=([-1, 5, 2**31 - 1, -(2**31)], 4)),
            sample((3,), (3,), dtypes=("int8", "int8"), values=([-128, -1, 100], [7, 2, 1])),
            sample((2, 1), (2,), dtypes=("uint32", "uint32"),
                   values=([[2**32 - 1], [5]], [31, 6])),
            sample((2,), (), dtypes=("int64", "int64"), values=([-(2**40), 2**20 + 1], 5)),
        ),
    )  # fmt: skip


def _lower_right(h: Any, x: Any, count: Any) -> Any:
    signed = x.dtype in SIGNED
    return (h.shift_right_arithmetic if signed else h.shift_right_logical)(x, count)


def _reference_invert(np: Any, x: Any) -> Any:
    return np.bitwise_invert(x)


def _lower_invert(h: Any, x: Any) -> Any:
    return h.bitwise_not(x)


def _at_most_all(np: Any, count: Any) -> Any:
    """Return how far to shift: by all bits for a count that is negative or larger.

    On platforms with 32-bit addresses, as in a page, NumPy uses only 32 bits of a count.
    """
    bits = 8 * count.dtype.itemsize
    return np.where((count >= 0) & (count < bits), count, np.asarray(bits, dtype=count.dtype))


bitwise_left_shift = _shift(
    "bitwiseLeftShift",
    "a·2ᵇ without the bits that overflow; 0 if b is at least the number of bits",
    _shift_left,
    lambda np, x, count: np.bitwise_left_shift(x, _at_most_all(np, count)),
    lambda h, x, count: h.shift_left(x, count),
)
bitwise_right_shift = _shift(
    "bitwiseRightShift",
    "⌊a/2ᵇ⌋",
    _shift_right,
    lambda np, x, count: np.bitwise_right_shift(x, _at_most_all(np, count)),
    _lower_right,
)
bitwise_invert = Composite(
    name="bitwiseInvert",
    summary="every bit inverted",
    operands=(Slot(name="input", dtypes=INTEGERS),),
    options={},
    decompose=_invert,
    infer=same_as_first,
    gradient=no_gradient,
    reference=_reference_invert,
    stablehlo=_lower_invert,
    native="bitwiseInvert",
    batch="elementwise",
    layer=None,
    samples=(
        sample((3,), dtypes=("uint8",), values=([0, 1, 200],)),
        sample((3,), dtypes=("int32",), values=([-1, 0, 2**31 - 1],)),
        sample((2,), dtypes=("uint32",), values=([0, 2**31],)),
        sample((2,), dtypes=("int64",), values=([-5, 2**40],)),
    ),
)
