"""From ONNX messages to the bytes of a file."""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

from webnnm.formats.onnx.messages import Field, Message

Chunk = bytes | memoryview

_WIRE = {"int": 0, "double": 1, "float": 5}
_BYTES = 2
_FORMATS = {"float": "f", "double": "d"}
_SMALL = [bytes([value]) for value in range(128)]


def serialize(message: Message) -> bytes:
    """Return a message as bytes.

    >>> from webnnm.formats.onnx.messages import OperatorSetIdProto
    >>> serialize(OperatorSetIdProto(version=21)).hex()
    '1015'
    """
    return b"".join(chunks(message))


def chunks(message: Message) -> list[Chunk]:
    """Return a message as pieces of bytes; those of tensors are not copied."""
    pieces: list[Chunk] = []
    _write(message, pieces)
    return pieces


def _write(message: Message, pieces: list[Chunk]) -> int:
    """Append a message, and return its length in bytes."""
    type_, length = type(message), 0
    for name, field in type_.FIELDS.items():
        value = getattr(message, name)
        if field.repeated:
            if value and field.kind in _WIRE:
                length += _write_bytes(field, _pack(field, value), pieces)
                continue
            for item in value:
                length += _write_one(field, item, pieces)
        elif value != type_.DEFAULTS[name]:
            length += _write_one(field, value, pieces)
    return length


def _write_one(field: Field, value: Any, pieces: list[Chunk]) -> int:
    """Append a field with one value, and return its length."""
    if field.kind == "message":
        # The prefix of a message holds its length, which is known only afterwards.
        index = len(pieces)
        pieces.append(b"")
        length = _write(value, pieces)
        pieces[index] = head = _key(field.number, _BYTES) + varint(length)
        return len(head) + length
    if field.kind == "string":
        return _write_bytes(field, value.encode(), pieces)
    if field.kind == "bytes":
        return _write_bytes(field, memoryview(value).cast("B"), pieces)
    pieces.append(piece := _key(field.number, _WIRE[field.kind]) + _pack(field, [value]))
    return len(piece)


def _write_bytes(field: Field, value: Chunk, pieces: list[Chunk]) -> int:
    head = _key(field.number, _BYTES) + varint(len(value))
    pieces += (head, value)
    return len(head) + len(value)


@cache
def _key(number: int, wire: int) -> bytes:
    """Return the prefix of a field."""
    return varint(number << 3 | wire)


def _pack(field: Field, values: Any) -> bytes:
    """Return numbers packed one after the other."""
    if field.kind == "int":
        return b"".join(map(varint, values))
    return struct.pack(f"<{len(values)}{_FORMATS[field.kind]}", *values)


def varint(value: int) -> bytes:
    """Return a 64-bit integer as bytes of 7 bits each, lowest first.

    >>> varint(300).hex(), varint(-1).hex()
    ('ac02', 'ffffffffffffffffff01')
    """
    if 0 <= value < 128:
        return _SMALL[value]
    value &= (1 << 64) - 1
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
