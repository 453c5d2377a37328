"""Piecewise activations with a slope for negative operands: leakyRelu, elu, prelu."""

from __future__ import annotations

from typing import Any

from webnnm.core.dtypes import FLOAT
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.algebra import positive, scalar_like
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, TensorSlot, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import Composite, Option, Slot, sample
from webnnm.ops.declare.rules import broadcast_features, broadcast_operands, build_unary, same_shape
from webnnm.ops.declare.tensors import Builder, Tensor

SLOPE = ("slope", "alpha")
"""The words for the slope of prelu, which may also be written as an operand."""


def _leaky_relu(b: Builder, x: Tensor, *, alpha: float) -> Tensor:
    return b.where(b.greater(x, scalar_like(b, 0, x)), x, x * alpha)


def _leaky_gradient(b: Builder, g: Tensor, _y: Tensor, x: Tensor, *, alpha: float) -> list[Tensor]:
    above = positive(b, x)
    return [g * (above + (alpha - above * alpha))]


def _elu(b: Builder, x: Tensor, *, alpha: float) -> Tensor:
    zero = scalar_like(b, 0, x)
    # The exponential of a large positive operand would overflow although it is not chosen.
    return b.where(b.greater(x, zero), x, (b.exp(b.min(x, zero)) - 1.0) * alpha)


def _elu_reference(np: Any, x: Any, *, alpha: float) -> Any:
    wide = np.astype(x, np.float32) if x.dtype == np.float16 else x
    result = np.where(wide > 0, wide, alpha * np.expm1(np.minimum(wide, np.zeros_like(wide))))
    return np.astype(result, x.dtype)


def _lower_elu(h: Any, x: Any, *, alpha: float) -> Any:
    below = h.multiply(h.exponential_minus_one(h.minimum(x, 0)), alpha)
    return h.select(h.compare("GT", x, 0), x, below)


def _prelu(b: Builder, x: Tensor, slope: Tensor) -> Tensor:
    return b.where(b.greater(x, scalar_like(b, 0, x)), x, x * slope)


def _slope(layer: ShapeView | BuildView) -> str:
    """Return the word with which the slope was written."""
    words = [name for name in SLOPE if name in layer.tensors]
    if not words:
        layer.fail("NNM304", '"prelu" needs slope=')
    if len(words) > 1:
        layer.fail("NNM302", '"prelu" takes one slope, 2 were given', at=words[1])
    return words[0]


def _prelu_shape(layer: ShapeView) -> None:
    broadcast_features(layer, [layer.input, layer.tensors[_slope(layer)]])


def _prelu_build(b: Builder, layer: BuildView) -> LayoutTensor:
    slope = _slope(layer)
    names = [layer.features[0].names, layer.tensor_names(slope)]
    tensors, layout, sequence = broadcast_operands(
        layer, [layer.operands[0], layer.tensors[slope]], names
    )
    return LayoutTensor(b.apply(layer.operator, tensors, {}), layout, sequence)


def _layer(alpha: float) -> LayerRules:
    return LayerRules(
        options={"alpha": ValueOption(read=values.number, default=alpha)},
        shape=same_shape,
        build=build_unary,
    )


leaky_relu = Composite(
    name="leakyRelu",
    traits=frozenset({"activation", "rectifying"}),
    summary="x, times α where negative; gradient α at 0",
    operands=(Slot(name="input", dtypes=FLOAT),),
    options={"alpha": Option(0.01, checks.number)},
    decompose=_leaky_relu,
    gradient=_leaky_gradient,
    native="leakyRelu",
    batch="elementwise",
    layer=_layer(0.01),
    samples=(sample((2, 3), kinks=(0.0,)), sample((4,), alpha=0.25, kinks=(0.0,))),
)

elu = Composite(
    name="elu",
    traits=frozenset({"activation", "rectifying"}),
    summary="x, α·(exp x − 1) where negative",
    operands=(Slot(name="input", dtypes=FLOAT),),
    options={"alpha": Option(1.0, checks.number)},
    decompose=_elu,
    reference=_elu_reference,
    stablehlo=_lower_elu,
    native="elu",
    batch="elementwise",
    layer=_layer(1.0),
    samples=(sample((2, 3), kinks=(0.0,)), sample((4,), alpha=0.25, kinks=(0.0,))),
)

prelu = Composite(
    name="prelu",
    traits=frozenset({"activation", "rectifying"}),
    summary="x, times a given slope where negative",
    operands=(
        Slot(name="input", dtypes=FLOAT.union(("int64", "int32", "int8"))),
        Slot(name="slope", like=0),
    ),
    options={},
    decompose=_prelu,
    native="prelu",
    batch="elementwise",
    layer=LayerRules(
        slots=tuple(
            TensorSlot(name=word, parameter="slope", option=True, optional=True) for word in SLOPE
        ),
        shape=_prelu_shape,
        build=_prelu_build,
    ),
    samples=(
        sample((2, 3), (3,), kinks=(0.0,)),
        sample((2, 3), (), kinks=(0.0,)),
        sample((2, 1, 3), (4, 1), kinks=(0.0,)),
    ),
)
