"""Shape rules of layers that gather and scatter: the shapes that follow from indices (spec C.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from webnnm.core.errors import suggestion
from webnnm.core.shapes import count, show
from webnnm.ops.declare import values
from webnnm.ops.declare.feature_rules import axis_or_first, unify_result
from webnnm.ops.declare.features import Dims, Features
from webnnm.ops.declare.layer import BuildView, ShapeView
from webnnm.ops.declare.rules import same_shape

Names = Sequence[str | None]


class IndexTensor(NamedTuple):
    """The feature sizes and the names of a tensor of indices; no sizes while they are unknown."""

    dims: Dims | None = None
    names: Names = ()


class Indexed(NamedTuple):
    """The features that indices address, and the sizes and names of the indices."""

    axes: list[int]
    dims: list[int | None]
    names: Names

    def sizes(self) -> tuple[int, ...]:
        """Return the shape of the indices once it is known."""
        return tuple(size for size in self.dims if size is not None)


def constant_index_shape(
    layer: ShapeView | BuildView, source: Features, coordinates: int = 1
) -> list[int | None]:
    """Return the shape of constant indices: `shape=`, or as many as there are in `data=`.

    A bare name in it inherits the size of the input. Raises NNM115 if the data do not fill it.
    """
    data: Sequence[int] = layer.options["data"]
    requested: values.Sizes | None = layer.options["shape"]
    if requested is None:
        sizes: list[int | None] = [len(data) // coordinates]
    else:
        sizes_by_name = dict(zip(source.names, source.dims or (), strict=True))
        sizes = []
        for name, size in zip(requested.names or requested.sizes, requested.sizes, strict=True):
            if size is not None and (not isinstance(size, int) or size < 1):
                layer.fail("NNM303", "the sizes of indices must be integers from 1", at="shape")
            if size is None and name not in sizes_by_name:
                hint = suggestion(
                    str(name), [dimension for dimension in sizes_by_name if dimension is not None]
                )
                layer.fail("NNM307", f'no dimension "{name}"', at="shape", hint=hint)
            sizes.append(sizes_by_name[str(name)] if size is None else size)
    expected = coordinates * count(size or 0 for size in sizes)
    if None not in sizes and expected != len(data):
        layer.fail("NNM115", f"{expected} indices expected, {len(data)} found", at="data")
    return sizes


def elements(
    layer: ShapeView | BuildView, source: Features, indices: IndexTensor
) -> Indexed | None:
    """Return what indices along an axis address, None while that is not known."""
    if source.dims is None:
        return None
    axis = axis_or_first(layer)
    if not isinstance(axis, int):
        layer.fail("NNM310", "elements are picked along a feature", at="axis")
    if not source.dims:
        layer.fail("NNM405", f"{source} has no dimension to pick from")
    requested: values.Sizes | None = layer.options["shape"]
    dims = indices.dims
    if layer.options["data"] is not None:
        dims = constant_index_shape(layer, source)
    if dims is None:
        return None
    pairs = list(zip(source.dims, dims, strict=False))
    if len(dims) != len(source.dims) or any(
        k != axis and None not in pair and pair[0] != pair[1] for k, pair in enumerate(pairs)
    ):
        layer.fail("NNM410", f"{source} and indices {show(dims)} differ outside axis {axis}")
    names = requested.names if requested is not None and requested.names else source.names
    return Indexed([axis], list(dims), names)


def coordinates(
    layer: ShapeView | BuildView, source: Features, indices: IndexTensor
) -> Indexed | None:
    """Return what indices of coordinates address, None while that is not known.

    The coordinates are those of the features in `coords=`, or of the first ones.
    """
    if source.dims is None:
        return None
    written = layer.options["coords"] is not None
    roles = (layer.axes("coords") or []) if written else range(len(source.dims))
    if not roles:
        layer.fail(
            "NNM405", f"{source}: coordinates must address at least one feature", at="coords"
        )
    axes = [role for role in roles if isinstance(role, int)]
    if len(axes) < len(roles):
        layer.fail("NNM310", "coordinates must be those of features", at="coords")
    dims, names = indices
    if layer.options["data"] is not None:
        requested: values.Sizes | None = layer.options["shape"]
        k = len(axes) if written else _coordinates_each(layer, requested)
        dims = constant_index_shape(layer, source, k)
        names = (None if requested is None else requested.names) or (None,) * len(dims)
    else:
        if dims is None or dims[-1:] == [None]:
            return None
        if not dims:
            layer.fail("NNM405", "indices need a dimension of coordinates", at="indices")
        k, dims, names = dims[-1] or 0, dims[:-1], names[:-1]
    if k > len(axes) or (written and k != len(axes)):
        named = f"the {len(axes)} of coords=" if written else f"the features {source}"
        layer.fail("NNM405", f"{k} coordinates for {named}")
    return Indexed(axes[:k], list(dims), names)


def _coordinates_each(layer: ShapeView | BuildView, requested: values.Sizes | None) -> int:
    """Return the number of coordinates of an index whose features are not named."""
    if requested is None:
        return 1
    amount = count(size for size in requested.sizes if isinstance(size, int))
    return max(1, len(layer.options["data"]) // max(1, amount))


def gather_elements_shape(layer: ShapeView) -> None:
    """Give the result the shape of the indices."""
    _require_indices(layer, "gatherElements")
    indexed = elements(layer, layer.input, _index_tensor(layer))
    if indexed is not None:
        _check_range(layer, indexed)
        unify_result(layer, indexed.dims, indexed.names, _other_sequence(layer))


def gather_nd_shape(layer: ShapeView) -> None:
    """Give the result the shape of the indices, then the features that they do not address."""
    _require_indices(layer, "gatherND")
    indexed = coordinates(layer, layer.input, _index_tensor(layer))
    if indexed is not None:
        _check_range(layer, indexed)
        unify_result(layer, *_selection_dims(indexed, layer.input), _other_sequence(layer))


def scatter_elements_shape(layer: ShapeView) -> None:
    """Give the result the shape of the input, the updates that of the indices."""
    _require_indices(layer, "scatterElements")
    same_shape(layer)
    indexed = elements(layer, layer.input, _index_tensor(layer))
    if indexed is not None:
        _check_range(layer, indexed)
        _check_updates(layer, indexed.dims)


def scatter_nd_shape(layer: ShapeView) -> None:
    """Give the result the shape of the input, the updates that of what the indices address."""
    _require_indices(layer, "scatterND")
    same_shape(layer)
    indexed = coordinates(layer, layer.input, _index_tensor(layer))
    if indexed is not None:
        _check_range(layer, indexed)
        _check_updates(layer, _selection_dims(indexed, layer.input)[0])


def _require_indices(layer: ShapeView, operator: str) -> None:
    if layer.options["data"] is None and "indices" not in layer.tensors:
        layer.fail("NNM304", f'"{operator}" needs data= or indices=')


def _index_tensor(layer: ShapeView) -> IndexTensor:
    indices = layer.tensors.get("indices")
    return IndexTensor() if indices is None else IndexTensor(indices.dims, indices.names)


def _check_range(layer: ShapeView, indexed: Indexed) -> None:
    """Raise for constant indices that are out of range."""
    dims = layer.input.dims or []
    for number, index in enumerate(layer.options["data"] or ()):
        size = dims[indexed.axes[number % len(indexed.axes)]]
        if size is not None and not -size <= index < size:
            layer.fail("NNM308", f"index {index} of {size} elements", at="data")


def _selection_dims(
    indexed: Indexed, source: Features
) -> tuple[list[int | None], list[str | None]]:
    """Return the sizes and names of what coordinates address."""
    dims = source.dims or []
    rest = [k for k in range(len(dims)) if k not in indexed.axes]
    names = [*indexed.names, *(source.names[k] for k in rest)]
    return [*indexed.dims, *(dims[k] for k in rest)], names


def _check_updates(layer: ShapeView, dims: Dims) -> None:
    updates = layer.operands[1]
    if updates.dims is None:
        return
    pairs = zip(updates.dims, dims, strict=False)
    if len(updates.dims) != len(dims) or any(n != m for n, m in pairs if n and m):
        layer.fail("NNM401", f"updates {updates}, but the indices need {show(dims)}")


def _other_sequence(layer: ShapeView) -> str | None:
    """Return the sequence of an index tensor, which the result has if the input has none."""
    if layer.input.sequence is not None:
        return layer.input.sequence
    return next((x.sequence for x in layer.tensors.values() if x.sequence), None)
