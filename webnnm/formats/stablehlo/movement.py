"""Data movement: reshaping, slicing, concatenating, gathering, scattering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webnnm.formats.sizes import Dim, Dims, is_static, static
from webnnm.formats.stablehlo.elementwise import Elementwise
from webnnm.formats.stablehlo.emitter import Value
from webnnm.formats.stablehlo.text import Element, integer, integers


@dataclass
class Movement(Elementwise):
    """An emitter of operations that move elements."""

    def reshape(self, x: Value, shape: Sequence[Dim]) -> Value:
        """Return the elements in another shape."""
        shape = tuple(shape)
        if x.shape == shape:
            return x
        if is_static(shape):
            return self.one("stablehlo.reshape", [x], x.dtype, shape)
        return self.one("stablehlo.dynamic_reshape", [x, self.sizes(shape)], x.dtype, shape)

    def broadcast(self, x: Value, shape: Sequence[Dim], axes: Sequence[int] | None = None) -> Value:
        """Return a tensor broadcast to a shape; `axes` says where its dimensions go."""
        return self.broadcast_in_dim(x, tuple(shape), axes)

    def transpose(self, x: Value, permutation: Sequence[int]) -> Value:
        """Return a tensor with its dimensions in another order."""
        if tuple(permutation) == tuple(range(x.rank)):
            return x
        shape = tuple(x.shape[k] for k in permutation)
        written = integers(permutation)
        return self.one("stablehlo.transpose", [x], x.dtype, shape, permutation=written)

    def reverse(self, x: Value, axes: Sequence[int]) -> Value:
        """Return a tensor reversed along axes."""
        if not axes:
            return x
        return self.one("stablehlo.reverse", [x], x.dtype, x.shape, dimensions=integers(axes))

    def slice(
        self,
        x: Value,
        starts: Sequence[Dim],
        sizes: Sequence[Dim],
        strides: Sequence[int] | None = None,
    ) -> Value:
        """Return a slice of `sizes` elements from `starts`, every stride-th of them."""
        steps = strides or [1] * x.rank
        shape = tuple(-(-size // step) for size, step in zip(sizes, steps, strict=True))
        if shape == x.shape:
            return x
        limits = [start + size for start, size in zip(starts, sizes, strict=True)]
        if is_static([*starts, *limits]):
            written = {
                "start_indices": integers(static(n, "a start") for n in starts),
                "limit_indices": integers(static(n, "a limit") for n in limits),
            }
            return self.one(
                "stablehlo.slice", [x], x.dtype, shape, **written, strides=integers(steps)
            )
        operands = [x, self.sizes(starts), self.sizes(limits), self.sizes(steps)]
        return self.one("stablehlo.real_dynamic_slice", operands, x.dtype, shape)

    def cut(self, x: Value, axis: int, start: Dim, size: Dim) -> Value:
        """Return a slice along an axis."""
        starts = [start if k == axis else 0 for k in range(x.rank)]
        sizes = [size if k == axis else n for k, n in enumerate(x.shape)]
        return self.slice(x, starts, sizes)

    def concatenate(self, parts: Sequence[Value], axis: int) -> Value:
        """Return tensors concatenated along an axis."""
        if len(parts) == 1:
            return parts[0]
        first, total = parts[0], parts[0].shape[axis]
        for part in parts[1:]:
            total = total + part.shape[axis]
        shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
        name = "stablehlo.concatenate"
        return self.one(name, parts, first.dtype, shape, dimension=integer(axis))

    def pad(self, x: Value, low: Sequence[Dim], high: Sequence[Dim], value: float = 0) -> Value:
        """Return a tensor padded with a value at both ends; negative padding crops."""
        if not any([*low, *high]):
            return x
        sides = zip(x.shape, low, high, strict=True)
        shape = tuple(size + before + after for size, before, after in sides)
        filling, nothing = self.constant(value, x.dtype), [0] * x.rank
        if is_static([*low, *high]):
            written = {
                "edge_padding_low": integers(static(n, "a padding") for n in low),
                "edge_padding_high": integers(static(n, "a padding") for n in high),
                "interior_padding": integers(nothing),
            }
            return self.one("stablehlo.pad", [x, filling], x.dtype, shape, **written)
        operands = [x, filling, *map(self.sizes, (low, high, nothing))]
        return self.one("stablehlo.dynamic_pad", operands, x.dtype, shape)

    def iota(self, shape: Sequence[Dim], axis: int, dtype: Element) -> Value:
        """Return the index of each element along an axis."""
        shape, written = tuple(shape), integer(axis)
        if is_static(shape):
            return self.one("stablehlo.iota", [], dtype, shape, iota_dimension=written)
        operands = [self.sizes(shape)]
        return self.one("stablehlo.dynamic_iota", operands, dtype, shape, iota_dimension=written)

    def take(self, x: Value, indices: Value, axis: int) -> Value:
        """Return the elements at int32 indices along an axis; the indices replace that axis."""
        k = indices.rank
        shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
        offsets = [d for d in range(len(shape)) if not axis <= d < axis + k]
        sizes = [1 if d == axis else n for d, n in enumerate(x.shape)]
        numbers = _gathering(offsets, [axis], [axis], k)
        return self._gather(x, indices, numbers, sizes, shape)

    def take_nd(self, x: Value, indices: Value) -> Value:
        """Return the elements or slices at int32 coordinates: the last dimension of `indices`."""
        depth = static(indices.shape[-1], "the number of coordinates")
        shape = (*indices.shape[:-1], *x.shape[depth:])
        offsets = range(indices.rank - 1, len(shape))
        sizes = [1 if d < depth else n for d, n in enumerate(x.shape)]
        axes = range(depth)
        numbers = _gathering(offsets, axes, axes, indices.rank - 1)
        return self._gather(x, indices, numbers, sizes, shape)

    def put_nd(self, x: Value, indices: Value, updates: Value) -> Value:
        """Return `x` with elements or slices at int32 coordinates replaced, by the last of ties."""
        depth = static(indices.shape[-1], "the number of coordinates")
        axes = range(depth)
        dimensions = {
            "update_window_dims": range(indices.rank - 1, updates.rank),
            "inserted_window_dims": axes,
            "scatter_dims_to_operand_dims": axes,
        }

        def return_update(_: Value, new: Value) -> list[Value]:
            return [new]

        scalar = (x.dtype, ())
        return self.one(
            "stablehlo.scatter",
            [x, indices, updates],
            x.dtype,
            x.shape,
            self.region([scalar, scalar], return_update),
            scatter_dimension_numbers=_numbers("scatter", dimensions, indices.rank - 1),
            indices_are_sorted="false",
            unique_indices="false",
        )

    def update_row(self, x: Value, update: Value, index: Value) -> Value:
        """Return `x` with the slice at an int32 index of its first axis replaced."""
        rows = self.reshape(update, (1, *update.shape))
        starts = [index, *[self.constant(0, "int32")] * update.rank]
        name = "stablehlo.dynamic_update_slice"
        return self.one(name, [x, rows, *starts], x.dtype, x.shape)

    def coordinates(self, indices: Value, sizes: Sequence[Dim]) -> Value:
        """Return coordinates, the last dimension of `indices`, as int32 clamped to their axes."""
        columns = [
            self.inside(self.cut(indices, indices.rank - 1, axis, 1), size)
            for axis, size in enumerate(sizes)
        ]
        return self.concatenate(columns, indices.rank - 1)

    def along(self, indices: Value, axis: int, size: Dim) -> Value:
        """Return the full coordinates of indices along an axis, one for each element."""
        shape = (*indices.shape, 1)
        columns = [
            self.reshape(self.inside(indices, size), shape)
            if k == axis
            else self.iota(shape, k, "int32")
            for k in range(indices.rank)
        ]
        return self.concatenate(columns, indices.rank)

    def _gather(
        self, x: Value, indices: Value, numbers: str, sizes: Sequence[Dim], shape: Dims
    ) -> Value:
        attributes = {"dimension_numbers": numbers, "indices_are_sorted": "false"}
        if is_static(sizes):
            attributes["slice_sizes"] = integers(static(n, "a slice") for n in sizes)
            return self.one("stablehlo.gather", [x, indices], x.dtype, shape, **attributes)
        operands = [x, indices, self.sizes(sizes)]
        return self.one("stablehlo.dynamic_gather", operands, x.dtype, shape, **attributes)


def _gathering(
    offsets: Sequence[int], collapsed: Sequence[int], starts: Sequence[int], vector: int
) -> str:
    listed = {
        "offset_dims": offsets,
        "collapsed_slice_dims": collapsed,
        "start_index_map": starts,
    }
    return _numbers("gather", listed, vector)


def _numbers(kind: str, dimensions: Mapping[str, Sequence[int]], vector: int) -> str:
    """Return dimension numbers; empty lists are not written."""
    parts = [f"{name} = {list(dims)}" for name, dims in dimensions.items() if len(dims)]
    return f"#stablehlo.{kind}<{', '.join([*parts, f'index_vector_dim = {vector}'])}>"
