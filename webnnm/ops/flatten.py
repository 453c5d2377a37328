"""All features in one dimension."""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import count
from webnnm.ops.declare import checks
from webnnm.ops.declare.feature_rules import unify_result
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import Composite, Option, Slot, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType
from webnnm.ops.reshape import balance, reshape_features


def _check_axis(value: Any, *types: TensorType) -> int:
    """Accept the axis at which the second dimension begins; it may be one past the last."""
    rank, axis = len(types[0].shape), checks.integer()(value)
    if not -rank <= axis <= rank:
        raise OperatorError("NNM308", f"axis {axis}, rank {rank}")
    return axis + rank if axis < 0 else axis


def _decompose(b: Builder, x: Tensor, *, axis: int) -> Tensor:
    return b.reshape(x, new_shape=(count(x.shape[:axis]), count(x.shape[axis:])))


def _shape(layer: ShapeView) -> None:
    if layer.input.dims is not None:
        unify_result(layer, [None], ["features"], layer.input.sequence)
        balance(layer)


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0].canonical()
    lead = [source.size(role) for role in source.lead]
    return reshape_features(b, source, lead, layer.results[0].sizes())


flatten = Composite(
    name="flatten",
    traits=frozenset({"passing", "linear", "rearranging", "moving"}),
    aliases=("flattenTo2d",),
    summary="two dimensions: everything before an axis, and everything from it on",
    operands=(Slot(name="input"),),
    options={"axis": Option(1, _check_axis)},
    decompose=_decompose,
    layer=LayerRules(shape=_shape, build=_build),
    samples=(sample((2, 3, 4)), sample((2, 3, 4), axis=0), sample((2, 3, 4), axis=-1)),
)
