"""Texts about a model for people: the summary, the graph, values of tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count, show
from webnnm.graph.lowering import PARAMETER_PREFIX
from webnnm.graph.node import ConstantNode, Graph, InputNode, OperatorNode
from webnnm.graph.vertices import LayerVertex, Network, ParameterVertex
from webnnm.ops.declare.naming import camel_case


def summary(network: Network, running_on: str) -> str:
    """Return a table of layers with their shapes and parameters.

    >>> from webnnm.graph.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(summary(elaborate(parse(text)), "NumPy"))
    layer     result      parameters       count
    m:input   float32[4]
    matmul1   float32[3]  w1 [4, 3]           12
    softmax1  float32[3]
    12 parameters, 12 trainable, running on NumPy
    """
    rows = layer_rows(network)
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    widths[2] = max(widths[2], 15)
    lines = [
        "  ".join(
            [cell.ljust(width) for cell, width in zip(row[:3], widths[:3], strict=True)]
            + [row[3].rjust(widths[3])]
        ).rstrip()
        for row in rows
    ]
    lines.append(f"{parameter_count(network)}, running on {running_on}")
    return "\n".join(lines)


def layer_rows(network: Network) -> list[tuple[str, str, str, str]]:
    """Return the rows of the table of layers, the headings first."""
    rows = [("layer", "result", "parameters", "count")]
    for vertex in network.inputs:
        shape = f"{vertex.dtype}{vertex.features[0]}"
        rows.append((f"{vertex.block}:input", shape, "", ""))
    return rows + [_layer_row(layer) for layer in network.layers]


def parameter_count(network: Network) -> str:
    """Return in words how many parameters a network has."""
    total = sum(count(p.features[0].sizes()) for p in network.parameters)
    learn = sum(count(p.features[0].sizes()) for p in network.parameters if p.trainable)
    return f"{total:,} parameters, {learn:,} trainable"


def _layer_row(layer: LayerVertex) -> tuple[str, str, str, str]:
    own = [
        source.vertex
        for source in layer.sources()
        if isinstance(source.vertex, ParameterVertex) and source.vertex.user is layer
    ]
    names = ", ".join(f"{p.name} {p.features[0]}" for p in own)
    number = sum(count(p.features[0].sizes()) for p in own)
    result = f"{layer.result_types[0]}{layer.features[0]}"
    return layer.label, result, names, f"{number:,}" if own else ""


def graph_text(graph: Graph, *, of_model: bool = False) -> str:
    """Return a tensor graph as text, a line per node; inserted casts and transposes are seen here.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> x = b.input("x", "int32", [2])
    >>> print(graph_text(b.build({"y": b.cast(x, type="float32") * 2})))
    x      int32[2]
    cast1  float32[2]  cast(x, type=float32)
    mul1   float32[2]  mul(cast1, 2)
    y      float32[2]  mul1

    Nodes are called by operator and running count; scalar constants stand as numbers. In the graph
    `of_model` inputs and outputs are called by their blocks: `block:input`, `block:output`.
    """

    def port(name: str, direction: str) -> str:
        parameter = name.startswith(PARAMETER_PREFIX)
        return f"{name}:{direction}" if of_model and not parameter else name

    names: dict[tuple[int, int], str] = {}
    counts: dict[str, int] = {}
    rows: list[tuple[str, str, str]] = []
    for node in graph.nodes():
        match node:
            case InputNode():
                own = names[node.number, 0] = port(node.name, "input")
                rows.append((own, str(node.types[0]), ""))
            case ConstantNode():
                scalar = count(node.array.shape) == 1
                value = f"{node.array.values()[0]:g}" if scalar else f"constant {node.types[0]}"
                names[node.number, 0] = value
            case OperatorNode():
                word = node.operator.name
                counts[word] = counts.get(word, 0) + 1
                own = f"{word}{counts[word]}"
                for index, type in enumerate(node.types):
                    suffix = f".{index}" if len(node.types) > 1 else ""
                    names[node.number, index] = own + suffix
                    call = f"{word}({', '.join(_arguments(node, names))})" if not index else ""
                    rows.append((own + suffix, str(type), call))
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
    """Return the operands and the options other than defaults, as a call writes them."""
    operands = [names[o.number, o.index] for o in node.operands if o is not None]
    options = [
        f"{camel_case(name)}={list(value) if isinstance(value, tuple) else value}"  # pyright: ignore
        for name, value in node.options.items()
        if value is not None and value != node.operator.options[name].default
    ]
    return operands + options


def view(data: Any, limit: int = 11) -> str:
    """Return values as text: floats with three decimals, integers plain, an ellipsis past `limit`.

    >>> view([[0.5, 1], [2, 3.25]])
    '[2, 2] 0.500, 1.000, 2.000, 3.250'
    """
    array = HostArray.of(data)
    values: Sequence[Any] = array.values()
    shown = [f"{v:.3f}" if is_float(array.dtype) else str(v) for v in values[:limit]]
    more = ", …" if len(values) > limit else ""
    return f"{show(array.shape)} {', '.join(shown)}{more}"
