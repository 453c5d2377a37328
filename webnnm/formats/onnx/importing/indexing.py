"""Elements selected and replaced by indices."""

from __future__ import annotations

from collections.abc import Callable

from webnnm.core.shapes import count
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.shaping import as_type, full, number, places, reshaped
from webnnm.formats.onnx.importing.table import imports
from webnnm.graph.node import Operand


@imports("Gather")
def gather(c: Call, x: Operand, indices: Operand) -> Operand:
    """Elements selected along an axis."""
    return c.b.gather(x, _indices(c, indices), axis=c.axis(c.integer("axis", 0), x.rank))


@imports("GatherElements")
def gather_elements(c: Call, x: Operand, indices: Operand) -> Operand:
    """Elements selected along an axis, with separate indices for every line."""
    axis = c.axis(c.integer("axis", 0), x.rank)
    return c.b.gather_elements(x, _indices(c, indices), axis=axis)


def _indices(c: Call, indices: Operand) -> Operand:
    return (
        indices if indices.dtype in ("int32", "int64", "uint32") else as_type(c, indices, "int32")
    )


@imports("GatherND")
def gather_nd(c: Call, x: Operand, indices: Operand) -> Operand:
    """Slices selected by coordinates, separately within each batch."""
    batch = c.integer("batch_dims", 0)
    if not batch:
        return c.b.gather_nd(x, indices)
    # The index in the batch becomes the first coordinate.
    rows = count(x.shape[:batch])
    flat = reshaped(c, x, (rows, *x.shape[batch:]))
    inner = reshaped(c, indices, (rows, *indices.shape[batch:]))
    first = reshaped(c, places(c, rows, inner.dtype), (rows, *(1,) * (inner.rank - 1)))
    first = c.b.expand(first, new_shape=(*inner.shape[:-1], 1))
    found = c.b.gather_nd(flat, c.b.concat([first, inner], axis=inner.rank - 1))
    return reshaped(c, found, (*x.shape[:batch], *found.shape[1:]))


@imports("Scatter", "ScatterElements")
def scatter_elements(c: Call, x: Operand, indices: Operand, updates: Operand) -> Operand:
    """Elements replaced along an axis, or combined with the existing ones."""
    axis, word = c.axis(c.integer("axis", 0), x.rank), c.word("reduction", "none")
    if word == "none":
        return c.b.scatter_elements(x, indices, updates, axis=axis)
    # Each update along the axis becomes a tensor of x's shape that says what it adds where.
    size, combine = x.shape[axis], _combination(c, word)
    row = reshaped(c, places(c, size), [size if k == axis else 1 for k in range(x.rank)])
    ahead = _beyond(c, x, indices, axis, as_type(c, indices, "int32"))
    ahead = c.b.where(c.b.lesser(ahead, number(c, 0, ahead)), ahead + size, ahead)
    values = _beyond(c, x, indices, axis, updates)
    inside = _beyond(c, x, indices, axis, full(c, 1, "uint8", indices.shape))
    for k in range(_steps(c, indices.shape[axis])):
        index, value, there = (_line(c, each, axis, k) for each in (ahead, values, inside))
        hit = c.b.logical_and(c.b.equal(row, index), there)
        x = c.b.where(hit, combine(x, value), x)
    return x


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
    if amount > MOST_COMBINED:
        raise c.unsupported(f"it combines {amount} updates, at most {MOST_COMBINED} are supported")
    return amount


MOST_COMBINED = 256
"""How many updates are combined one after the other at most."""


def _combination(c: Call, word: str) -> Callable[[Operand, Operand], Operand]:
    methods = {"add": c.b.add, "mul": c.b.mul, "max": c.b.max, "min": c.b.min}
    if word not in methods:
        raise c.unsupported(f'there is no reduction "{word}"')
    return methods[word]


@imports("ScatterND")
def scatter_nd(c: Call, x: Operand, indices: Operand, updates: Operand) -> Operand:
    """Slices replaced by coordinates, or combined with the existing ones."""
    word, b = c.word("reduction", "none"), c.b
    if word == "none":
        return b.scatter_nd(x, indices, updates)
    combine, depth = _combination(c, word), indices.shape[-1]
    box = x.shape[:depth]
    factors = b.constant([count(box[k + 1 :]) for k in range(depth)], "int32")
    sizes = b.constant(list(box), "int32")
    ahead = as_type(c, indices, "int32")
    ahead = b.where(b.lesser(ahead, number(c, 0, ahead)), ahead + sizes, ahead)
    flat = reshaped(c, b.reduce_sum(ahead * factors, axes=[indices.rank - 1]), (-1,))
    rows = reshaped(c, updates, (flat.shape[0], -1))
    found, cell = reshaped(c, x, (count(box), -1)), places(c, count(box))
    cell = reshaped(c, cell, (count(box), 1))
    for k in range(_steps(c, flat.shape[0])):
        hit = b.equal(cell, _line(c, flat, 0, k))
        found = b.where(hit, combine(found, _line(c, rows, 0, k)), found)
    return reshaped(c, found, x.shape)


@imports("TensorScatter")
def tensor_scatter(
    c: Call, cache: Operand, update: Operand, begin: Operand | None = None
) -> Operand:
    """A cache with new tokens written from a separate position for every sequence."""
    b, axis = c.b, c.axis(c.integer("axis", -2), cache.rank)
    size, amount = cache.shape[axis], update.shape[axis]
    batch = cache.shape[0]
    first = full(c, 0, "int32", (batch,)) if begin is None else as_type(c, begin, "int32")
    place = reshaped(c, places(c, amount), (1, amount)) + reshaped(c, first, (batch, 1))
    if c.word("mode", "linear") == "circular":
        place = place - b.div(place, number(c, size, place)) * size
    shape = [n if k in (0, axis) else 1 for k, n in enumerate(update.shape)]
    indices = b.expand(reshaped(c, place, shape), new_shape=update.shape)
    return b.scatter_elements(cache, indices, update, axis=axis)


@imports("OneHot")
def one_hot(c: Call, indices: Operand, depth: Operand, values: Operand) -> Operand:
    """One value where an index points, another elsewhere."""
    b, size = c.b, int(c.scalar(depth, "depth"))
    axis = c.axis(c.integer("axis", -1), indices.rank + 1)
    inner = b.cast(indices, type="int32")
    inner = b.where(b.lesser(inner, number(c, 0, inner)), inner + size, inner)
    row = reshaped(c, places(c, size), (size, *(1,) * (indices.rank - axis)))
    shape = (*indices.shape[:axis], 1, *indices.shape[axis:])
    hit = b.equal(reshaped(c, inner, shape), row)
    off, on = (reshaped(c, _line(c, values, 0, k), ()) for k in (0, 1))
    return b.where(hit, on, off)


@imports("Compress")
def compress(c: Call, x: Operand, condition: Operand) -> Operand:
    """The elements along an axis, or all of them flattened, for which a known condition holds."""
    places = [k for k, value in enumerate(c.known(condition, "its condition").values()) if value]
    if not c.has("axis"):
        x = reshaped(c, x, (count(x.shape),))
    axis = c.axis(c.integer("axis", 0), x.rank)
    if not places:
        return c.empty(x.dtype, [0 if k == axis else n for k, n in enumerate(x.shape)])
    return c.b.gather(x, c.b.constant(places, "int32"), axis=axis)


@imports("NonZero")
def non_zero(c: Call, x: Operand) -> Operand:
    """The indices of the elements that are not 0, for known values."""
    values = c.known(x, "its operand").values()
    found: list[list[int]] = [[] for _ in x.shape]
    for place, value in enumerate(values):
        if value:
            for axis in reversed(range(x.rank)):
                place, index = divmod(place, x.shape[axis])
                found[axis].append(index)
    flat = [index for row in found for index in row]
    return c.b.constant(flat, "int64", (x.rank, len(flat) // max(1, x.rank)))


@imports("ArrayFeatureExtractor", domain="ai.onnx.ml")
def array_feature_extractor(c: Call, x: Operand, indices: Operand) -> Operand:
    """Elements of the last axis."""
    found = c.b.gather(x, _indices(c, indices), axis=x.rank - 1)
    return reshaped(c, found, (count(x.shape[:-1]), count(indices.shape)))


@imports("Binarizer", domain="ai.onnx.ml")
def binarizer(c: Call, x: Operand) -> Operand:
    """1 above a threshold, otherwise 0."""
    return as_type(c, c.b.greater(x, number(c, c.number("threshold", 0.0), x)), x.dtype)
