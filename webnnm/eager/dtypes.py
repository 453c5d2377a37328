"""The data types of arrays, and how they promote: Python array API standard, "Type Promotion"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from webnnm.core.dtypes import FLOAT_INFO, DataType, integer_range
from webnnm.eager.errors import ArrayOverflowError, ArrayTypeError, ArrayValueError

Kind = Literal["bool", "signed integer", "unsigned integer", "real floating"]


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """A data type of arrays.

    >>> from webnnm import xp
    >>> xp.float32, xp.bool.tensor
    (float32, 'uint8')

    Attributes: `name`; `kind`, as the array API calls it; `bits` of one element; `tensor`, the data
    type of the tensors that hold it.
    """

    name: str
    kind: Kind
    bits: int
    tensor: DataType

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:  # there is one object for each type, which copies have to be
        return dtype_of, (self.name,)


bool_ = DType("bool", "bool", 8, "uint8")
int8 = DType("int8", "signed integer", 8, "int8")
int32 = DType("int32", "signed integer", 32, "int32")
int64 = DType("int64", "signed integer", 64, "int64")
uint8 = DType("uint8", "unsigned integer", 8, "uint8")
uint32 = DType("uint32", "unsigned integer", 32, "uint32")
uint64 = DType("uint64", "unsigned integer", 64, "uint64")
float16 = DType("float16", "real floating", 16, "float16")
float32 = DType("float32", "real floating", 32, "float32")
float64 = DType("float64", "real floating", 64, "float64")

DTYPES = (bool_, int8, int32, int64, uint8, uint32, uint64, float16, float32, float64)
BY_NAME = {each.name: each for each in DTYPES}
DEFAULTS = {"integral": int32, "indexing": int32, "real floating": float32}
"""The types that Python numbers and indices become: those that every device supports."""

_GROUPS: dict[str, tuple[Kind, ...]] = {
    "bool": ("bool",),
    "signed integer": ("signed integer",),
    "unsigned integer": ("unsigned integer",),
    "integral": ("signed integer", "unsigned integer"),
    "real floating": ("real floating",),
    "complex floating": (),
    "numeric": ("signed integer", "unsigned integer", "real floating"),
}


def dtype_of(value: object) -> DType:
    """Return the data type for a data type, its name, a Python type or a NumPy type.

    Raises `ArrayTypeError` for types that no device of the package supports.
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, type) and value in (bool, int, float):
        return {bool: bool_, int: DEFAULTS["integral"], float: DEFAULTS["real floating"]}[value]
    name = value if isinstance(value, str) else str(getattr(value, "name", value))
    if name in BY_NAME:
        return BY_NAME[name]
    hint = f"one of {', '.join(BY_NAME)}"
    if "complex" in name:
        hint = "keep the real and the imaginary part in two arrays"
    raise ArrayTypeError(f"there are no arrays of {name}", hint)


def is_kind(dtype: DType, *groups: str) -> bool:
    """Return whether a type is of one of these kinds of the array API."""
    return any(dtype.kind in _GROUPS[group] for group in groups)


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> bool:
    """Return whether a data type is of a kind, or of one of several.

    >>> from webnnm import xp
    >>> xp.isdtype(xp.int8, "integral"), xp.isdtype(xp.int8, (xp.bool, "real floating"))
    (True, False)

    Raises `ArrayValueError` for kinds that the array API does not define.
    """
    for group in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(group, str):
            if group not in _GROUPS:
                raise ArrayTypeError(f'there is no kind "{group}"', f"one of {', '.join(_GROUPS)}")
            if dtype.kind in _GROUPS[group]:
                return True
        elif dtype == group:
            return True
    return False


def promote(dtypes: Sequence[DType]) -> DType:
    """Return the common type to which these types promote.

    Raises `ArrayTypeError` if the standard has none, as for integers and floats.
    """
    common = dtypes[0]
    for dtype in dtypes[1:]:
        if dtype is not common:
            common = _promote_pair(common, dtype)
    return common


def _promote_pair(a: DType, b: DType) -> DType:
    if a.kind == b.kind:
        return a if a.bits >= b.bits else b
    if is_kind(a, "integral") and is_kind(b, "integral"):
        signed, unsigned = (a, b) if a.kind == "signed integer" else (b, a)
        if signed.bits > unsigned.bits:
            return signed
        wider = [
            dtype
            for dtype in DTYPES
            if dtype.kind == "signed integer" and dtype.bits > unsigned.bits
        ]
        if wider:
            return wider[0]
    raise ArrayTypeError(f"{a} and {b} have no common type", "convert one of them with `astype`")


def can_cast(source: DType, target: DType) -> bool:
    """Return whether promotion may turn one type into the other."""
    try:
        return promote([source, target]) is target
    except ArrayTypeError:
        return False


def scalar_dtype(value: complex, like: DType) -> DType:
    """Return the type that a Python number gets when it is combined with an array of a type.

    Raises `ArrayTypeError` if the array API has no rule, as for a float and integers.
    """
    if isinstance(value, bool):
        fits = True
        like = bool_ if like is bool_ else like
    elif isinstance(value, int):
        fits = like is not bool_
    else:
        fits = isinstance(value, float) and is_kind(like, "real floating")
    if not fits:
        kind = type(value).__name__
        hint = "convert the array with `astype`" if kind != "complex" else ""
        raise ArrayTypeError(f"a Python {kind} and {like} have no common type", hint)
    return like


@dataclass(frozen=True, slots=True)
class FInfo:
    """The limits of a floating-point type, as `finfo` returns them."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IInfo:
    """The limits of an integer type, as `iinfo` returns them."""

    bits: int
    max: int
    min: int
    dtype: DType


def float_info(dtype: DType) -> FInfo:
    """Return the limits of a floating-point type."""
    if dtype.kind != "real floating":
        raise ArrayTypeError(f"finfo takes floating-point types, not {dtype}")
    eps, largest = FLOAT_INFO[dtype.tensor]
    smallest = 2.0 ** {16: -14, 32: -126, 64: -1022}[dtype.bits]
    return FInfo(dtype.bits, eps, largest, -largest, smallest, dtype)


def integer_info(dtype: DType) -> IInfo:
    """Return the limits of an integer type."""
    if not is_kind(dtype, "integral"):
        raise ArrayTypeError(f"iinfo takes integer types, not {dtype}")
    low, high = limits(dtype)
    return IInfo(dtype.bits, high, low, dtype)


def limits(dtype: DType) -> tuple[int, int]:
    """Return the smallest and the largest number of an integer type.

    >>> limits(int8)
    (-128, 127)
    """
    return integer_range(dtype.tensor)


def convert_number(value: float, dtype: DType) -> float:
    """Return a Python number as arrays of a type hold it.

    >>> convert_number(2.9, int8), convert_number(1e39, float32)
    (2, inf)

    Raises `ArrayOverflowError` for integers out of range, `ArrayValueError` for NaN as an integer.
    """
    if dtype is bool_:
        return int(bool(value))
    if dtype.kind == "real floating":
        return _round_float(value, dtype)
    if value != value:
        raise ArrayValueError(f"{dtype} has no NaN", "use a floating-point type")
    if value in (math.inf, -math.inf):
        raise ArrayOverflowError(f"{dtype} has no infinity", "use a floating-point type")
    low, high = limits(dtype)
    integer = int(value)
    if not low <= integer <= high:
        raise out_of_range(integer, dtype)
    return integer


def _round_float(value: float, dtype: DType) -> float:
    try:
        value = float(value)
    except OverflowError as error:
        raise ArrayOverflowError(f"{_digits(value)} is too large for {dtype}") from error
    return math.copysign(math.inf, value) if abs(value) >= _INFINITE[dtype] else value


_INFINITE = {float16: 65520.0, float32: 3.4028235677973366e38, float64: math.inf}
"""From here on, numbers are rounded to infinity."""


def out_of_range(value: int, dtype: DType) -> ArrayOverflowError:
    """Return the error for an integer that a type cannot hold."""
    low, high = limits(dtype)
    return ArrayOverflowError(
        f"{_digits(value)} is out of range for {dtype}, which has {low} … {high}",
        "use a wider type: `xp.astype(x, …)`, or `dtype=` where the array is created",
    )


def _digits(value: float) -> str:
    return str(value) if abs(value) < 2**80 else f"an integer of {int(value).bit_length()} bits"


def wrap_integer(value: int, dtype: DType) -> int:
    """Return an integer modulo 2**bits, as conversions of arrays do."""
    low, _ = limits(dtype)
    return (value - low) % 2**dtype.bits + low
