"""Host arrays: flat typed buffers with a shape, made from any data that a user passes."""

from __future__ import annotations

import importlib
import struct
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from webnnm.core.dtypes import FORMATS, DataType, byte_length, holds
from webnnm.core.errors import DataError
from webnnm.core.shapes import Shape, count, show

_DTYPES_OF_FORMAT: dict[str, DataType] = {
    "d": "float32",
    "f": "float32",
    "e": "float16",
    "b": "int8",
    "B": "uint8",
    "?": "uint8",
    "c": "uint8",
}
_INTEGER_FORMATS = "hilqn"
_BLOCK = 1 << 11
_NUMBERS = (int, float)
_PYTHON = {bool, int, float, list, tuple}


if TYPE_CHECKING:
    _AnyArray = array[Any]
else:
    _AnyArray = array  # generic from Python 3.12 on


class Packed(_AnyArray):
    """Memory that was made for a `HostArray`, and that nobody else writes to."""


class HostArray:
    """A flat buffer of one data type, row-major, with a shape.

    >>> x = HostArray.of([[1, 2, 3], [4, 5, 6]], "float32")
    >>> x.shape, x.dtype, x.values()[4]
    ((2, 3), 'float32', 5.0)
    >>> x, x[1, 2]
    (HostArray(float32[2, 3], [[1, 2, 3], [4, 5, 6]]), 6.0)

    Attributes: `dtype`, `shape`, `data` (a memoryview of the raw bytes, little-endian).
    """

    __slots__ = ("data", "dtype", "shape")

    def __init__(self, dtype: DataType, shape: Iterable[int], data: Any) -> None:
        self.dtype: DataType = dtype
        self.shape: Shape = tuple(shape)
        self.data = memoryview(data).cast("B")
        expected = byte_length(dtype, count(self.shape))
        if self.data.nbytes != expected:
            raise DataError(
                "NNM702",
                f"{dtype}{show(self.shape)} takes {expected} bytes, {self.data.nbytes} given",
            )

    @classmethod
    def of(
        cls,
        value: Any,
        dtype: DataType | None = None,
        shape: Sequence[int] | None = None,
        *,
        copy: bool = False,
    ) -> HostArray:
        """Make an array from a number, nested lists, or anything with the buffer protocol.

        Without `dtype` the values keep their own type, but Python numbers and float64 become
        float32, integers of 16 bits become int32 or uint32, and truth values uint8. `shape`
        reshapes the elements, and with it raw `bytes` are read as memory of `dtype`; unsigned
        16-bit words are read as the bits of float16 if that type is requested. The memory of the
        value is shared if it has the right type already, unless `copy` requests memory that nobody
        else can write to.
        Raises `DataError` NNM702 for ragged lists, a wrong count, or values the type cannot hold.

        >>> HostArray.of(b"\\x00\\x00\\x80?", "float32", []).values()[0]
        1.0
        """
        source: Any = value
        if isinstance(value, _NUMBERS) and shape is None:
            dtype = dtype or "float32"
            return cls(dtype, (), pack((value,), dtype))
        if isinstance(value, HostArray):
            result, source = value, value.data
            copy = copy and not isinstance(value.data.obj, Packed)
        elif type(value) is list:
            result, copy = cls._from_nested(value, dtype or "float32"), False
        elif isinstance(value, (bytes, bytearray)) and dtype is not None and shape is not None:
            result = cls(dtype, shape, value)
        else:
            if hasattr(source, "to_py"):  # a proxy of JavaScript
                source, copy = source.to_py(), False  # a copy
            if hasattr(source, "__array__"):  # NumPy, pandas
                source = source.__array__() if "numpy" in sys.modules else source.tolist()
            result = cls._from_buffer(source, dtype)
            if result is None:
                result = cls._from_nested(source, dtype or "float32")
        if (result.dtype, dtype) == ("float16", "float32"):
            result = cls("float32", result.shape, _widen_halves(result.data))
        elif (result.dtype, dtype) == ("float32", "float16"):
            result = cls("float16", result.shape, _narrow_to_halves(result.values()))
        elif dtype is not None and result.dtype != dtype:
            result = cls(dtype, result.shape, pack(result.values(), dtype))
        if shape is not None and tuple(shape) != result.shape:
            if count(shape) != count(result.shape):
                raise DataError(
                    "NNM702",
                    f"{count(result.shape)} values {show(result.shape)} do not fill {show(shape)}",
                )
            result = cls(result.dtype, shape, result.data)
        return result.copy() if copy and result.shares(source) else result

    @classmethod
    def _from_buffer(cls, value: Any, target: DataType | None) -> HostArray | None:
        try:
            view = memoryview(value)
        except TypeError:
            return None
        except ValueError as error:  # NumPy's times, and whatever else a buffer cannot hold
            kind = str(getattr(value, "dtype", type(value).__name__))
            time = "for times subtract the first one: (t - t[0]) / numpy.timedelta64(1, 'D')"
            hint = time * kind.startswith(("datetime64", "timedelta64"))
            raise DataError("NNM702", f"values of {kind} are not numbers", hint=hint) from error
        code = view.format.lstrip("@=<")
        dtype: DataType
        if code == "d" and target == "float64":
            dtype = target
        elif code in _DTYPES_OF_FORMAT:
            dtype = _DTYPES_OF_FORMAT[code]
        elif len(code) == 1 and code.lower() in _INTEGER_FORMATS:
            sign = "" if code.islower() else "u"
            # 16-bit integers have no WebNN type of their own, the next wider one holds them.
            dtype = f"{sign}int{max(32, 8 * view.itemsize)}"  # pyrefly: ignore[bad-assignment]
        else:
            raise DataError("NNM702", f'a buffer of format "{view.format}" is not supported')
        # A view with a size of 0 cannot be cast, nor one of halves before Python 3.12.
        castable = view.c_contiguous and view.nbytes and code != "e"
        data = view if castable else memoryview(view.tobytes())
        if code == "H" and target == "float16":  # the WebNN draft of 2022 returns float16 as bits
            dtype = "float16"
        elif code in ("d", "h", "H") and dtype != "float64":
            dtype = target or dtype  # straight from the source, not rounded on the way
            return cls(dtype, view.shape, pack(data.cast("B").cast(code), dtype))  # pyrefly: ignore[bad-argument-type]
        return cls(dtype, view.shape, data)  # pyrefly: ignore[bad-argument-type]

    @classmethod
    def _from_nested(cls, value: Any, dtype: DataType) -> HostArray:
        plain = dtype in ("float32", "float64") and type(value) is list
        shape_and_data = _floats(value, FORMATS[dtype]) if plain else None
        if shape_and_data is not None:
            return cls(dtype, *shape_and_data)
        shape: list[int] = []
        level: list[Any] = [value]
        while level and _is_list(level[0]):
            size = len(level[0])
            for row, item in enumerate(level):
                if not _is_list(item) or len(item) != size:
                    description = f"a list of {len(item)}" if _is_list(item) else repr(item)
                    raise DataError(
                        "NNM702",
                        f"the nested lists are ragged: list 0 at depth {len(shape)} has "
                        f"{size} elements, item {row} is {description}",
                        hint="give all lists of one depth the same length",
                    )
            shape.append(size)
            level = [element for item in level for element in item]
            if not {*map(type, level)} <= _PYTHON:
                level = [*map(_to_python, level)]
        return cls(dtype, shape, pack(level, dtype))

    def __reduce__(self) -> Any:  # memoryviews can neither be copied nor pickled
        return HostArray, (self.dtype, self.shape, bytes(self.data))

    def __len__(self) -> int:
        return self.shape[0]

    def __bool__(self) -> bool:
        # By its length, a scalar would have no truth value, and an array without rows be false.
        raise TypeError("an array is neither true nor false: compare it with None")

    def __repr__(self) -> str:
        from webnnm.core.printing import show_numbers  # which a page need not have at first

        return f"HostArray({self.dtype}{show(self.shape)}, {show_numbers(self)})"

    def __getitem__(self, index: Any) -> Any:
        """Return a number, a row, or a range of rows: `x[0, 2]`, `x[-1]`, `x[:2]`."""
        indices = cast("tuple[Any, ...]", index if isinstance(index, tuple) else (index,))
        first, *others = indices
        if isinstance(first, slice):
            if others:
                raise TypeError("a range of rows is the only index: take its rows one by one")
            return self.rows(range(len(self))[first])
        row: int = range(self.shape[0] if self.shape else 0)[first]
        values = HostArray(self.dtype, self.shape[1:], self.part(row, row + 1).data)
        if others:
            return values[(*others,)]
        return values if values.shape else values.tolist()

    def __buffer__(self, flags: int) -> memoryview[Any]:
        # From Python 3.12 on, `memoryview(x)` has the numbers in their shape.
        if self.dtype not in FORMATS:
            raise BufferError(f"two numbers of {self.dtype} share a byte")
        data: Any = self.data
        # A memoryview cannot have a size of 0 in its shape.
        return data.cast(FORMATS[self.dtype], *([self.shape] if data.nbytes else []))

    def values(self) -> memoryview[Any] | tuple[Any, ...]:
        """Return the elements as a flat sequence of Python numbers, without a copy if possible."""
        if self.dtype == "float16":  # memoryview cannot read halves before Python 3.12
            return struct.unpack(f"<{count(self.shape)}e", self.data)
        if self.dtype not in FORMATS:
            return tuple(_unpack4(self.data, self.dtype, count(self.shape)))
        data: Any = self.data
        return data.cast(FORMATS[self.dtype])

    def tolist(self) -> Any:
        """Return nested lists, or a number for a scalar."""
        flat: list[Any] = list(self.values())
        for axis in range(len(self.shape) - 1, 0, -1):
            size = self.shape[axis]
            flat = [flat[i * size : (i + 1) * size] for i in range(count(self.shape[:axis]))]
        return flat if self.shape else flat[0]

    def public(self) -> Any:
        """Return what users get: a NumPy array if NumPy is loaded, else a `HostArray`."""
        if "numpy" in sys.modules and self.dtype in FORMATS:
            return sys.modules["numpy"].frombuffer(self.data, self.dtype).reshape(self.shape)
        if self.dtype == "float16" or self.dtype not in FORMATS:
            wide: DataType = "float32" if self.dtype == "float16" else "int8"
            return HostArray.of(self, wide).public()
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return a NumPy array for NumPy: `np.asarray(x)` has the type and the shape of x."""
        importlib.import_module("numpy")  # once it is loaded, `public` returns its arrays
        result = self.public()
        if dtype is None or result.dtype == dtype:
            return result.copy() if copy else result
        return result.astype(dtype)

    @property
    def nbytes(self) -> int:
        """The bytes of the data, as memoryviews and NumPy's arrays call them."""
        return self.data.nbytes

    def copy(self) -> HostArray:
        """Return a copy of the array in read-only memory of its own."""
        return HostArray(self.dtype, self.shape, bytes(self.data))

    def shares(self, value: Any) -> bool:
        """Return whether a buffer is the array's own memory, unless that is immutable `bytes`.

        >>> memory = bytearray(4)
        >>> HostArray("uint8", [4], memory).shares(memory), HostArray.of([1.0]).shares(memory)
        (True, False)
        """
        try:
            owner = memoryview(value).obj
        except TypeError:
            return False
        return self.data.obj is owner and not isinstance(owner, bytes)

    def as_readonly(self) -> HostArray:
        """Return the same array, read-only."""
        return HostArray(self.dtype, self.shape, self.data.toreadonly())

    def copy_to(self, buffer: Any) -> None:
        """Copy the elements into a writable buffer of the same number of bytes.

        Raises `DataError` NNM702 if the buffer has another size or is read-only.
        """
        target = memoryview(buffer)
        if target.readonly or target.nbytes != self.data.nbytes:
            actual = "read-only" if target.readonly else f"{target.nbytes} bytes"
            what = f"writing {self.dtype}{show(self.shape)} takes {self.data.nbytes} bytes"
            raise DataError("NNM702", f"{what}, the buffer is {actual}")
        target.cast("B")[:] = self.data

    def part(self, start: int, stop: int) -> HostArray:
        """Return the rows from `start` up to, but excluding, `stop`.

        They share the memory, except for 4-bit types, whose rows are copied.

        >>> HostArray.of([[1, 2], [3, 4], [5, 6]]).part(1, 3).tolist()
        [[3.0, 4.0], [5.0, 6.0]]
        """
        if (start, stop) == (0, len(self)):
            return self
        if self.dtype not in FORMATS:  # rows may share a byte
            return self.rows(range(start, stop))
        width = len(self.data) // max(1, len(self))
        data = self.data[start * width : stop * width]
        return HostArray(self.dtype, (stop - start, *self.shape[1:]), data)

    def rows(self, indices: Iterable[int]) -> HostArray:
        """Return the rows at these indices of the first axis, in this order.

        A range of all rows shares the memory, read-only.

        >>> HostArray.of([[1, 2], [3, 4]], "int32").rows([1, 1]).tolist()
        [[3, 4], [3, 4]]
        """
        if isinstance(indices, range) and indices == range(len(self)):
            return self.as_readonly()
        indices = list(indices)
        if indices and not 0 <= min(indices) <= max(indices) < len(self):
            raise DataError(
                "NNM702", f"rows {min(indices)} … {max(indices)} of {len(self)} do not exist"
            )
        shape = (len(indices), *self.shape[1:])
        if self.dtype not in FORMATS and count(self.shape[1:]) % 2:  # rows that share a byte
            flat, width = self.values(), count(self.shape[1:])
            nibbles = [value for i in indices for value in flat[i * width : (i + 1) * width]]
            return HostArray(self.dtype, shape, pack(nibbles, self.dtype))
        width = len(self.data) // max(1, len(self))
        return HostArray(
            self.dtype, shape, b"".join([self.data[i * width : (i + 1) * width] for i in indices])
        )


def _floats(value: list[Any], code: str) -> tuple[tuple[int, ...], array[float]] | None:
    """Return shape and elements of a list of numbers, or of equally long lists, in one step.

    None for everything else, and for elements of wrong types: `_from_nested` reports these.
    """
    first: Any = value[0] if value else None
    row: list[Any] = first if type(first) is list else []
    try:
        if isinstance(first, _NUMBERS):
            return (len(value),), Packed(code, value)
        if not row or not isinstance(row[0], _NUMBERS):
            return None
        elements, width = Packed(code), len(row)
        for row in value:
            elements.fromlist(row)
            if len(row) != width:
                return None
        return (len(value), width), elements
    except (TypeError, OverflowError):
        return None


def exact_type(value: Any) -> DataType | None:
    """Return "float64" for Python numbers and data of float64, None for anything else.

    >>> exact_type([1e7 + 0.1]), exact_type(array("f", [0.1])), exact_type(array("d", [0.1]))
    ('float64', None, 'float64')

    Lists count as what their first element is; data frames count as float64.
    """
    if isinstance(value, (list, tuple)):
        rows = cast("Sequence[Any]", value)
        return exact_type(rows[0]) if rows else None
    if isinstance(value, (range, *_NUMBERS)):
        return "float64"
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        return "float64" if str(dtype) == "float64" else None
    if hasattr(value, "__array__"):  # a data frame
        return "float64"
    try:
        return "float64" if memoryview(value).format.lstrip("@=<") == "d" else None
    except TypeError:
        return None


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _to_python(element: Any) -> Any:
    """Turn an element that is a NumPy array or number, or a proxy, into a Python object."""
    if isinstance(element, (int, float)):
        return element
    if hasattr(element, "to_py"):
        element = element.to_py()
    return element.tolist() if hasattr(element, "tolist") else element


def concatenate(arrays: Sequence[HostArray]) -> HostArray:
    """Concatenate arrays of the same type and row shape along the first axis.

    >>> concatenate([HostArray.of([[1]]), HostArray.of([[2], [3]])]).shape
    (3, 1)
    """
    if len(arrays) == 1:
        return arrays[0]
    rows = sum(len(array) for array in arrays)
    data = b"".join(array.data for array in arrays)
    return HostArray(arrays[0].dtype, (rows, *arrays[0].shape[1:]), data)


def zeros(dtype: DataType, shape: Sequence[int]) -> HostArray:
    """Return an array of zeros."""
    return HostArray(dtype, shape, bytes(byte_length(dtype, count(shape))))


def pack(values: Iterable[Any], dtype: DataType) -> bytes | array[Any]:
    """Return numbers as the memory of a data type.

    Raises `DataError` NNM702 if the type cannot hold a value.
    """
    if dtype in ("float32", "float16", "float64"):
        try:
            if dtype != "float16":
                return Packed(FORMATS[dtype], values)
            flat = list(values)
            return struct.pack(f"<{len(flat)}e", *flat)
        except (TypeError, OverflowError, struct.error) as error:
            raise DataError("NNM702", f"not all values are {dtype} numbers: {error}") from error
    flat = list(values)
    for value in flat:
        if not isinstance(value, (int, float)) or not holds(dtype, value):
            raise DataError("NNM702", f"{value!r} is not a value of {dtype}")
    if dtype not in FORMATS:
        nibbles = [int(value) & 15 for value in flat] + [0] * (len(flat) % 2)
        return bytes(low | high << 4 for low, high in zip(nibbles[::2], nibbles[1::2], strict=True))
    return struct.pack(f"<{len(flat)}{FORMATS[dtype]}", *map(int, flat))


def _widen_halves(halves: memoryview[int]) -> array[float]:
    """Return float16 numbers as float32, block by block: Python floats take 8 times the memory."""
    wide = array("f", bytes(4)) * (len(halves) // 2)
    for start in range(0, len(halves), _BLOCK):
        part = halves[start : start + _BLOCK]
        values = array("f", struct.unpack(f"<{len(part) // 2}e", part))
        wide[start // 2 : start // 2 + len(values)] = values
    return wide


def _narrow_to_halves(values: Any) -> bytearray:
    """Return float32 numbers as float16, block by block as well."""
    halves = bytearray(2 * len(values))
    for start in range(0, len(values), _BLOCK):
        part = pack(values[start : start + _BLOCK], "float16")
        halves[2 * start : 2 * start + len(part)] = part
    return halves


def _unpack4(data: memoryview[int], dtype: DataType, n: int) -> Iterator[int]:
    for index in range(n):
        nibble = data[index // 2] >> (4 * (index % 2)) & 15
        yield nibble - 16 if dtype == "int4" and nibble > 7 else nibble


@cache
def has_numpy() -> bool:
    """Load NumPy if it is installed; return whether it is."""
    if find_spec("numpy") is None:
        return False
    importlib.import_module("numpy")
    return True
