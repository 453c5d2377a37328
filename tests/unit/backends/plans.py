"""Plans read back: their calls in order, and the graphs that they were lowered from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from webnnm import ops
from webnnm.compiler.plan import Plan
from webnnm.core.arrays import HostArray
from webnnm.core.naming import snake_case
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Operand

OPERATORS = {operator.native: operator for operator in reversed(ops.registry().values())}


NUMBERS = ("Infinity", "-Infinity", "NaN")
"""Strings of plans that JavaScript converts to numbers."""


def list_calls(content: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Return the calls of a plan in order; {"rename": {new: old}} gives results other numbers."""
    if "length" not in content:
        yield from content["operators"]
        return
    yield from content["before"]
    yield {"rename": {input: first for first, input in content["init"]}}
    slices: list[list[int]] = [[] for _ in content["ys"]]
    for step in range(content["length"]):
        for whole, part, shape in content["xs"]:
            starts = [step * size if axis == 0 else 0 for axis, size in enumerate(shape)]
            yield _plain_call("slice", [whole], [starts, shape], part)
        yield from content["operators"]
        for (part, _), parts in zip(content["ys"], slices, strict=True):
            parts.append(-1 - sum(map(len, slices)))
            yield {"rename": {parts[-1]: part}}
        yield {"rename": dict(content["carry"])}
    for (_, whole), parts in zip(content["ys"], slices, strict=True):
        yield _plain_call("concat", [parts], [0], whole)
    yield from content["after"]


def _plain_call(op: str, operands: list[Any], arguments: list[Any], result: int) -> dict[str, Any]:
    rest = {"options": {}, "references": {}, "label": "", "results": [result]}
    return {"op": op, "operands": operands, "arguments": arguments, **rest}


def graph_of(plan: Plan, held: Mapping[int, bytes] | None = None) -> Graph:
    """Return the graph that a plan was written down from; some constants are `held` by tensors."""
    b = GraphBuilder()
    content = plan.content
    tensors: dict[int, Operand] = {}
    for given in content["inputs"]:
        tensors[given["id"]] = b.input(given["name"], given["dtype"], given["shape"])
    for given in content["constants"]:
        if held and "tensor" in given:
            data = held[given["tensor"]]
        elif "beside" in given:
            data = plan.beside[given["beside"]]
        else:
            data = plan.constants[given["offset"] : given["offset"] + given["length"]]
        tensors[given["id"]] = b.constant(HostArray(given["dtype"], given["shape"], data))
    for call in list_calls(content):
        if "rename" in call:
            tensors |= {new: tensors[old] for new, old in call["rename"].items()}
            continue
        found = _apply(b, call, tensors)
        results = found if isinstance(found, tuple) else (found,)
        tensors |= zip(call["results"], results, strict=True)
    return b.build({given["name"]: tensors[given["id"]] for given in content["outputs"]})


def _apply(b: GraphBuilder, call: Mapping[str, Any], tensors: Mapping[int, Operand]) -> Any:
    operator = OPERATORS[call["op"]]
    positional = [name for name, option in operator.options.items() if option.positional]
    options = dict(zip(positional, call["arguments"], strict=True))
    for name, value in call["options"].items():
        is_word = isinstance(value, str) and value in NUMBERS
        options[snake_case(name)] = float(value) if is_word else value
    given = iter(call["operands"])
    if operator.operands[0].variadic:
        return b.apply(operator, [[tensors[id] for id in next(given)]], options)
    references = {snake_case(name): tensors[id] for name, id in call["references"].items()}
    operands = [
        references.get(snake_case(slot.name)) if slot.keyword else tensors[next(given)]
        for slot in operator.operands
    ]
    return b.apply(operator, operands, options)
