"""Remove expand and reshape before operators that broadcast the operand themselves."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.compiler.passes.pending_transposes import reshaped
from webnnm.core.shapes import broadcast, count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import Replacement, again, rewrite
from webnnm.ops.declare.operator import AnyOperator

_WAYS = ("expand", "reshape")
"""Operators that may have broadcast an operand."""


def without_broadcasts(graph: Graph) -> Graph:
    """Return the graph in which elementwise operators take the operands of expand directly.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> x, y = b.input("x", "float32", [4]), b.input("y", "float32", [3, 4])
    >>> graph = b.build({"z": b.expand(x, new_shape=[3, 4]) * y})
    >>> [type(node).__name__ for node in without_broadcasts(graph).nodes()]
    ['InputNode', 'InputNode', 'OperatorNode']
    """
    if not graph.uses(_WAYS):
        return graph
    return rewrite(graph, _rule, {"reshape", *graph.names(_broadcasts)})


def _broadcasts(operator: AnyOperator) -> bool:
    """Return whether an operator broadcasts all of its operands, on every backend."""
    return operator.elementwise and operator.name != "prelu"


def _rule(b: GraphBuilder, node: Node) -> Replacement | None:
    assert isinstance(node, OperatorNode)
    if node.operator.name == "reshape":
        return _reshaped(b, node)
    operands = [operand for operand in node.operands if operand is not None]
    if len(operands) < len(node.operands):
        return None
    wanted = node.types[0].shape
    if len(operands) == 1:  # expanded afterwards, perhaps for an operator that broadcasts itself
        inner = operands[0]
        while (further := _inner(inner, ("expand",))) is not None:
            inner = further
        if inner is operands[0]:
            return None
        found = again(b, node, inner)
        assert isinstance(found, Operand)
        return b.expand(found, new_shape=wanted)
    changed = False
    for place in range(len(operands)):
        while (inner := _inner(operands[place], _WAYS)) is not None:
            shapes = [o.shape for o in (*operands[:place], inner, *operands[place + 1 :])]
            if broadcast(*shapes) != wanted:
                break
            operands[place] = inner
            changed = True
    return again(b, node, *operands) if changed else None


def _reshaped(b: GraphBuilder, node: OperatorNode) -> Operand | None:
    """Expand a number to the shape to which it was expanded and reshaped."""
    (operand,) = node.operands
    inner = operand and _inner(operand, ("expand",))
    if inner is None or count(inner.shape) > 1:
        return None
    shape = node.types[0].shape
    number = reshaped(inner, ()) if inner.rank > len(shape) else inner
    return b.expand(number, new_shape=shape)


def _inner(operand: Operand, ways: Sequence[str]) -> Operand | None:
    """Return what an operand was broadcast from, by expand or by leading dimensions of size 1."""
    node = operand.node
    if not isinstance(node, OperatorNode) or node.operator.name not in ways:
        return None
    inner = node.operands[0]
    assert inner is not None
    if node.operator.name == "reshape":
        extra = operand.rank - inner.rank
        if extra < 1 or operand.shape != (1,) * extra + inner.shape:
            return None
    return inner
