"""Elements selected and replaced by indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from webnnm.core.shapes import count
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.shaping import (
    arange,
    as_type,
    cut,
    full,
    reshape_to,
    scalar_like,
)
from webnnm.formats.onnx.importing.table import imports
from webnnm.graph.node import Operand


def within(c: Call, indices: Operand, sizes: Sequence[int]) -> Operand:
    """Return indices of an axis, or coordinates along several, in a type that WebNN indexes with.

    Known ones have to exist: devices take the nearest element, ONNX raises an error. Negative ones
    count from the end.
    """
    array = c.b.evaluate(indices)
    if array is not None and count(array.shape):
        values = array.values()
        for axis, size in enumerate(sizes):
            line = values[axis :: len(sizes)]
            lowest, highest = min(line), max(line)
            if lowest < -size or highest >= size:
                wrong = highest if highest >= size else lowest
                raise c.invalid(f"there is no element {wrong} among {size}")
    if indices.dtype in ("int32", "int64", "uint32"):
        return indices
    return as_type(c, indices, "int32")


@imports("Gather")
def gather(c: Call, x: Operand, indices: Operand) -> Operand:
    """Elements selected along an axis."""
    axis = c.axis(c.integer("axis", 0), x.rank)
    return c.b.gather(x, within(c, indices, x.shape[axis : axis + 1]), axis=axis)


@imports("GatherElements")
def gather_elements(c: Call, x: Operand, indices: Operand) -> Operand:
    """Elements selected along an axis, with separate indices for every line."""
    axis = c.axis(c.integer("axis", 0), x.rank)
    return c.b.gather_elements(x, within(c, indices, x.shape[axis : axis + 1]), axis=axis)


@imports("GatherND")
def gather_nd(c: Call, x: Operand, indices: Operand) -> Operand:
    """Slices selected by coordinates, separately within each batch."""
    batch = c.integer("batch_dims", 0)
    if x.shape[:batch] != indices.shape[:batch] or batch < 0:
        raise c.invalid(f"{x} and indices {indices} differ within the first {batch} dimensions")
    indices = within(c, indices, _box(c, x.shape[batch:], indices))
    if not batch:
        return c.b.gather_nd(x, indices)
    # The index in the batch becomes the first coordinate.
    rows = count(x.shape[:batch])
    flat = reshape_to(c, x, (rows, *x.shape[batch:]))
    inner = reshape_to(c, indices, (rows, *indices.shape[batch:]))
    first = reshape_to(c, arange(c, rows, inner.dtype), (rows, *(1,) * (inner.rank - 1)))
    first = c.b.expand(first, new_shape=(*inner.shape[:-1], 1))
    slices = c.b.gather_nd(flat, c.b.concat([first, inner], axis=inner.rank - 1))
    return reshape_to(c, slices, (*x.shape[:batch], *slices.shape[1:]))


def _box(c: Call, shape: Sequence[int], indices: Operand) -> Sequence[int]:
    """Return the sizes of the dimensions that coordinates go along."""
    depth = indices.shape[-1]
    if not 1 <= depth <= len(shape):
        raise c.invalid(f"{depth} coordinates for {len(shape)} dimensions")
    return shape[:depth]


@imports("Scatter", "ScatterElements")
def scatter_elements(c: Call, x: Operand, indices: Operand, updates: Operand) -> Operand:
    """Elements replaced along an axis, or combined with the existing ones."""
    axis, reduction = c.axis(c.integer("axis", 0), x.rank), c.string("reduction", "none")
    if indices.rank != x.rank or any(
        m > n for k, (n, m) in enumerate(zip(x.shape, indices.shape, strict=True)) if k != axis
    ):
        raise c.invalid(f"indices {indices} do not fit {x}")
    indices = within(c, indices, x.shape[axis : axis + 1])
    if reduction == "none":
        return _scatter_corner(c, x, indices, updates, axis)
    # Each update along the axis becomes a tensor of x's shape that says what it adds where.
    size, combine = x.shape[axis], _combination(c, reduction)
    row = reshape_to(c, arange(c, size), [size if k == axis else 1 for k in range(x.rank)])
    targets = _beyond(c, x, indices, axis, as_type(c, indices, "int32"))
    targets = c.b.where(c.b.lesser(targets, scalar_like(c, 0, targets)), targets + size, targets)
    values = _beyond(c, x, indices, axis, updates)
    inside = _beyond(c, x, indices, axis, full(c, 1, "uint8", indices.shape))
    for k in range(_steps(c, indices.shape[axis])):
        index, value, is_update = (_line(c, x, axis, k) for x in (targets, values, inside))
        hit = c.b.logical_and(c.b.equal(row, index), is_update)
        x = c.b.where(hit, combine(x, value), x)
    return x


def _scatter_corner(c: Call, x: Operand, indices: Operand, updates: Operand, axis: int) -> Operand:
    """Return a tensor with elements replaced in the corner that the indices cover."""
    corner_shape = [
        n if k == axis else m for k, (n, m) in enumerate(zip(x.shape, indices.shape, strict=True))
    ]
    corner = cut(c, x, [0] * x.rank, corner_shape)
    replaced = c.b.scatter_elements(corner, indices, updates, axis=axis)
    if corner is x:
        return replaced
    behind = [n - m for n, m in zip(x.shape, corner_shape, strict=True)]
    ones, wide = (
        c.b.pad(part, beginning_padding=[0] * x.rank, ending_padding=behind)
        for part in (full(c, 1, "uint8", corner_shape), replaced)
    )
    return c.b.where(ones, wide, x)


def _beyond(c: Call, x: Operand, indices: Operand, axis: int, y: Operand) -> Operand:
    """Return a tensor of the indices' shape padded with 0 to x's, except along the axis."""
    missing = [
        0 if k == axis else n - m
        for k, (n, m) in enumerate(zip(x.shape, indices.shape, strict=True))
    ]
    if not any(missing):
        return y
    return c.b.pad(y, beginning_padding=[0] * x.rank, ending_padding=missing)


def _line(c: Call, x: Operand, axis: int, k: int) -> Operand:
    starts = [k if axis == other else 0 for other in range(x.rank)]
    sizes = [1 if axis == other else n for other, n in enumerate(x.shape)]
    return c.b.slice(x, starts=starts, sizes=sizes)


def _steps(c: Call, amount: int) -> int:
    if amount > MAX_UPDATES:
        raise c.not_supported(f"it combines {amount} updates, at most {MAX_UPDATES} are supported")
    return amount


MAX_UPDATES = 256
"""How many updates are combined one after the other at most."""


def _combination(c: Call, reduction: str) -> Callable[[Operand, Operand], Operand]:
    methods = {"add": c.b.add, "mul": c.b.mul, "max": c.b.max, "min": c.b.min}
    if reduction not in methods:
        raise c.not_supported(f'there is no reduction "{reduction}"')
    return methods[reduction]


@imports("ScatterND")
def scatter_nd(c: Call, x: Operand, indices: Operand, updates: Operand) -> Operand:
    """Slices replaced by coordinates, or combined with the existing ones."""
    reduction, b = c.string("reduction", "none"), c.b
    indices = within(c, indices, _box(c, x.shape, indices))
    if reduction == "none":
        return b.scatter_nd(x, indices, updates)
    combine, depth = _combination(c, reduction), indices.shape[-1]
    box = x.shape[:depth]
    factors = b.constant([count(box[k + 1 :]) for k in range(depth)], "int32")
    sizes = b.constant(list(box), "int32")
    targets = as_type(c, indices, "int32")
    targets = b.where(b.lesser(targets, scalar_like(c, 0, targets)), targets + sizes, targets)
    flat = reshape_to(c, b.reduce_sum(targets * factors, axes=[indices.rank - 1]), (-1,))
    rows = reshape_to(c, updates, (flat.shape[0], -1))
    cells, cell_index = reshape_to(c, x, (count(box), -1)), arange(c, count(box))
    cell_index = reshape_to(c, cell_index, (count(box), 1))
    for k in range(_steps(c, flat.shape[0])):
        hit = b.equal(cell_index, _line(c, flat, 0, k))
        cells = b.where(hit, combine(cells, _line(c, rows, 0, k)), cells)
    return reshape_to(c, cells, x.shape)


@imports("TensorScatter")
def tensor_scatter(
    c: Call, cache: Operand, update: Operand, begin: Operand | None = None
) -> Operand:
    """A cache with new tokens written from a separate position for every sequence."""
    b, axis = c.b, c.axis(c.integer("axis", -2), cache.rank)
    size, amount = cache.shape[axis], update.shape[axis]
    batch = cache.shape[0]
    first = full(c, 0, "int32", (batch,)) if begin is None else as_type(c, begin, "int32")
    position = reshape_to(c, arange(c, amount), (1, amount)) + reshape_to(c, first, (batch, 1))
    if c.string("mode", "linear") == "circular":
        position = position - b.div(position, scalar_like(c, size, position)) * size
    shape = [n if k in (0, axis) else 1 for k, n in enumerate(update.shape)]
    indices = b.expand(reshape_to(c, position, shape), new_shape=update.shape)
    return b.scatter_elements(cache, indices, update, axis=axis)


@imports("OneHot")
def one_hot(c: Call, indices: Operand, depth: Operand, values: Operand) -> Operand:
    """One value where an index points, another elsewhere."""
    b, size = c.b, int(c.require_scalar(depth, "depth"))
    axis = c.axis(c.integer("axis", -1), indices.rank + 1)
    if size < 1 or values.shape != (2,):
        raise c.invalid(f"a depth of {size}, and {values} for off and on")
    # Indices beyond both ends hit nothing: they must not wrap around in int32.
    inner = as_type(c, b.clamp(indices, min_value=-size - 1, max_value=size), "int32")
    inner = b.where(b.lesser(inner, scalar_like(c, 0, inner)), inner + size, inner)
    row = reshape_to(c, arange(c, size), (size, *(1,) * (indices.rank - axis)))
    shape = (*indices.shape[:axis], 1, *indices.shape[axis:])
    hit = b.equal(reshape_to(c, inner, shape), row)
    off, on = (reshape_to(c, _line(c, values, 0, k), ()) for k in (0, 1))
    return b.where(hit, on, off)


@imports("Compress")
def compress(c: Call, x: Operand, condition: Operand) -> Operand:
    """The elements along an axis, or all of them flattened, for which a known condition holds."""
    selected = [
        k for k, value in enumerate(c.require_values(condition, "its condition").values()) if value
    ]
    if not c.has("axis"):
        x = reshape_to(c, x, (count(x.shape),))
    axis = c.axis(c.integer("axis", 0), x.rank)
    if condition.rank != 1:
        raise c.invalid(f"a condition {condition}")
    selected = [index for index in selected if index < x.shape[axis]]
    if not selected:
        return c.empty(x.dtype, [0 if k == axis else n for k, n in enumerate(x.shape)])
    return c.b.gather(x, c.b.constant(selected, "int32"), axis=axis)


@imports("NonZero")
def non_zero(c: Call, x: Operand) -> Operand:
    """The indices of the elements that are not 0, for known values."""
    values = c.require_values(x, "its operand").values()
    indices: list[list[int]] = [[] for _ in x.shape]
    for offset, value in enumerate(values):
        if value:
            for axis in reversed(range(x.rank)):
                offset, index = divmod(offset, x.shape[axis])
                indices[axis].append(index)
    flat = [index for row in indices for index in row]
    return c.b.constant(flat, "int64", (x.rank, len(flat) // max(1, x.rank)))


@imports("ArrayFeatureExtractor", domain="ai.onnx.ml")
def array_feature_extractor(c: Call, x: Operand, indices: Operand) -> Operand:
    """Elements of the last axis."""
    features = c.b.gather(x, within(c, indices, x.shape[-1:]), axis=x.rank - 1)
    return reshape_to(c, features, (count(x.shape[:-1]), count(indices.shape)))


@imports("Binarizer", domain="ai.onnx.ml")
def binarizer(c: Call, x: Operand) -> Operand:
    """1 above a threshold, otherwise 0."""
    return as_type(c, c.b.greater(x, scalar_like(c, c.number("threshold", 0.0), x)), x.dtype)
