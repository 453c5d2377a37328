"""The trap of peephole weights: their order is taken to be that of the other weights."""

from __future__ import annotations

from webnnm.backends.traps.trap import LITERT, Trap
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Node, OperatorNode
from webnnm.graph.rewrite import Replacement, decomposed


def _peepholes(b: GraphBuilder, node: Node) -> Replacement | None:
    """An lstm with peephole weights and a layout other than iofg → its steps."""
    if not isinstance(node, OperatorNode) or node.options["layout"] == "iofg":
        return None
    names = [slot.name for slot in node.operator.operands]
    if node.operands[names.index("peepholeWeight")] is None:
        return None
    return decomposed(b, node)


TRAPS = (
    Trap(
        operators=frozenset({"lstm", "lstmCell"}),
        reason='peephole weights are refused with the layout "ifgo"; computed by other operators',
        seen=LITERT,
        rule=_peepholes,
    ),
)
