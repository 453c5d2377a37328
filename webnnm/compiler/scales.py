"""(De)quantisations by scales that are not positive, written with other operators."""

from __future__ import annotations

from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, OperatorNode
from webnnm.graph.transforms.rewrite import Replacement, decompose_node


def avoid_zero_scales(b: GraphBuilder, node: OperatorNode) -> Replacement | None:
    """(De)quantisation by a constant with scales that are not positive → its parts."""
    scale = node.operands[1]
    if scale is None or not isinstance(scale.node, ConstantNode):
        return None
    smallest: float = min(scale.node.array.values())
    return None if smallest > 0 else decompose_node(b, node)
