"""Remove expand and reshape before operators that broadcast the operand themselves."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.compiler.passes.pending_transposes import reshape
from webnnm.core.shapes import broadcast, count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import Replacement, reapply, rewrite
from webnnm.ops.declare.operator import AnyOperator

_BROADCASTING = ("expand", "reshape")
"""Operators that may have broadcast an operand."""


def remove_broadcasts(graph: Graph) -> Graph:
    """Return the graph in which elementwise operators take the operands of expand directly.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> x, y = b.input("x", "float32", [4]), b.input("y", "float32", [3, 4])
    >>> graph = b.build({"z": b.expand(x, new_shape=[3, 4]) * y})
    >>> [type(node).__name__ for node in remove_broadcasts(graph).nodes()]
    ['InputNode', 'InputNode', 'OperatorNode']
    """
    if not graph.uses(_BROADCASTING):
        return graph
    return rewrite(graph, _rule, {"reshape", *graph.names(_broadcasts)})


def _broadcasts(operator: AnyOperator) -> bool:
    """Return whether an operator broadcasts all of its operands, on every backend."""
    return operator.elementwise and operator.name != "prelu"


def _rule(b: GraphBuilder, node: Node) -> Replacement | None:
    assert isinstance(node, OperatorNode)
    if node.operator.name == "reshape":
        return _expand_number(b, node)
    operands = [operand for operand in node.operands if operand is not None]
    if len(operands) < len(node.operands):
        return None
    result_shape = node.types[0].shape
    if len(operands) == 1:  # expanded afterwards, perhaps for an operator that broadcasts itself
        inner = operands[0]
        while (source := _broadcast_source(inner, ("expand",))) is not None:
            inner = source
        if inner is operands[0]:
            return None
        result = reapply(b, node, inner)
        assert isinstance(result, Operand)
        return b.expand(result, new_shape=result_shape)
    has_changed = False
    for position in range(len(operands)):
        while (inner := _broadcast_source(operands[position], _BROADCASTING)) is not None:
            shapes = [o.shape for o in (*operands[:position], inner, *operands[position + 1 :])]
            if broadcast(*shapes) != result_shape:
                break
            operands[position] = inner
            has_changed = True
    return reapply(b, node, *operands) if has_changed else None


def _expand_number(b: GraphBuilder, node: OperatorNode) -> Operand | None:
    """Expand a number to the shape to which it was expanded and reshaped."""
    (operand,) = node.operands
    inner = operand and _broadcast_source(operand, ("expand",))
    if inner is None or count(inner.shape) > 1:
        return None
    shape = node.types[0].shape
    number = reshape(inner, ()) if inner.rank > len(shape) else inner
    return b.expand(number, new_shape=shape)


def _broadcast_source(operand: Operand, names: Sequence[str]) -> Operand | None:
    """Return what an operand was broadcast from, by expand or by leading dimensions of size 1."""
    node = operand.node
    if not isinstance(node, OperatorNode) or node.operator.name not in names:
        return None
    inner = node.operands[0]
    assert inner is not None
    if node.operator.name == "reshape":
        extra = operand.rank - inner.rank
        if extra < 1 or operand.shape != (1,) * extra + inner.shape:
            return None
    return inner
