"""The table of known traps: what backends refuse or compute wrongly although their limits allow it.

To add one, write a rule that returns a replacement (or None where the node is safe) and a record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeGuard

from webnnm.dtypes import SIGNED, byte_length, is_float
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Node, Operand, OperatorNode
from webnnm.shapes import count

MAX_CONSTANT_BYTES = 2**27
"""Chromium 147 on LiteRT refuses to build a graph with one larger constant."""

MAX_GRAPH_CONSTANT_BYTES = 5 * 2**28
"""1.25 GiB of constants in a graph were built; 1.5 GiB killed the service and lost the context."""


@dataclass(frozen=True, kw_only=True)
class Trap:
    """A trap: where it waits (`rule` gives None elsewhere), how it is avoided, and why.

    `operators` are the operators concerned, "constant" among them; `seen` names the browsers.
    Rules may be applied again to what they made, and then have nothing left to do.
    """

    operators: frozenset[str]
    reason: str
    seen: str
    rule: Callable[[GraphBuilder, Node], Operand | None]


def _guarded_division(b: GraphBuilder, node: Node) -> Operand | None:
    """Integer a / b → where(b is 0 or -1, a · b, a / where(b is 0 or -1, 1, b)).

    The product is the quotient for -1, and the 0 that NumPy gives for 0.
    """
    if not isinstance(node, OperatorNode) or is_float(node.types[0].dtype):
        return None
    dividend, divisor = node.operands
    assert dividend is not None
    assert divisor is not None
    if _harmless(divisor):
        return None
    # Of two neighbours one is odd, so the product is 0 (modulo 2^32, too) only if a factor is.
    tested = divisor * (divisor + 1) if divisor.dtype in SIGNED else divisor
    harmful = b.equal(tested, b.constant(0, divisor.dtype))
    safe = b.where(harmful, b.constant(1, divisor.dtype), divisor)
    return b.where(harmful, dividend * divisor, b.div(dividend, safe))


def _harmless(divisor: Operand) -> bool:
    """Tell whether a divisor is known to be neither 0 nor -1."""
    signed = divisor.dtype in SIGNED
    node = _bare(divisor).node
    if isinstance(node, ConstantNode):
        return not {0, -1 if signed else 0} & set(node.array.values())
    if not _is(node, "where"):
        return False
    condition, replacement, kept = (_bare(o) for o in node.operands if o is not None)
    test = _first(condition.node) if _is(condition.node, "equal") else None
    if signed and test is not None:
        test = _first(test.node) if _is(test.node, "mul") else None
    return test == kept and _harmless(replacement)


def _is(node: Node, name: str) -> TypeGuard[OperatorNode]:
    return isinstance(node, OperatorNode) and node.operator.name == name


def _first(node: OperatorNode) -> Operand | None:
    return node.operands[0] and _bare(node.operands[0])


def _bare(operand: Operand) -> Operand:
    """Return what an operand was before it was only laid out anew."""
    node = operand.node
    while isinstance(node, OperatorNode) and node.operator.name in ("reshape", "expand"):
        source = node.operands[0]
        assert source is not None
        operand, node = source, source.node
    return operand


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


LITERT = "Chromium 147 on LiteRT"

TRAPS = (
    Trap(
        operators=frozenset({"div"}),
        reason="an integer division by zero would leave the old values in the output without an "
        "error, and one of the smallest integer by -1 would lose the device; quotients by 0 are "
        "now 0",
        seen=LITERT,
        rule=_guarded_division,
    ),
    Trap(
        operators=frozenset({"constant"}),
        reason=f"a constant above {MAX_CONSTANT_BYTES} bytes is refused; it is put together from "
        "parts",
        seen=LITERT,
        rule=_split_constant,
    ),
)
