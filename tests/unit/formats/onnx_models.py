"""ONNX models written as messages, for tests."""

from __future__ import annotations

from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.formats.onnx import tensors
from webnnm.formats.onnx.messages import (
    AttributeProto,
    DimensionProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    TensorProto,
    TensorShapeProto,
    TensorTypeProto,
    TypeProto,
    ValueInfoProto,
)

FLOAT, INT64, STRING, BOOL, DOUBLE = 1, 7, 8, 9, 11


def info(name: str, *dims: int | str | None, code: int = FLOAT) -> ValueInfoProto:
    sizes = [
        DimensionProto(dim_param=dim) if isinstance(dim, str) else DimensionProto(dim_value=dim)
        for dim in dims
    ]
    return ValueInfoProto(name, TypeProto(TensorTypeProto(code, TensorShapeProto(sizes))))


def node(text: str, **attributes: Any) -> NodeProto:
    """Return a node from "y = Add(a, b)"."""
    left, _, right = text.partition(" = ")
    operator, _, inputs = right.rstrip(")").partition("(")
    domain, _, name = operator.rpartition(".")
    given = [word.strip() for word in inputs.split(",")] if inputs else []
    found = [_attribute(key, value) for key, value in attributes.items()]
    outputs = [word.strip() for word in left.split(",")]
    return NodeProto(given, outputs, "", name, found, domain)


def _attribute(name: str, value: Any) -> AttributeProto:
    if isinstance(value, GraphProto):
        return AttributeProto(name=name, g=value, type=5)
    if isinstance(value, TensorProto):
        return AttributeProto(name=name, t=value, type=4)
    if isinstance(value, list):
        return AttributeProto(name=name, ints=value, type=7)
    if isinstance(value, str):
        return AttributeProto(name=name, s=value.encode(), type=3)
    if isinstance(value, float):
        return AttributeProto(name=name, f=value, type=1)
    return AttributeProto(name=name, i=value, type=2)


def constant(name: str, value: Any, dtype: Any = "int64") -> TensorProto:
    return tensors.tensor_proto(name, HostArray.of(value, dtype))


def graph(
    nodes: list[NodeProto],
    inputs: list[ValueInfoProto],
    outputs: list[str],
    *initializers: TensorProto,
) -> GraphProto:
    return GraphProto(
        nodes, "net", list(initializers), inputs, [ValueInfoProto(name) for name in outputs]
    )


def model(of: GraphProto, *functions: FunctionProto, opset: int = 21) -> ModelProto:
    imported = [OperatorSetIdProto("", opset), OperatorSetIdProto("own", 1)]
    return ModelProto(graph=of, opset_import=imported, functions=list(functions))
