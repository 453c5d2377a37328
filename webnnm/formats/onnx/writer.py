"""From the messages of ONNX to the bytes of a file."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from webnnm.formats.onnx.messages import Field, Message

Chunk = bytes | memoryview

_WIRE = {"int": 0, "double": 1, "float": 5}
_FORMATS = {"float": "f", "double": "d"}


def written(message: Message) -> bytes:
    """Return a message as bytes.

    >>> from webnnm.formats.onnx.messages import OperatorSetIdProto
    >>> written(OperatorSetIdProto(version=21)).hex()
    '1015'
    """
    return b"".join(chunks(message))


def chunks(message: Message) -> list[Chunk]:
    """Return a message as pieces of bytes, of which those of tensors are not copied."""
    return list(_encoded(message))


def _encoded(message: Message) -> Iterator[Chunk]:
    for name, field in type(message).FIELDS.items():
        value = getattr(message, name)
        if not field.repeated:
            if value != type(message).DEFAULTS[name]:
                yield from _one(field, value)
        elif value and field.kind in _WIRE:
            yield from _with_length(field, [_packed(field, value)])
        else:
            for item in value:
                yield from _one(field, item)


def _one(field: Field, value: Any) -> Iterator[Chunk]:
    """Yield a field with one value."""
    if field.kind == "message":
        yield from _with_length(field, chunks(value))
    elif field.kind == "string":
        yield from _with_length(field, [value.encode()])
    elif field.kind == "bytes":
        yield from _with_length(field, [memoryview(value).cast("B")])
    else:
        yield varint(field.number << 3 | _WIRE[field.kind]) + _packed(field, [value])


def _with_length(field: Field, pieces: list[Chunk]) -> Iterator[Chunk]:
    yield varint(field.number << 3 | 2) + varint(sum(map(len, pieces)))
    yield from pieces


def _packed(field: Field, values: Any) -> bytes:
    """Return numbers one behind the other."""
    if field.kind == "int":
        return b"".join(map(varint, values))
    return struct.pack(f"<{len(values)}{_FORMATS[field.kind]}", *values)


def varint(value: int) -> bytes:
    """Return an integer of 64 bits as bytes of 7 bits each, the lowest first.

    >>> varint(300).hex(), varint(-1).hex()
    ('ac02', 'ffffffffffffffffff01')
    """
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)
