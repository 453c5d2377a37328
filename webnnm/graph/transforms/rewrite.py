"""Rebuild a graph node by node, with some nodes replaced."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeGuard

from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, InputNode, Node, Operand, OperatorNode
from webnnm.ops.declare.operator import Composite

Replacement = Operand | tuple[Operand, ...]
Rule = Callable[[GraphBuilder, Node], Replacement | None]
Results = dict[int, tuple[Operand, ...]]
"""Number of a node of the given graph → its results in the new one."""


def rewrite(graph: Graph, rule: Rule, operators: Collection[str] | None = None) -> Graph:
    """Return the graph with every node replaced for which the rule returns a replacement.

    The rule sees each node, or the operators of these names, operands before users, with operands
    that have been rewritten. It has to return the same for the same node, because the first nodes
    are seen twice. What it builds gets the label and the place of the node. Without a replacement,
    the very same graph is returned. Takes time linear in the size of the graph.

    >>> b = GraphBuilder()
    >>> graph = b.build({"y": b.input("x", "float32", [2]) + 0})
    >>> def without_zero(b, node):
    ...     operands = getattr(node, "operands", ())
    ...     return operands[0] if len(operands) == 2 else None
    >>> [type(node).__name__ for node in rewrite(graph, without_zero).nodes()]
    ['InputNode']
    """
    first = find_first_replaced(graph, rule, operators)
    return graph if first is None else rewrite_from(graph, rule, first, operators)


def find_first_replaced(
    graph: Graph, rule: Rule, operators: Collection[str] | None = None
) -> int | None:
    """Return the index of the first node that the rule replaces; for many graphs there is none.

    A replacement is built next to the given graph, in its builder, and left there.
    """
    nodes = graph.nodes()
    places = range(len(nodes)) if operators is None else graph.places(operators)
    if not places:
        return None
    builder = next(iter(graph.outputs.values())).builder
    assert isinstance(builder, GraphBuilder)
    with builder.place(""):
        for index in places:
            node = nodes[index]
            builder.locate(node.label, node.span)
            if rule(builder, node) is not None:
                return index
    return None


def rewrite_from(
    graph: Graph, rule: Rule, first: int, operators: Collection[str] | None = None
) -> Graph:
    """Return the graph rewritten by a rule that sees the nodes from an index on, once each."""
    builder = GraphBuilder()
    results: Results = {}
    replaced = False
    _copy(graph.nodes()[:first], builder, results)
    with builder.place(""):
        for node in graph.nodes()[first:]:
            current = move_node(node, builder, results)
            replacement = None
            if operators is None or _is_among(node, operators):
                builder.locate(node.label, node.span)
                replacement = rule(builder, current)
            if replacement is None:
                results[node.number] = builder.adopt(current)
            else:
                replaced = True
                results[node.number] = (
                    replacement if isinstance(replacement, tuple) else (replacement,)
                )
    if not replaced:
        return graph
    outputs = {name: results[o.number][o.index] for name, o in graph.outputs.items()}
    inputs = {name: builder.adopt(o.node)[0] for name, o in graph.inputs.items()}
    return Graph(outputs, inputs)


def _is_among(node: Node, operators: Collection[str]) -> bool:
    return isinstance(node, OperatorNode) and node.operator.name in operators


def _copy(nodes: Iterable[Node], builder: GraphBuilder, results: Results) -> None:
    """Write nodes into a builder, except those that have results already."""
    for node in nodes:
        if node.number not in results:
            results[node.number] = builder.adopt(move_node(node, builder, results))


def copy_graph_into(
    b: GraphBuilder, graph: Graph, inputs: Mapping[str, Operand]
) -> dict[str, Operand]:
    """Return the outputs of a graph written into another builder, applied to inputs of that one.

    >>> b = GraphBuilder()
    >>> double = b.build({"y": b.input("x", "float32", [2]) * 2})
    >>> other = GraphBuilder()
    >>> copy_graph_into(other, double, {"x": other.constant([1.0, 2.0])})
    {'y': float32[2]}
    """
    results: Results = {
        node.number: (inputs[node.name],) for node in graph.nodes() if isinstance(node, InputNode)
    }
    _copy(graph.nodes(), b, results)
    return {name: results[o.number][o.index] for name, o in graph.outputs.items()}


def inline_composites(graph: Graph, chosen: Callable[[Composite], bool]) -> Graph:
    """Return the graph with the chosen composites replaced by their decompositions."""

    def is_chosen(node: Node) -> TypeGuard[OperatorNode]:
        return (
            isinstance(node, OperatorNode)
            and isinstance(node.operator, Composite)
            and chosen(node.operator)
        )

    def rule(b: GraphBuilder, node: Node) -> Replacement | None:
        return decompose_node(b, node) if is_chosen(node) else None

    while any(map(is_chosen, graph.nodes())):  # a decomposition may hold further composites
        graph = rewrite(graph, rule)
    return graph


def decompose_node(b: GraphBuilder, node: OperatorNode) -> Replacement | None:
    """Return the result of a node's decomposition, None if it has none."""
    if node.operator.decompose is None:
        return None
    return node.operator.decompose(b, *node.operands, **node.options)


def move_node(node: Node, builder: GraphBuilder, results: Results) -> Node:
    """Return a node with rewritten operands."""
    if not isinstance(node, OperatorNode):
        return node
    operands = tuple([o and results[o.number][o.index] for o in node.operands])
    return node.at(len(builder.nodes), operands)  # its number if it is added


def reapply(b: GraphBuilder, node: OperatorNode, *operands: Operand | None) -> Replacement:
    """Apply the operator of a node with its options to other operands."""
    arguments = [operands] if node.operator.operands[0].variadic else operands
    return b.apply(node.operator, arguments, node.options)
