"""The format of CTranslate2's `model.bin`: named tensors, and aliases for them.

Source: python/ctranslate2/specs/model_spec.py of https://github.com/OpenNMT/CTranslate2, version 6.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from webnnm.core.arrays import HostArray, has_numpy
from webnnm.core.byte_cursor import Cursor
from webnnm.core.errors import DataError
from webnnm.core.shapes import Shape, count
from webnnm.snapshots.safetensors import SIZES, StoredTensor

VERSION = 6
CODES = ("F32", "I8", "I16", "I32", "F16", "BF16")
"""Tensor types in safetensors, by their numbers here."""
MAX_DIMENSIONS = 8
SCALE = "_scale"
"""The suffix of the name of an int8 matrix under which a factor for each of its rows is stored."""


@dataclass(frozen=True)
class File:
    """The contents of a file: the kind of model, and tensors by name, dimensions as in PyTorch.

    Aliases are included.
    """

    spec: str
    tensors: Mapping[str, StoredTensor] = field(repr=False)

    def value(self, name: str) -> int | None:
        """Return an integer that is stored as a tensor, None if it is missing."""
        tensor = self.tensors.get(name)
        if tensor is None or tensor.shape or not tensor.code.startswith("I"):
            return None
        return int.from_bytes(tensor.data, "little", signed=True)


def read(data: Any) -> File:
    """Return the contents of a file, from anything with the buffer protocol; no tensor is copied.

    >>> file = read(b"".join(chunks("WhisperSpec", {"w": ("F32", [2], struct.pack("<2f", 1, 2))})))
    >>> file.spec, file.tensors["w"].array().tolist()
    ('WhisperSpec', [1.0, 2.0])

    Raises `DataError` NNM801 for a file that ends early, NNM802 for one that is not a file
    of CTranslate2 in the version that this package reads, or that contradicts itself.
    """
    cursor = Cursor(memoryview(data).cast("B"))
    version = cursor.number("I", "its version")
    if version != VERSION:
        raise _invalid(f"its version is {version}; only version {VERSION} is supported")
    spec = _text(cursor, "the kind of its model")
    cursor.number("I", "its revision")
    number = cursor.number("I", "the number of its tensors")
    cursor.check(number, 8, "its tensors")
    tensors: dict[str, StoredTensor] = {}
    for _ in range(number):
        name, tensor = _tensor(cursor)
        if name in tensors:
            raise _invalid(f'it has the tensor "{name[:60]}" twice')
        tensors[name] = tensor
    aliases = cursor.number("I", "the number of its aliases")
    cursor.check(aliases, 4, "its aliases")
    for _ in range(aliases):
        name, other = (_text(cursor, "an alias") for _ in range(2))
        if other not in tensors or name in tensors:
            raise _invalid(f'it calls "{other[:60]}" "{name[:60]}" as well')
        tensors[name] = tensors[other]
    if cursor.position < len(cursor.view):
        raise _invalid(f"{len(cursor.view) - cursor.position} bytes follow the last alias")
    return File(spec, tensors)


def dequantize_rows(tensor: StoredTensor, scale: StoredTensor) -> HostArray:
    """Return the values of an int8 tensor with a scale for each of its rows: number / scale."""
    rows = tensor.shape[0] if tensor.shape else 0
    factors = scale.array().values()
    if tensor.code != "I8" or len(factors) != rows or not all(factors):
        message = f"a tensor {tensor.code}{list(tensor.shape)} has {len(factors)} scales"
        raise DataError(
            "NNM806", message, hint="an int8 tensor has one for each row, none of them 0"
        )
    size = count(tensor.shape[1:])
    if has_numpy():
        numpy: Any = sys.modules["numpy"]
        values: Any = numpy.frombuffer(tensor.data, "int8").reshape(rows, size).astype("float32")
        values /= numpy.asarray(factors, "float32")[:, None]
        return HostArray("float32", tensor.shape, values)
    numbers = memoryview(cast("Any", tensor.data)).cast("b")
    values = array("f")
    for row, factor in enumerate(factors):
        values.extend([number / factor for number in numbers[row * size : (row + 1) * size]])
    return HostArray("float32", tensor.shape, values)


def chunks(
    spec: str,
    tensors: Mapping[str, tuple[str, Sequence[int], bytes]],
    aliases: Mapping[str, str] | None = None,
) -> Iterator[bytes]:
    """Yield a file part by part: tensors by name, with their types, shapes and bytes."""
    yield struct.pack("<I", VERSION) + _pack_text(spec) + struct.pack("<II", 3, len(tensors))
    for name, (code, shape, data) in tensors.items():
        sizes = struct.pack(f"<B{len(shape)}I", len(shape), *shape)
        yield _pack_text(name) + sizes + struct.pack("<BI", CODES.index(code), len(data))
        yield data
    others = aliases or {}
    yield struct.pack("<I", len(others))
    for pair in others.items():
        yield b"".join(_pack_text(name) for name in pair)


def _pack_text(text: str) -> bytes:
    data = text.encode() + b"\0"
    return struct.pack("<H", len(data)) + data


def _text(cursor: Cursor, what: str) -> str:
    data = bytes(cursor.take(cursor.number("H", what), what))
    try:
        return data.removesuffix(b"\0").decode()
    except UnicodeDecodeError as error:
        raise _invalid(f"{what} is not UTF-8: {data[:20]!r}") from error


def _tensor(cursor: Cursor) -> tuple[str, StoredTensor]:
    name = _text(cursor, "the name of a tensor")
    where = f'tensor "{name[:60]}"'
    rank = cursor.number("B", where)
    if rank > MAX_DIMENSIONS:
        raise _invalid(f"{where} has {rank} dimensions")
    shape: Shape = tuple(cursor.number("I", where) for _ in range(rank))
    number: int = cursor.number("B", where)
    size: int = cursor.number("I", where)
    if number >= len(CODES):
        raise _invalid(f"{where} has the unknown type {number}")
    code = CODES[number]
    if size != count(shape) * SIZES[code]:
        raise _invalid(f"{where} {code}{list(shape)} has {size} bytes")
    return name, StoredTensor(code, shape, cursor.take(size, where))


def _invalid(reason: str) -> DataError:
    return DataError(
        "NNM802",
        f"this is not a model.bin of CTranslate2: {reason}",
        hint="convert the model with ct2-transformers-converter, or check what the path leads to",
    )
