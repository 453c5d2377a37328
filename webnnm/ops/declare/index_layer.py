"""Layers that gather and scatter elements and slices (spec C.2).

Constant indices, `shape=, data=`, apply to every sample and position alike: the features that they
address become one dimension, along which a single gather or scatter works. An index tensor,
`indices=`, has separate indices for every sample and position.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from webnnm.core.shapes import Shape, count, show, strides_of
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.index_shapes import (
    Indexed,
    IndexTensor,
    coordinates,
    elements,
    gather_elements_shape,
    gather_nd_shape,
    scatter_elements_shape,
    scatter_nd_shape,
)
from webnnm.ops.declare.layer import BuildView, LayerRules, TensorSlot, ValueOption
from webnnm.ops.declare.layout import LayoutTensor, Role, feature_roles
from webnnm.ops.declare.leading import broadcast_lead, common_lead
from webnnm.ops.declare.tensors import Builder, Tensor

INDICES = TensorSlot(name="indices", option=True, optional=True, promotes=False)
UPDATES = TensorSlot(name="updates")
CONSTANT = {
    "shape": ValueOption(read=values.sizes),
    "data": ValueOption(read=values.integers),
}
AXIS = {"axis": ValueOption(read=values.one_axis)}
COORDS = {"coords": ValueOption(read=values.axis_names)}


def _index_tensor(layer: BuildView) -> IndexTensor:
    found = layer.tensors.get("indices")
    return IndexTensor() if found is None else IndexTensor(found.features, (None,) * found.rank)


def _elements(layer: BuildView) -> Indexed:
    found = elements(layer, layer.features[0], _index_tensor(layer))
    assert found is not None
    return found


def _coordinates(layer: BuildView) -> Indexed:
    found = coordinates(layer, layer.features[0], _index_tensor(layer))
    assert found is not None
    return found


# Where constant indices point to.


def _lines(layer: BuildView, found: Indexed, features: Shape) -> list[int]:
    """Return the element of all features that each constant index along an axis points to."""
    axis, steps = found.axes[0], strides_of(features)
    checks.check_amount(count(found.sizes()), f"indices {show(found.sizes())}")
    cells = product(*map(range, found.sizes()))
    return [
        sum(
            (index % features[axis] if k == axis else place) * steps[k]
            for k, place in enumerate(cell)
        )
        for cell, index in zip(cells, layer.options["data"], strict=True)
    ]


def _cells(layer: BuildView, box: Shape) -> list[int]:
    """Return the cell of the addressed features that constant coordinates point to."""
    data: Sequence[int] = layer.options["data"]
    steps = strides_of(box)
    return [
        sum(i % n * step for i, n, step in zip(data[at:], box, steps, strict=False))
        for at in range(0, len(data), len(box))
    ]


def _gather_constant(
    b: Builder, flow: LayoutTensor, axes: Sequence[int], places: Sequence[int], dims: Shape
) -> LayoutTensor:
    """Pick cells of some features."""
    rest = _others(flow, axes)
    lead = tuple(flow.size(role) for role in flow.lead)
    tensor = flow.reorder((*flow.lead, *axes, *rest)).tensor
    box, width = (tuple(flow.size(k) for k in features) for features in (axes, rest))
    cells = b.reshape(tensor, new_shape=(*lead, count(box), *width))
    taken = b.gather(cells, b.constant(places, "int32", dims), axis=len(lead))
    return LayoutTensor(taken, (*flow.lead, *feature_roles(len(dims) + len(rest))), flow.sequence)


def _scatter_constant(
    b: Builder,
    flow: LayoutTensor,
    updates: LayoutTensor,
    axes: Sequence[int],
    places: Sequence[int],
) -> LayoutTensor:
    """Replace cells of some features."""
    (x, new), lead, sequence = _with_common_lead(b, flow, updates)
    flow = LayoutTensor(x, (*lead, *feature_roles(flow.rank)), sequence)
    order: tuple[Role, ...] = (*lead, *axes, *_others(flow, axes))
    source = flow.reorder(order).tensor
    samples, amount = count(source.shape[: len(lead)]), count(flow.size(k) for k in axes)

    def cells_first(tensor: Tensor, amount: int) -> Tensor:
        rows = b.reshape(tensor, new_shape=(samples, amount, -1))
        return b.transpose(rows, permutation=(1, 0, 2))

    written = b.scatter_nd(
        cells_first(source, amount),
        b.constant(places, "int32", (len(places), 1)),
        cells_first(new, len(places)),
    )
    back = b.reshape(b.transpose(written, permutation=(1, 0, 2)), new_shape=source.shape)
    return LayoutTensor(back, order, sequence).reorder((*lead, *feature_roles(flow.rank)))


# Index tensors.


def _with_common_lead(
    b: Builder, *values: LayoutTensor
) -> tuple[list[Tensor], tuple[Role, ...], str | None]:
    """Return values as tensors with equal leading dimensions, these, and the sequence."""
    lead, sizes = common_lead(values)
    sequence = next((value.sequence for value in values if value.sequence), None)
    return [broadcast_lead(b, value, lead, sizes) for value in values], lead, sequence


def _others(flow: LayoutTensor, axes: Sequence[int]) -> list[int]:
    return [k for k in range(flow.rank) if k not in axes]


def _move_first(flow: LayoutTensor, axes: Sequence[int]) -> LayoutTensor:
    """Return the flow with some features moved before all others."""
    tensor = flow.reorder((*flow.lead, *axes, *_others(flow, axes))).tensor
    return LayoutTensor(tensor, (*flow.lead, *feature_roles(flow.rank)), flow.sequence)


def _with_lead(b: Builder, indices: Tensor, lead: int) -> Tensor:
    """Put the coordinates of samples and positions before those of features."""
    box = indices.shape[:-1]
    columns: list[Tensor] = []
    for axis, size in enumerate(box[:lead]):
        column = b.constant(range(size), indices.dtype, (size, *(1,) * (len(box) - axis)))
        columns.append(b.expand(column, new_shape=(*box, 1)))
    return b.concat([*columns, indices], axis=len(box)) if columns else indices


# Build rules.


def _gather_elements(b: Builder, layer: BuildView) -> LayoutTensor:
    flow, found = layer.operands[0], _elements(layer)
    if layer.options["data"] is not None:
        places = _lines(layer, found, flow.features)
        return _gather_constant(b, flow, range(flow.rank), places, found.sizes())
    (x, indices), lead, sequence = _with_common_lead(b, flow, layer.tensors["indices"])
    taken = b.gather_elements(x, indices, axis=len(lead) + found.axes[0])
    return LayoutTensor(taken, (*lead, *feature_roles(flow.rank)), sequence)


def _gather_nd(b: Builder, layer: BuildView) -> LayoutTensor:
    flow, found = layer.operands[0], _coordinates(layer)
    if layer.options["data"] is not None:
        places = _cells(layer, tuple(flow.size(k) for k in found.axes))
        return _gather_constant(b, flow, found.axes, places, found.sizes())
    source = _move_first(flow, found.axes)
    (x, indices), lead, sequence = _with_common_lead(b, source, layer.tensors["indices"])
    taken = b.gather_nd(x, _with_lead(b, indices, len(lead)))
    return LayoutTensor(taken, (*lead, *feature_roles(taken.rank - len(lead))), sequence)


def _scatter_elements(b: Builder, layer: BuildView) -> LayoutTensor:
    (flow, updates), found = layer.operands, _elements(layer)
    if layer.options["data"] is not None:
        places = _lines(layer, found, flow.features)
        return _scatter_constant(b, flow, updates, range(flow.rank), places)
    operands = (flow, layer.tensors["indices"], updates)
    tensors, lead, sequence = _with_common_lead(b, *operands)
    written = b.scatter_elements(*tensors, axis=len(lead) + found.axes[0])
    return LayoutTensor(written, (*lead, *feature_roles(flow.rank)), sequence)


def _scatter_nd(b: Builder, layer: BuildView) -> LayoutTensor:
    (flow, updates), found = layer.operands, _coordinates(layer)
    if layer.options["data"] is not None:
        places = _cells(layer, tuple(flow.size(k) for k in found.axes))
        return _scatter_constant(b, flow, updates, found.axes, places)
    operands = (_move_first(flow, found.axes), layer.tensors["indices"], updates)
    (x, indices, new), lead, sequence = _with_common_lead(b, *operands)
    written = b.scatter_nd(x, _with_lead(b, indices, len(lead)), new)
    order: tuple[Role, ...] = (*lead, *found.axes, *_others(flow, found.axes))
    return LayoutTensor(written, order, sequence).reorder((*lead, *feature_roles(flow.rank)))


gather_elements_rules = LayerRules(
    slots=(INDICES,),
    options=CONSTANT | AXIS,
    shape=gather_elements_shape,
    build=_gather_elements,
)
gather_nd_rules = LayerRules(
    slots=(INDICES,),
    options=CONSTANT | COORDS,
    shape=gather_nd_shape,
    build=_gather_nd,
)
scatter_elements_rules = LayerRules(
    slots=(UPDATES, INDICES),
    options=CONSTANT | AXIS,
    shape=scatter_elements_shape,
    build=_scatter_elements,
)
scatter_nd_rules = LayerRules(
    slots=(UPDATES, INDICES),
    options=CONSTANT | COORDS,
    shape=scatter_nd_shape,
    build=_scatter_nd,
)
