"""The result types of operations that move or combine elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from webnnm.formats.stablehlo.reader import Read, Tensor, alike

Signature = Callable[[Read], None]
Sizes = Sequence[int | None]


def _expect(operation: Read, result: Tensor, shape: Sizes, element: str) -> None:
    """Raise an error for a result of another type."""
    if not result.fits(Tensor(tuple(shape), element)):
        operation.fail(f"its result is {Tensor(tuple(shape), element)}, not {result}")


def _dims(operation: Read, name: str, rank: int) -> list[int]:
    """Return an attribute of distinct dimensions of a tensor of a rank."""
    axes = operation.integers(name)
    if len(set(axes)) != len(axes) or not all(0 <= axis < rank for axis in axes):
        operation.fail(f"{name} {axes} are not dimensions of a tensor of rank {rank}")
    return axes


def _vector(operation: Read, operand: Tensor, length: int) -> None:
    """Raise an error for anything but a vector of this many sizes."""
    if not operand.fits(Tensor((length,), "i32")):
        operation.fail(f"{operand} is not a vector of {length} sizes")


def _iota(operation: Read) -> None:
    (result,) = operation.results
    _dims(operation, "iota_dimension", result.rank)
    for operand in operation.operands:
        _vector(operation, operand, result.rank)
    if not operation.operands and None in result.shape:
        operation.fail("its size is open")


def _broadcast(operation: Read) -> None:
    x, *sizes = operation.operands
    (result,) = operation.results
    axes = _dims(operation, "broadcast_dimensions", result.rank)
    for operand in sizes:
        _vector(operation, operand, result.rank)
    if len(axes) != x.rank or x.element != result.element:
        operation.fail(f"{x} does not broadcast to {result}")
    for size, axis in zip(x.shape, axes, strict=True):
        if size not in (1, None) and result.shape[axis] not in (size, None):
            operation.fail(f"{size} cells of {x} do not become {result.shape[axis]}")


def _reshape(operation: Read) -> None:
    x, *sizes = operation.operands
    (result,) = operation.results
    for operand in sizes:
        _vector(operation, operand, result.rank)
    counts = [prod(size for size in shape if size is not None) for shape in (x.shape, result.shape)]
    are_static = None not in (*x.shape, *result.shape)
    if x.element != result.element or (are_static and counts[0] != counts[1]):
        operation.fail(f"the elements of {x} do not fill {result}")


def _transpose(operation: Read) -> None:
    (x,), (result,) = operation.operands, operation.results
    order = _dims(operation, "permutation", x.rank)
    if len(order) != x.rank:
        operation.fail(f"{order} is not a permutation of {x.rank} dimensions")
    _expect(operation, result, [x.shape[axis] for axis in order], x.element)


def _reverse(operation: Read) -> None:
    (x,), (result,) = operation.operands, operation.results
    _dims(operation, "dimensions", x.rank)
    _expect(operation, result, x.shape, x.element)


def _slice(operation: Read) -> None:
    (x,), (result,) = operation.operands, operation.results
    names = ("start_indices", "limit_indices", "strides")
    starts, limits, strides = (operation.integers(name) for name in names)
    if not len(starts) == len(limits) == len(strides) == x.rank:
        operation.fail(f"its slice does not have {x.rank} dimensions")
    shape: list[int | None] = []
    for size, start, limit, stride in zip(x.shape, starts, limits, strides, strict=True):
        if not 0 <= start <= limit or (size is not None and limit > size) or stride < 1:
            operation.fail(f"{start} … {limit} is not within {size}")
        shape.append(-(-(limit - start) // stride))
    _expect(operation, result, shape, x.element)


def _dynamic_slice(operation: Read) -> None:
    x, *box = operation.operands
    (result,) = operation.results
    for operand in box:
        _vector(operation, operand, x.rank)
    _expect(operation, result, [None] * x.rank, x.element)


def _concatenate(operation: Read) -> None:
    (result,), first = operation.results, operation.operands[0]
    (axis,) = _dims(operation, "dimension", first.rank)
    total = 0
    for part in operation.operands:
        _expect(
            operation, part, [*first.shape[:axis], None, *first.shape[axis + 1 :]], first.element
        )
        size = part.shape[axis]
        total = None if total is None or size is None else total + size
    _expect(
        operation, result, [*first.shape[:axis], total, *first.shape[axis + 1 :]], first.element
    )


def _pad(operation: Read) -> None:
    x, value = operation.operands
    (result,) = operation.results
    if value != Tensor((), x.element):
        operation.fail(f"{value} does not match {x}")
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    low, high, inner = (operation.integers(name) for name in names)
    if not len(low) == len(high) == len(inner) == x.rank:
        operation.fail(f"its padding does not have {x.rank} dimensions")
    shape = [
        None if size is None else size + before + after + between * max(size - 1, 0)
        for size, before, after, between in zip(x.shape, low, high, inner, strict=True)
    ]
    _expect(operation, result, shape, x.element)


def _dynamic_pad(operation: Read) -> None:
    x, value, *sides = operation.operands
    (result,) = operation.results
    if value != Tensor((), x.element) or len(sides) != 3:
        operation.fail(f"{value} does not match {x}")
    for operand in sides:
        _vector(operation, operand, x.rank)
    _expect(operation, result, [None] * x.rank, x.element)


def _combining(operation: Read, tensors: Sequence[Tensor], *, one: bool = False) -> None:
    """Check that a region combines scalars of these types, two of each."""
    scalars = tuple(Tensor((), x.element) for x in tensors)
    if len(operation.regions) != 1:
        operation.fail(f"{len(operation.regions)} regions, 1 expected")
    region = operation.regions[0]
    if region.arguments != scalars * 2 or region.results != scalars:
        operation.fail("its region does not combine two elements into one")


def _reduce(operation: Read) -> None:
    half = len(operation.operands) // 2
    tensors, starts = operation.operands[:half], operation.operands[half:]
    if len(starts) != half or len(operation.results) != half or not half:
        operation.fail("the numbers of tensors, initial values and results differ")
    axes = _dims(operation, "dimensions", tensors[0].rank)
    rest = [size for axis, size in enumerate(tensors[0].shape) if axis not in axes]
    for x, start, result in zip(tensors, starts, operation.results, strict=True):
        if start != Tensor((), x.element) or not alike(x.shape, tensors[0].shape):
            operation.fail(f"{start} does not start the reduction of {x}")
        _expect(operation, result, rest, x.element)
    _combining(operation, tensors)


def _window(operation: Read) -> None:
    (x, start), (result,) = operation.operands, operation.results
    if start != Tensor((), x.element):
        operation.fail(f"{start} does not start the reduction of {x}")
    names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    columns = [operation.integers(name) for name in names]
    sides = _sides(operation, x.rank)
    if any(len(column) != x.rank for column in columns):
        operation.fail(f"its windows do not have {x.rank} dimensions")
    shape = [
        _count_windows(size, low, high, *rest)
        for size, (low, high), *rest in zip(x.shape, sides, *columns, strict=True)
    ]
    _expect(operation, result, shape, x.element)
    _combining(operation, [x])


def _sides(operation: Read, rank: int) -> list[tuple[int, int]]:
    flat = operation.integers("padding")
    if len(flat) != 2 * rank:
        operation.fail(f"its padding is not {rank} pairs")
    return list(zip(flat[::2], flat[1::2], strict=True))


def _count_windows(
    size: int | None, low: int, high: int, window: int | None, stride: int, base: int, spread: int
) -> int | None:
    """Return the number of windows along a dimension."""
    if size is None or window is None:
        return None
    room = (size - 1) * base + 1 + low + high - ((window - 1) * spread + 1)
    return room // stride + 1


def _dot(operation: Read) -> None:
    (x, y), (result,) = operation.operands, operation.results
    name = "dot_dimension_numbers"
    shape: list[int | None] = []
    rows = [
        [operation.inner_integers(name, f"{side}_{kind}_dimensions") for side in ("lhs", "rhs")]
        for kind in ("batching", "contracting")
    ]
    for left, right in rows:
        if len(left) != len(right) or not alike(
            [x.shape[axis] for axis in left], [y.shape[axis] for axis in right]
        ):
            operation.fail(f"dimensions {left} of {x} do not match {right} of {y}")
    shape += [x.shape[axis] for axis in rows[0][0]]
    for operand, batch, inner in zip((x, y), rows[0], rows[1], strict=True):
        shape += [n for axis, n in enumerate(operand.shape) if axis not in (*batch, *inner)]
    if x.element != y.element:
        operation.fail(f"{x} and {y} differ in type")
    _expect(operation, result, shape, x.element)


def _convolution(operation: Read) -> None:
    (x, kernel), (result,) = operation.operands, operation.results
    text = operation.attribute("dimension_numbers").removeprefix("#stablehlo.conv<")
    parts = [part.strip("[]>").split(", ") for part in text.replace("->", "x").split("x")]
    if [len(part) for part in parts] != [x.rank, kernel.rank, result.rank]:
        operation.fail("its dimension numbers do not fit the ranks")
    image = dict(zip(parts[0], x.shape, strict=True))
    cells = dict(zip(parts[1], kernel.shape, strict=True))
    groups = operation.integers("feature_group_count")[0]
    channels, filter_channels = image["f"], cells["i"]
    if (
        channels is not None
        and filter_channels is not None
        and channels != filter_channels * groups
    ):
        operation.fail(
            f"{channels} channels, but the filter takes {filter_channels} in {groups} groups"
        )
    names = ("window_strides", "lhs_dilation", "rhs_dilation")
    columns = [operation.integers(name) for name in names]
    expected: dict[str, Any] = {"b": image["b"], "f": cells["o"]}
    for k, (low, high) in enumerate(_sides(operation, len(columns[0]))):
        stride, base, spread = (column[k] for column in columns)
        size, window = image[str(k)], cells[str(k)]
        expected[str(k)] = _count_windows(size, low, high, window, stride, base, spread)
    _expect(operation, result, [expected[letter] for letter in parts[2]], x.element)


def _gather(operation: Read) -> None:
    x, indices, *sizes = operation.operands
    (result,) = operation.results
    name = "dimension_numbers"
    offsets, collapsed, starts = (
        operation.inner_integers(name, key)
        for key in ("offset_dims", "collapsed_slice_dims", "start_index_map")
    )
    vector = _index_vector(operation, name)
    for operand in sizes:
        _vector(operation, operand, x.rank)
    slices = [None] * x.rank if sizes else operation.integers("slice_sizes")
    batch = [n for axis, n in enumerate(indices.shape) if axis != vector]
    depth = indices.shape[vector] if vector < indices.rank else 1
    if depth != len(starts) or len(slices) != x.rank or indices.element not in ("i32", "i64"):
        operation.fail(f"{indices} are not indices into {x}")
    inner = [n for axis, n in enumerate(slices) if axis not in collapsed]
    if len(offsets) != len(inner):
        operation.fail(f"{len(offsets)} offsets for {len(inner)} dimensions of a slice")
    rest, picked = iter(batch), iter(inner)
    rank = len(batch) + len(inner)
    shape = [next(picked) if axis in offsets else next(rest) for axis in range(rank)]
    _expect(operation, result, shape, x.element)


def _scatter(operation: Read) -> None:
    x, indices, updates = operation.operands
    (result,) = operation.results
    name = "scatter_dimension_numbers"
    window, inserted = (
        operation.inner_integers(name, key)
        for key in ("update_window_dims", "inserted_window_dims")
    )
    vector = _index_vector(operation, name)
    batch = [n for axis, n in enumerate(indices.shape) if axis != vector]
    slices = [n for axis, n in enumerate(x.shape) if axis not in inserted]
    rest, inner = iter(batch), iter(slices)
    rank = len(batch) + len(slices)
    shape = [next(inner) if axis in window else next(rest) for axis in range(rank)]
    _expect(operation, updates, shape, x.element)
    _expect(operation, result, x.shape, x.element)
    _combining(operation, [x])


def _index_vector(operation: Read, name: str) -> int:
    words = operation.attribute(name).split("index_vector_dim = ")
    if len(words) != 2:
        operation.fail("index_vector_dim is missing")
    return int(words[1].strip("> "))


def _size(operation: Read) -> None:
    (x,), (result,) = operation.operands, operation.results
    _dims(operation, "dimension", x.rank)
    _expect(operation, result, (), "i32")


def _loop(operation: Read) -> None:
    types = operation.operands
    if operation.results != types or len(operation.regions) != 2:
        operation.fail("a loop returns the types that it takes, and has a condition and a body")
    condition, step = operation.regions
    if condition.arguments != types or condition.results != (Tensor((), "i1"),):
        operation.fail("its condition does not take the carried values and return one boolean")
    if step.arguments != types or step.results != types:
        operation.fail("its body does not return the types that it takes")


def _update(operation: Read) -> None:
    x, update, *indices = operation.operands
    (result,) = operation.results
    if len(indices) != x.rank or any(index != Tensor((), "i32") for index in indices):
        operation.fail(f"{len(indices)} indices for {x.rank} dimensions")
    if update.rank != x.rank or update.element != x.element:
        operation.fail(f"{update} does not fit into {x}")
    _expect(operation, result, x.shape, x.element)


STRUCTURED: Mapping[str, Signature] = {
    f"stablehlo.{name}": check
    for name, check in {
        "iota": _iota,
        "dynamic_iota": _iota,
        "broadcast_in_dim": _broadcast,
        "dynamic_broadcast_in_dim": _broadcast,
        "reshape": _reshape,
        "dynamic_reshape": _reshape,
        "transpose": _transpose,
        "reverse": _reverse,
        "slice": _slice,
        "real_dynamic_slice": _dynamic_slice,
        "concatenate": _concatenate,
        "pad": _pad,
        "dynamic_pad": _dynamic_pad,
        "reduce": _reduce,
        "reduce_window": _window,
        "dot_general": _dot,
        "convolution": _convolution,
        "gather": _gather,
        "dynamic_gather": _gather,
        "scatter": _scatter,
        "get_dimension_size": _size,
        "while": _loop,
        "dynamic_update_slice": _update,
    }.items()
}
"""Checks by the names of operations."""
