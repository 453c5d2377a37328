"""Traps of broadcasting: operands that the standard stretches and a backend does not."""

from __future__ import annotations

from webnnm.backends.traps.trap import LITERT, Trap
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Node, Operand, OperatorNode
from webnnm.graph.rewrite import again


def _stretched_input(b: GraphBuilder, node: Node) -> Operand | None:
    """prelu(x, slope) → prelu(x stretched to the result, slope)."""
    shape = node.types[0].shape
    if not isinstance(node, OperatorNode):
        return None
    x, slope = node.operands
    if x is None or x.shape == shape:
        return None
    found = again(b, node, b.expand(x, new_shape=shape), slope)
    return found if isinstance(found, Operand) else None


TRAPS = (
    Trap(
        operators=frozenset({"prelu"}),
        reason="a slope larger than the operand is refused; the operand is stretched first",
        seen=LITERT,
        rule=_stretched_input,
    ),
)
