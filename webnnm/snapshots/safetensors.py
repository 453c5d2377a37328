"""The safetensors format: named tensors and text metadata, nothing that could be executed.

A file is 8 bytes with the little-endian length of the header, the header as JSON, then the data of
the tensors without gaps (https://huggingface.co/docs/safetensors).
"""

from __future__ import annotations

import codecs
import json
import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.core.errors import DataError
from webnnm.core.json_text import parse_json
from webnnm.core.shapes import Shape, count
from webnnm.snapshots.foreign import permute

MAX_HEADER_BYTES = 100_000_000
"""Longer headers are refused (spec I)."""
MAX_DIMENSIONS = 64
"""More dimensions than any tensor has: such a header is nonsense."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""Characters that no JSON text holds."""
_PIECE = 1 << 16

ENTRY = ("dtype", "shape", "data_offsets")
"""The keys of a tensor in a header; others are ignored, as by the library safetensors."""
CODES: Mapping[DataType, str] = {
    "float32": "F32",
    "float16": "F16",
    "int64": "I64",
    "uint64": "U64",
    "int32": "I32",
    "uint32": "U32",
    "int8": "I8",
    "uint8": "U8",
    "int4": "U8",
    "uint4": "U8",
}
"""The names of data types; 4-bit ones are packed into bytes, two in each."""

SIZES: Mapping[str, int] = {
    **dict.fromkeys(("F64", "I64", "U64", "C64"), 8),
    **dict.fromkeys(("F32", "I32", "U32"), 4),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 2),
    **dict.fromkeys(("I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2", "F8_E8M0"), 1),
    **dict.fromkeys(("F8_E4M3FNUZ", "F8_E5M2FNUZ"), 1),
}
"""Bytes per element of every type that a file may hold."""
BITS: Mapping[str, int] = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}
"""Bits per element of types whose elements share bytes."""

_DTYPES: Mapping[str, DataType] = {
    "F32": "float32",
    "F16": "float16",
    "I64": "int64",
    "U64": "uint64",
    "I32": "int32",
    "U32": "uint32",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "uint8",
}
_WIDER: Mapping[str, tuple[DataType, str, str]] = {
    "F64": ("float32", "d", "f"),
    "I16": ("int32", "h", "i"),
    "U16": ("uint32", "H", "I"),
}
_WIDENED: Mapping[str, DataType] = {
    "BF16": "float32",
    **{code: wider for code, (wider, _, _) in _WIDER.items()},
}


@dataclass(frozen=True)
class StoredTensor:
    """A tensor as it is stored in a file: the type's name there, its shape, its bytes."""

    code: str
    shape: Shape
    data: memoryview[int] = field(repr=False)

    @property
    def dtype(self) -> DataType | None:
        """The type of the array that `array` returns, None if WebNN has no counterpart."""
        return _DTYPES.get(self.code) or _WIDENED.get(self.code)

    @property
    def item_bytes(self) -> int:
        """The bytes of one element."""
        return SIZES[self.code]

    def transpose(self) -> memoryview[int]:
        """Return the bytes of the transposed matrix."""
        return permute(self.shape, self.data, self.item_bytes, (1, 0))

    def array(self) -> HostArray:
        """Return the tensor in a type of WebNN: bfloat16 and float64 become float32.

        Raises `DataError` NNM806 for a type without a counterpart.
        """
        if self.code in _DTYPES:
            return HostArray(_DTYPES[self.code], self.shape, self.data)
        if self.code == "BF16":  # the upper halves of float32
            words = bytearray(2 * len(self.data))
            words[2::4], words[3::4] = self.data[0::2], self.data[1::2]
            return HostArray("float32", self.shape, words)
        if self.code in _WIDER:
            dtype, narrow, wide = _WIDER[self.code]
            values: array[Any] = array(narrow)
            values.frombytes(self.data)
            return HostArray(dtype, self.shape, array(wide, values))
        raise DataError("NNM806", f"tensors of type {self.code} have no counterpart in WebNN")


@dataclass(frozen=True)
class File:
    """The contents of a safetensors file; checksums are computed over `header` and `body`."""

    tensors: Mapping[str, StoredTensor]
    metadata: Mapping[str, str]
    header: Mapping[str, Any] = field(repr=False)
    body: memoryview[int] = field(repr=False)


def chunks(
    tensors: Mapping[str, HostArray], metadata: Mapping[str, str]
) -> Iterator[bytes | memoryview[int]]:
    """Yield a file in parts: the header, then the tensors as they are, without a copy.

    >>> from webnnm.core.arrays import HostArray
    >>> data = b"".join(chunks({"w": HostArray.of([1.0, 2.0])}, {"made by": "hand"}))
    >>> found = read(data)
    >>> found.tensors["w"].array().tolist(), found.metadata
    ([1.0, 2.0], {'made by': 'hand'})

    4-bit tensors are written as bytes: `[n, …]` becomes `[bytes]`.
    """
    text = json.dumps(header(tensors, metadata), ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for tensor in tensors.values():
        yield tensor.data


def pack_safetensors(
    tensors: Mapping[str, Any], metadata: Mapping[str, str] | None = None
) -> bytes:
    """Return arrays as the bytes of a safetensors file.

    >>> data = pack_safetensors({"w": [[1.0, 2.0]], "b": [0.5]}, {"made by": "hand"})
    >>> {name: array.tolist() for name, array in unpack_safetensors(data).items()}
    {'w': [[1.0, 2.0]], 'b': [0.5]}

    - `tensors`: name → anything with the buffer protocol, whose type is kept, or a list of numbers,
      which are written as float32.
    - `metadata`: texts by name, for whoever reads the file.
    """
    arrays = {name: HostArray.of(value) for name, value in tensors.items()}
    return b"".join(chunks(arrays, metadata or {}))


def unpack_safetensors(data: Any) -> dict[str, HostArray]:
    """Return the arrays of a safetensors file by name, from anything with the buffer protocol.

    Raises `DataError` NNM801 for a file that was cut off, NNM802 for one that is not of the format.
    """
    return {name: tensor.array() for name, tensor in read(data).tensors.items()}


def header(tensors: Mapping[str, HostArray], metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return the header of a file as JSON data."""
    entries: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    start = 0
    for name, tensor in tensors.items():
        end = start + tensor.data.nbytes
        packed = tensor.dtype in ("int4", "uint4")
        shape = [tensor.data.nbytes] if packed else list(tensor.shape)
        code = CODES[tensor.dtype]
        entries[name] = {"dtype": code, "shape": shape, "data_offsets": [start, end]}
        start = end
    return entries


def read(data: Any) -> File:
    """Return the contents of a file, from anything with the buffer protocol; no data is copied.

    Raises `DataError` NNM801 for a file that is shorter than its header says, NNM802 for one that
    is not a safetensors file: the header is not JSON of the right form, or tensors overlap, leave
    gaps or do not have the size of their shape.
    """
    view = memoryview(data).cast("B")
    content, start = _header(view)
    body = view[start:]
    metadata: Any = content.get("__metadata__")
    if metadata is None:
        metadata = dict[str, str]()
    if not isinstance(metadata, dict) or not all(
        isinstance(value, str) for value in cast("dict[str, Any]", metadata).values()
    ):
        raise invalid("its metadata are not all strings")
    entries = sorted(
        (
            (*_parse_entry(name, entry), name)
            for name, entry in content.items()
            if name != "__metadata__"
        ),
        key=lambda entry: (entry[0], entry[1]),
    )
    tensors: dict[str, StoredTensor] = {}
    expected = 0
    for first, end, code, shape, name in entries:
        if first != expected:
            what = "overlaps the one before" if first < expected else "leaves a gap before it"
            raise invalid(f'tensor "{name}" {what} (byte {first}, expected {expected})')
        if end > len(body):
            raise DataError(
                "NNM801",
                f'the file ends within tensor "{name}": {end} bytes of data are announced, '
                f"{len(body)} are there",
                hint="it was cut off: download it again",
            )
        tensors[name] = StoredTensor(code, shape, body[first:end])
        expected = end
    if expected != len(body):
        raise invalid(f"{len(body) - expected} bytes follow the last tensor")
    in_order = {name: tensors[name] for name in content if name in tensors}
    return File(in_order, cast("dict[str, str]", metadata), content, body)


def _header(view: memoryview[int]) -> tuple[dict[str, Any], int]:
    """Return the header and the offset of the data."""
    if len(view) < 8:
        raise DataError(
            "NNM801", f"the file has {len(view)} bytes, too few for a header", hint=_AGAIN
        )
    length = int.from_bytes(view[:8], "little")
    if length > MAX_HEADER_BYTES:
        raise invalid(f"its header would have {length} bytes")
    if length > len(view) - 8:
        raise DataError(
            "NNM801",
            f"the file ends within its header: {length} bytes are announced, "
            f"{len(view) - 8} are there",
            hint=_AGAIN,
        )
    try:
        content = parse_json(_text(view[8 : 8 + length]))
    except ValueError as error:
        raise invalid(f"its header is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise invalid("its header is not a JSON object")
    return cast("dict[str, Any]", content), 8 + length


def _text(data: memoryview[int]) -> str:
    """Return a header as text; tensors mistaken for a header are noticed before all is copied."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    pieces: list[str] = []
    for start in range(0, len(data), _PIECE):
        end = start + _PIECE
        pieces.append(decoder.decode(bytes(data[start:end]), final=end >= len(data)))
        if _CONTROL.search(pieces[-1]):
            raise ValueError("it holds control characters")
    return "".join(pieces)


def _parse_entry(name: str, entry: Any) -> tuple[int, int, str, Shape]:
    """Return the start and end of a tensor, its type and its shape."""
    where = f'tensor "{name}"'
    if isinstance(entry, list) and len(cast("list[Any]", entry)) == len(ENTRY):
        entry = dict(zip(ENTRY, cast("list[Any]", entry), strict=True))
    fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
    if not fields.keys() >= {*ENTRY}:
        raise invalid(f"{where} needs dtype, shape and data_offsets")
    code, shape, offsets = fields["dtype"], fields["shape"], fields["data_offsets"]
    if not isinstance(code, str) or (code not in SIZES and code not in BITS):
        raise invalid(f"{where} has the unknown type {code!r}")
    if not _are_sizes(shape) or len(shape) > MAX_DIMENSIONS:
        raise invalid(f"{where} has the shape {str(shape)[:80]}")
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise invalid(f"{where} has the offsets {str(offsets)[:80]}")
    bits = count(shape) * (BITS[code] if code in BITS else 8 * SIZES[code])
    size = -(-bits // 8)
    if bits % 8:
        raise invalid(f"{where} ends within a byte: its shape takes {bits} bits")
    if size != offsets[1] - offsets[0]:
        raise invalid(f"{where} has {offsets[1] - offsets[0]} bytes, but its shape takes {size}")
    return offsets[0], offsets[1], code, tuple(shape)


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(
        type(size) is int and 0 <= size < 2**63 for size in cast("list[Any]", value)
    )


_AGAIN = "it was cut off: download it again"


def invalid(reason: str) -> DataError:
    """Return NNM802, the error of a file that is not a valid safetensors file."""
    return DataError(
        "NNM802", f"this is not a safetensors file: {reason}", hint="check what the path leads to"
    )
