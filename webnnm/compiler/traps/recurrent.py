"""The trap of peephole weights: their order is assumed to be that of the other weights."""

from __future__ import annotations

from webnnm.compiler.traps.evidence import Probe, Values
from webnnm.compiler.traps.trap import Trap
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Node, OperatorNode
from webnnm.graph.transforms.rewrite import Replacement, decompose_node


def _decompose_peepholes(b: GraphBuilder, node: Node) -> Replacement | None:
    """An lstm with peephole weights and a layout other than iofg → its steps."""
    if not isinstance(node, OperatorNode) or node.options["layout"] == "iofg":
        return None
    names = [slot.name for slot in node.operator.operands]
    if node.operands[names.index("peepholeWeight")] is None:
        return None
    return decompose_node(b, node)


TRAPS = (
    Trap(
        operators=frozenset({"lstm", "lstmCell"}),
        reason='peephole weights are refused with the layout "ifgo"; computed with other operators',
        evidence=(
            Probe(
                lambda g: g.lstmCell(
                    g.tensor([[1.0]]),
                    g.constant([[1.0], [2.0], [3.0], [4.0]]),
                    g.constant([[0.0], [0.0], [0.0], [0.0]]),
                    g.tensor([[0.0]]),
                    g.tensor([[1.0]]),
                    1,
                    peepholeWeight=g.constant([10.0, 20.0, 30.0]),
                    layout="ifgo",
                    activations=["relu", "relu", "relu"],
                    results=2,
                ),
                [Values([[1560.0]]), Values([[65.0]])],
                alone=True,
            ),
        ),
        rule=_decompose_peepholes,
    ),
)
