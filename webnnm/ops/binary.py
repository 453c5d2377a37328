"""Element-wise operators of two operands: add, sub, mul, div, max, min, pow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from webnnm.ops.declare.algebra import as_number, broadcast_type, not_negative, scalar_like
from webnnm.ops.declare.constants import constant_values
from webnnm.ops.declare.layer import LayerRules, ParameterRole, TensorSlot
from webnnm.ops.declare.operator import Operator, Sample, Slot, sample
from webnnm.ops.declare.rules import broadcast_shape, build_broadcast
from webnnm.ops.declare.tensors import Builder, Tensor
from webnnm.ops.declare.traits import Trait

BinaryGradient = Callable[[Builder, Tensor, Tensor, Tensor, Tensor], Sequence[Any]]

SAMPLES = (
    sample((2, 3), (2, 3)),
    sample((2, 3), (3,)),
    sample((2, 3), ()),
    sample((2, 1, 3), (4, 1)),
)


ADD: frozenset[Trait] = frozenset({"arithmetic", "linear", "additive"})
SCALING: frozenset[Trait] = frozenset({"arithmetic", "linear", "scaling"})
CHOOSING: frozenset[Trait] = frozenset({"choosing"})


def _binary(
    name: str,
    summary: str,
    reference: Callable[[Any, Any, Any], Any],
    stablehlo: Callable[[Any, Any, Any], Any],
    gradient: BinaryGradient,
    role: ParameterRole,
    *,
    samples: Sequence[Sample] = SAMPLES,
    folds: bool = False,
    hazards: frozenset[str] = frozenset(),
    traits: frozenset[Trait] = frozenset(),
) -> Operator:
    return Operator(
        name=name,
        summary=summary,
        operands=(Slot(name="a"), Slot(name="b", like=0)),
        options={},
        infer=broadcast_type,
        gradient=gradient,
        reference=reference,
        stablehlo=stablehlo,
        batch="elementwise",
        layer=LayerRules(
            slots=(TensorSlot(name="y", parameter=role),),
            shape=broadcast_shape,
            build=build_broadcast,
            folds=folds,
        ),
        samples=tuple(samples),
        hazards=hazards,
        traits=traits,
    )


def _choose(comparison: str) -> BinaryGradient:
    """Return the gradients of max and min: to the chosen operand, to the first on ties."""

    def gradient(b: Builder, g: Tensor, _y: Tensor, x: Tensor, z: Tensor) -> list[Tensor]:
        bounds = constant_values(z)
        if bounds is not None and all(map(math.isfinite, bounds)):
            room = x - z if comparison == "greater_or_equal" else z - x
            first = not_negative(b, room)
            return [g * first, g * (1 - first)]
        first = as_number(b, getattr(b, comparison)(x, z), g)
        return [g * first, g * (1 - first)]

    return gradient


def _pow_gradient(b: Builder, g: Tensor, y: Tensor, x: Tensor, z: Tensor) -> list[Tensor]:
    # Where x = 0 and z > 1, x^(z−1) is 0 as it should be; where z = 0 the power is constant, and
    # x^(z−1) may be infinite; ln x counts only where x > 0.
    flat = b.equal(z, scalar_like(b, 0, z))
    positive = b.greater(x, scalar_like(b, 0, x))
    log = b.log(b.where(positive, x, scalar_like(b, 1, x)))
    return [
        g * z * b.pow(x, b.where(flat, scalar_like(b, 1, z), z - 1)),
        b.where(positive, g * y * log, scalar_like(b, 0, y)),
    ]


def _power(np: Any, a: Any, b: Any) -> Any:
    """Return powers; negative integer exponents give 0, and ±1 for the bases ±1."""
    if np.isdtype(a.dtype, ("real floating", "unsigned integer")):
        return np.pow(a, b)
    # The parity of negative exponents is enough; the smallest integer has no absolute value.
    result = np.pow(a, np.where(b >= 0, b, b & 1))
    return np.where((b >= 0) | (np.abs(a) == 1), result, np.zeros_like(result))


def _divide(np: Any, a: Any, b: Any) -> Any:
    """Divide as WebNN does: integers truncate towards zero; integers divided by 0 give 0."""
    if np.isdtype(a.dtype, "real floating"):
        return a / b
    by_zero: Any = b == 0
    b = np.where(by_zero, np.ones_like(b), b)
    # Flooring and truncating differ by one where a negative quotient has a remainder.
    inexact: Any = ((a < 0) != (b < 0)) & (a % b != 0)
    quotient = a // b + np.astype(inexact, a.dtype)
    return np.where(by_zero, np.zeros_like(quotient), quotient)


add = _binary(
    "add",
    "sum",
    lambda np, a, b: a + b,
    lambda h, a, b: h.add(a, b),
    lambda b, g, y, x, z: [g, g],
    "additive",
    folds=True,
    traits=ADD,
)
sub = _binary(
    "sub",
    "difference",
    lambda np, a, b: a - b,
    lambda h, a, b: h.subtract(a, b),
    lambda b, g, y, x, z: [g, -g],
    "zeros",
    traits=SCALING | ADD,
)
mul = _binary(
    "mul",
    "product",
    lambda np, a, b: a * b,
    lambda h, a, b: h.multiply(a, b),
    lambda b, g, y, x, z: [g * z, g * x],
    "ones",
    folds=True,
    traits=SCALING,
)
div = _binary(
    "div",
    "quotient; integers truncate towards zero",
    _divide,
    lambda h, a, b: h.divide(a, b),
    lambda b, g, y, x, z: [g / z, -g * y / z],
    "ones",
    traits=SCALING,
    samples=[sample(*s.shapes, low=0.5) for s in SAMPLES],
)
max = _binary(
    "max",
    "larger of two; on ties the gradient goes to the first",
    lambda np, a, b: np.maximum(a, b),
    lambda h, a, b: h.maximum(a, b),
    _choose("greater_or_equal"),
    "zeros",
    folds=True,
    traits=CHOOSING,
)
min = _binary(
    "min",
    "smaller of two; on ties the gradient goes to the first",
    lambda np, a, b: np.minimum(a, b),
    lambda h, a, b: h.minimum(a, b),
    _choose("lesser_or_equal"),
    "zeros",
    folds=True,
    traits=CHOOSING,
)
pow = _binary(
    "pow",
    "power; integers with negative exponents give 0, or ±1 for bases ±1",
    _power,
    lambda h, a, b: h.power(a, b),
    _pow_gradient,
    "ones",
    samples=[sample(*s.shapes, low=0.5) for s in SAMPLES],
    hazards=frozenset({"overflow"}),
)
