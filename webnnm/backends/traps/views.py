"""Traps of views: a reshape that shares memory with what is overwritten, or not yet there."""

from __future__ import annotations

from typing import TypeGuard

from webnnm.backends.traps.evidence import Drawn, Probe, Sketch, Values
from webnnm.backends.traps.trap import Trap, is_operator
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Node, Operand, OperatorNode

VIEWS = frozenset({"identity", "reshape"})
"""Operators whose result lies where their operand lies; identities make outputs of values."""


def _view_of_view(b: GraphBuilder, node: Node) -> Operand | None:
    """A reshape of a view → a reshape of what the view shows, which may be that itself.

    The browser counts the readers of what a view shows, but not those of a view between: integers
    are added, subtracted, multiplied and divided in place as soon as the last view has one reader.
    """
    (view,) = node.operands if isinstance(node, OperatorNode) else (None,)
    shape = node.types[0].shape
    # A reshape to the same shape is there to be an output of its own.
    if view is None or view.shape == shape or not _is_view(view.node):
        return None
    source = view
    while _is_view(source.node):
        (inner,) = source.node.operands
        assert inner is not None
        source = inner
    return source if shape == source.shape else b.reshape(source, new_shape=shape)


def _turned_constant(b: GraphBuilder, node: Node) -> Operand | None:
    """A reshape of a transposed constant → one of a copy; else it would show the constant."""
    (turned,) = node.operands if isinstance(node, OperatorNode) else (None,)
    if turned is None or not is_operator(turned.node, "transpose"):
        return None
    (source,) = turned.node.operands
    while source is not None and _is_view(source.node):
        (source,) = source.node.operands
    if source is None or not isinstance(source.node, ConstantNode):
        return None
    return b.reshape(b.concat([turned], axis=0), new_shape=node.types[0].shape)


def _is_view(node: Node) -> TypeGuard[OperatorNode]:
    return isinstance(node, OperatorNode) and node.operator.name in VIEWS


def _read_behind(g: Sketch) -> Drawn:
    """Return h − 2h, where h is a reshape, and doubled by way of another one."""
    x = g.tensor([[1, 2, 3], [4, 5, 6]], "int32")
    h = g.reshape(g.add(x, x), [3, 2])
    doubled = g.mul(g.reshape(h, [6]), g.constant(2, "int32"))
    return g.sub(h, g.reshape(doubled, [3, 2]))


TRAPS = (
    Trap(
        operators=frozenset({"reshape"}),
        reason="integers behind a reshape of a reshape would be computed in memory that is still "
        "read; it reshapes what the first one reshaped",
        evidence=(Probe(_read_behind, Values([[-2, -4], [-6, -8], [-10, -12]], "int32")),),
        rule=_view_of_view,
    ),
    Trap(
        operators=frozenset({"reshape"}),
        reason="a reshape of a transposed constant would be one of the constant; it is copied "
        "between",
        evidence=(
            Probe(
                lambda g: g.relu(
                    g.reshape(
                        g.transpose(g.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])),
                        [6],
                    )
                ),
                Values([1.0, 4.0, 2.0, 5.0, 3.0, 6.0]),
            ),
        ),
        rule=_turned_constant,
    ),
)
