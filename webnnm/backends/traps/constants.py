"""Traps of constants: how large one may be, and all of a graph together."""

from __future__ import annotations

from itertools import pairwise

from webnnm.backends.traps.evidence import Untried, litert
from webnnm.backends.traps.trap import Trap
from webnnm.dtypes import byte_length
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Node, Operand
from webnnm.shapes import count

MAX_CONSTANT_BYTES = 2**27
"""Chromium 147 on LiteRT refuses to build a graph with one larger constant."""

MAX_GRAPH_CONSTANT_BYTES = 5 * 2**28
"""1.25 GiB of constants in a graph were built; 1.5 GiB killed the service and lost the context."""


def _split_constant(b: GraphBuilder, node: Node) -> Operand | None:
    """A large constant → reshape(concat(parts))."""
    if not isinstance(node, ConstantNode) or node.array.data.nbytes <= MAX_CONSTANT_BYTES:
        return None
    type, data = node.types[0], node.array.data
    elements = MAX_CONSTANT_BYTES * count(type.shape) // data.nbytes // 2 * 2
    cuts = [*range(0, count(type.shape), elements), count(type.shape)]
    parts = [
        b.constant(
            bytes(data[byte_length(type.dtype, first) : byte_length(type.dtype, end)]),
            type.dtype,
            [end - first],
        )
        for first, end in pairwise(cuts)
    ]
    return b.reshape(b.concat(parts, axis=0), new_shape=type.shape)


TRAPS = (
    Trap(
        operators=frozenset({"constant"}),
        reason=f"a constant above {MAX_CONSTANT_BYTES} bytes is refused; it is put together from "
        "parts",
        evidence=Untried("its constant would take as many bytes", litert),
        rule=_split_constant,
    ),
)
