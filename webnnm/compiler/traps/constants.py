"""Traps of constants: the size of one, the size of all in a graph, and casts."""

from __future__ import annotations

from itertools import pairwise

from webnnm.compiler.traps.evidence import Probe, Untried, Values, litert
from webnnm.compiler.traps.trap import Trap, is_operator
from webnnm.core.dtypes import byte_length
from webnnm.core.errors import BackendError
from webnnm.core.shapes import count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Graph, Node, Operand, OperatorNode

MAX_CONSTANT_BYTES = 2**27
"""Chromium on LiteRT refuses to build a graph with a larger constant."""

MAX_GRAPH_CONSTANT_BYTES = 5 * 2**28
"""1.25 GiB of constants in a graph were built; 1.5 GiB killed the service and lost the context."""


def check_constants(graph: Graph, max_bytes: int = MAX_GRAPH_CONSTANT_BYTES) -> None:
    """Raise `BackendError` NNM409 for more constants in a graph than a browser survives."""
    constants = [node.array for node in graph.nodes() if isinstance(node, ConstantNode)]
    total = sum(array.data.nbytes for array in constants)
    if total > max_bytes:
        raise BackendError(
            "NNM409",
            f"the graph has {total} bytes of constants; beyond {max_bytes} the browser loses the "
            "device",
            hint="make the large ones inputs of the graph, or use float16",
        )


def split_constant(
    b: GraphBuilder, node: Node, max_bytes: int = MAX_CONSTANT_BYTES
) -> Operand | None:
    """A large constant → reshape(concat(parts))."""
    if not isinstance(node, ConstantNode) or node.array.data.nbytes <= max_bytes:
        return None
    type, data = node.types[0], node.array.data
    elements = max_bytes * count(type.shape) // data.nbytes // 2 * 2
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


def _reshape_before_cast(b: GraphBuilder, node: Node) -> Operand | None:
    """The cast of a float16 constant → the same in another shape, reshaped."""
    if not isinstance(node, OperatorNode) or node.types[0].dtype != "float32":
        return None
    (x,) = node.operands
    if x is None or x.dtype != "float16" or not _is_constant(x):
        return None
    size = count(x.shape)
    reshaped = b.reshape(x, new_shape=(1, size) if x.rank == 1 else (size,))
    return b.reshape(b.cast(reshaped, type="float32"), new_shape=x.shape)


def _is_constant(operand: Operand | None) -> bool:
    """Return whether an operand is a constant, or made from constants without arithmetic."""
    if operand is None or isinstance(operand.node, ConstantNode):
        return operand is not None
    node = operand.node
    return (is_operator(node, "reshape") or is_operator(node, "concat")) and all(
        map(_is_constant, node.operands)
    )


TRAPS = (
    Trap(
        operators=frozenset({"constant"}),
        reason=f"a constant above {MAX_CONSTANT_BYTES} bytes is refused; it is assembled from "
        "parts",
        evidence=Untried("its constant would take as many bytes", litert),
        rule=split_constant,
    ),
)

GUARDS = (
    Trap(
        operators=frozenset({"cast"}),
        reason="a float16 constant cast to float32 would be zeros in an output; it is reshaped",
        evidence=(
            Probe(
                lambda g: g.cast(g.constant([1.0, 2.0], "float16"), "float32"),
                Values([1.0, 2.0]),
                alone=True,
            ),
        ),
        rule=_reshape_before_cast,
        dtypes=frozenset({"float16"}),
    ),
)
