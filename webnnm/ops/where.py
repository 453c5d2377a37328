"""Choice between two values by a condition."""

from __future__ import annotations

from typing import Any

from webnnm.ops.declare.algebra import broadcast_type, zeros_like
from webnnm.ops.declare.layer import BuildView, LayerRules, TensorSlot
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import Operator, Slot, sample
from webnnm.ops.declare.rules import broadcast_shape, build_broadcast
from webnnm.ops.declare.tensors import Builder, Tensor


def _gradient(
    b: Builder, g: Tensor, _y: Tensor, condition: Tensor, _a: Tensor, _b: Tensor
) -> list[Tensor | None]:
    zero = zeros_like(b, g)
    return [None, b.where(condition, g, zero), b.where(condition, zero, g)]


def _reference(np: Any, condition: Any, a: Any, b: Any) -> Any:
    return np.where(condition != 0, a, b)


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    return build_broadcast(b, layer)


def _stablehlo(h: Any, condition: Any, a: Any, b: Any) -> Any:
    return h.select(condition, a, b)


where = Operator(
    name="where",
    summary="the first value where the condition is not 0, else the second",
    operands=(
        Slot(name="condition", dtypes=frozenset({"uint8"})),
        Slot(name="trueValue"),
        Slot(name="falseValue", like=1),
    ),
    options={},
    infer=broadcast_type,
    gradient=_gradient,
    reference=_reference,
    stablehlo=_stablehlo,
    batch="elementwise",
    layer=LayerRules(
        slots=(TensorSlot(name="trueValue"), TensorSlot(name="falseValue")),
        shape=broadcast_shape,
        build=_build,
        condition=True,
    ),
    traits=frozenset({"choosing"}),
    samples=(
        sample((2, 3), (2, 3), (2, 3), dtypes=("uint8", "float32", "float32")),
        sample((2, 1), (3,), (), dtypes=("uint8", "float32", "float32")),
    ),
    aliases=("elementwiseIf",),
)
