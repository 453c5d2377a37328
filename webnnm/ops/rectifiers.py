"""Piecewise activations with a slope for negative operands: leakyRelu, elu, prelu."""

from __future__ import annotations

from typing import Any

from webnnm.dtypes import FLOAT
from webnnm.ops import checks, values
from webnnm.ops.algebra import scalar_like
from webnnm.ops.layer import LayerRules, TensorSlot, ValueOption
from webnnm.ops.operator import Builder, Composite, Option, Slot, Tensor, sample
from webnnm.ops.rules import broadcast_shape, build_broadcast, build_unary, same_shape


def _leaky_relu(b: Builder, x: Tensor, *, alpha: float) -> Tensor:
    return b.where(b.greater(x, scalar_like(b, 0, x)), x, x * alpha)


def _elu(b: Builder, x: Tensor, *, alpha: float) -> Tensor:
    zero = scalar_like(b, 0, x)
    # The exponential of a large positive operand would overflow although it is not chosen.
    return b.where(b.greater(x, zero), x, (b.exp(b.min(x, zero)) - 1.0) * alpha)


def _elu_reference(np: Any, x: Any, *, alpha: float) -> Any:
    wide = np.astype(x, np.float32) if x.dtype == np.float16 else x
    found = np.where(wide > 0, wide, alpha * np.expm1(np.minimum(wide, np.zeros_like(wide))))
    return np.astype(found, x.dtype)


def _prelu(b: Builder, x: Tensor, slope: Tensor) -> Tensor:
    return b.where(b.greater(x, scalar_like(b, 0, x)), x, x * slope)


def _layer(alpha: float) -> LayerRules:
    return LayerRules(
        options={"alpha": ValueOption(read=values.number, default=alpha)},
        shape=same_shape,
        build=build_unary,
    )


leaky_relu = Composite(
    name="leakyRelu",
    summary="x, times α where negative; gradient α at 0",
    operands=(Slot(name="input", dtypes=FLOAT),),
    options={"alpha": Option(0.01, checks.number)},
    decompose=_leaky_relu,
    native="leakyRelu",
    layer=_layer(0.01),
    samples=(sample((2, 3), kinks=(0.0,)), sample((4,), alpha=0.25, kinks=(0.0,))),
)

elu = Composite(
    name="elu",
    summary="x, α·(exp x − 1) where negative",
    operands=(Slot(name="input", dtypes=FLOAT),),
    options={"alpha": Option(1.0, checks.number)},
    decompose=_elu,
    reference=_elu_reference,
    native="elu",
    layer=_layer(1.0),
    samples=(sample((2, 3), kinks=(0.0,)), sample((4,), alpha=0.25, kinks=(0.0,))),
)

prelu = Composite(
    name="prelu",
    summary="x, times a slope of its own where negative",
    operands=(
        Slot(name="input", dtypes=FLOAT.union(("int64", "int32", "int8"))),
        Slot(name="slope", like=0),
    ),
    options={},
    decompose=_prelu,
    native="prelu",
    layer=LayerRules(
        slots=(TensorSlot(name="slope", parameter="slope"),),
        shape=broadcast_shape,
        build=build_broadcast,
    ),
    samples=(
        sample((2, 3), (3,), kinks=(0.0,)),
        sample((2, 3), (), kinks=(0.0,)),
        sample((2, 1, 3), (4, 1), kinks=(0.0,)),
    ),
)
