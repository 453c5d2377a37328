"""Converts ONNX tensors to host arrays and back."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Mapping
from typing import Any

from webnnm.core.arrays import HostArray, pack
from webnnm.core.dtypes import DataType, byte_length
from webnnm.core.errors import DataError
from webnnm.core.shapes import count, show
from webnnm.formats.onnx.messages import TensorProto
from webnnm.formats.onnx.reader import invalid

BOOL = 9
"""The booleans of ONNX; they are uint8 in WebNN, 0 and 1."""
UINT16, INT16 = 4, 5
SHORT: Mapping[int, tuple[str, int, int]] = {UINT16: ("H", 0, 65535), INT16: ("h", -32768, 32767)}
"""Integers that WebNN does not have, which int32 holds: `struct` format and range of each."""

NAMES: Mapping[int, str] = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64",
    8: "string", BOOL: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64",
    14: "complex64", 15: "complex128", 16: "bfloat16", 17: "float8e4m3fn", 18: "float8e4m3fnuz",
    19: "float8e5m2", 20: "float8e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4e2m1",
    24: "float8e8m0", 25: "uint2", 26: "int2",
}  # fmt: skip
"""The data types of ONNX by their numbers (`TensorProto.DataType`)."""

DTYPES: Mapping[int, DataType] = {
    1: "float32",
    2: "uint8",
    3: "int8",
    UINT16: "int32",
    INT16: "int32",
    6: "int32",
    7: "int64",
    BOOL: "uint8",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    21: "uint4",
    22: "int4",
}
"""The data types that hold those of ONNX; float64 becomes float32 in the graphs of devices."""

CODES: Mapping[DataType, int] = {
    name: code for code, name in DTYPES.items() if code not in (BOOL, *SHORT)
}

External = Callable[[str, int, int | None], Any]
"""Fetches bytes of another file, by its name, the first byte, and the count (None: all)."""


def no_external(location: str, _offset: int, _length: int | None) -> Any:
    """Raise an error, as the default if other files cannot be reached."""
    raise DataError(
        "NNM811",
        f'the weights of this model are in another file, "{location}"',
        hint="load the model by its path or URL, with that file next to it",
    )


def dtype(code: int, where: str) -> DataType:
    """Return the data type of WebNN for one of ONNX; raises `DataError` NNM814 if it has none."""
    if code in DTYPES:
        return DTYPES[code]
    name = NAMES.get(code, f"number {code}")
    raise DataError(
        "NNM814",
        f"{where} is of type {name}, which WebNN does not have",
        hint=f"supported types are {', '.join(sorted({NAMES[code] for code in DTYPES}))}",
    )


def host_array(tensor: TensorProto, external: External = no_external) -> HostArray:
    """Return a tensor as a host array: a view of the file if its data are stored as bytes.

    >>> host_array(TensorProto(dims=[2], data_type=1, float_data=[1.0, 2.0])).tolist()
    [1.0, 2.0]

    Raises `DataError` NNM811 for data whose size differs from the shape's, NNM814 for a type that
    WebNN does not have.
    """
    data_type = dtype(tensor.data_type, f'tensor "{tensor.name}"')
    data = content(tensor, external)
    if tensor.data_type in SHORT:
        format, *_ = SHORT[tensor.data_type]
        data = array("i", struct.unpack(f"<{len(data) // 2}{format}", data))
    return HostArray(data_type, tuple(tensor.dims), data)


def content(tensor: TensorProto, external: External = no_external) -> Any:
    """Return the bytes of a tensor, little-endian as in a file; raises what `host_array` raises."""
    where = f'tensor "{tensor.name}"'
    data_type, shape = dtype(tensor.data_type, where), tuple(tensor.dims)
    if any(size < 0 for size in shape):
        raise invalid(f"{where} has the shape {show(shape)}")
    short = tensor.data_type in SHORT
    expected = 2 * count(shape) if short else byte_length(data_type, count(shape))
    data: Any
    if tensor.data_location == 1:
        data = _external(tensor, external, expected)
    elif tensor.raw_data is not None:
        data = tensor.raw_data
    else:
        data = _pack_values(tensor, data_type, expected, where)
    if len(data) != expected:
        raise invalid(
            f"{where} has {len(data)} bytes, but its shape {show(shape)} takes {expected}"
        )
    return data


def _pack_values(tensor: TensorProto, dtype: DataType, expected: int, where: str) -> Any:
    """Return the bytes of a tensor whose values are stored as a list of numbers."""
    values: Any = (
        tensor.int32_data
        or tensor.int64_data
        or tensor.uint64_data
        or tensor.float_data
        or tensor.double_data
    )
    if len(values) > expected * (1 + (dtype in ("int4", "uint4"))):
        raise invalid(f"{where} has {len(values)} values, but its shape takes {expected} bytes")
    try:
        if tensor.data_type in SHORT:
            return struct.pack(f"<{len(values)}{SHORT[tensor.data_type][0]}", *values)
        if dtype == "float16":  # their bits, as integers
            return struct.pack(f"<{len(values)}H", *values)
        if dtype in ("int4", "uint4"):  # two in each integer
            return struct.pack(f"<{len(values)}B", *values)
        if dtype == "uint64":  # the reader takes all integers as signed
            values = [value & (1 << 64) - 1 for value in values]
        return memoryview(pack(values, dtype)).cast("B")
    except struct.error as error:
        raise invalid(f"{where} has values that are not {dtype}: {error}") from error


def _external(tensor: TensorProto, external: External, expected: int) -> Any:
    """Return the bytes of a tensor that are in another file."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    try:
        offset = int(entries.get("offset", "0"))
        length = int(entries["length"]) if "length" in entries else expected
    except ValueError as error:
        raise invalid(f'tensor "{tensor.name}" is stored at {entries}') from error
    if not location or offset < 0 or length != expected:
        raise invalid(
            f'tensor "{tensor.name}" is stored at {entries}, its shape takes {expected} bytes'
        )
    return external(location, offset, length)


def tensor_proto(name: str, array: HostArray, *, boolean: bool = False) -> TensorProto:
    """Return a host array as a tensor of ONNX, which shares its memory.

    >>> tensor_proto("w", HostArray.of([1.0, 2.0])).dims
    [2]
    """
    code = BOOL if boolean else CODES[array.dtype]
    return TensorProto(dims=list(array.shape), data_type=code, name=name, raw_data=array.data)
