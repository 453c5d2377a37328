"""Traps of broadcasting: operands that the standard broadcasts but a backend does not."""

from __future__ import annotations

from webnnm.compiler.traps.evidence import Probe, Values
from webnnm.compiler.traps.trap import Trap
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import reapply


def _expand_input(b: GraphBuilder, node: Node) -> Operand | None:
    """prelu(x, slope) → prelu(x expanded to the result, slope)."""
    shape = node.types[0].shape
    if not isinstance(node, OperatorNode):
        return None
    x, slope = node.operands
    if x is None or x.shape == shape:
        return None
    result = reapply(b, node, b.expand(x, new_shape=shape), slope)
    return result if isinstance(result, Operand) else None


TRAPS = (
    Trap(
        operators=frozenset({"prelu"}),
        reason="a slope larger than the operand is refused; the operand is expanded first",
        evidence=(
            Probe(
                lambda g: g.prelu(g.tensor([-1.0, 2.0]), g.tensor([[0.5, 0.25], [2.0, 3.0]])),
                Values([[-0.5, 2.0], [-2.0, 2.0]]),
                alone=True,
            ),
        ),
        rule=_expand_input,
    ),
)
