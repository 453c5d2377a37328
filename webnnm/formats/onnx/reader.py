"""From the bytes of an ONNX file to its messages, with tensors as views of the bytes.

The wire format is that of Protocol Buffers (https://protobuf.dev/programming-guides/encoding):
a sequence of fields, each a number with a wire type, then a varint, 4 or 8 bytes, or a length and
as many bytes. Every length is checked against what is left, so that work and memory are bounded by
the size of the file, and nothing in a file is executed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, TypeVar, cast

from webnnm.core.errors import DataError
from webnnm.formats.onnx.messages import TYPES, Field, Message, ModelProto

MAX_NESTING = 64
"""The deepest nesting of messages: a graph in a branch of a graph takes four levels."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIRE = {"int": _VARINT, "float": _FIXED32, "double": _FIXED64}
_STRUCT = {"float": struct.Struct("<f"), "double": struct.Struct("<d")}

M = TypeVar("M", bound=Message)


def read_model(data: Any) -> ModelProto:
    """Return the model in the bytes of a file, from anything with the buffer protocol.

    >>> from webnnm.formats.onnx.writer import serialize
    >>> from webnnm.formats.onnx.messages import GraphProto, OperatorSetIdProto
    >>> net = ModelProto(graph=GraphProto(name="net"), opset_import=[OperatorSetIdProto("", 21)])
    >>> read_model(serialize(net)).graph.name
    'net'

    Tensors are views of the data, which has to stay as it is.

    Raises `DataError` NNM801 for a file that ends within a field, NNM811 for one that is not an
    ONNX model.
    """
    model = decode(ModelProto, memoryview(data).cast("B"))
    if model.graph is None:
        raise invalid("it has no graph")
    if not model.opset_import:
        raise invalid("it does not say which version of the operators it uses")
    return model


def decode(type: type[M], data: memoryview[int], depth: int = 0) -> M:
    """Return the message of a type that some bytes hold."""
    if depth > MAX_NESTING:
        raise invalid(f"its messages are nested more than {MAX_NESTING} deep")
    message = type()
    fields_of_type = _by_number(type)
    for number, wire, value in fields(data, type.__name__):
        if (entry := fields_of_type.get(number)) is None:
            continue
        name, field, where = entry
        if not field.repeated:
            setattr(message, name, _value(field, wire, value, where, depth))
        elif wire == _BYTES and field.kind in _WIRE:
            getattr(message, name).extend(_unpack(field, cast("memoryview[int]", value), where))
        else:
            getattr(message, name).append(_value(field, wire, value, where, depth))
    return message


_NUMBERS: dict[type[Message], dict[int, tuple[str, Field, str]]] = {}


def _by_number(type: type[Message]) -> dict[int, tuple[str, Field, str]]:
    """Return the name, the field and its name in errors, by number."""
    if type not in _NUMBERS:
        _NUMBERS[type] = {
            field.number: (name, field, f"{type.__name__}.{name}")
            for name, field in type.FIELDS.items()
        }
    return _NUMBERS[type]


def fields(data: memoryview[int], where: str) -> Iterator[tuple[int, int, int | memoryview[int]]]:
    """Yield number, wire type and value of each field: an integer, or a view of its bytes."""
    at, end = 0, len(data)
    while at < end:
        # Nearly all keys and most lengths take one byte, and files have tens of thousands of them.
        key, at = (data[at], at + 1) if data[at] < 128 else _varint(data, at, where)
        number, wire = key >> 3, key & 7
        if number == 0:
            raise invalid(f"{where} has a field of number 0")
        if wire == _VARINT:
            value, at = _varint(data, at, where)
            yield number, wire, value
            continue
        if wire == _BYTES:
            small = at < end and data[at] < 128
            length, at = (data[at], at + 1) if small else _varint(data, at, where)
        elif wire in (_FIXED32, _FIXED64):
            length = 4 if wire == _FIXED32 else 8
        else:
            raise invalid(f"field {number} of {where} has wire type {wire}")
        if length > end - at:
            raise DataError(
                "NNM801",
                f"the file ends within field {number} of {where}: {length} bytes are announced, "
                f"{end - at} are there",
                hint="it was cut off: download it again",
            )
        yield number, wire, data[at : at + length]
        at += length


def _varint(data: memoryview[int], at: int, where: str) -> tuple[int, int]:
    """Return an unsigned number of 7 bits a byte, lowest first, and the position after it."""
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (1 << 64) - 1, at
        shift += 7
    if shift >= 70:
        raise invalid(f"a number in {where} has more than 10 bytes")
    raise DataError(
        "NNM801",
        f"the file ends within a number of {where}",
        hint="it was cut off: download it again",
    )


def _value(field: Field, wire: int, value: int | memoryview[int], where: str, depth: int) -> Any:
    """Return the value of a field as a Python object."""
    if wire != _WIRE.get(field.kind, _BYTES):
        raise invalid(f"{where} has wire type {wire}")
    if isinstance(value, int):
        return _to_signed(value)
    if field.kind == "message":
        return decode(TYPES[field.message], value, depth + 1)
    if field.kind == "string":
        return _text(value, where)
    return _STRUCT[field.kind].unpack(value)[0] if field.kind in _STRUCT else value


def _unpack(field: Field, data: memoryview[int], where: str) -> Any:
    """Return the numbers of a list that is written as one field."""
    if field.kind == "int":
        return _unpack_integers(data, where)
    size = _STRUCT[field.kind].size
    if len(data) % size:
        raise invalid(f"{where} has {len(data)} bytes, not a multiple of {size}")
    return data.cast("f" if field.kind == "float" else "d")


def _unpack_integers(data: memoryview[int], where: str) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _varint(data, at, where)
        yield _to_signed(value)


def _to_signed(value: int) -> int:
    """Return a varint as a signed 64-bit integer, as all integers of ONNX but uint64 are."""
    return value - (1 << 64) if value >> 63 else value


def _text(data: memoryview[int], where: str) -> str:
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError as error:
        raise invalid(
            f"{where} is not valid UTF-8: {error.reason} at byte {error.start}"
        ) from error


def invalid(reason: str) -> DataError:
    """Return NNM811, the error for a file that is not a valid ONNX model."""
    return DataError(
        "NNM811", f"this is not an ONNX model: {reason}", hint="check what the path leads to"
    )
