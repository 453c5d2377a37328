"""From graphs to an ONNX model: every node by its entry in the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.errors import ModelError
from webnnm.formats.onnx.exporting.emitter import Emitter
from webnnm.formats.onnx.exporting.shortages import FOUR_BITS
from webnnm.formats.onnx.exporting.table import TABLE
from webnnm.formats.onnx.exporting.values import Value
from webnnm.formats.onnx.exporting.writer import Exported, model_of
from webnnm.formats.onnx.messages import ModelProto
from webnnm.formats.open_constants import Repeated, pattern
from webnnm.formats.sizes import Size
from webnnm.formats.twins import Twins, lower_graphs, merge_sizes
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Graph, Node, OperatorNode
from webnnm.graph.transforms.integers import power
from webnnm.graph.transforms.rewrite import Replacement, decompose_node, rewrite
from webnnm.ops.declare.tensors import OperatorError


def graph_model(
    graphs: Sequence[Graph],
    name: str = "graph",
    *,
    names: Mapping[str, str] | None = None,
    constants: Mapping[str, HostArray] | None = None,
    dimensions: Mapping[Size, str] | None = None,
    nibbles_as_bytes: bool = False,
    source: str = "",
) -> ModelProto:
    """Return the model of a graph.

    Several `graphs` are those of one text for different sizes: sizes that differ between them are
    left open, and named as `dimensions` says. Inputs and outputs have their own names or those that
    `names` gives them; an output with the name of an input gets the suffix "/out". Inputs with
    values in `constants` become initializers. With `nibbles_as_bytes`, inputs and outputs of four
    bits are int8 and uint8, for programs without 4-bit types. `source` is the text that the places
    of nodes refer to.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> model = graph_model([b.build({"y": b.relu(b.input("x", "float32", [2]))})])
    >>> [node.op_type for node in model.graph.node]
    ['Relu']

    Raises `ModelError` NNM901 for an operator that cannot be written in ONNX, NNM902 for a graph
    that needs a size when it is written.
    """
    graphs = [expressible(graph) for graph in graphs]
    names_of, values = names or {}, constants or {}
    h = Emitter()
    inputs: dict[str, Value] = {}
    arguments: dict[str, Value] = {}
    for input in graphs[0].inputs:
        types = [graph.inputs[input].type for graph in graphs]
        if input in values:
            arguments[input] = h.array(values[input], key=input)
        else:
            dtype = types[0].dtype
            outside = FOUR_BITS.get(dtype, dtype) if nibbles_as_bytes else dtype
            value = Value(outside, merge_sizes([type.shape for type in types]))
            inputs[names_of.get(input, input)] = value
            h.record_sizes(value)
            arguments[input] = h.cast(value, dtype)
    outputs: dict[str, Value] = {}
    results = lower_graphs(
        graphs,
        arguments,
        source,
        constant=partial(_constant, h),
        apply=partial(_apply, h),
        learn=h.record_sizes,
    )
    for output, value in results.items():
        outside = FOUR_BITS.get(value.dtype, value.dtype) if nibbles_as_bytes else value.dtype
        outputs[names_of.get(output, output)] = h.cast(value, outside)
    return model_of(Exported(name, inputs, outputs, h.calls, dimensions or {}))


def expressible(graph: Graph) -> Graph:
    """Return the graph with all operators decomposed that the table does not have."""
    while any(map(_foreign, graph.nodes())):
        graph = rewrite(graph, _rule)
    return graph


def _foreign(node: Node) -> bool:
    """Return whether a node has to be decomposed, and can be."""
    if not isinstance(node, OperatorNode):
        return False
    entry = TABLE.get(node.operator.name)
    covered = entry is not None and entry.covers(node)
    return not covered and (node.operator.decompose is not None or _is_power(node))


def _is_power(node: OperatorNode) -> bool:
    """Return whether a node is an integer power, which ONNX Runtime computes with floats."""
    return node.operator.name == "pow" and not is_float(node.types[0].dtype)


def _rule(b: GraphBuilder, node: Node) -> Replacement | None:
    if not _foreign(node):
        return None
    assert isinstance(node, OperatorNode)
    if not _is_power(node):
        return decompose_node(b, node)
    x, exponent = node.operands
    assert x is not None and exponent is not None
    return b.expand(power(b, x, exponent), new_shape=node.types[0].shape)


def _apply(h: Emitter, twins: Twins, operands: Sequence[Value | None]) -> tuple[Value, ...]:
    """Write one operator by its entry."""
    node = twins.nodes[0]
    assert isinstance(node, OperatorNode)
    h.label = node.label
    name, types = node.operator.name, twins.types
    entry = TABLE.get(name)
    if entry is None or not entry.covers(node):
        typed = "" if entry is None else f" of {node.types[0].dtype}"
        hint = "give its declaration decompose="
        raise OperatorError("NNM901", f'"{name}"{typed} cannot be written in ONNX', hint)
    h.dtype, h.shape = types[0]
    returned: Any = entry.write(h, *operands, **twins.options())
    results: tuple[Value, ...] = returned if isinstance(returned, tuple) else (returned,)
    # The result of a comparison is a number where it is visible.
    visible = [h.cast(value, "uint8") if value.dtype == "bool" else value for value in results]
    if [(value.dtype, value.shape) for value in visible] != types:
        raise ModelError("NNM901", f'the entry of "{name}" does not return {types}')
    return tuple(visible)


def _constant(h: Emitter, twins: Twins) -> Value:
    """Write a constant: numbers, or values that follow from an open size."""
    nodes = [node for node in twins.nodes if isinstance(node, ConstantNode)]
    h.label = nodes[0].label
    shape, fill = pattern([node.array for node in nodes])
    dtype = nodes[0].array.dtype
    if isinstance(fill, HostArray):
        return h.array(fill, key=nodes[0].digest)
    if isinstance(fill, Repeated):
        return h.expand(h.number(fill.value, dtype), shape)
    size = h.number(shape[fill.axis], "int64")
    ends = [h.number(0, "int64"), size, h.number(1, "int64")]
    positions = h.cast(h.one("Range", ends, "int64", (shape[fill.axis],)), dtype)
    column = tuple(n if axis == fill.axis else 1 for axis, n in enumerate(shape))
    scaled = h.one("Mul", [h.reshape(positions, column), h.number(fill.step, dtype)], dtype, column)
    filled = h.one("Add", [scaled, h.number(fill.start, dtype)], dtype, column)
    return h.expand(filled, shape)
