"""The messages of ONNX files, and the number of each field in the wire format.

Names and numbers are those of `onnx.proto3` (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3);
fields that nothing here reads are left out, and skipped when a file has them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

Kind = Literal["int", "float", "double", "string", "bytes", "message"]


class Field(NamedTuple):
    """How a field of a message is written; for messages, `message` is the name of the type."""

    number: int
    kind: Kind
    message: str = ""
    repeated: bool = False


def one(number: int, kind: Kind, default: Any) -> Any:
    """Declare a field that holds one value."""
    return dataclasses.field(default=default, metadata={"wire": Field(number, kind)})


def many(number: int, kind: Kind) -> Any:
    """Declare a field that holds a list of values."""
    wire = Field(number, kind, repeated=True)
    return dataclasses.field(default_factory=list[Any], metadata={"wire": wire})


def optional(number: int, message: str) -> Any:
    """Declare a field that holds a message or None."""
    wire = Field(number, "message", message)
    return dataclasses.field(default=None, metadata={"wire": wire})


def messages(number: int, message: str) -> Any:
    """Declare a field that holds a list of messages."""
    wire = Field(number, "message", message, repeated=True)
    return dataclasses.field(default_factory=list[Any], metadata={"wire": wire})


class Message:
    """A message; its subclasses are its types, found by name in `TYPES`."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Field]]
    DEFAULTS: ClassVar[dict[str, Any]]
    """The value of a field that is absent from a file."""


@dataclass(slots=True)
class StringStringEntryProto(Message):
    """A pair of strings."""

    key: str = one(1, "string", "")
    value: str = one(2, "string", "")


@dataclass(slots=True)
class OperatorSetIdProto(Message):
    """The version of the operators of a domain; "" is the domain of ONNX itself."""

    domain: str = one(1, "string", "")
    version: int = one(2, "int", 0)


@dataclass(slots=True)
class DimensionProto(Message):
    """A dimension: a size, a name, or neither."""

    dim_value: int | None = one(1, "int", None)
    dim_param: str = one(2, "string", "")


@dataclass(slots=True)
class TensorShapeProto(Message):
    """The dimensions of a tensor."""

    dim: list[DimensionProto] = messages(1, "DimensionProto")


@dataclass(slots=True)
class TensorTypeProto(Message):
    """The type of a tensor; without a shape not even its rank is known."""

    elem_type: int = one(1, "int", 0)
    shape: TensorShapeProto | None = optional(2, "TensorShapeProto")


@dataclass(slots=True)
class ElementTypeProto(Message):
    """The type of a sequence, an optional or a map, by what it holds."""

    elem_type: TypeProto | None = optional(1, "TypeProto")


@dataclass(slots=True)
class MapTypeProto(Message):
    """The type of a map."""

    key_type: int = one(1, "int", 0)
    value_type: TypeProto | None = optional(2, "TypeProto")


@dataclass(slots=True)
class TypeProto(Message):
    """The type of a value: one of these."""

    tensor_type: TensorTypeProto | None = optional(1, "TensorTypeProto")
    sequence_type: ElementTypeProto | None = optional(4, "ElementTypeProto")
    map_type: MapTypeProto | None = optional(5, "MapTypeProto")
    sparse_tensor_type: TensorTypeProto | None = optional(8, "TensorTypeProto")
    optional_type: ElementTypeProto | None = optional(9, "ElementTypeProto")


@dataclass(slots=True)
class ValueInfoProto(Message):
    """The name and type of an input, an output or a value between them."""

    name: str = one(1, "string", "")
    type: TypeProto | None = optional(2, "TypeProto")


@dataclass(slots=True)
class TensorProto(Message):
    """A tensor: its values in one of the data fields, or in another file."""

    dims: list[int] = many(1, "int")
    data_type: int = one(2, "int", 0)
    float_data: list[float] = many(4, "float")
    int32_data: list[int] = many(5, "int")
    string_data: list[bytes] = many(6, "bytes")
    int64_data: list[int] = many(7, "int")
    name: str = one(8, "string", "")
    raw_data: memoryview[int] | bytes | None = one(9, "bytes", None)
    double_data: list[float] = many(10, "double")
    uint64_data: list[int] = many(11, "int")
    external_data: list[StringStringEntryProto] = messages(13, "StringStringEntryProto")
    data_location: int = one(14, "int", 0)


@dataclass(slots=True)
class SparseTensorProto(Message):
    """A sparse tensor: its values that are not 0, and their indices."""

    values: TensorProto | None = optional(1, "TensorProto")
    indices: TensorProto | None = optional(2, "TensorProto")
    dims: list[int] = many(3, "int")


@dataclass(slots=True)
class AttributeProto(Message):
    """An attribute of a node; `type` says which of the fields holds its value."""

    name: str = one(1, "string", "")
    f: float = one(2, "float", 0.0)
    i: int = one(3, "int", 0)
    s: memoryview[int] | bytes = one(4, "bytes", b"")
    t: TensorProto | None = optional(5, "TensorProto")
    g: GraphProto | None = optional(6, "GraphProto")
    floats: list[float] = many(7, "float")
    ints: list[int] = many(8, "int")
    strings: list[bytes] = many(9, "bytes")
    tensors: list[TensorProto] = messages(10, "TensorProto")
    graphs: list[GraphProto] = messages(11, "GraphProto")
    tp: TypeProto | None = optional(14, "TypeProto")
    type: int = one(20, "int", 0)
    ref_attr_name: str = one(21, "string", "")
    sparse_tensor: SparseTensorProto | None = optional(22, "SparseTensorProto")


@dataclass(slots=True)
class NodeProto(Message):
    """A call of an operator; an absent optional input or output has an empty name."""

    input: list[str] = many(1, "string")
    output: list[str] = many(2, "string")
    name: str = one(3, "string", "")
    op_type: str = one(4, "string", "")
    attribute: list[AttributeProto] = messages(5, "AttributeProto")
    domain: str = one(7, "string", "")
    overload: str = one(8, "string", "")


@dataclass(slots=True)
class GraphProto(Message):
    """A graph: nodes in an order in which each value is made before it is used."""

    node: list[NodeProto] = messages(1, "NodeProto")
    name: str = one(2, "string", "")
    initializer: list[TensorProto] = messages(5, "TensorProto")
    input: list[ValueInfoProto] = messages(11, "ValueInfoProto")
    output: list[ValueInfoProto] = messages(12, "ValueInfoProto")
    value_info: list[ValueInfoProto] = messages(13, "ValueInfoProto")
    sparse_initializer: list[SparseTensorProto] = messages(15, "SparseTensorProto")


@dataclass(slots=True)
class FunctionProto(Message):
    """An operator that a model defines by other operators."""

    name: str = one(1, "string", "")
    input: list[str] = many(4, "string")
    output: list[str] = many(5, "string")
    attribute: list[str] = many(6, "string")
    node: list[NodeProto] = messages(7, "NodeProto")
    opset_import: list[OperatorSetIdProto] = messages(9, "OperatorSetIdProto")
    domain: str = one(10, "string", "")
    attribute_proto: list[AttributeProto] = messages(11, "AttributeProto")
    overload: str = one(13, "string", "")


@dataclass(slots=True)
class ModelProto(Message):
    """A model: a graph, and the versions of the operators in it."""

    ir_version: int = one(1, "int", 0)
    producer_name: str = one(2, "string", "")
    producer_version: str = one(3, "string", "")
    graph: GraphProto | None = optional(7, "GraphProto")
    opset_import: list[OperatorSetIdProto] = messages(8, "OperatorSetIdProto")
    metadata_props: list[StringStringEntryProto] = messages(14, "StringStringEntryProto")
    functions: list[FunctionProto] = messages(25, "FunctionProto")


TYPES: dict[str, type[Message]] = {type.__name__: type for type in Message.__subclasses__()}
"""The types of messages by name."""

for _type in TYPES.values():
    _fields = dataclasses.fields(_type)  # pyrefly: ignore[bad-argument-type]
    _type.FIELDS = {field.name: field.metadata["wire"] for field in _fields}
    _type.DEFAULTS = {field.name: field.default for field in _fields}
