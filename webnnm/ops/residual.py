"""Sum of the input and an earlier value, projected where the last sizes differ (spec A.9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.ops.binary import add
from webnnm.ops.declare import values
from webnnm.ops.declare.features import Conflict
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, TensorSlot, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import Composite, Slot, sample
from webnnm.ops.declare.rules import broadcast_features, broadcast_operands, same_shape
from webnnm.ops.declare.tensors import Builder, Tensor

PROJECTION = "projection"


def _residual(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    return b.apply(add, [x, y], {})


def _implicit(options: Mapping[str, Any], _: Mapping[str, str]) -> Sequence[TensorSlot]:
    return (TensorSlot(name=PROJECTION, parameter="weight"),) if options["project"] else ()


def _shape(layer: ShapeView) -> None:
    source, other = layer.input, layer.tensors["to"]
    projection = layer.tensors.get(PROJECTION)
    if projection is None:
        broadcast_features(layer, [source, other])
        return
    if not source.dims or not other.dims or source.dims[-1] is None or other.dims[-1] is None:
        return
    if source.dims[-1] == other.dims[-1]:
        projection.unneeded = True
        broadcast_features(layer, [source, other])
        return
    if source.dims[:-1] != other.dims[:-1]:
        layer.fail("NNM401", f"{source} and {other} differ in more than the last size")
    try:
        projection.unify([other.dims[-1], source.dims[-1]])
    except Conflict:
        layer.fail("NNM404", f"{other} to {source}, projection {projection}")
    same_shape(layer)


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    source, other = layer.operands[0], layer.tensors["to"]
    projection = layer.tensors.get(PROJECTION)
    if projection is not None:
        skipped = other.canonical()
        rows = skipped.tensor
        if rows.rank == 1:
            rows = b.reshape(rows, new_shape=(1, *rows.shape))
        other = skipped.with_tensor(b.matmul(rows, projection.tensor))
    names = [layer.features[0].names, layer.tensor_names("to")]
    tensors, layout, sequence = broadcast_operands(layer, [source, other], names)
    return LayoutTensor(b.apply(add, tensors, {}), layout, sequence)


residual = Composite(
    name="residual",
    traits=frozenset({"additive"}),
    summary="sum of the input and an earlier value",
    operands=(Slot(name="input"), Slot(name="to", like=0)),
    options={},
    decompose=_residual,
    layer=LayerRules(
        slots=(TensorSlot(name="to", option=True),),
        options={
            "skip": ValueOption(read=values.integer(0)),
            "project": ValueOption(read=values.boolean, default=False),
        },
        implicit=_implicit,
        shape=_shape,
        build=_build,
    ),
    samples=(sample((2, 3), (2, 3)),),
)
