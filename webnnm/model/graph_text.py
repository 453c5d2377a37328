"""The graph of a model as text: a line for each node."""

from __future__ import annotations

from collections.abc import Mapping

from webnnm.core.naming import camel_case
from webnnm.core.shapes import count
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX, lower_network
from webnnm.graph.node import ConstantNode, Graph, InputNode, OperatorNode
from webnnm.runtime.state import HasState


def graph_text(model: HasState | Graph, *, of_model: bool = False) -> str:
    """Return the tensor graph of a model, or another one, as text with a line per node.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> x = b.input("x", "int32", [2])
    >>> print(graph_text(b.build({"y": b.cast(x, type="float32") * 2})))
    x      int32[2]
    cast1  float32[2]  cast(x, type=float32)
    mul1   float32[2]  mul(cast1, 2)
    y      float32[2]  mul1

    That of a model is for a batch of one, with all casts and transposes. Nodes are named by
    operator and a running count; scalar constants appear as numbers. With `of_model`, as for
    models, inputs and outputs are named by their blocks: `block:input`, `block:output`.
    """
    if isinstance(model, Graph):
        graph = model
    else:
        graph = lower_network(model.state.network, sequence=model.state.sequence).graph()
        of_model = True

    def port(name: str, direction: str) -> str:
        parameter = name.startswith(PARAMETER_PREFIX)
        return f"{name}:{direction}" if of_model and not parameter else name

    names: dict[tuple[int, int], str] = {}
    counts: dict[str, int] = {}
    rows: list[tuple[str, str, str]] = []
    for node in graph.nodes():
        match node:
            case InputNode():
                result_name = names[node.number, 0] = port(node.name, "input")
                rows.append((result_name, str(node.types[0]), ""))
            case ConstantNode():
                scalar = count(node.array.shape) == 1
                value = f"{node.array.values()[0]:g}" if scalar else f"constant {node.types[0]}"
                names[node.number, 0] = value
            case OperatorNode():
                operator = node.operator.name
                counts[operator] = counts.get(operator, 0) + 1
                result_name = f"{operator}{counts[operator]}"
                for index, type in enumerate(node.types):
                    suffix = f".{index}" if len(node.types) > 1 else ""
                    names[node.number, index] = result_name + suffix
                    call = f"{operator}({', '.join(_arguments(node, names))})" if not index else ""
                    rows.append((result_name + suffix, str(type), call))
            case _:
                raise AssertionError(node)
    for name, operand in graph.outputs.items():
        source = names[operand.number, operand.index]
        rows.append((port(name, "output"), str(operand.type), source))
    widths = [max((len(row[k]) for row in rows), default=0) for k in range(2)]
    return "\n".join(
        f"{name.ljust(widths[0])}  {type.ljust(widths[1])}  {call}".rstrip()
        for name, type, call in rows
    )


def _arguments(node: OperatorNode, names: Mapping[tuple[int, int], str]) -> list[str]:
    """Return the operands and the non-default options, as written in a call."""
    operands = [names[o.number, o.index] for o in node.operands if o is not None]
    options = [
        f"{camel_case(name)}={list(value) if isinstance(value, tuple) else value}"
        for name, value in node.options.items()
        if value is not None and value != node.operator.options[name].default
    ]
    return operands + options
