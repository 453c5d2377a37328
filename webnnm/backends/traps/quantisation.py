"""The trap of long integers in quantisation: they are computed in float32."""

from __future__ import annotations

from webnnm.backends.traps.evidence import Probe, Values
from webnnm.backends.traps.trap import Trap
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Node, OperatorNode
from webnnm.graph.rewrite import Replacement, decomposed


def _long(b: GraphBuilder, node: Node) -> Replacement | None:
    """(De)quantisation with integers of 32 bits → its parts, in 64 bits."""
    from webnnm.ops.quantize import LONG

    if not isinstance(node, OperatorNode):
        return None
    zero_point = node.operands[-1]
    assert zero_point is not None
    return decomposed(b, node) if zero_point.dtype in LONG else None


TRAPS = (
    Trap(
        operators=frozenset({"quantizeLinear", "dequantizeLinear"}),
        reason="integers of 32 bits would lose their last digits in float32; computed in int64",
        evidence=(
            Probe(
                lambda g: g.dequantizeLinear(
                    g.tensor([16777217, 16777219], "int32"),
                    g.tensor([0.5]),
                    g.tensor([16777216], "int32"),
                ),
                Values([0.5, 1.5]),
            ),
        ),
        rule=_long,
    ),
)
