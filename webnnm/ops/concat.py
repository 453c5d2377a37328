"""Tensors joined one after the other along an axis."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from webnnm.core.shapes import show
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.along import slice_axis
from webnnm.ops.declare.features import Conflict
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor, Role
from webnnm.ops.declare.leading import broadcast_lead
from webnnm.ops.declare.operator import REQUIRED, Operator, Option, Slot, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType


def _infer(*types: TensorType, axis: int) -> TensorType:
    first = types[0]
    for other in types[1:]:
        same_rank = len(other.shape) == len(first.shape)
        if not same_rank or any(
            k != axis and n != m
            for k, (n, m) in enumerate(zip(first.shape, other.shape, strict=True))
        ):
            raise OperatorError(
                "NNM410", f"{show(first.shape)} and {show(other.shape)} differ outside axis {axis}"
            )
        if other.dtype != first.dtype:
            raise OperatorError("NNM501", f"{first.dtype} and {other.dtype} cannot be joined")
    total = sum(type.shape[axis] for type in types)
    return TensorType(first.dtype, (*first.shape[:axis], total, *first.shape[axis + 1 :]))


def _gradient(b: Builder, g: Tensor, _y: Tensor, *parts: Tensor, axis: int) -> list[Tensor]:
    sizes = [part.shape[axis] for part in parts]
    starts = accumulate(sizes, initial=0)
    return [slice_axis(b, g, axis, start, size) for start, size in zip(starts, sizes, strict=False)]


def _axis(layer: ShapeView | BuildView, rank: int) -> Role:
    roles = layer.axes("axis")
    if roles:
        return roles[0]
    if rank != 1:
        layer.fail("NNM304", f'"concat" needs axis= for {rank} feature dimensions')
    return 0


def _shape(layer: ShapeView) -> None:
    ranked = [x for x in layer.operands if x.dims is not None]
    source, result = layer.input, layer.result
    if len(ranked) < len(layer.operands) or source.dims is None:
        return
    rank = len(source.dims)
    if any(x.rank != source.rank for x in ranked):
        layer.fail("NNM410", " and ".join(str(x) for x in ranked))
    axis = _axis(layer, rank)
    if axis != "sequence" and len({x.sequence for x in ranked if x.sequence}) > 1:
        layer.fail("NNM411", " and ".join(f'"{x.sequence}"' for x in ranked))
    try:
        result.unify([None] * rank)
        for k in range(rank):
            if k == axis:
                _join(layer, k)
            else:
                for x in ranked:
                    result.unify_size(k, x.dims[k] if x.dims else None)
                for x in ranked:
                    x.unify_size(k, (result.dims or [])[k])
    except Conflict:
        layer.fail("NNM410", " and ".join(str(x) for x in ranked))
    result.set_names(source.names)
    result.set_sequence(next((x.sequence for x in ranked if x.sequence), None))


def _join(layer: ShapeView, axis: int) -> None:
    """Relate the sizes along the axis: they add up, so one unknown part follows from the rest."""
    parts = [x.dims[axis] for x in layer.operands if x.dims is not None]
    sizes = [size for size in parts if size is not None]
    total = (layer.result.dims or [])[axis]
    if len(sizes) == len(parts):
        if total is not None and total != sum(sizes):
            layer.fail("NNM402", f"declared {total}, inferred {sum(sizes)}", at="shape")
        layer.result.unify_size(axis, sum(sizes))
    elif total is not None and len(sizes) == len(parts) - 1:
        layer.operands[parts.index(None)].unify_size(axis, total - sum(sizes))


def _build(builder: Builder, layer: BuildView) -> LayoutTensor:
    parts = [part.canonical() for part in layer.operands]
    axis = _axis(layer, parts[0].rank)
    leader = max(parts, key=lambda part: len(part.lead))
    sizes = [leader.size(role) for role in leader.lead]
    if "batch" in leader.lead:
        sizes[0] = max(part.size("batch") for part in parts if "batch" in part.lead)
    tensors = [broadcast_lead(builder, part, leader.lead, sizes) for part in parts]
    position = leader.position(axis)
    joined = LayoutTensor(builder.concat(tensors, axis=position), leader.layout, leader.sequence)
    if axis == "sequence" and any(part.mask is not None for part in parts):
        if any("sequence" not in part.layout for part in parts):
            hint = "give it a length with repeatSequence"
            layer.fail(
                "NNM411", "a part has no sequence, but the rows have different lengths", hint=hint
            )
        from webnnm.ops.declare.padded_sequences import join_sequences

        return join_sequences(builder, parts, joined)
    return joined


def _reference(np: Any, *parts: Any, axis: int) -> Any:
    return np.concat(parts, axis=axis)


def _stablehlo(h: Any, *parts: Any, axis: int) -> Any:
    return h.concatenate(parts, axis)


concat = Operator(
    name="concat",
    summary="tensors joined along an axis",
    operands=(Slot(name="inputs", ranks=(1, None), variadic=True),),
    options={"axis": Option(REQUIRED, checks.axis, positional=True)},
    infer=_infer,
    gradient=_gradient,
    reference=_reference,
    stablehlo=_stablehlo,
    batch="axes",
    layer=LayerRules(
        options={"axis": ValueOption(read=values.one_axis)},
        shape=_shape,
        build=_build,
        many=True,
    ),
    traits=frozenset({"choosing"}),
    samples=(sample((2, 3), (4, 3), axis=0), sample((2, 1), (2, 3), (2, 2), axis=1)),
)
