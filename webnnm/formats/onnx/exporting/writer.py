"""From the calls of an exported graph to the messages of a model: names, types, attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webnnm.formats.needed import find_needed_calls
from webnnm.formats.onnx.exporting.values import Call, Element, Value
from webnnm.formats.onnx.messages import (
    AttributeProto,
    DimensionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    TensorShapeProto,
    TensorTypeProto,
    TypeProto,
    ValueInfoProto,
)
from webnnm.formats.onnx.tensors import BOOL, CODES, tensor_proto
from webnnm.formats.sizes import Dim, Size

OPSET, IR_VERSION = 21, 10
"""The newest opset that ONNX Runtime's kernels support completely on CPU, wasm and WebGPU: opset 22
only adds bfloat16. It has 4-bit types, pooling with dilations and Gelu."""
OUTPUT_SUFFIX = "/out"
"""The suffix of the name of an output if an input has the same name."""
FLOAT, INT, STRING, INTS = 1, 2, 3, 7
"""Types of attributes (`AttributeProto.AttributeType`)."""


@dataclass(frozen=True)
class Exported:
    """A graph to be written: inputs and outputs by name, calls, the names of open sizes."""

    name: str
    inputs: Mapping[str, Value]
    outputs: Mapping[str, Value]
    calls: Sequence[Call]
    dimensions: Mapping[Size, str]


def model_of(graph: Exported) -> ModelProto:
    """Return the model of a graph."""
    outputs, copies = _outputs(graph)
    calls = [*find_needed_calls(graph.calls, graph.outputs.values()), *copies]
    names = _assign_names(graph.inputs, outputs, calls)
    message = GraphProto(
        name=graph.name,
        node=[_node(call, names, index) for index, call in enumerate(calls)],
        initializer=[
            tensor_proto(name, value.array)
            for value, name in names.items()
            if value.array is not None
        ],
        input=[_value_info(graph, name, value) for name, value in graph.inputs.items()],
        output=[_value_info(graph, name, value) for name, value in outputs.items()],
    )
    opset = OperatorSetIdProto(version=OPSET)
    return ModelProto(IR_VERSION, producer_name="webnnm", graph=message, opset_import=[opset])


def _outputs(graph: Exported) -> tuple[dict[str, Value], list[Call]]:
    """Return values that can have the names of outputs, and the copies that some of them need.

    Inputs and constants have their own names, and no value has two. The value that a training step
    computes for an input is named after it.
    """
    taken = set(graph.inputs.values())
    outputs: dict[str, Value] = {}
    copies: list[Call] = []
    for name, value in graph.outputs.items():
        if value in taken or value.array is not None:
            copy = Value(value.dtype, value.shape)
            copies.append(Call("Identity", (value,), (copy,), {}))
            value = copy
        taken.add(value)
        outputs[f"{name}{OUTPUT_SUFFIX}" if name in graph.inputs else name] = value
    return outputs, copies


def _assign_names(
    inputs: Mapping[str, Value], outputs: Mapping[str, Value], calls: Sequence[Call]
) -> dict[Value, str]:
    """Return the names of all values: those of inputs and outputs, and numbers for the rest."""
    names = {value: name for name, value in (*inputs.items(), *outputs.items())}
    taken = {*inputs, *outputs}
    number = 0
    for call in calls:
        for value in (*call.operands, *call.results):
            if value is not None and value not in names:
                while (name := f"%{number}") in taken:
                    number += 1
                names[value] = name
                number += 1
    return names


def _node(call: Call, names: Mapping[Value, str], index: int) -> NodeProto:
    return NodeProto(
        input=["" if value is None else names[value] for value in call.operands],
        output=[names[value] for value in call.results],
        name=f"{call.label or call.operator} {index}",
        op_type=call.operator,
        attribute=[_attribute(name, value) for name, value in call.attributes.items()],
    )


def _attribute(name: str, value: Any) -> AttributeProto:
    """Return an attribute: a tensor type for `to`, otherwise a number, a string, or integers."""
    if name == "to":
        return AttributeProto(name, i=_code(value), type=INT)
    if isinstance(value, float):
        return AttributeProto(name, f=value, type=FLOAT)
    if isinstance(value, int):
        return AttributeProto(name, i=value, type=INT)
    if isinstance(value, str):
        return AttributeProto(name, s=value.encode(), type=STRING)
    return AttributeProto(name, ints=list(value), type=INTS)


def _value_info(graph: Exported, name: str, value: Value) -> ValueInfoProto:
    shape = TensorShapeProto([_dimension(graph, size) for size in value.shape])
    return ValueInfoProto(name, TypeProto(TensorTypeProto(_code(value.dtype), shape)))


def _dimension(graph: Exported, size: Dim) -> DimensionProto:
    if isinstance(size, Size):
        return DimensionProto(dim_param=graph.dimensions.get(size, ""))
    return DimensionProto(dim_value=size)


def _code(dtype: Element) -> int:
    return BOOL if dtype == "bool" else CODES[dtype]
