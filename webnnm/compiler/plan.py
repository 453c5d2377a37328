"""A graph as a plan: flat, JSON, hashable — the contract with the bridge.

A plan numbers every tensor. Its JSON is

    {"inputs":    [{"name", "dtype", "shape", "id"}],
     "constants": [{"dtype", "shape", "id", "length", and
                    "offset", "tensor" or "beside"}],
     "operators": [{"op", "operands", "arguments", "options", "references", "label", "results"}],
     "outputs":   [{"name", "dtype", "shape", "id"}]}

where an operator is the WebNN call `builder[op](...operands, ...arguments, {...options})`:
`operands` are tensor numbers (a list of numbers for a list operand), `arguments` plain values,
`references` the members of the options dictionary that are tensors. The constants' bytes are in
one buffer next to the JSON, each at its offset, aligned to eight bytes; in a tensor on the device,
given by its handle; or in an array of their own, given by its number.

The plan of a scan (scanned.py) has more members:

     "length":  how often `operators` run in one dispatch
     "before":  operators that run once before
     "xs":      [[whole, part, shape]]: each step takes a part of their results
     "init":    [[first, input]]: the first step takes their results, whole
     "carry":   [[input, output]]: each step takes results of the previous one
     "ys":      [[part, whole]]: the parts of all steps are concatenated along their first axis
     "after":   operators that run once at the end
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from webnnm.core.garbage import pause_garbage_collection
from webnnm.core.naming import camel_case
from webnnm.graph.node import ConstantNode, Graph, InputNode, OperatorNode
from webnnm.ops.declare.operator import AnyOperator
from webnnm.ops.declare.tensors import TensorType

ALIGNMENT = 8
_LABEL = re.compile(r'"label": "(?:[^"\\]|\\.)*", ')
"""The label of an operator; quotes inside it are preceded by a backslash."""

Numbers = dict[int, list[int]]
"""Number of a node → numbers of its results in the plan."""
CallOptions = tuple[list[Any], dict[str, Any]]
"""Plain arguments and options of a call."""


@dataclass(frozen=True)
class Plan:
    """The JSON of a graph and the bytes of its constants.

    `beside` are the arrays of constants that are not in the buffer; `sizes` are the bytes of the
    results of all operators, by number.
    """

    content: dict[str, Any]
    constants: bytes = field(repr=False)
    beside: tuple[memoryview[int], ...] = field(default=(), repr=False, compare=False)
    sizes: Mapping[int, int] = field(default_factory=dict[int, int], repr=False, compare=False)

    @cached_property
    def json(self) -> str:
        """The canonical JSON text."""
        with pause_garbage_collection():
            return json.dumps(self.content, sort_keys=True, allow_nan=False)

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of the JSON without labels and of the constants; stable between runs."""
        digest = hashlib.sha256(_LABEL.sub("", self.json).encode() + b"\0")
        digest.update(self.constants)
        return digest.hexdigest()

    @property
    def inputs(self) -> dict[str, TensorType]:
        """The type of every input."""
        return {
            i["name"]: TensorType(i["dtype"], tuple(i["shape"])) for i in self.content["inputs"]
        }

    @property
    def outputs(self) -> dict[str, TensorType]:
        """The type of every output."""
        return {
            o["name"]: TensorType(o["dtype"], tuple(o["shape"])) for o in self.content["outputs"]
        }


def lower(graph: Graph) -> Plan:
    """Number the tensors of a graph and return it as a plan.

    Inputs that no output depends on are left out: WebNN refuses to bind them.
    """
    numbers: Numbers = {}
    inputs: list[dict[str, Any]] = []
    constants: list[dict[str, Any]] = []
    operators: list[dict[str, Any]] = []
    buffer = bytearray()
    sizes: dict[int, int] = {}
    next_id = 0
    sizes_by_types: dict[int, list[int]] = {}
    options_of_calls: dict[tuple[AnyOperator, int], CallOptions] = {}
    for node in graph.nodes():
        types = node.types
        first, next_id = next_id, next_id + len(types)
        results = numbers[node.number] = (
            [first] if next_id == first + 1 else [*range(first, next_id)]
        )
        if isinstance(node, OperatorNode):
            # Equal nodes of a builder share their types and their options.
            if id(types) not in sizes_by_types:
                sizes_by_types[id(types)] = [t.nbytes for t in types]
            for index, size in enumerate(sizes_by_types[id(types)]):
                sizes[first + index] = size
            key = node.operator, id(node.options)
            if key not in options_of_calls:
                options_of_calls[key] = _call_options(node)
            operators.append(_make_call(node, numbers, options_of_calls[key]))
        elif isinstance(node, InputNode):
            inputs.append({"name": node.name, **describe_type(types[0]), "id": results[0]})
        elif isinstance(node, ConstantNode):
            data, (dtype, shape) = node.array.data, types[0]
            constants.append(
                {
                    "dtype": dtype,
                    "shape": list(shape),
                    "id": results[0],
                    "offset": len(buffer),
                    "length": data.nbytes,
                }
            )
            buffer += data
            if len(buffer) % ALIGNMENT:
                buffer += bytes(-len(buffer) % ALIGNMENT)
    outputs = [
        {"name": name, **describe_type(o.type), "id": numbers[o.number][o.index]}
        for name, o in graph.outputs.items()
    ]
    content = {
        "inputs": inputs,
        "constants": constants,
        "operators": operators,
        "outputs": outputs,
    }
    return Plan(content, bytes(buffer), sizes=sizes)


def describe_type(type: TensorType) -> dict[str, Any]:
    """Return a type in the form that it has in a plan."""
    return {"dtype": type.dtype, "shape": list(type.shape)}


def operand_ids(call: Mapping[str, Any]) -> list[int]:
    """Return the numbers of the tensors that an operator takes."""
    ids: list[int] = []
    for operand in (*call["operands"], *call["references"].values()):
        ids += operand if isinstance(operand, list) else [operand]
    return ids


def rename_operands(call: Mapping[str, Any], new_ids: Mapping[int, int]) -> dict[str, Any]:
    """Return an operator with some tensors replaced by others: old number → new number."""

    def substitute(id: int | list[int]) -> Any:
        return [substitute(item) for item in id] if isinstance(id, list) else new_ids.get(id, id)

    references = {key: substitute(id) for key, id in call["references"].items()}
    operands = [substitute(id) for id in call["operands"]]
    return {**call, "operands": operands, "references": references}


def _make_call(node: OperatorNode, numbers: Numbers, call_options: CallOptions) -> dict[str, Any]:
    """Return the WebNN call of a node."""
    operator = node.operator
    ids = [None if x is None else numbers[x.number][x.index] for x in node.operands]
    operands: list[Any] = ids
    references: dict[str, int] = {}
    if operator.variadic:
        operands = [ids]
    elif operator.keywords or None in ids:
        operands = []
        for slot, id in zip(operator.operands, ids, strict=True):
            if id is not None and slot.keyword:
                references[camel_case(slot.name)] = id
            elif id is not None:
                operands.append(id)
    arguments, options = call_options
    return {
        "op": operator.native,
        "operands": operands,
        "arguments": arguments,
        "options": options,
        "references": references,
        "label": node.label,
        "results": numbers[node.number],
    }


def _call_options(node: OperatorNode) -> CallOptions:
    """Return the plain arguments of the WebNN call of a node, and its options."""
    arguments: list[Any] = []
    options: dict[str, Any] = {}
    for name, option in node.operator.options.items():
        value = node.options[name]
        if option.positional:
            arguments.append(_to_json(value))
        elif value is not None and value != option.default:
            options[camel_case(name)] = _to_json(value)
    return arguments, options


def _to_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_to_json(item) for item in cast("tuple[Any, ...]", value)]
    if isinstance(value, float) and not math.isfinite(value):
        # JSON has no infinities or NaN; WebNN's number conversion accepts these words.
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
