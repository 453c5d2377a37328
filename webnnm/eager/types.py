"""Conversion and properties of data types: array API standard, "Data Type Functions"."""

from __future__ import annotations

from webnnm.core.shapes import Shape
from webnnm.eager import dtypes
from webnnm.eager.array import Array, common_shape, convert_dtype, copy_array
from webnnm.eager.device import Device
from webnnm.eager.dtypes import DType, FInfo, IInfo, dtype_of, float_info, integer_info
from webnnm.eager.errors import ArrayTypeError


def astype(x: Array, dtype: DType, /, *, copy: bool = True, device: Device | None = None) -> Array:
    """Return an array in another data type.

    >>> from webnnm import xp
    >>> xp.astype(xp.asarray([1.7, -1.7]), xp.int32)
    Array([1, -1], dtype=int32)

    Floats are rounded towards zero to integers; the result for values out of range, and for NaN,
    depends on the device.
    """
    result = convert_dtype(x if device is None else x.to_device(device), dtype_of(dtype))
    return copy_array(result) if copy and result is x else result


def can_cast(source: DType | Array, target: DType, /) -> bool:
    """Return whether promotion may turn one data type into another."""
    dtype = source.dtype if isinstance(source, Array) else dtype_of(source)
    return dtypes.can_cast(dtype, dtype_of(target))


def finfo(type: DType | Array, /) -> FInfo:
    """Return the limits of a floating-point type."""
    return float_info(type.dtype if isinstance(type, Array) else dtype_of(type))


def iinfo(type: DType | Array, /) -> IInfo:
    """Return the limits of an integer type."""
    return integer_info(type.dtype if isinstance(type, Array) else dtype_of(type))


def result_type(*arrays_and_dtypes: Array | DType | complex) -> DType:
    """Return the data type to which arrays, types and Python numbers promote."""
    numbers = [
        value for value in arrays_and_dtypes if isinstance(value, (bool, int, float, complex))
    ]
    others = [value for value in arrays_and_dtypes if not isinstance(value, (int, float, complex))]
    if not others:
        raise ArrayTypeError("`result_type` needs an array or a data type")
    common = dtypes.promote([o.dtype if isinstance(o, Array) else dtype_of(o) for o in others])
    for number in numbers:
        common = dtypes.scalar_dtype(number, common)
    return common


def broadcast_shapes(*shapes: Shape) -> Shape:
    """Return the shape to which shapes broadcast."""
    return common_shape(*map(tuple, shapes))
