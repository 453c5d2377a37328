"""Arrays from numbers, ranges and other arrays: array API standard, "Creation Functions"."""

from __future__ import annotations

import math
from array import array as flat_array
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import FORMATS
from webnnm.core.shapes import MAX_DIMENSION, Shape, count, is_integer
from webnnm.eager import array as arrays
from webnnm.eager.array import (
    Array,
    Scalar,
    check,
    convert_dtype,
    copy_array,
    create,
    from_host,
    record,
)
from webnnm.eager.device import Device
from webnnm.eager.dtypes import (
    DEFAULTS,
    DType,
    bool_,
    convert_number,
    dtype_of,
    int64,
    is_kind,
    limits,
    out_of_range,
    uint64,
    wrap_integer,
)
from webnnm.eager.errors import ArrayTypeError, ArrayValueError
from webnnm.graph.node import Operand


def asarray(
    obj: Any,
    /,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    copy: bool | None = None,
) -> Array:
    """Return an array from a number, from nested lists, or from anything with the buffer protocol.

    >>> from webnnm import xp
    >>> xp.asarray([[1, 2], [3, 4]])
    Array([[1, 2], [3, 4]], dtype=int32)

    Python integers become int32, and floats float32, as do float64 arrays of NumPy.

    Raises `ArrayValueError` if `copy=False` and the values have to be copied to the device.
    """
    if isinstance(obj, Array):
        array = obj if device is None or device == obj.device else obj.to_device(device)
        array = convert_dtype(array, dtype_of(dtype)) if dtype is not None else array
        if copy is False and array is not obj:
            raise ArrayValueError("a copy is needed, which copy=False forbids")
        return copy_array(array) if copy and array is obj else array
    if copy is False:
        raise ArrayValueError("values on the host have to be copied, which copy=False forbids")
    host, host_dtype = _host(obj, None if dtype is None else dtype_of(dtype))
    return from_host(host, host_dtype, device)


def _host(obj: Any, dtype: DType | None) -> tuple[HostArray, DType]:
    if isinstance(obj, complex):
        raise ArrayTypeError("there are no arrays of complex numbers", "keep two arrays")
    if isinstance(obj, (bool, int, float)):
        return _to_host([_to_python(obj)], (), dtype)
    name = str(getattr(getattr(obj, "dtype", None), "name", ""))
    if isinstance(obj, (list, tuple)):
        return _from_nested(obj, dtype)
    if name == "bool":
        converted = HostArray.of(obj.astype("uint8"), "uint8")
    elif name.startswith("complex"):
        raise ArrayTypeError("there are no arrays of complex numbers", "keep two arrays")
    else:
        # A type that is asked for gets the numbers as they are, not rounded on the way.
        wide = dtype is not None and _is_float64(obj)
        converted = HostArray.of(obj, "float64" if wide else None, copy=True)
    own_dtype = bool_ if name == "bool" else dtype_of(converted.dtype)
    if dtype is None or dtype is own_dtype:
        return converted, own_dtype
    values = list(converted.values())
    if is_kind(own_dtype, "integral") and is_kind(dtype, "integral"):
        values = [wrap_integer(value, dtype) for value in values]
    return _to_host(values, converted.shape, dtype)


def _is_float64(obj: Any) -> bool:
    try:
        return memoryview(obj).format.lstrip("@=<") == "d"
    except (TypeError, ValueError):
        return False


def _from_nested(obj: Sequence[Any], dtype: DType | None) -> tuple[HostArray, DType]:
    shape: list[int] = []
    level: list[Any] = [obj]
    while level and isinstance(level[0], (list, tuple)):
        size = len(level[0])
        if not all(isinstance(row, (list, tuple)) and len(row) == size for row in level):
            raise ArrayValueError(f"the nested lists are ragged at depth {len(shape)}")
        shape.append(size)
        level = [item for row in level for item in row]
    return _to_host([_to_python(item) for item in level], tuple(shape), dtype)


def _to_python(item: Any) -> Any:
    if type(item) in (bool, int, float):
        return item
    if isinstance(item, Array):
        return item.item()
    if hasattr(item, "tolist"):
        return item.tolist()  # a NumPy scalar, which may be a float, too
    return next((kind(item) for kind in (bool, int, float) if isinstance(item, kind)), item)


def _to_host(values: Sequence[Any], shape: Shape, dtype: DType | None) -> tuple[HostArray, DType]:
    kinds: set[type] = {type(value) for value in values}
    if not kinds <= {bool, int, float}:
        wrong = min(kind.__name__ for kind in kinds - {bool, int, float})
        raise ArrayTypeError(f"arrays hold numbers, not {wrong}")
    if dtype is None:
        dtype = _common(values, kinds)
    if not values:
        return HostArray.of(values, dtype.tensor, shape), dtype
    if dtype.tensor == "float16":
        return HostArray.of(
            [convert_number(value, dtype) for value in values], dtype.tensor, shape
        ), dtype
    exact = is_kind(dtype, "real floating") or (float not in kinds and dtype is not bool_)
    data = values if exact else [convert_number(value, dtype) for value in values]
    try:
        return HostArray(dtype.tensor, shape, flat_array(FORMATS[dtype.tensor], data)), dtype
    except OverflowError:  # names the number
        return _to_host([convert_number(value, dtype) for value in values], shape, dtype)


def _common(values: Sequence[Any], kinds: set[type]) -> DType:
    if float in kinds or not kinds:
        return DEFAULTS["real floating"]
    if kinds == {bool}:
        return bool_
    return _get_integer_dtype(min(values), max(values))


def _get_integer_dtype(low: int, high: int) -> DType:
    """Return the type for integers in a range: the default if it holds them."""
    for dtype in (DEFAULTS["integral"], int64, uint64):
        lowest, highest = limits(dtype)
        if lowest <= low and high <= highest:
            return dtype
    raise out_of_range(low if low < limits(int64)[0] else high, int64)


def from_dlpack(x: Any, /, *, device: Device | None = None, copy: bool | None = None) -> Array:
    """Return an array from another library's array (DLPack), copied to the device."""
    if isinstance(x, Array):
        return asarray(x, device=device, copy=copy)
    return asarray(import_module("numpy").from_dlpack(x), device=device)


def shape_of(shape: int | Sequence[int]) -> Shape:
    """Return a shape. Raises `ArrayValueError` for sizes that are not integers from 0 on."""
    sizes: tuple[Any, ...] = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not all(is_integer(size) and size >= 0 for size in sizes):
        raise ArrayValueError(f"{shape!r} is not a shape", "sizes are non-negative integers")
    return tuple(int(size) for size in sizes)


def full(
    shape: int | Sequence[int],
    fill_value: Scalar | Array,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """Return an array filled with a number."""
    if isinstance(fill_value, Array):
        one = fill_value if dtype is None else convert_dtype(fill_value, dtype_of(dtype))
        return expand_to(one, shape_of(shape))
    return _fill(shape_of(shape), fill_value, dtype, device)


def _fill(shape: Shape, value: Scalar, dtype: DType | None, device: Device | None) -> Array:
    if isinstance(value, complex):
        raise ArrayTypeError("there are no arrays of complex numbers")
    value = _to_python(value)
    kind = dtype_of(dtype) if dtype is not None else _common([value], {type(value)})
    value = convert_number(value, kind)
    if not count(shape):
        return arrays.empty(shape, kind)
    scope = arrays.scope_for(device)
    number = scope.number(value, kind.tensor)
    return Array(kind, scope, scope.builder.expand(number, new_shape=shape))


def expand_to(x: Array, shape: Shape) -> Array:
    """Return an array repeated along dimensions of size 1 or missing ones."""
    if arrays.common_shape(x.shape, shape) != shape:
        raise ArrayValueError(f"{x.shape} does not broadcast to {shape}")
    if x.shape == shape:
        return x
    if not count(shape):
        return arrays.empty(shape, x.dtype, x)
    return record(lambda b, a: b.expand(a, new_shape=shape), x)


def _constant(shape: Shape, value: int, dtype: DType | None, device: Device | None) -> Array:
    kind = DEFAULTS["real floating"] if dtype is None else dtype_of(dtype)
    if not count(shape):
        return arrays.empty(shape, kind)

    def build(b: Any) -> Operand:
        return b.expand(b.constant(value, kind.tensor), new_shape=shape)

    return create(build, kind, device)


def zeros(
    shape: int | Sequence[int], *, dtype: DType | None = None, device: Device | None = None
) -> Array:
    """Return an array of zeros.

    >>> from webnnm import xp
    >>> xp.zeros((2, 2), dtype=xp.int8)
    Array([[0, 0], [0, 0]], dtype=int8)
    """
    return _constant(shape_of(shape), 0, dtype, device)


def ones(
    shape: int | Sequence[int], *, dtype: DType | None = None, device: Device | None = None
) -> Array:
    """Return an array of ones."""
    return _constant(shape_of(shape), 1, dtype, device)


def empty(
    shape: int | Sequence[int], *, dtype: DType | None = None, device: Device | None = None
) -> Array:
    """Return an array of zeros: leaving memory uninitialised would gain nothing."""
    return zeros(shape, dtype=dtype, device=device)


def zeros_like(x: Array, /, *, dtype: DType | None = None, device: Device | None = None) -> Array:
    """Return zeros in the shape of another array."""
    return zeros(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def ones_like(x: Array, /, *, dtype: DType | None = None, device: Device | None = None) -> Array:
    """Return an array of ones in the shape of another array."""
    return ones(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def empty_like(x: Array, /, *, dtype: DType | None = None, device: Device | None = None) -> Array:
    """Return zeros in the shape of another array."""
    return zeros_like(x, dtype=dtype, device=device)


def full_like(
    x: Array,
    /,
    fill_value: Scalar,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """Return an array filled with a number, in the shape of another array."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """Return evenly spaced numbers, like Python's `range`.

    >>> from webnnm import xp
    >>> xp.arange(2, 8, 3)
    Array([2, 5], dtype=int32)
    """
    first, end = (0, start) if stop is None else (start, stop)
    first, end, step = (_to_python(bound) for bound in (first, end, step))
    if step == 0:
        raise ArrayValueError("the step of a range cannot be 0")
    if all(isinstance(value, int) for value in (first, end, step)):
        number = max(0, -int((first - end) // step))
        ends = (first, first + (number - 1) * step) if number else (0, 0)
        kind = _get_integer_dtype(min(ends), max(ends)) if dtype is None else dtype_of(dtype)
        values: Sequence[float] = range(first, first + _length(number) * step, step)
    else:
        length = (end - first) / step
        if not math.isfinite(length):
            raise ArrayValueError(f"a range from {first} to {end} by {step} has no length")
        number = max(0, math.ceil(length))
        kind = DEFAULTS["real floating"] if dtype is None else dtype_of(dtype)
        values = [first + index * step for index in range(_length(number))]
    if kind is bool_:
        raise ArrayTypeError("a range consists of numbers, not of booleans")
    return from_host(_to_host(values, (number,), kind)[0], kind, device)


def _length(number: int) -> int:
    """Return a number of elements. Raises `ArrayValueError` for more than a tensor can have."""
    if number > MAX_DIMENSION:
        raise ArrayValueError(f"{number} elements: a dimension has at most {MAX_DIMENSION}")
    return number


def linspace(
    start: float,
    stop: float,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    endpoint: bool = True,
) -> Array:
    """Return `num` evenly spaced numbers from start to stop."""
    kind = DEFAULTS["real floating"] if dtype is None else dtype_of(dtype)
    (number,) = shape_of(num)
    start, stop = _to_python(start), _to_python(stop)
    parts = max(1, number - 1 if endpoint else number)
    values = [start + (stop - start) * (index / parts) for index in range(_length(number))]
    if endpoint and number > 1:
        values[-1] = stop
    if is_kind(kind, "integral"):  # rounded down, as in NumPy
        values = [math.floor(value) if math.isfinite(value) else value for value in values]
    return from_host(_to_host(values, (number,), kind)[0], kind, device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Array:
    """Return a matrix with ones on a diagonal."""
    kind = DEFAULTS["real floating"] if dtype is None else dtype_of(dtype)
    rows, columns = shape_of((n_rows, n_rows if n_cols is None else n_cols))
    values = [int(column - row == k) for row in range(rows) for column in range(columns)]
    return from_host(_to_host(values, (rows, columns), kind)[0], kind, device)


def tril(x: Array, /, *, k: int = 0) -> Array:
    """Return the lower triangles of matrices, zero elsewhere."""
    return _triangle(x, k, upper=False)


def triu(x: Array, /, *, k: int = 0) -> Array:
    """Return the upper triangles of matrices, zero elsewhere."""
    return _triangle(x, k, upper=True)


def _triangle(x: Array, k: int, *, upper: bool) -> Array:
    check("a triangle", x, "bool", "numeric")
    if x.ndim < 2:
        raise ArrayValueError(f"triangles are taken from matrices, not from {x.shape}")
    if not x.size:
        return x
    return record(lambda b, a: b.triangular(a, upper=upper, diagonal=k), x)


def meshgrid(*grids: Array, indexing: str = "xy") -> list[Array]:
    """Return the coordinates of a grid, one array for each dimension.

    Raises `ArrayValueError` for arrays that are not one-dimensional.
    """
    if indexing not in ("xy", "ij"):
        raise ArrayValueError(f'indexing is "{indexing}", not "xy" or "ij"')
    if any(grid.ndim != 1 for grid in grids):
        raise ArrayValueError("a grid is made from one-dimensional arrays")
    order = [*range(len(grids))]
    if indexing == "xy" and len(grids) > 1:
        order[:2] = [1, 0]
    shape = [0] * len(grids)
    for position, grid in zip(order, grids, strict=True):
        shape[position] = grid.size
    coordinates: list[Array] = []
    for position, grid in zip(order, grids, strict=True):
        own_shape = [grid.size if axis == position else 1 for axis in range(len(grids))]
        coordinates.append(expand_to(arrays.reshape_to(grid, own_shape), tuple(shape)))
    return coordinates
