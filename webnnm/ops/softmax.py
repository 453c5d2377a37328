"""Softmax and its logarithm along one axis."""

from __future__ import annotations

import math
from typing import Any

from webnnm.core.dtypes import FLOAT
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.algebra import same_as_first
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import Operator, Option, Slot, sample
from webnnm.ops.declare.padding import extremes, fill_padding
from webnnm.ops.declare.rules import same_shape
from webnnm.ops.declare.tensors import Builder, Tensor

HAZARDS = frozenset({"overflow", "wide"})


def _gradient(b: Builder, g: Tensor, y: Tensor, _x: Tensor, *, axis: int) -> list[Tensor]:
    return [y * (g - b.reduce_sum(g * y, axes=[axis], keep_dimensions=True))]


def _reference(np: Any, x: Any, *, axis: int) -> Any:
    e = np.exp(np.below(x, np.max(x, axis=axis, keepdims=True)))
    return e / np.sum(e, axis=axis, keepdims=True)


def _log_softmax(b: Builder, x: Tensor, *, axis: int) -> Tensor:
    shifted = x - b.reduce_max(x, axes=[axis], keep_dimensions=True)
    return shifted - b.log(b.reduce_sum(b.exp(shifted), axes=[axis], keep_dimensions=True))


def _log_softmax_gradient(
    b: Builder, g: Tensor, y: Tensor, _x: Tensor, *, axis: int
) -> list[Tensor]:
    return [g - b.exp(y) * b.reduce_sum(g, axes=[axis], keep_dimensions=True)]


def _log_softmax_reference(np: Any, x: Any, *, axis: int) -> Any:
    shifted = np.below(x, np.max(x, axis=axis, keepdims=True))
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def _shape(layer: ShapeView) -> None:
    same_shape(layer)
    layer.axes("axis")  # checks the axis as soon as the rank is known


def _build(builder: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0]
    (role,) = layer.axes("axis")
    axis = source.position(role)
    if role != "sequence" or source.mask is None:
        return source.with_tensor(builder.apply(layer.operator, [source.tensor], {"axis": axis}))
    x = fill_padding(builder, source, extremes(source.tensor.dtype)[0])
    result = builder.apply(layer.operator, [x], {"axis": axis})
    # Padded positions have no share; its logarithm would not be finite.
    return source.with_tensor(
        fill_padding(builder, source, 0, result) if layer.operator is log_softmax else result
    )


_LAYER = LayerRules(
    options={"axis": ValueOption(read=values.one_axis, default=(-1,))},
    shape=_shape,
    build=_build,
)


def _stablehlo(h: Any, x: Any, *, axis: int) -> Any:
    e = h.exponential(h.below(x, h.reduce("maximum", x, [axis], keep=True)))
    return h.divide(e, h.reduce("add", e, [axis], keep=True))


def _log_stablehlo(h: Any, x: Any, *, axis: int) -> Any:
    shifted = h.below(x, h.reduce("maximum", x, [axis], keep=True))
    return h.subtract(shifted, h.log(h.reduce("add", h.exponential(shifted), [axis], keep=True)))


softmax = Operator(
    name="softmax",
    traits=frozenset({"activation", "probabilistic"}),
    bounds=(0.0, 1.0),
    summary="exp x / Σ exp x along an axis",
    operands=(Slot(name="input", dtypes=FLOAT, ranks=(1, None)),),
    options={"axis": Option(-1, checks.axis, positional=True)},
    infer=same_as_first,
    gradient=_gradient,
    reference=_reference,
    stablehlo=_stablehlo,
    batch="axes",
    layer=_LAYER,
    samples=(sample((2, 3), axis=1), sample((2, 3, 4), axis=0)),
    hazards=HAZARDS,
)

log_softmax = Operator(
    name="logSoftmax",
    traits=frozenset({"activation", "probabilistic"}),
    bounds=(-math.inf, 0.0),
    summary="logarithm of softmax, safe for large operands",
    operands=(Slot(name="input", dtypes=FLOAT, ranks=(1, None)),),
    options={"axis": Option(-1, checks.axis)},
    infer=same_as_first,
    gradient=_log_softmax_gradient,
    reference=_log_softmax_reference,
    stablehlo=_log_stablehlo,
    decompose=_log_softmax,
    batch="axes",
    layer=_LAYER,
    samples=(sample((2, 3), axis=1), sample((2, 3, 4), axis=0)),
    hazards=HAZARDS,
)
