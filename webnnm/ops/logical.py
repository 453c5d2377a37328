"""Logical operators and tests of single numbers: 1 where they hold, else 0, as uint8."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from webnnm.core.dtypes import ANY, DataType, is_float
from webnnm.ops.compare import comparison
from webnnm.ops.declare.layer import LayerRules
from webnnm.ops.declare.operator import Composite, Operator, Slot, no_gradient, sample
from webnnm.ops.declare.rules import build_unary, same_shape
from webnnm.ops.declare.tensors import Builder, Tensor, TensorType

BYTES: frozenset[DataType] = frozenset({"uint8"})

_LAYER = LayerRules(
    shape=same_shape, build=build_unary, dtype=lambda compute, options, types: "uint8"
)
_SAMPLES = (
    sample((2, 2), (2,), dtypes=("uint8", "uint8"), values=([0, 0, 1, 255], [0, 2])),
    sample((3,), (), dtypes=("uint8", "uint8"), values=([0, 1, 7], [1])),
)


def _logical(
    name: str,
    summary: str,
    reference: Callable[[Any, Any, Any], Any],
    stablehlo: Callable[[Any, Any, Any], Any],
    *aliases: str,
) -> Operator:
    def of_truths(np: Any, a: Any, b: Any) -> Any:
        return reference(np, a != 0, b != 0)  # pyrefly: ignore[unknown-argument-type]

    def lower(h: Any, a: Any, b: Any) -> Any:
        return stablehlo(h, h.truth(a), h.truth(b))

    return comparison(
        name, summary, of_truths, lower, dtypes=BYTES, samples=_SAMPLES, aliases=aliases
    )


def _bytes(x: TensorType) -> TensorType:
    return TensorType("uint8", x.shape)


def _not_reference(np: Any, a: Any) -> Any:
    return np.astype(a == 0, np.uint8)


def _is_nan(b: Builder, a: Tensor) -> Tensor:
    return b.not_equal(a, a)


def _is_infinite(b: Builder, a: Tensor) -> Tensor:
    if not is_float(a.dtype):  # no integer is infinite, and none differs from itself
        return b.not_equal(a, a)
    return b.equal(b.abs(a), b.constant(math.inf, a.dtype))


def _lower_not(h: Any, a: Any) -> Any:
    return h.bitwise_not(h.truth(a))


def _lower_nan(h: Any, a: Any) -> Any:
    return h.compare("NE", a, a)


def _lower_infinite(h: Any, a: Any) -> Any:
    if not is_float(a.dtype):
        return h.compare("NE", a, a)
    return h.bitwise_and(h.bitwise_not(h.is_finite(a)), h.compare("EQ", a, a))


logical_and = _logical(
    "logicalAnd", "both are not 0", lambda np, a, b: a & b, lambda h, a, b: h.bitwise_and(a, b)
)
logical_or = _logical(
    "logicalOr", "at least one is not 0", lambda np, a, b: a | b, lambda h, a, b: h.bitwise_or(a, b)
)
logical_xor = _logical(
    "logicalXor",
    "exactly one is not 0",
    lambda np, a, b: a ^ b,
    lambda h, a, b: h.bitwise_xor(a, b),
    "logicalXOr",
)

logical_not = Operator(
    name="logicalNot",
    summary="1 where the operand is 0, else 0",
    operands=(Slot(name="a", dtypes=BYTES),),
    options={},
    infer=_bytes,
    gradient=no_gradient,
    reference=_not_reference,
    stablehlo=_lower_not,
    batch="elementwise",
    layer=_LAYER,
    samples=(sample((2, 2), dtypes=("uint8",), values=([0, 1, 2, 255],)),),
)

is_nan = Composite(
    name="isNaN",
    summary="1 where the operand is not a number, else 0",
    operands=(Slot(name="a", dtypes=ANY),),
    options={},
    infer=_bytes,
    decompose=_is_nan,
    stablehlo=_lower_nan,
    native="isNaN",
    batch="elementwise",
    layer=_LAYER,
    samples=(
        sample((2, 3)),
        sample((3,), dtypes=("float32",), values=([math.nan, math.inf, 0.0],)),
    ),
)

is_infinite = Composite(
    name="isInfinite",
    summary="1 where the operand is ∞ or −∞, else 0",
    operands=(Slot(name="a", dtypes=ANY),),
    options={},
    infer=_bytes,
    decompose=_is_infinite,
    stablehlo=_lower_infinite,
    native="isInfinite",
    batch="elementwise",
    layer=_LAYER,
    samples=(
        sample((2, 3)),
        sample((4,), dtypes=("float32",), values=([math.nan, math.inf, 0.0, -math.inf],)),
    ),
)
