"""Graphs with weights in few bits, for devices that do not read them as they are.

Values that depend only on constants are computed once, when a graph is built: a CPU would compute
them in every run, which takes longer than the product that needs them. The rest of the unpacking
is done by operators that are fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from webnnm.backends.base import Backend, Constants, DeviceTensor, Executable, type_of
from webnnm.core.arrays import HostArray
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import (
    ConstantNode,
    Graph,
    InputNode,
    Node,
    Operand,
    OperatorNode,
    dependencies,
)
from webnnm.graph.scan import Scan
from webnnm.graph.transforms.rewrite import Results, move_node, rewrite
from webnnm.ops.declare.tensors import TensorType
from webnnm.ops.quantize import LONG, over_blocks

READ_PACKED = frozenset({"gpu", "npu", "accelerated"})
"""Devices of WebNN that read packed weights as they are, because memory limits their speed.

Measured on a CPU, with TensorFlow Lite in Chromium: dequantizeLinear by blocks takes 16 ns per
number in every run, a cast and a product 1.5 ns. A graph takes memory for everything that it
unpacks at the same time, so one with 135 million weights crashes the browser's process."""
PREFIX = "unpacked/"
"""Unpacked values are inputs of graphs under this prefix."""


class Split(NamedTuple):
    """A graph without what only constants determine, `rest`, and `parts`: for each of its new
    inputs, the graph that computes it, and the names of that graph's inputs in the whole graph."""

    rest: Graph
    parts: Mapping[str, tuple[Graph, Mapping[str, str]]]


async def compile_unpacked(
    backend: Backend, graph: Graph | Scan, values_of_constants: Constants | None, recompute: bool
) -> Executable | None:
    """Compile a graph with its weights unpacked; None if there is nothing to unpack."""
    if isinstance(graph, Scan) or not unpacks(backend):
        return None
    constants = values_of_constants or {}
    rewritten = rewrite(graph, _by_parts)
    fixed = {name: type_of(value) for name, value in constants.items()}
    rest, parts = split(rewritten, fixed)
    if not parts and rewritten is graph:
        return None
    computed: dict[str, DeviceTensor] = {}
    uploaded: dict[str, DeviceTensor] = {}
    executables: list[Executable] = []  # held to the end: equal graphs are built once
    try:
        for name, (part, names) in parts.items():
            executables.append(await backend.compile(part))
            computed[name] = await backend.tensor(part.outputs[PREFIX].type)
            inputs: dict[str, DeviceTensor] = {}
            for input_name, constant_name in names.items():
                value = uploaded.get(constant_name, constants[constant_name])
                if isinstance(value, HostArray):
                    value = uploaded[constant_name] = await backend.tensor(type_of(value), value)
                inputs[input_name] = value
            backend.dispatch(executables[-1], inputs, {PREFIX: computed[name]})
        remaining = {name: value for name, value in constants.items() if name in rest.inputs}
        executable = await backend.compile(
            rest, constants={**remaining, **computed}, recompute=recompute
        )
        if executable.inputs.keys().isdisjoint(computed):
            return executable
        backend.release(executable)  # too large for constants: nobody could supply these inputs
        return None
    finally:
        backend.release(*computed.values(), *uploaded.values(), *executables)


def unpacks(backend: Backend) -> bool:
    """Return whether a backend has to unpack constants when it builds a graph."""
    return backend.name != "webnn" or not holds_packed(backend)


def holds_packed(backend: Backend) -> bool:
    """Return whether tensors hold weights packed, for graphs to unpack, rather than as float32."""
    if backend.unpacks is not None:
        return not backend.unpacks
    runs = backend.device.partition(" ")[0].rstrip(",").split("+")
    return backend.name != "webnn" or not READ_PACKED.isdisjoint(runs)


def _by_parts(b: GraphBuilder, node: Node) -> Operand | None:
    """Replace a dequantisation by blocks with zero point 0 by a cast and a product."""
    if not isinstance(node, OperatorNode) or node.operator.name != "dequantizeLinear":
        return None
    x, scale, zero_point = (o for o in node.operands if o)
    centred = isinstance(zero_point.node, ConstantNode) and not any(zero_point.node.array.data)
    blocks = any(1 < part < size for size, part in zip(x.shape, scale.shape, strict=True))
    if not blocks or not centred or zero_point.dtype in LONG:
        return None
    rows, scales = over_blocks(b, b.cast(x, type=scale.dtype), scale)
    return b.reshape(rows * scales, new_shape=x.shape)


def split(graph: Graph, fixed: Mapping[str, TensorType]) -> Split:
    """Split a graph from what only `fixed` inputs determine, of which some are not float32.

    >>> b = GraphBuilder()
    >>> w = b.cast(b.input("w", "int8", [2]), type="float32")
    >>> found = split(b.build({"y": b.input("x", "float32", [2]) * w}), {"w": w.node.types[0]})
    >>> [*found.rest.inputs], found.parts["unpacked/0"][1]
    (['unpacked/0', 'x'], {'0': 'w'})
    """
    determined = _find_determined(graph, fixed)
    ends = list(graph.outputs.values())
    for node in graph.nodes():
        if isinstance(node, OperatorNode) and node.number not in determined:
            ends += [operand for operand in node.operands if operand]
    boundary = {operand.number: operand for operand in ends if operand.number in determined}
    names = {number: f"{PREFIX}{index}" for index, number in enumerate(sorted(boundary))}
    b = GraphBuilder()
    results: Results = {}
    for node in dependencies(graph.outputs.values(), stop=boundary):
        if node.number in names:
            results[node.number] = (b.input(names[node.number], *node.types[0]),)
        else:
            results[node.number] = b.adopt(move_node(node, b, results))
    outputs = {name: results[o.number][o.index] for name, o in graph.outputs.items()}
    return Split(b.build(outputs), {names[n]: _part(operand) for n, operand in boundary.items()})


def _find_determined(graph: Graph, fixed: Mapping[str, TensorType]) -> set[int]:
    """Return the numbers of operators that only constants determine, some of them in few bits.

    A dequantisation of numbers in the graph itself is one of them if its scale is a fixed input.
    """
    is_packed: dict[int, bool] = {}
    fixed_nodes: set[int] = set()
    """The nodes that depend on fixed inputs."""
    for node in graph.nodes():
        if isinstance(node, InputNode):
            if node.name in fixed:
                is_packed[node.number] = node.types[0].dtype != "float32"
                fixed_nodes.add(node.number)
        elif not isinstance(node, OperatorNode):
            is_packed[node.number] = False
        elif len(node.types) == 1 and all(
            o is None or o.number in is_packed for o in node.operands
        ):
            numbers = [o.number for o in node.operands if o]
            if not fixed_nodes.isdisjoint(numbers):
                fixed_nodes.add(node.number)
            dequantises = node.operator.name == "dequantizeLinear" and node.number in fixed_nodes
            is_packed[node.number] = dequantises or any(is_packed[number] for number in numbers)
    return {
        n.number for n in graph.nodes() if isinstance(n, OperatorNode) and is_packed.get(n.number)
    }


def _part(operand: Operand) -> tuple[Graph, dict[str, str]]:
    """Return the graph of one operand; matrices of the same size have equal graphs."""
    b, names = GraphBuilder(), dict[str, str]()
    results: Results = {}
    for node in dependencies([operand]):
        if isinstance(node, InputNode):
            own = str(len(names))
            names[own] = node.name
            results[node.number] = (b.input(own, *node.types[0]),)
        else:
            results[node.number] = b.adopt(move_node(node, b, results))
    return b.build({PREFIX: results[operand.number][operand.index]}), names
