"""Elements picked along an axis by indices."""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import count
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.algebra import zeros_like
from webnnm.ops.declare.feature_rules import axis_or_first, unify_result
from webnnm.ops.declare.features import Features
from webnnm.ops.declare.indices import (
    INDEX_TYPES,
    constant_positions,
    distinct,
    wrap_array,
    wrap_indices,
    wrap_to_int32,
)
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, TensorSlot, ValueOption
from webnnm.ops.declare.layout import LayoutTensor, Role, feature_roles
from webnnm.ops.declare.operator import Operator, Option, Slot, sample
from webnnm.ops.declare.tensors import Builder, Tensor, TensorType


def _infer(x: TensorType, indices: TensorType, *, axis: int) -> TensorType:
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    return TensorType(x.dtype, shape)


def _gradient(
    b: Builder, g: Tensor, _y: Tensor, x: Tensor, indices: Tensor, *, axis: int
) -> list[Tensor | None]:
    n = x.shape[axis]
    k = indices.rank
    picked = range(axis, axis + k)
    rest = [d for d in range(g.rank) if d not in picked]
    rows = b.reshape(
        b.transpose(g, permutation=(*picked, *rest)), new_shape=(count(indices.shape), -1)
    )
    places = constant_positions(indices, [n])
    if places is not None and distinct(places):
        column = b.constant(places, "int32", (len(places), 1))
        total = b.scatter_nd(zeros_like(b, rows, (n, rows.shape[1])), column, rows)
    else:
        # WebNN has no scatter-add: rows are added up by a product with a one-hot matrix.
        flat = b.cast(wrap_to_int32(b, b.reshape(indices, new_shape=(1, -1)), n), type="float32")
        differences = b.constant(range(n), "float32", (n, 1)) - flat
        # 1 − |difference|, but not below 0: it touches less memory than a comparison and a cast.
        chosen = b.relu(1 - b.abs(differences))
        total = b.matmul(b.cast(chosen, type=g.dtype), rows)
    sizes = (n, *(size for d, size in enumerate(x.shape) if d != axis))
    back = (*range(1, axis + 1), 0, *range(axis + 1, x.rank))
    return [b.transpose(b.reshape(total, new_shape=sizes), permutation=back), None]


def _reference(np: Any, x: Any, indices: Any, *, axis: int) -> Any:
    return np.take(x, wrap_array(np, indices, x.shape[axis]), axis=axis)


def _positions(layer: ShapeView | BuildView) -> list[tuple[Role, Any]]:
    """Return (dimension, position) for the forms `shape={dimension: position}`.

    Features come from the last to the first: dropping one does not change the index of the next.
    """
    requested: values.Sizes = layer.options["shape"]
    if requested.names is None:
        layer.fail("NNM304", '"gather" needs data= or indices=, or positions by name')
    pairs = zip(layer.axes("shape") or [], requested.sizes, strict=True)
    return sorted(pairs, key=lambda p: p[0] if isinstance(p[0], int) else -1, reverse=True)


def _shape(layer: ShapeView) -> None:
    source = layer.input
    if source.dims is None:
        return
    dims: list[int | None] = list(source.dims)
    names = list(source.names)
    sequence = source.sequence
    if layer.options["data"] is not None or "indices" in layer.tensors:
        if layer.options["data"] is not None:
            index = _constant_shape(layer, source)
            requested: values.Sizes | None = layer.options["shape"]
            index_names = (None if requested is None else requested.names) or (None,) * len(index)
        else:
            indices = layer.tensors["indices"]
            if indices.dims is None:
                return
            index, index_names = indices.dims, indices.names
            sequence = sequence or indices.sequence
        axis = axis_or_first(layer)
        if not dims and isinstance(axis, int):
            hint = "pick before the last dimension is gone, or give it one by unsqueeze()"
            layer.fail("NNM405", f"{source} has no dimension to pick from", at="axis", hint=hint)
        _check_range(layer, axis)
        at = axis if isinstance(axis, int) else 0
        removed = 1 if isinstance(axis, int) else 0
        dims[at : at + removed] = index
        names[at : at + removed] = index_names
        sequence = None if axis == "sequence" else sequence
    elif layer.options["shape"] is not None:
        sequence = _pick(layer, dims, names, sequence)
    else:
        layer.fail("NNM304", '"gather" needs data=, indices= or shape=')
    unify_result(layer, dims, names, sequence)


def _pick(layer: ShapeView, dims: list[Any], names: list[Any], sequence: str | None) -> str | None:
    """Apply the position forms to dims and names; return the sequence that is left."""
    # Gathers in training name no positions: imported where a text does.
    from webnnm.ops.declare.sequence_elements import share

    keep = layer.options["keep_dimensions"]
    for axis, position in _positions(layer):
        single = isinstance(position, int)
        if axis == "sequence":
            if single and not keep:
                sequence = None
        elif isinstance(axis, int):
            size = dims[axis]
            if single and size is not None and not -size <= position < size:
                layer.fail("NNM308", f"position {position} of {size}", at="shape")
            if single and not keep:
                del dims[axis], names[axis]
            elif size is not None:
                dims[axis] = 1 if single else share(size, position)
    return sequence


def _check_range(layer: ShapeView, axis: Role) -> None:
    data = layer.options["data"]
    size = layer.input.dims[axis] if isinstance(axis, int) and layer.input.dims else None
    if data and size is not None:
        wrong = next((index for index in data if not -size <= index < size), None)
        if wrong is not None:
            layer.fail("NNM308", f"index {wrong} of {size} elements", at="data")


def _constant_shape(layer: ShapeView | BuildView, source: Features) -> list[int | None]:
    # Gathers in training have no constant indices: their rules are imported where a text has some.
    from webnnm.ops.declare.index_shapes import constant_index_shape

    return constant_index_shape(layer, source)


def _build(builder: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0].canonical()
    if layer.options["data"] is not None:
        sizes = [size or 0 for size in _constant_shape(layer, layer.features[0])]
        data = layer.options["data"]
        axis = axis_or_first(layer)
        length = source.size(axis)
        wrong = next((index for index in data if not -length <= index < length), None)
        if wrong is not None:
            layer.fail("NNM308", f"index {wrong} of {length} elements", at="data")
        if axis == "sequence" and source.mask is not None and min(data) < 0:
            from webnnm.ops.declare.sequence_elements import from_the_end

            return from_the_end(builder, source, data, tuple(sizes))
        indices = builder.constant([i % length for i in data], "int32", sizes)
        return _replace_axis(builder, source, LayoutTensor(indices, tuple(range(len(sizes)))), axis)
    if "indices" in layer.tensors:
        indices, axis = layer.tensors["indices"].canonical(), axis_or_first(layer)
        if source.mask is not None and axis == "batch":
            hint = "pick before the rows have a sequence"
            layer.fail("NNM310", "padded rows cannot be reordered", at="axis", hint=hint)
        if source.mask is not None and axis == "sequence":
            from webnnm.ops.declare.sequence_elements import within_rows

            indices = within_rows(builder, indices, source.mask)
        return _replace_axis(builder, source, indices, axis)
    for axis, position in _positions(layer):
        source = _at_position(builder, layer, source, axis, position)
    return source


def _at_position(
    builder: Builder, layer: BuildView, source: LayoutTensor, axis: Role, position: Any
) -> LayoutTensor:
    from webnnm.ops.declare.sequence_elements import at_valid_position, share

    length = source.size(axis)
    like = layer.tensors.get(str(getattr(position, "function", "")))
    if isinstance(position, int) and not -length <= position < length:
        layer.fail("NNM308", f"position {position} of {length}", at="shape")
    fixed = isinstance(position, int) and position >= 0 and not layer.options["keep_dimensions"]
    if not fixed and any(value is not None and value.mask is not None for value in (source, like)):
        if axis == "sequence":
            return at_valid_position(builder, layer, source, position, like)
        if like is not None and like.mask is not None:
            layer.fail(
                "NNM411", "a feature has one size, but the rows have different lengths", at="shape"
            )
    if isinstance(position, int):
        shape = (1,) if layer.options["keep_dimensions"] else ()
        indices = builder.constant([position % length], "int32", shape)
        if not shape:
            return _replace_axis(builder, source, LayoutTensor(indices, ()), axis)
    else:
        n = share(length, position) if like is None else like.size("sequence")
        checks.check_amount(n, f"{n} of {length} elements")
        indices = builder.constant([i * length // n for i in range(n)], "int32")
    tensor = builder.gather(source.tensor, indices, axis=source.position(axis))
    return source.with_tensor(tensor)


# Along any axis.


def _replace_axis(
    b: Builder, source: LayoutTensor, indices: LayoutTensor, axis: Role
) -> LayoutTensor:
    """Replace an axis of the input with the dimensions of the indices."""
    position = source.position(axis)
    before = axis if isinstance(axis, int) else 0
    rank = source.rank - isinstance(axis, int) + indices.rank
    lead: tuple[Role, ...] = tuple(role for role in source.lead if role != axis)
    if indices.lead and lead:
        return _per_sample(b, source, indices, axis, lead)
    tensor = b.gather(source.tensor, indices.tensor, axis=position)
    order: list[Any] = [
        _feature_index(role, axis, indices.rank) if isinstance(role, int) else role
        for role in source.layout
        if role != axis
    ]
    order[position:position] = [*indices.lead, *(before + k for k in range(indices.rank))]
    sequence, mask = source.sequence, source.mask
    if "sequence" not in lead:
        sequence, mask = indices.sequence, indices.mask
    return LayoutTensor(tensor, tuple(order), sequence, mask).reorder(
        (lead or indices.lead) + feature_roles(rank)
    )


def _feature_index(feature: int, axis: Role, index_rank: int) -> int:
    """Return the position of another feature once the indices have replaced the axis."""
    if isinstance(axis, int):
        return feature if feature < axis else feature - 1 + index_rank
    return feature + index_rank


def _per_sample(
    b: Builder, source: LayoutTensor, indices: LayoutTensor, axis: Role, lead: tuple[Any, ...]
) -> LayoutTensor:
    """Gather with different indices for every sample: one gather over the rows of all samples."""
    n = source.size(axis)
    features = [k for k in range(source.rank) if k != axis]
    own_axis: tuple[Role, ...] = (axis,)
    rows = source.reorder((*lead, *own_axis, *features))
    sizes = [source.size(role) for role in lead]
    samples = count(sizes)
    flat = b.reshape(rows.tensor, new_shape=(samples * n, *(source.size(k) for k in features)))
    own = [indices.size(role) if role in indices.lead else 1 for role in lead]
    wide = b.reshape(wrap_indices(b, indices.tensor, n), new_shape=(*own, *indices.features))
    wide = b.expand(wide, new_shape=(*sizes, *indices.features))
    starts = [n * i for i in range(samples)]
    offsets = b.constant(starts, indices.tensor.dtype, (*sizes, *(1,) * indices.rank))
    gathered = b.gather(flat, wide + offsets, axis=0)
    before = axis if isinstance(axis, int) else 0
    order: list[Any] = [*lead, *(before + k for k in range(indices.rank))]
    order += [_feature_index(k, axis, indices.rank) for k in features]
    rank = len(order) - len(lead)
    return LayoutTensor(gathered, tuple(order), source.sequence).reorder((*lead, *range(rank)))


def _stablehlo(h: Any, x: Any, indices: Any, *, axis: int) -> Any:
    return h.take(x, h.inside(indices, x.shape[axis]), axis)


gather = Operator(
    name="gather",
    summary="elements picked along an axis by indices",
    operands=(Slot(name="input", ranks=(1, None)), Slot(name="indices", dtypes=INDEX_TYPES)),
    options={"axis": Option(0, checks.axis)},
    infer=_infer,
    gradient=_gradient,
    reference=_reference,
    stablehlo=_stablehlo,
    batch="gather",
    layer=LayerRules(
        slots=(TensorSlot(name="indices", option=True, optional=True, promotes=False),),
        options={
            "shape": ValueOption(read=values.sizes),
            "data": ValueOption(read=values.integers),
            "axis": ValueOption(read=values.one_axis),
            "keep_dimensions": ValueOption(read=values.boolean, default=False),
        },
        shape=_shape,
        build=_build,
    ),
    traits=frozenset({"choosing", "lookup"}),
    samples=(
        sample((4, 3), (2,), values=(None, [1, 3]), dtypes=("float32", "int32")),
        sample(
            (2, 3, 2), (2, 2), values=(None, [[0, 2], [-1, 0]]), dtypes=("float32", "int32"), axis=1
        ),
    ),
)
