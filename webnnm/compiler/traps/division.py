"""Traps of division: integer division may crash, division by a sum may give the mean."""

from __future__ import annotations

from webnnm.compiler.traps.evidence import Probe, Untried, Values
from webnnm.compiler.traps.trap import Trap, is_operator
from webnnm.core.dtypes import SIGNED, is_float
from webnnm.core.shapes import count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import Replacement, reapply

SUMS = frozenset({"reduceL1", "reduceSum", "reduceSumSquare"})


def _guard_division(b: GraphBuilder, node: Node) -> Operand | None:
    """Integer a / b → where(b is 0 or -1, a · b, a / where(b is 0 or -1, 1, b)).

    The product is the quotient for -1, and 0 for 0, as in NumPy.
    """
    if not isinstance(node, OperatorNode) or is_float(node.types[0].dtype):
        return None
    dividend, divisor = node.operands
    assert dividend is not None
    assert divisor is not None
    if _is_harmless(divisor):
        return None
    # One of two neighbours is odd, so the product is 0 (even modulo 2^32) only if a factor is.
    zero_if_harmful = divisor * (divisor + 1) if divisor.dtype in SIGNED else divisor
    is_harmful = b.equal(zero_if_harmful, b.constant(0, divisor.dtype))
    safe = b.where(is_harmful, b.constant(1, divisor.dtype), divisor)
    return b.where(is_harmful, dividend * divisor, b.div(dividend, safe))


def _is_harmless(divisor: Operand) -> bool:
    """Return whether a divisor is known to be neither 0 nor -1."""
    signed = divisor.dtype in SIGNED
    node = _source_of(divisor).node
    if isinstance(node, ConstantNode):
        return not {0, -1 if signed else 0} & set(node.array.values())
    if not is_operator(node, "where"):
        return False
    condition, replacement, divisor_source = (_source_of(o) for o in node.operands if o is not None)
    test = _first_source(condition.node) if is_operator(condition.node, "equal") else None
    if signed and test is not None:
        test = _first_source(test.node) if is_operator(test.node, "mul") else None
    return test == divisor_source and _is_harmless(replacement)


def _first_source(node: OperatorNode) -> Operand | None:
    return node.operands[0] and _source_of(node.operands[0])


def _source_of(operand: Operand) -> Operand:
    """Return what an operand was before it was reshaped, expanded or copied."""
    node = operand.node
    while isinstance(node, OperatorNode) and (
        node.operator.name in ("reshape", "expand")
        or (node.operator.name == "concat" and len(node.operands) == 1)
    ):
        source = node.operands[0]
        assert source is not None
        operand, node = source, source.node
    return operand


def _reshape_divisor(b: GraphBuilder, node: Node) -> Replacement | None:
    """n / Σ x → n / (Σ x, reshaped): XNNPACK would take it for Σ x / n, the mean of n elements."""
    if not isinstance(node, OperatorNode):
        return None
    *dividend, total = node.operands
    assert total is not None
    sums = isinstance(total.node, OperatorNode) and total.node.operator.name in SUMS
    if not sums or any(o is not None and count(o.shape) > 1 for o in dividend):
        return None
    return reapply(b, node, *dividend, b.reshape(total, new_shape=total.shape))


TRAPS = (
    Trap(
        operators=frozenset({"div"}),
        reason="an integer division by zero would leave the old values in the output without an "
        "error, and that of the smallest integer by -1 would lose the device or end the page; "
        "quotients by 0 are now 0",
        evidence=Untried(
            "division by zero is left to the processor, which may end the process that computes"
        ),
        rule=_guard_division,
    ),
    Trap(
        operators=frozenset({"div", "reciprocal"}),
        reason="a number divided by the sum of that many elements would be their mean; the sum is "
        "reshaped first",
        evidence=(
            Probe(
                lambda g: [
                    g.div(g.constant(2.0), g.reduceSum(g.tensor([0.5, 0.75]))),
                    g.reciprocal(g.reduceSum(g.tensor([0.5]))),
                ],
                [Values(1.6), Values(2.0)],
            ),
        ),
        rule=_reshape_divisor,
    ),
)
