"""Declarations of float functions that WebNN lacks: a kernel, and an approximation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from webnnm.core.dtypes import FLOAT
from webnnm.ops.declare.algebra import broadcast_type, chain, same_as_first
from webnnm.ops.declare.operator import (
    Composite,
    Decompose,
    Reference,
    Sample,
    Slot,
    lower_by_parts,
    no_gradient,
    sample,
)
from webnnm.ops.declare.tensors import Builder, Tensor

APPROXIMATE = frozenset({"approximate"})
UNARY = (sample((2, 3)), sample(()))
BINARY = (sample((2, 3), (2, 3)), sample((2, 1), (3,)), sample((2,), ()))

Unary = Callable[[Builder, Tensor], Tensor]
Derivative = Callable[[Builder, Tensor, Tensor], Tensor]
Binary = Callable[[Builder, Tensor, Tensor], Tensor]
BinaryGradient = Callable[[Builder, Tensor, Tensor, Tensor, Tensor], Sequence[Any]]


def unary(
    name: str,
    summary: str,
    decompose: Unary,
    derivative: Derivative | None,
    *,
    samples: Sequence[Sample] = UNARY,
    stablehlo: Callable[[Any, Any], Any] = lower_by_parts,
    exact: bool = False,
) -> Composite:
    """Declare an element-wise function of one operand that is not a word of the notation.

    The kernel is the namespace's function of the same name, `derivative(b, y, x)` is None where
    no gradient flows. `decompose` only gets float32 tensors; unless it is `exact`, it
    approximates the function to the digits of float32.
    """
    return Composite(
        name=name,
        summary=summary,
        operands=(Slot(name="input", dtypes=FLOAT),),
        options={},
        decompose=in_float32(decompose),
        infer=same_as_first,
        gradient=no_gradient if derivative is None else chain(derivative),
        reference=kernel(name),
        stablehlo=stablehlo,
        native=name,  # WebNN has no such method: backends detect that and decompose it
        batch="elementwise",
        layer=None,
        samples=tuple(samples),
        hazards=frozenset() if exact else APPROXIMATE,
    )


def binary(
    name: str,
    summary: str,
    decompose: Binary,
    gradient: BinaryGradient,
    *,
    samples: Sequence[Sample] = BINARY,
    stablehlo: Callable[[Any, Any, Any], Any] = lower_by_parts,
    exact: bool = False,
) -> Composite:
    """Declare a function of two operands, as `unary` does for one operand."""
    return Composite(
        name=name,
        summary=summary,
        operands=(Slot(name="a", dtypes=FLOAT), Slot(name="b", dtypes=FLOAT, like=0)),
        options={},
        decompose=in_float32(decompose),
        infer=broadcast_type,
        gradient=gradient,
        reference=kernel(name),
        stablehlo=stablehlo,
        native=name,
        batch="elementwise",
        layer=None,
        samples=tuple(samples),
        hazards=frozenset() if exact else APPROXIMATE,
    )


def kernel(name: str) -> Reference:
    """Return the kernel that is the namespace's function of this name."""

    def reference(np: Any, *operands: Any) -> Any:
        return getattr(np, name)(*operands)

    return reference


def in_float32(decompose: Decompose) -> Decompose:
    """Return a decomposition that computes float16 in float32, and so with its precision."""

    @wraps(decompose)
    def wide(b: Builder, *operands: Tensor, **options: Any) -> Any:
        if operands[0].dtype != "float16":
            return decompose(b, *operands, **options)
        result = decompose(b, *(b.cast(x, type="float32") for x in operands), **options)
        if isinstance(result, tuple):
            results: tuple[Tensor, ...] = result
            return tuple(b.cast(y, type="float16") for y in results)
        return b.cast(result, type="float16")

    return wide


def polynomial(x: Tensor, *coefficients: float) -> Tensor:
    """Return a polynomial by Horner's rule, the coefficient of the highest power first."""
    total = x * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        total = total * x + coefficient
    return total


def odd(of_size: Unary) -> Unary:
    """Return the odd function, f(−x) = −f(x), from f(|x|); zeros keep their sign, NaN stays NaN."""

    def decompose(b: Builder, x: Tensor) -> Tensor:
        positive = of_size(b, b.abs(x))
        return b.where(b.greater(x, 0.0), positive, b.where(b.lesser(x, 0.0), -positive, x))

    return decompose


def is_negative(b: Builder, x: Tensor) -> Tensor:
    """Return 1 for negative numbers and −0, whose reciprocal is −∞, else 0."""
    inverse = b.where(b.equal(x, 0.0), b.div(1.0, x), x)
    return b.lesser(inverse, 0.0)


def negate(x: Tensor) -> Tensor:
    """Return −x; browsers compute it as 0 − x, which loses the sign of −0; a product keeps it."""
    return x * -1.0


def where_nan(b: Builder, condition: Tensor, x: Tensor) -> Tensor:
    """Return x with NaN where a condition holds."""
    return b.where(condition, math.nan, x)
