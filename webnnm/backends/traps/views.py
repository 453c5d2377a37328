"""The trap of views: the memory that a reshape shares is written into while it is still read."""

from __future__ import annotations

from typing import TypeGuard

from webnnm.backends.traps.evidence import Drawn, Probe, Sketch, Values
from webnnm.backends.traps.trap import Trap
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Node, Operand, OperatorNode

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
)
