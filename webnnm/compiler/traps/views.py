"""Traps of views: a reshape that shares memory with data that is overwritten or not there yet."""

from __future__ import annotations

from typing import TypeGuard

from webnnm.compiler.traps.evidence import Probe, Sketch, SketchTensor, Values
from webnnm.compiler.traps.trap import Trap, is_operator
from webnnm.core.dtypes import is_float
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import Replacement, reapply

VIEWS = frozenset({"identity", "reshape"})
"""Operators whose result is in the memory of their operand; identities turn values into outputs."""

IN_PLACE = frozenset({"add", "div", "mul", "sub", "triangular"})
"""Operators whose integer result may overwrite an operand in memory."""

SHARED_MEMORY = IN_PLACE | {"argMax", "argMin", "gatherElements", "scatterElements", "scatterND"}
"""Operators whose integer result may be in memory that something else computed: an operand's, or,
because the browser computes them in several steps, that of the last but one of these."""


def _merge_views(b: GraphBuilder, node: Node) -> Operand | None:
    """A reshape of a view → a reshape of the operand of the view, or that operand itself.

    The browser counts the readers of a view's operand, but not those of intermediate views:
    integers are added, subtracted, multiplied and divided in place as soon as the last view has one
    reader.
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


def _merge_transposes(b: GraphBuilder, node: Node) -> Operand | None:
    """A transpose of a transpose → one transpose, or the operand of the first.

    The browser removes two that undo each other, and takes what is left for a view of a view.
    """
    (x,) = node.operands if isinstance(node, OperatorNode) else (None,)
    while x is not None and is_operator(x.node, "identity"):
        (x,) = x.node.operands
    if x is None or not is_operator(x.node, "transpose"):
        return None
    (source,) = x.node.operands
    assert source is not None and isinstance(node, OperatorNode)
    first, second = x.node.options["permutation"], node.options["permutation"]
    order = tuple(first[axis] for axis in second)
    return source if order == tuple(range(len(order))) else b.transpose(source, permutation=order)


def _copy_shared_memory(b: GraphBuilder, node: Node) -> Replacement | None:
    """Integers computed from a view of a result in shared memory → from a copy of the view.

    The browser counts the readers of what was in that memory first, but not those of the result.
    """
    if not isinstance(node, OperatorNode) or is_float(node.types[0].dtype):
        return None
    is_shared = [o is not None and o.rank > 0 and _is_view_of_shared(o) for o in node.operands]
    if not any(is_shared):
        return None
    operands = [
        b.concat([o], axis=0) if o is not None and copy else o
        for o, copy in zip(node.operands, is_shared, strict=True)
    ]
    return reapply(b, node, *operands)


def _is_view_of_shared(operand: Operand) -> bool:
    if not _is_view(operand.node):
        return False
    (source,) = operand.node.operands
    # The readers of a view that stays in between are not counted either.
    return source is not None and (
        _is_view(source.node)
        or (isinstance(source.node, OperatorNode) and source.node.operator.name in SHARED_MEMORY)
    )


def _copy_transposed_constant(b: GraphBuilder, node: Node) -> Operand | None:
    """A reshape of a transposed constant → one of a copy; else it would reshape the constant."""
    (transposed,) = node.operands if isinstance(node, OperatorNode) else (None,)
    if transposed is None or not is_operator(transposed.node, "transpose"):
        return None
    (source,) = transposed.node.operands
    while source is not None and _is_view(source.node):
        (source,) = source.node.operands
    if source is None or not isinstance(source.node, ConstantNode):
        return None
    return b.reshape(b.concat([transposed], axis=0), new_shape=node.types[0].shape)


def _is_view(node: Node) -> TypeGuard[OperatorNode]:
    return isinstance(node, OperatorNode) and node.operator.name in VIEWS


def _draw_read_behind(g: Sketch) -> SketchTensor:
    """Return h − 2h, where h is a reshape and is doubled by way of another reshape."""
    x = g.tensor([[1, 2, 3], [4, 5, 6]], "int32")
    h = g.reshape(g.add(x, x), [3, 2])
    doubled = g.mul(g.reshape(h, [6]), g.constant(2, "int32"))
    return g.sub(h, g.reshape(doubled, [3, 2]))


def _draw_in_place(g: Sketch) -> SketchTensor:
    """Return 2x + 1 minus a reshape of it from which 3 is subtracted."""
    x = g.tensor([[1, 2, 3], [4, 5, 6]], "int32")
    t = g.add(g.add(x, x), g.constant(1, "int32"))
    less = g.sub(g.reshape(t, [6]), g.constant(3, "int32"))
    return g.sub(t, g.reshape(less, [2, 3]))


def _draw_transposes(g: Sketch) -> SketchTensor:
    """Return h − 2h, where h is a reshape and is doubled by way of transposes and a reshape."""
    x = g.tensor([[1, 2, 3], [4, 5, 6]], "int32")
    h = g.reshape(g.max(x, x), [3, 2])
    there = g.transpose(h, permutation=[1, 0])
    back = g.transpose(there, permutation=[1, 0])
    doubled = g.mul(g.reshape(back, [6]), g.constant(2, "int32"))
    return g.sub(h, g.reshape(doubled, [3, 2]))


def _draw_gathered(g: Sketch) -> SketchTensor:
    """Return gathered elements minus a reshape of them from which 3 is subtracted."""
    x = g.tensor([[1, 2, 3], [4, 5, 6]], "int32")
    t = g.gatherElements(x, g.constant([[0, 2], [2, 1]], "int32"), axis=1)
    less = g.sub(g.reshape(t, [4]), g.constant(3, "int32"))
    return g.sub(t, g.reshape(less, [2, 2]))


TRAPS = (
    Trap(
        operators=frozenset({"transpose"}),
        reason="integers after a reshape, two transposes that undo each other and another reshape "
        "would be computed in memory that is still read; the transposes become one or none",
        evidence=(Probe(_draw_transposes, Values([[-1, -2], [-3, -4], [-5, -6]], "int32")),),
        rule=_merge_transposes,
    ),
    Trap(
        operators=frozenset({"reshape"}),
        reason="integers after a reshape of a reshape would be computed in memory that is still "
        "read; it reshapes what the first one reshaped",
        evidence=(Probe(_draw_read_behind, Values([[-2, -4], [-6, -8], [-10, -12]], "int32")),),
        rule=_merge_views,
    ),
    Trap(
        operators=IN_PLACE,
        reason="integers after a reshape of a sum, difference, product, quotient or triangle, or "
        "of elements gathered or scattered, would be computed in memory that is still read; they "
        "are copied first",
        evidence=(
            Probe(_draw_in_place, Values([[3, 3, 3], [3, 3, 3]], "int32")),
            Probe(_draw_gathered, Values([[3, 3], [3, 3]], "int32")),
        ),
        rule=_copy_shared_memory,
    ),
    Trap(
        operators=frozenset({"reshape"}),
        reason="a reshape of a transposed constant would be one of the constant; it is copied "
        "in between",
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
        rule=_copy_transposed_constant,
    ),
)
