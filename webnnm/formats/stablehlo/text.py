"""How data types, constants and attributes are written in MLIR."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType, is_float
from webnnm.formats.sizes import Dim

Element = DataType | Literal["bool"]
"""Data types of values; "bool" is the result of a comparison."""

ELEMENTS: dict[Element, str] = {
    "float32": "f32",
    "float16": "f16",
    "int64": "i64",
    "int32": "i32",
    "int8": "i8",
    "int4": "i4",
    "uint64": "ui64",
    "uint32": "ui32",
    "uint8": "ui8",
    "uint4": "ui4",
    "bool": "i1",
}

MAX_LIST_SIZE = 64
"""Constants of more numbers than this are written as bytes."""


def tensor_type(dtype: Element, shape: Iterable[Dim]) -> str:
    """Return the type of a tensor.

    >>> tensor_type("uint8", (2, 3)), tensor_type("float32", ())
    ('tensor<2x3xui8>', 'tensor<f32>')
    """
    return f"tensor<{''.join(f'{size}x' for size in shape)}{ELEMENTS[dtype]}>"


def integers(values: Iterable[int]) -> str:
    """Return an attribute of several integers.

    >>> integers([0, 2]), integers([])
    ('array<i64: 0, 2>', 'array<i64>')
    """
    listed = ", ".join(map(str, values))
    return f"array<i64: {listed}>" if listed else "array<i64>"


def booleans(values: Iterable[bool]) -> str:
    """Return an attribute of several booleans."""
    listed = ", ".join(str(value).lower() for value in values)
    return f"array<i1: {listed}>" if listed else "array<i1>"


def integer(value: int) -> str:
    """Return an attribute of one integer."""
    return f"{value} : i64"


def pairs(values: Sequence[tuple[int, int]]) -> str:
    """Return an attribute of pairs of integers, such as a padding."""
    rows = ", ".join(f"[{low}, {high}]" for low, high in values)
    listed = f"[{rows}]" if rows else ""
    return f"dense<{listed}> : tensor<{len(values)}x2xi64>"


def quote(text: str) -> str:
    """Return a string in MLIR syntax.

    >>> quote('say "é"')
    '"say \\\\22\\\\C3\\\\A9\\\\22"'
    """
    plain = (chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in text.encode())
    return f'"{"".join(plain)}"'


def symbol(name: str) -> str:
    """Return the name of a module: a bare word if possible, otherwise a string."""
    bare = name.isascii() and name.replace("_", "a").isalnum() and not name[0].isdigit()
    return f"@{name}" if bare else f"@{quote(name)}"


def number(value: float, dtype: Element) -> str:
    """Return the text of a number, which reads back as the same number.

    >>> number(0.5, "float32"), number(2, "int32"), number(math.inf, "float16")
    ('5.000000e-01', '2', '0x7C00')
    """
    if dtype == "bool":
        return "true" if value else "false"
    if not is_float(dtype):
        return str(int(value))
    code, bits = ("f", "I") if dtype == "float32" else ("e", "H")
    if not math.isfinite(value):
        (pattern,) = struct.unpack(f"<{bits}", struct.pack(f"<{code}", value))
        return f"0x{pattern:0{2 * struct.calcsize(code)}X}"
    short = f"{value:.6e}"
    exact = struct.pack(f"<{code}", float(short)) == struct.pack(f"<{code}", value)
    return short if exact else f"{value:.8e}"


def dense(array: HostArray) -> str:
    """Return the text of a constant: one number if all are the same, otherwise all of them.

    >>> dense(HostArray.of([[1, 2], [3, 4]], "int32"))
    'dense<[[1, 2], [3, 4]]>'
    """
    values = array.values()
    if len(values) and _same(array):
        return f"dense<{number(values[0], array.dtype)}>"
    if len(values) > MAX_LIST_SIZE and array.dtype not in ("int4", "uint4"):
        return f'dense<"0x{array.data.hex().upper()}">'
    return f"dense<{_format_nested(array.tolist(), array.dtype)}>"


def _same(array: HostArray) -> bool:
    """Return whether all elements have the same bits."""
    if array.dtype in ("int4", "uint4"):
        return len(set(array.values())) == 1
    data, width = array.data, len(array.data) // max(1, math.prod(array.shape))
    return data[width:] == data[:-width] if len(data) > width else True


def _format_nested(value: list[Any] | float, dtype: Element) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_format_nested(item, dtype) for item in value)}]"
    return number(value, dtype)
