"""Graphs taken out of some traps, for the tests of these traps."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.compiler.traps import Trap
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Node, OperatorNode
from webnnm.graph.transforms.rewrite import Replacement, rewrite


def out_of_traps(graph: Graph, traps: Sequence[Trap]) -> Graph:
    """Apply the rules until none has anything left to do, as the legaliser does."""

    def rule(b: GraphBuilder, node: Node) -> Replacement | None:
        if not isinstance(node, OperatorNode):
            return None
        rules = [trap.rule for trap in traps if node.operator.name in trap.operators]
        return next(filter(None, (rule(b, node) for rule in rules)), None)

    for _ in range(4):
        fitted = rewrite(graph, rule)
        if fitted is graph:
            return graph
        graph = fitted
    raise AssertionError("the rules never end")


def names(graph: Graph) -> list[str]:
    """Return the operators of a graph in order."""
    return [node.operator.name for node in graph.nodes() if isinstance(node, OperatorNode)]
