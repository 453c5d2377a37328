"""Expand the numbers that `where` chooses beforehand."""

from __future__ import annotations

from webnnm.core.shapes import count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import rewrite

MIN_ELEMENTS = 4096
"""Results with fewer elements are left alone."""


def expand_choices(graph: Graph) -> Graph:
    """Return the graph in which large choices have operands of the size of their result.

    LiteRT walks over operands of different shapes element by element, in twice the time that it
    takes to expand a number and to choose from operands of the same shape.

    >>> b = GraphBuilder()
    >>> x = b.input("x", "float32", [100, 100])
    >>> graph = expand_choices(b.build({"y": b.where(b.greater(x, 0), x, 0)}))
    >>> [node.operator.name for node in graph.nodes() if isinstance(node, OperatorNode)]
    ['greater', 'expand', 'where']
    """
    return rewrite(graph, _rule, ("where",))


def _rule(b: GraphBuilder, node: Node) -> Operand | None:
    assert isinstance(node, OperatorNode)
    shape = node.types[0].shape
    if count(shape) < MIN_ELEMENTS:
        return None
    condition, *values = node.operands
    assert condition is not None
    scalars = [x for x in values if x is not None and count(x.shape) == 1]
    if not scalars or condition.shape != shape:
        return None
    expanded = [b.expand(x, new_shape=shape) if x in scalars else x for x in values]
    result = b.where(condition, *expanded)
    assert isinstance(result, Operand)
    return result
