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
from webnnm.ops.declare.layout import LEADING, LayoutTensor, Role, feature_roles
from webnnm.ops.declare.leading import broadcast_lead
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor

INDICES = TensorSlot(name="indices", option=True, optional=True, promotes=False)
UPDATES = TensorSlot(name="updates")
CONSTANT = {
    "shape": ValueOption(read=values.sizes),
    "data": ValueOption(read=values.integers),
}
AXIS = {"axis": ValueOption(read=values.one_axis)}
COORDS = {"coords": ValueOption(read=values.axis_names)}


def _index_tensor(layer: BuildView) -> IndexTensor:
    indices = layer.tensors.get("indices")
    return (
        IndexTensor() if indices is None else IndexTensor(indices.features, (None,) * indices.rank)
    )


def _elements(layer: BuildView) -> Indexed:
    indexed = elements(layer, layer.features[0], _index_tensor(layer))
    assert indexed is not None
    return indexed


def _coordinates(layer: BuildView) -> Indexed:
    indexed = coordinates(layer, layer.features[0], _index_tensor(layer))
    assert indexed is not None
    return indexed


# Where constant indices point to.


def _lines(layer: BuildView, indexed: Indexed, features: Shape) -> list[int]:
    """Return the element of all features that each constant index along an axis points to."""
    axis, steps = indexed.axes[0], strides_of(features)
    checks.check_amount(count(indexed.sizes()), f"indices {show(indexed.sizes())}")
    cells = product(*map(range, indexed.sizes()))
    return [
        sum(
            (index % features[axis] if k == axis else position) * steps[k]
            for k, position in enumerate(cell)
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
    b: Builder, source: LayoutTensor, axes: Sequence[int], cell_numbers: Sequence[int], dims: Shape
) -> LayoutTensor:
    """Pick cells of some features."""
    rest = _others(source, axes)
    lead = tuple(source.size(role) for role in source.lead)
    tensor = source.reorder((*source.lead, *axes, *rest)).tensor
    box, width = (tuple(source.size(k) for k in features) for features in (axes, rest))
    cells = b.reshape(tensor, new_shape=(*lead, count(box), *width))
    gathered = b.gather(cells, b.constant(cell_numbers, "int32", dims), axis=len(lead))
    return LayoutTensor(
        gathered, (*source.lead, *feature_roles(len(dims) + len(rest))), source.sequence
    )


def _scatter_constant(
    b: Builder,
    source: LayoutTensor,
    updates: LayoutTensor,
    axes: Sequence[int],
    cell_numbers: Sequence[int],
) -> LayoutTensor:
    """Replace cells of some features."""
    (x, new), lead, sequence = _with_common_lead(b, source, updates)
    source = LayoutTensor(x, (*lead, *feature_roles(source.rank)), sequence)
    order: tuple[Role, ...] = (*lead, *axes, *_others(source, axes))
    ordered = source.reorder(order).tensor
    samples, amount = count(ordered.shape[: len(lead)]), count(source.size(k) for k in axes)

    def cells_first(tensor: Tensor, amount: int) -> Tensor:
        rows = b.reshape(tensor, new_shape=(samples, amount, -1))
        return b.transpose(rows, permutation=(1, 0, 2))

    written = b.scatter_nd(
        cells_first(ordered, amount),
        b.constant(cell_numbers, "int32", (len(cell_numbers), 1)),
        cells_first(new, len(cell_numbers)),
    )
    back = b.reshape(b.transpose(written, permutation=(1, 0, 2)), new_shape=ordered.shape)
    return LayoutTensor(back, order, sequence).reorder((*lead, *feature_roles(source.rank)))


# Index tensors.


def _common_lead(values: Sequence[LayoutTensor]) -> tuple[tuple[Role, ...], Shape]:
    """Return the batch and sequence dimensions that any of the values has, with their sizes.

    Raises NNM411 if sizes differ.
    """
    present = {role for value in values for role in value.lead}
    lead: tuple[Role, ...] = tuple(role for role in LEADING if role in present)
    sizes: list[int] = []
    for role in lead:
        lengths = {value.size(role) for value in values if role in value.layout}
        if len(lengths) > 1:
            both = " and ".join(map(str, sorted(lengths)))
            raise OperatorError("NNM411", f"{role} of {both} elements: the sizes have to agree")
        sizes += lengths
    return lead, tuple(sizes)


def _with_common_lead(
    b: Builder, *values: LayoutTensor
) -> tuple[list[Tensor], tuple[Role, ...], str | None]:
    """Return values as tensors with equal leading dimensions, these, and the sequence."""
    lead, sizes = _common_lead(values)
    sequence = next((value.sequence for value in values if value.sequence), None)
    return [broadcast_lead(b, value, lead, sizes) for value in values], lead, sequence


def _others(source: LayoutTensor, axes: Sequence[int]) -> list[int]:
    return [k for k in range(source.rank) if k not in axes]


def _move_first(source: LayoutTensor, axes: Sequence[int]) -> LayoutTensor:
    """Return the input with some features moved before all others."""
    tensor = source.reorder((*source.lead, *axes, *_others(source, axes))).tensor
    return LayoutTensor(tensor, (*source.lead, *feature_roles(source.rank)), source.sequence)


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
    source, indexed = layer.operands[0], _elements(layer)
    if layer.options["data"] is not None:
        cell_numbers = _lines(layer, indexed, source.features)
        return _gather_constant(b, source, range(source.rank), cell_numbers, indexed.sizes())
    (x, indices), lead, sequence = _with_common_lead(b, source, layer.tensors["indices"])
    gathered = b.gather_elements(x, indices, axis=len(lead) + indexed.axes[0])
    return LayoutTensor(gathered, (*lead, *feature_roles(source.rank)), sequence)


def _gather_nd(b: Builder, layer: BuildView) -> LayoutTensor:
    source, indexed = layer.operands[0], _coordinates(layer)
    if layer.options["data"] is not None:
        cell_numbers = _cells(layer, tuple(source.size(k) for k in indexed.axes))
        return _gather_constant(b, source, indexed.axes, cell_numbers, indexed.sizes())
    moved = _move_first(source, indexed.axes)
    (x, indices), lead, sequence = _with_common_lead(b, moved, layer.tensors["indices"])
    gathered = b.gather_nd(x, _with_lead(b, indices, len(lead)))
    return LayoutTensor(gathered, (*lead, *feature_roles(gathered.rank - len(lead))), sequence)


def _scatter_elements(b: Builder, layer: BuildView) -> LayoutTensor:
    (source, updates), indexed = layer.operands, _elements(layer)
    if layer.options["data"] is not None:
        cell_numbers = _lines(layer, indexed, source.features)
        return _scatter_constant(b, source, updates, range(source.rank), cell_numbers)
    operands = (source, layer.tensors["indices"], updates)
    tensors, lead, sequence = _with_common_lead(b, *operands)
    written = b.scatter_elements(*tensors, axis=len(lead) + indexed.axes[0])
    return LayoutTensor(written, (*lead, *feature_roles(source.rank)), sequence)


def _scatter_nd(b: Builder, layer: BuildView) -> LayoutTensor:
    (source, updates), indexed = layer.operands, _coordinates(layer)
    if layer.options["data"] is not None:
        cell_numbers = _cells(layer, tuple(source.size(k) for k in indexed.axes))
        return _scatter_constant(b, source, updates, indexed.axes, cell_numbers)
    operands = (_move_first(source, indexed.axes), layer.tensors["indices"], updates)
    (x, indices, new), lead, sequence = _with_common_lead(b, *operands)
    written = b.scatter_nd(x, _with_lead(b, indices, len(lead)), new)
    order: tuple[Role, ...] = (*lead, *indexed.axes, *_others(source, indexed.axes))
    return LayoutTensor(written, order, sequence).reorder((*lead, *feature_roles(source.rank)))


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
