"""The trap of logical results: operators that move bytes fail to build on them."""

from __future__ import annotations

import math

from webnnm.compiler.traps.evidence import Probe, Values
from webnnm.compiler.traps.trap import Trap
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import Replacement, reapply

LOGICAL = frozenset(
    {
        "equal",
        "greater",
        "greaterOrEqual",
        "isInfinite",
        "isNaN",
        "lesser",
        "lesserOrEqual",
        "logicalAnd",
        "logicalNot",
        "logicalOr",
        "logicalXor",
        "notEqual",
    }
)
MOVING = frozenset(
    {
        "concat",
        "expand",
        "gather",
        "gatherElements",
        "gatherND",
        "max",
        "maxPool2d",
        "min",
        "pad",
        "reduceMax",
        "reduceMin",
        "resample2d",
        "reverse",
        "scatterElements",
        "scatterND",
        "slice",
        "split",
        "tile",
        "transpose",
        "triangular",
    }
)


def _reshape_logical(b: GraphBuilder, node: Node) -> Replacement | None:
    """An operator that moves logical results → the same after a reshape, which costs nothing."""
    if not isinstance(node, OperatorNode) or not any(map(_is_logical, node.operands)):
        return None
    operands = [
        b.reshape(o, new_shape=o.shape) if o is not None and _is_logical(o) else o
        for o in node.operands
    ]
    return reapply(b, node, *operands)


def _is_logical(operand: Operand | None) -> bool:
    node = operand and operand.node
    return isinstance(node, OperatorNode) and node.operator.name in LOGICAL


TRAPS = (
    Trap(
        operators=MOVING,
        reason="results of comparisons and logic cannot be moved unless they are reshaped first",
        evidence=(
            Probe(
                lambda g: g.slice(g.isNaN(g.tensor([1.0, math.nan, 2.0])), [1], [2]),
                Values([1, 0], "uint8"),
                alone=True,
            ),
        ),
        rule=_reshape_logical,
    ),
)
