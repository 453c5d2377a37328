"""The operators of WebNN, computed on a few numbers without NumPy.

ONNX models compute shapes with the same operators as everything else; their values have to be
known while the graph is built. A kernel gets the type of the result, its operands and the options
of the operator, and returns the elements in row-major order.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from webnnm.core.dtypes import DataType, integer_range, is_float
from webnnm.core.shapes import count
from webnnm.ops.declare.tensors import TensorType


class SmallTensor(NamedTuple):
    """A tensor of a few elements."""

    type: TensorType
    values: Sequence[Any]


Kernel = Callable[..., list[Any]]


def row_major(shape: Sequence[int]) -> list[int]:
    """Return the row-major strides of a shape.

    >>> row_major((2, 3, 4))
    [12, 4, 1]
    """
    return [count(shape[axis + 1 :]) for axis in range(len(shape))]


def list_offsets(shape: Sequence[int], steps: Sequence[int], first: int = 0) -> list[int]:
    """Return first + Σ index·step of every index of a shape, in row-major order.

    >>> list_offsets((2, 3), (1, 2), 10)
    [10, 12, 14, 11, 13, 15]
    """
    offsets = [first]
    for size, step in zip(shape, steps, strict=True):
        offsets = [offset + index * step for offset in offsets for index in range(size)]
    return offsets


def _broadcast(x: SmallTensor, shape: Sequence[int]) -> list[Any]:
    """Return the elements of a tensor broadcast to a shape."""
    steps = [
        0 if size == 1 else step
        for size, step in zip(x.type.shape, row_major(x.type.shape), strict=True)
    ]
    steps = [0] * (len(shape) - len(steps)) + steps
    return [x.values[offset] for offset in list_offsets(shape, steps)]


def wrap_to_type(dtype: DataType, value: Any) -> Any:
    """Convert a result to its type: integers wrap around."""
    if is_float(dtype):
        return float(value)
    low, high = integer_range(dtype)
    return (int(value) - low) % (high - low + 1) + low


def _elementwise(rule: Callable[..., Any]) -> Kernel:
    """Return the kernel of a function of one element of each operand."""

    def kernel(type: TensorType, *operands: SmallTensor, **_: Any) -> list[Any]:
        columns = [_broadcast(operand, type.shape) for operand in operands]
        return [wrap_to_type(type.dtype, rule(*row)) for row in zip(*columns, strict=True)]

    return kernel


def _quotient(a: Any, b: Any) -> Any:
    if isinstance(a, float):
        return a / b
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _select(condition: Any, x: Any, y: Any) -> Any:
    return x if condition else y


def _power(a: Any, b: Any) -> Any:
    power = a**b
    if isinstance(power, complex):
        raise ValueError("a root of a negative number")
    return power


def _cast(result: TensorType, x: SmallTensor, **_: Any) -> list[Any]:
    if is_float(result.dtype) or not is_float(x.type.dtype):
        return [wrap_to_type(result.dtype, value) for value in x.values]
    low, high = integer_range(result.dtype)
    return [min(max(math.trunc(value), low), high) for value in x.values]


def _clamp(result: TensorType, x: SmallTensor, *, min_value: float, max_value: float) -> list[Any]:
    return [wrap_to_type(result.dtype, min(max(value, min_value), max_value)) for value in x.values]


def _same(_type: TensorType, x: SmallTensor, **_: Any) -> list[Any]:
    return list(x.values)


def _expand(type: TensorType, x: SmallTensor, **_: Any) -> list[Any]:
    return _broadcast(x, type.shape)


def _transpose(type: TensorType, x: SmallTensor, *, permutation: Sequence[int]) -> list[Any]:
    steps = row_major(x.type.shape)
    return [
        x.values[offset]
        for offset in list_offsets(type.shape, [steps[axis] for axis in permutation])
    ]


def _slice(
    type: TensorType, x: SmallTensor, *, starts: Sequence[int], strides: Sequence[int], **_: Any
) -> list[Any]:
    steps = row_major(x.type.shape)
    first = sum(start * step for start, step in zip(starts, steps, strict=True))
    steps = [step * stride for step, stride in zip(steps, strides, strict=True)]
    return [x.values[offset] for offset in list_offsets(type.shape, steps, first)]


def _reverse(type: TensorType, x: SmallTensor, *, axes: Sequence[int]) -> list[Any]:
    steps = row_major(type.shape)
    first = sum((type.shape[axis] - 1) * steps[axis] for axis in axes)
    steps = [-step if axis in axes else step for axis, step in enumerate(steps)]
    return [x.values[offset] for offset in list_offsets(type.shape, steps, first)]


def _concat(type: TensorType, *operands: SmallTensor, axis: int) -> list[Any]:
    width = [count(operand.type.shape[axis:]) for operand in operands]
    return [
        value
        for row in range(count(type.shape[:axis]))
        for operand, size in zip(operands, width, strict=True)
        for value in operand.values[row * size : (row + 1) * size]
    ]


def _gather(_type: TensorType, x: SmallTensor, indices: SmallTensor, *, axis: int) -> list[Any]:
    size, width = x.type.shape[axis], count(x.type.shape[axis + 1 :])
    elements: list[Any] = []
    for row in range(count(x.type.shape[:axis])):
        for index in indices.values:
            position = min(max(index + size if index < 0 else index, 0), size - 1)
            first = (row * size + position) * width
            elements += x.values[first : first + width]
    return elements


def _tile(type: TensorType, x: SmallTensor, **_: Any) -> list[Any]:
    shape, steps = x.type.shape, row_major(x.type.shape)
    split: list[int] = []
    jumps: list[int] = []
    for size, target, step in zip(shape, type.shape, steps, strict=True):
        split += [target // size, size]
        jumps += [0, step]
    return [x.values[offset] for offset in list_offsets(split, jumps)]


def _rows(x: SmallTensor, axes: Sequence[int]) -> list[list[Any]]:
    """Return the elements along some axes, for every index of the others."""
    shape, steps = x.type.shape, row_major(x.type.shape)
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    inner = list_offsets([shape[axis] for axis in axes], [steps[axis] for axis in axes])
    outer = list_offsets([shape[axis] for axis in rest], [steps[axis] for axis in rest])
    return [[x.values[first + offset] for offset in inner] for first in outer]


def _reduction(rule: Callable[[list[Any]], Any]) -> Kernel:
    def kernel(type: TensorType, x: SmallTensor, *, axes: Sequence[int], **_: Any) -> list[Any]:
        return [wrap_to_type(type.dtype, rule(row)) for row in _rows(x, axes)]

    return kernel


def _extremum(rule: Callable[[list[Any]], Any]) -> Kernel:
    def kernel(_type: TensorType, x: SmallTensor, *, axis: int, **_: Any) -> list[Any]:
        return [row.index(rule(row)) for row in _rows(x, [axis])]

    return kernel


def _cumulative_sum(
    type: TensorType, x: SmallTensor, *, axis: int, exclusive: bool, reversed: bool
) -> list[Any]:
    size, step = type.shape[axis], row_major(type.shape)[axis]
    sums = list(x.values)
    line = range(size - 1, -1, -1) if reversed else range(size)
    for first in range(count(type.shape) // max(1, size)):
        start = first // step * step * size + first % step
        total: Any = 0
        for offset in (start + index * step for index in line):
            after = wrap_to_type(type.dtype, total + x.values[offset])
            sums[offset] = wrap_to_type(type.dtype, total) if exclusive else after
            total = after
    return sums


def _mean(row: list[Any]) -> float:
    return math.fsum(row) / len(row)


_UNARY: dict[str, Callable[[Any], Any]] = {
    "abs": abs,
    "ceil": math.ceil,
    "cos": math.cos,
    "erf": math.erf,
    "exp": math.exp,
    "floor": math.floor,
    "log": math.log,
    "logicalNot": operator.not_,
    "neg": operator.neg,
    "reciprocal": lambda x: 1 / x,
    "relu": lambda x: max(x, 0),
    "roundEven": round,
    "sign": lambda x: (x > 0) - (x < 0),
    "sin": math.sin,
    "sqrt": math.sqrt,
    "tanh": math.tanh,
}
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "bitwiseAnd": operator.and_,
    "div": _quotient,
    "equal": operator.eq,
    "greater": operator.gt,
    "greaterOrEqual": operator.ge,
    "lesser": operator.lt,
    "lesserOrEqual": operator.le,
    "logicalAnd": lambda a, b: bool(a) and bool(b),
    "logicalOr": lambda a, b: bool(a) or bool(b),
    "logicalXor": lambda a, b: bool(a) != bool(b),
    "max": max,
    "min": min,
    "mul": operator.mul,
    "notEqual": operator.ne,
    "pow": _power,
    "sub": operator.sub,
}
KERNELS: Mapping[str, Kernel] = {
    **{name: _elementwise(rule) for name, rule in (_UNARY | _BINARY).items()},
    "where": _elementwise(_select),
    "argMax": _extremum(max),
    "argMin": _extremum(min),
    "cast": _cast,
    "clamp": _clamp,
    "concat": _concat,
    "cumulativeSum": _cumulative_sum,
    "expand": _expand,
    "gather": _gather,
    "identity": _same,
    "reduceMax": _reduction(max),
    "reduceMean": _reduction(_mean),
    "reduceMin": _reduction(min),
    "reduceProduct": _reduction(math.prod),
    "reduceSum": _reduction(sum),
    "reshape": _same,
    "reverse": _reverse,
    "slice": _slice,
    "tile": _tile,
    "transpose": _transpose,
}
"""The operators whose results can be computed in advance."""
