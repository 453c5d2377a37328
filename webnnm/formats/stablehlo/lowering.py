"""From graphs to a module: every node by the lowering that its operator declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeGuard, cast

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.core.errors import ModelError
from webnnm.formats.open_constants import Repeated, pattern
from webnnm.formats.sizes import Dims, Size
from webnnm.formats.stablehlo.dialect import Dialect
from webnnm.formats.stablehlo.emitter import Value
from webnnm.formats.stablehlo.text import tensor_type
from webnnm.formats.stablehlo.writer import Main, module_text
from webnnm.formats.twins import Twins, lower_graphs, merge_sizes
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Graph, Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import Replacement, rewrite
from webnnm.graph.transforms.rewrite import decompose_node as by_other_operators
from webnnm.ops.declare.operator import Looped, lower_by_parts
from webnnm.ops.declare.tensors import OperatorError


def graph_text(
    graphs: Sequence[Graph],
    name: str = "graph",
    *,
    names: Mapping[str, str] | None = None,
    constants: Mapping[str, HostArray] | None = None,
    chlo: bool = True,
    loops: bool = False,
    source: str = "",
) -> str:
    """Return the module of a graph.

    Several `graphs` are those of one text for different sizes: sizes that differ between them are
    left open. Every input is an argument and every output a result, under its name or the one that
    `names` gives it. Inputs with values in `constants` become constants. With `loops`, operators
    that run over steps become loops. `source` is the text that the places of nodes refer to.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> x = b.input("x", "float32", [2])
    >>> print(graph_text([b.build({"y": b.relu(x)})]).splitlines()[3].strip())
    %1 = "stablehlo.maximum"(%arg0, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>

    Raises `ModelError` NNM901 for an operator without a mapping, NNM902 for a graph that needs a
    size when it is written.
    """
    graphs = [decompose_unsupported(graph, loops=loops) for graph in graphs]
    names_of, values = names or {}, constants or {}
    h = Dialect(chlo=chlo, write_graph=_inline)
    arguments: dict[str, Value] = {}
    for input in graphs[0].inputs:
        types = [graph.inputs[input].type for graph in graphs]
        shape: Dims = merge_sizes([type.shape for type in types])
        if input in values:
            arguments[input] = h.array(values[input])
        else:
            arguments[input] = Value(types[0].dtype, shape)
            h.record_sizes(arguments[input])
    outputs = lower(h, graphs, arguments, source)
    inputs = [(names_of.get(n, n), value) for n, value in arguments.items() if n not in values]
    results = [(names_of.get(name, name), value) for name, value in outputs.items()]
    return module_text(name, Main(inputs, results, h.operations))


def lower(
    h: Dialect, graphs: Sequence[Graph], arguments: Mapping[str, Value], source: str
) -> dict[str, Value]:
    """Write the nodes of graphs; return the outputs by name."""
    return lower_graphs(
        graphs,
        arguments,
        source,
        constant=partial(_constant, h),
        apply=partial(_apply, h),
        learn=h.record_sizes,
    )


def _inline(h: Dialect, build: Callable[..., Any], values: Sequence[Value | None]) -> list[Value]:
    """Write what a function builds from operands, with as many trials as their open sizes."""
    sizes = [size for value in values if value is not None for size in value.shape]
    trials = max((len(size.values) for size in sizes if isinstance(size, Size)), default=1)
    graphs: list[Graph] = []
    for trial in range(trials):
        b = GraphBuilder()
        operands = [
            value
            and b.input(
                str(number),
                cast(DataType, value.dtype),
                [size.values[trial] if isinstance(size, Size) else size for size in value.shape],
            )
            for number, value in enumerate(values)
        ]
        returned = build(b, *operands)
        results: tuple[Operand, ...] = returned if isinstance(returned, tuple) else (returned,)
        graphs.append(decompose_unsupported(b.build({str(k): y for k, y in enumerate(results)})))
    arguments = {str(number): value for number, value in enumerate(values) if value is not None}
    return list(lower(h, graphs, arguments, "").values())


def _apply(h: Dialect, twins: Twins, operands: Sequence[Value | None]) -> tuple[Value, ...]:
    """Write one operator with its own lowering."""
    node = twins.nodes[0]
    assert isinstance(node, OperatorNode)
    operator, types = node.operator, twins.types
    lowering = operator.stablehlo
    if lowering is None or lowering is lower_by_parts:
        hint = "give its declaration stablehlo=, or a decomposition"
        raise OperatorError("NNM901", f'"{operator.name}" has no mapping to StableHLO', hint)
    h.shape = types[0][1]
    returned = lowering(h, *operands, **twins.options())
    results: tuple[Value, ...] = returned if isinstance(returned, tuple) else (returned,)
    converted: list[Value] = []
    for result, (dtype, shape) in zip(results, types, strict=True):
        # The result of a comparison is a number where it is visible.
        value = h.convert(result, dtype) if result.dtype == "bool" else result
        if (value.dtype, value.shape) != (dtype, shape):
            expected = tensor_type(dtype, shape)
            message = (
                f'the lowering of "{operator.name}" returns {value}, but its type is {expected}'
            )
            raise ModelError("NNM901", message, hint="its stablehlo= and infer= have to agree")
        converted.append(value)
    return tuple(converted)


def _constant(h: Dialect, twins: Twins) -> Value:
    """Write a constant: numbers, or values that follow from an open size."""
    arrays = [node.array for node in twins.nodes if isinstance(node, ConstantNode)]
    shape, fill = pattern(arrays)
    dtype = arrays[0].dtype
    if isinstance(fill, HostArray):
        return h.array(fill)
    if isinstance(fill, Repeated):
        return h.constant(fill.value, dtype, shape)
    indices = h.convert(h.iota(shape, fill.axis, "int32"), dtype)
    scaled = indices if fill.step == 1 else h.multiply(indices, fill.step)
    return h.add(scaled, fill.start) if fill.start else scaled


def decompose_unsupported(graph: Graph, *, loops: bool = False) -> Graph:
    """Decompose the operators of a graph that have no lowering of their own.

    With `loops`, operators that run over steps are kept if they can be written as loops.
    """

    def lacks_lowering(lowering: Any) -> bool:
        return lowering is lower_by_parts or (isinstance(lowering, Looped) and not loops)

    def is_unsupported(node: Node) -> TypeGuard[OperatorNode]:
        return (
            isinstance(node, OperatorNode)
            and lacks_lowering(node.operator.stablehlo)
            and node.operator.decompose is not None
        )

    def rule(b: Any, node: Node) -> Replacement | None:
        return by_other_operators(b, node) if is_unsupported(node) else None

    while any(map(is_unsupported, graph.nodes())):
        graph = rewrite(graph, rule)
    return graph
