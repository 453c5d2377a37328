"""The data types of WebNN: their order, their sizes, and which values they can hold."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeGuard, get_args

DataType = Literal[
    "float32",
    "float16",
    "int64",
    "uint64",
    "int32",
    "uint32",
    "int8",
    "uint8",
    "int4",
    "uint4",
    "float64",
]

PRECEDENCE: tuple[DataType, ...] = get_args(DataType)[:-1]
"""WebNN's types in the order of `DataType`: when types are mixed, the first one wins (spec B.5)."""

FLOAT: frozenset[DataType] = frozenset({"float32", "float16"})
SIGNED: frozenset[DataType] = FLOAT.union(("int64", "int32", "int8"))
ANY: frozenset[DataType] = frozenset[DataType](PRECEDENCE)

_BITS: dict[DataType, int] = {
    "float32": 32,
    "float16": 16,
    "int64": 64,
    "uint64": 64,
    "int32": 32,
    "uint32": 32,
    "int8": 8,
    "uint8": 8,
    "int4": 4,
    "uint4": 4,
    "float64": 64,
}

FORMATS: dict[DataType, str] = {
    "float32": "f",
    "float16": "e",
    "int64": "q",
    "uint64": "Q",
    "int32": "i",
    "uint32": "I",
    "int8": "b",
    "uint8": "B",
    "float64": "d",
}
"""`struct` format of one element; the 4-bit types have none, two of them share a byte."""


class FloatInfo(NamedTuple):
    """Facts about a float type, by NumPy's names: the gap above 1 (`eps`), the largest number."""

    eps: float
    max: float


FLOAT_INFO: dict[DataType, FloatInfo] = {
    "float32": FloatInfo(2.0**-23, 2.0**128 - 2.0**104),
    "float16": FloatInfo(2.0**-10, 65504.0),
    "float64": FloatInfo(2.0**-52, sys.float_info.max),
}
LARGEST_INVERTIBLE = 2.0**126
"""The largest number of float32 whose reciprocal is not subnormal."""
_OVERFLOW: dict[DataType, float] = {
    "float32": 2.0**128 - 2.0**103,
    "float16": 65520.0,
    "float64": math.inf,
}
"""The smallest number of each type that rounds to infinity."""


def is_data_type(name: str) -> TypeGuard[DataType]:
    """Return whether a name is a data type of WebNN, and so of the notation."""
    return name in PRECEDENCE


def is_tensor_type(name: str) -> TypeGuard[DataType]:
    """Return whether a name is a data type of WebNN, or float64, which some backends support."""
    return name in _BITS


def byte_length(dtype: DataType, count: int) -> int:
    """Return the bytes that `count` elements take.

    >>> byte_length("float16", 3), byte_length("uint4", 3)
    (6, 2)
    """
    return -(-_BITS[dtype] * count // 8)


def is_float(dtype: DataType) -> bool:
    """Return whether a type is a floating-point type."""
    return dtype in FLOAT or dtype == "float64"


def highest(dtypes: Iterable[DataType]) -> DataType:
    """Return the type of highest precedence.

    >>> highest(["int32", "float16", "uint8"])
    'float16'
    """
    return min(dtypes, key=PRECEDENCE.index)


def is_upcast(source: DataType, target: DataType) -> bool:
    """Return whether a cast goes to a type of equal or higher precedence (spec B.5, rule 5)."""
    return PRECEDENCE.index(target) <= PRECEDENCE.index(source)


def integer_range(dtype: DataType) -> tuple[int, int]:
    """Return the smallest and largest value of an integer type.

    >>> integer_range("int8")
    (-128, 127)
    """
    bits = _BITS[dtype]
    if dtype.startswith("uint"):
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def holds(dtype: DataType, number: float) -> bool:
    """Return whether this type can hold a literal; floats round numbers within their range.

    >>> holds("float32", 0.1), holds("float16", 70000), holds("int8", 0.5)
    (True, False, False)
    """
    if is_float(dtype):
        return abs(number) < _OVERFLOW[dtype] or not math.isfinite(number)
    if not math.isfinite(number) or number != int(number):
        return False
    low, high = integer_range(dtype)
    return low <= number <= high
