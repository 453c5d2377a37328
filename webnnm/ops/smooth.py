"""Smooth activations: gelu, softplus, softsign."""

from __future__ import annotations

import math
from typing import Any

from webnnm.core.dtypes import FLOAT
from webnnm.ops.declare.algebra import chain, scalar_like
from webnnm.ops.declare.layer import LayerRules
from webnnm.ops.declare.operator import AnyOperator, Composite, Slot, sample
from webnnm.ops.declare.rules import build_unary, same_shape
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor

_OPERANDS = (Slot(name="input", dtypes=FLOAT),)
_LAYER = LayerRules(shape=same_shape, build=build_unary)


def _gelu(b: Builder, x: Tensor) -> Tensor:
    return x * 0.5 * (b.erf(x * math.sqrt(0.5)) + 1.0)


def _softplus(b: Builder, x: Tensor) -> Tensor:
    # ln(1 + eˣ) with an exponential that never overflows.
    return b.max(x, scalar_like(b, 0, x)) + b.log(b.exp(-b.abs(x)) + 1.0)


def _softplus_reference(np: Any, x: Any) -> Any:
    wide = np.astype(x, np.float32) if x.dtype == np.float16 else x
    result = np.maximum(wide, np.zeros_like(wide)) + np.log1p(np.exp(-np.abs(wide)))
    return np.astype(result, x.dtype)


def _lower_softplus(h: Any, x: Any) -> Any:
    return h.add(h.maximum(x, 0), h.log_plus_one(h.exponential(h.negate(h.abs(x)))))


def _with_steepness(
    b: Builder, _operator: AnyOperator, operands: list[Any], options: dict[str, Any]
) -> tuple[Any, ...]:
    """The 2022 draft's softplus(s·x)/s."""
    steepness = options.pop("steepness", 1)
    if steepness == 1:
        return operands, options
    if not isinstance(steepness, (int, float)) or steepness == 0:
        raise OperatorError("NNM303", f"steepness of softplus is {steepness!r}, not a number ≠ 0")

    def divide(y: Tensor) -> Tensor:
        return y / steepness

    return [x * steepness for x in operands], options, divide


def _softsign(b: Builder, x: Tensor) -> Tensor:
    return x / (b.abs(x) + 1.0)


gelu = Composite(
    name="gelu",
    traits=frozenset({"activation", "rectifying"}),
    bounds=(-0.17, math.inf),
    silent_below=-5.2,
    summary="x·Φ(x), with the Gauss error function",
    operands=_OPERANDS,
    options={},
    decompose=_gelu,
    native="gelu",
    batch="elementwise",
    layer=_LAYER,
    samples=(sample((2, 3)), sample(())),
)

softplus = Composite(
    name="softplus",
    traits=frozenset({"activation", "rectifying"}),
    bounds=(0.0, math.inf),
    summary="ln(1 + exp x)",
    operands=_OPERANDS,
    options={},
    decompose=_softplus,
    # The parts have kinks at 0 that the whole has not.
    gradient=chain(lambda b, y, x: b.sigmoid(x)),
    reference=_softplus_reference,
    stablehlo=_lower_softplus,
    native="softplus",
    earlier=_with_steepness,
    batch="elementwise",
    layer=_LAYER,
    samples=(sample((2, 3)), sample(())),
    hazards=frozenset({"wide"}),
)

softsign = Composite(
    name="softsign",
    traits=frozenset({"activation", "saturating"}),
    bounds=(-1.0, 1.0),
    summary="x/(1 + |x|)",
    operands=_OPERANDS,
    options={},
    decompose=_softsign,
    native="softsign",
    batch="elementwise",
    layer=_LAYER,
    samples=(sample((2, 3)), sample(())),
)
