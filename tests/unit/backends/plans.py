"""Graphs read back from the plans that they were lowered to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webnnm import ops
from webnnm.compiler.plan import Plan
from webnnm.core.arrays import HostArray
from webnnm.core.naming import snake_case
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Operand

OPERATORS = {operator.native: operator for operator in reversed(ops.registry().values())}


def graph_of(plan: Plan, held: Mapping[int, HostArray] | None = None) -> Graph:
    """Return the graph that a plan was written down from; some constants are `held` by tensors."""
    b = GraphBuilder()
    content = plan.content
    tensors: dict[int, Operand] = {}
    for given in content["inputs"]:
        tensors[given["id"]] = b.input(given["name"], given["dtype"], given["shape"])
    for given in content["constants"]:
        if held and "tensor" in given:
            data = held[given["tensor"]].data
        else:
            data = plan.constants[given["offset"] : given["offset"] + given["length"]]
        tensors[given["id"]] = b.constant(HostArray(given["dtype"], given["shape"], data))
    for call in content["operators"]:
        found = _apply(b, call, tensors)
        results = found if isinstance(found, tuple) else (found,)
        tensors |= zip(call["results"], results, strict=True)
    return b.build({given["name"]: tensors[given["id"]] for given in content["outputs"]})


def _apply(b: GraphBuilder, call: Mapping[str, Any], tensors: Mapping[int, Operand]) -> Any:
    operator = OPERATORS[call["op"]]
    positional = [name for name, option in operator.options.items() if option.positional]
    options = dict(zip(positional, call["arguments"], strict=True))
    options |= {snake_case(name): value for name, value in call["options"].items()}
    given = iter(call["operands"])
    if operator.operands[0].variadic:
        return b.apply(operator, [[tensors[id] for id in next(given)]], options)
    references = {snake_case(name): tensors[id] for name, id in call["references"].items()}
    operands = [
        references.get(snake_case(slot.name)) if slot.keyword else tensors[next(given)]
        for slot in operator.operands
    ]
    return b.apply(operator, operands, options)
