"""A plan as the calls of an MLGraphBuilder that build its graph, in JavaScript."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from webnnm.compiler.plan import Plan
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.core.page_arrays import TYPED_ARRAYS
from webnnm.core.shapes import count
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX

MAX_NUMBERS = 8
"""Constants of more numbers are taken from the buffer `constants`."""
ARRAYS: Mapping[DataType, str] = {
    "float16": "Float16Array",
    **{dtype: name for name, dtype in TYPED_ARRAYS.items() if name != "Uint8ClampedArray"},
}
"""The typed array whose elements have a data type; four-bit numbers are packed in bytes."""
NO_NAME = re.compile(r"\W", re.ASCII)
WORD = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)


def javascript(plan: Plan) -> str:
    """Return the WebNN calls that build the graph of a plan, one per line.

    >>> from webnnm import GraphBuilder
    >>> from webnnm.compiler.plan import lower
    >>> b = GraphBuilder()
    >>> x = b.input("x", "float32", [2, 3])
    >>> print(javascript(lower(b.build({"y": b.softmax(x * 2, axis=1)}))))
    const builder = new MLGraphBuilder(context);
    const x = builder.input("x", {dataType: "float32", shape: [2, 3]});
    const constant1 = builder.constant({dataType: "float32", shape: []}, new Float32Array([2]));
    const mul1 = builder.mul(x, constant1);
    const softmax1 = builder.softmax(mul1, 1);
    const graph = await builder.build({y: softmax1});

    `context` is an MLContext. Constants of more than eight numbers are parts of an ArrayBuffer
    `constants`: the bytes of `plan.constants`. Labels are left out. Plans of a scan, and constants
    on a device, have no such form.
    """
    names = _Names()
    lines = ["const builder = new MLGraphBuilder(context);"]
    for port in plan.content["inputs"]:
        name = names.add(port["id"], port["name"].removeprefix(PARAMETER_PREFIX))
        call = f"builder.input({json.dumps(port['name'])}, {_descriptor(port)})"
        lines.append(f"const {name} = {call};")
    for constant in plan.content["constants"]:
        name = names.add(constant["id"], "constant1")
        call = f"builder.constant({_descriptor(constant)}, {_data(constant, plan.constants)})"
        lines.append(f"const {name} = {call};")
    for operator in plan.content["operators"]:
        results = [names.add(id, f"{operator['op']}1") for id in operator["results"]]
        target = results[0] if len(results) == 1 else f"[{', '.join(results)}]"
        lines.append(f"const {target} = builder.{operator['op']}({_arguments(operator, names)});")
    outputs = {port["name"]: names[port["id"]] for port in plan.content["outputs"]}
    lines.append(f"const graph = await builder.build({_object(outputs)});")
    return "\n".join(lines)


class _Names:
    """The JavaScript names of the tensors of a plan; a number at the end makes them unique."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._used = {"builder", "context", "constants", "graph"}

    def __getitem__(self, id: int) -> str:
        return self._names[id]

    def add(self, id: int, wish: str) -> str:
        """Name a tensor; characters that no JavaScript name has become underscores."""
        name = NO_NAME.sub("_", wish)
        name = name if WORD.fullmatch(name) else f"_{name}"
        stem = name.rstrip("0123456789")
        number = 1
        while name in self._used:
            number += 1
            name = f"{stem}{number}"
        self._used.add(name)
        self._names[id] = name
        return name


def _descriptor(port: Mapping[str, Any]) -> str:
    return f"{{dataType: {json.dumps(port['dtype'])}, shape: {json.dumps(port['shape'])}}}"


def _data(constant: Mapping[str, Any], buffer: bytes) -> str:
    """Return the data of a constant: its numbers if they are few, else a part of the buffer."""
    dtype: DataType = constant["dtype"]
    start, length = constant["offset"], constant["length"]
    shape = tuple(constant["shape"])
    if dtype not in ARRAYS:
        return f"new Uint8Array(constants, {start}, {length})"
    array, size = ARRAYS[dtype], count(shape)
    if size > MAX_NUMBERS:
        return f"new {array}(constants, {start}, {size})"
    values = HostArray(dtype, shape, memoryview(buffer)[start : start + length]).values()
    suffix = "n" if "64" in dtype else ""
    return f"new {array}([{', '.join(_number(value) + suffix for value in values)}])"


def _number(value: float) -> str:
    """Return a number in JavaScript."""
    text = f"{value:.9g}" if isinstance(value, float) else str(value)
    return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(text, text)


def _arguments(operator: Mapping[str, Any], names: _Names) -> str:
    """Return the arguments of a call: operands, plain values, and an object of options."""

    def name(operand: int | list[int]) -> str:
        if isinstance(operand, list):
            return f"[{', '.join(names[id] for id in operand)}]"
        return names[operand]

    arguments = [name(operand) for operand in operator["operands"]]
    arguments += [json.dumps(value) for value in operator["arguments"]]
    options = {key: json.dumps(value) for key, value in operator["options"].items()}
    options |= {key: names[id] for key, id in operator["references"].items()}
    return ", ".join([*arguments, *([_object(options)] if options else [])])


def _object(members: Mapping[str, str]) -> str:
    """Return an object of JavaScript; a member that is named like its value is written once."""
    parts = [
        key if key == value else f"{key if WORD.fullmatch(key) else json.dumps(key)}: {value}"
        for key, value in members.items()
    ]
    return f"{{{', '.join(parts)}}}"
