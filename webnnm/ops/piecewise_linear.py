"""Piecewise linear activations: linear, hardSigmoid, hardSwish."""

from __future__ import annotations

import math

from webnnm.core.dtypes import FLOAT
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.algebra import scalar_like
from webnnm.ops.declare.layer import LayerRules, ValueOption
from webnnm.ops.declare.operator import Composite, Option, Slot, sample
from webnnm.ops.declare.rules import build_unary, same_shape
from webnnm.ops.declare.tensors import Builder, Tensor

_OPERANDS = (Slot(name="input", dtypes=FLOAT),)


def _linear(b: Builder, x: Tensor, *, alpha: float, beta: float) -> Tensor:
    del b
    return x * alpha + beta


def _hard_sigmoid(b: Builder, x: Tensor, *, alpha: float, beta: float) -> Tensor:
    return b.max(b.min(x * alpha + beta, scalar_like(b, 1, x)), scalar_like(b, 0, x))


def _hard_sigmoid_gradient(
    b: Builder, g: Tensor, y: Tensor, _x: Tensor, *, alpha: float, beta: float
) -> list[Tensor]:
    del beta
    inside = b.logical_and(b.greater(y, scalar_like(b, 0, y)), b.lesser(y, scalar_like(b, 1, y)))
    # Chosen, not multiplied: √ has an infinite slope where the result is 0.
    return [b.where(inside, g * alpha, scalar_like(b, 0, g))]


def _hard_swish(b: Builder, x: Tensor) -> Tensor:
    return x * b.max(b.min(x + 3.0, scalar_like(b, 6, x)), scalar_like(b, 0, x)) / 6.0


def _layer(alpha: float, beta: float) -> LayerRules:
    return LayerRules(
        options={
            "alpha": ValueOption(read=values.number, default=alpha),
            "beta": ValueOption(read=values.number, default=beta),
        },
        shape=same_shape,
        build=build_unary,
    )


linear = Composite(
    name="linear",
    traits=frozenset({"linear", "scaling"}),
    summary="α·x + β",
    operands=_OPERANDS,
    options={"alpha": Option(1.0, checks.number), "beta": Option(0.0, checks.number)},
    decompose=_linear,
    native="linear",
    batch="elementwise",
    layer=_layer(1.0, 0.0),
    samples=(sample((2, 3)), sample((), alpha=-2.0, beta=0.5)),
)

hard_sigmoid = Composite(
    name="hardSigmoid",
    traits=frozenset({"activation", "saturating"}),
    bounds=(0.0, 1.0),
    summary="α·x + β between 0 and 1; gradient 0 at the corners",
    operands=_OPERANDS,
    options={"alpha": Option(0.2, checks.number), "beta": Option(0.5, checks.number)},
    decompose=_hard_sigmoid,
    gradient=_hard_sigmoid_gradient,
    native="hardSigmoid",
    batch="elementwise",
    layer=_layer(0.2, 0.5),
    samples=(
        sample((2, 3), low=-4, high=4, kinks=(-2.5, 2.5)),
        sample((4,), alpha=0.5, beta=0.25, kinks=(-0.5, 1.5)),
    ),
)

hard_swish = Composite(
    name="hardSwish",
    traits=frozenset({"activation", "rectifying"}),
    bounds=(-0.375, math.inf),
    silent_below=-3.0,
    summary="x·(x + 3 between 0 and 6)/6",
    operands=_OPERANDS,
    options={},
    decompose=_hard_swish,
    native="hardSwish",
    batch="elementwise",
    layer=LayerRules(shape=same_shape, build=build_unary),
    samples=(sample((2, 3), low=-5, high=5, kinks=(-3.0, 3.0)), sample(())),
)
