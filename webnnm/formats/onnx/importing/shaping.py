"""Building blocks that several entries of the table share."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence
from typing import Any

from webnnm.core.arrays import HostArray, pack
from webnnm.core.dtypes import FORMATS, DataType, is_float
from webnnm.core.shapes import count
from webnnm.formats.onnx.importing.call import Call
from webnnm.graph.node import Operand


def cut(
    c: Call, x: Operand, starts: Sequence[int], sizes: Sequence[int], strides: Sequence[int] = ()
) -> Operand:
    """Return a slice of a tensor, which may be empty; sizes are those before strides."""
    if not all(sizes):
        strides = strides or [1] * x.rank
        return c.empty(x.dtype, [-(-n // k) for n, k in zip(sizes, strides, strict=True)])
    is_everything = not any(starts) and tuple(sizes) == x.shape and all(k == 1 for k in strides)
    return x if is_everything else c.b.slice(x, starts=starts, sizes=sizes, strides=strides or None)


def part(c: Call, x: Operand, axis: int, start: int, size: int) -> Operand:
    """Return a range along one axis."""
    starts, sizes = [0] * x.rank, list(x.shape)
    starts[axis], sizes[axis] = start, size
    return cut(c, x, starts, sizes)


def at(c: Call, x: Operand, axis: int, index: int) -> Operand:
    """Return the elements at one index of an axis, without the axis."""
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    return c.b.reshape(part(c, x, axis, index, 1), new_shape=shape)


def broadcast_to(c: Call, x: Operand, shape: Sequence[int]) -> Operand:
    """Broadcast a tensor to a shape."""
    if not count(shape):
        return c.empty(x.dtype, shape)
    return x if x.shape == tuple(shape) else c.b.expand(x, new_shape=shape)


def reshape_to(c: Call, x: Operand, shape: Sequence[int]) -> Operand:
    """Reshape a tensor, unless it has the shape."""
    return x if x.shape == tuple(shape) else c.b.reshape(x, new_shape=shape)


def full(c: Call, value: Any, dtype: DataType, shape: Sequence[int]) -> Operand:
    """Return a tensor filled with a number."""
    return broadcast_to(c, c.b.constant(value, dtype), shape)


def scalar_like(c: Call, value: Any, like: Operand) -> Operand:
    """Return a number in the type of another tensor."""
    return c.b.constant(value, like.dtype)


def as_type(c: Call, x: Operand, dtype: DataType) -> Operand:
    """Cast a tensor, unless it has the type."""
    return x if x.dtype == dtype else c.b.cast(x, type=dtype)


def wide(c: Call, x: Operand, rule: Callable[[Operand], Operand]) -> Operand:
    """Apply a rule for floats to integers too, and cast the result back to integers."""
    if is_float(x.dtype):
        return rule(x)
    return as_type(c, rule(as_type(c, x, "float32")), x.dtype)


def arange(c: Call, size: int, dtype: DataType = "int32") -> Operand:
    """Return 0, 1, … size − 1."""
    size = c.check_bytes(size, dtype, "a range of numbers")
    return make_constant(c, range(size), dtype)


def make_constant(c: Call, values: Collection[float], dtype: DataType, *shape: int) -> Operand:
    """Return a constant filled from an iterator, without a list of its numbers."""
    shape = shape or (len(values),)
    data = pack(values, dtype) if dtype == "float16" else array(FORMATS[dtype], values)
    return c.b.constant(HostArray(dtype, shape, data))


def move_axis(c: Call, x: Operand, source: int, target: int) -> Operand:
    """Move one axis of a tensor to another position."""
    order = [axis for axis in range(x.rank) if axis != source]
    order.insert(target, source)
    return x if order == [*range(x.rank)] else c.b.transpose(x, permutation=order)


def broadcast_shapes(c: Call, *shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape to which shapes broadcast. Raises NNM811 if they do not."""
    rank = max(map(len, shapes))
    result: list[int] = []
    for axis in range(rank):
        sizes = {
            shape[axis - rank + len(shape)] for shape in shapes if axis - rank + len(shape) >= 0
        } - {1}
        if len(sizes) > 1:
            raise c.invalid(f"shapes {', '.join(map(str, shapes))} do not broadcast")
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)
