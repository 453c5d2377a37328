"""L1 and L2 regularisation (spec E.7)."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand


def add_penalty_gradient(b: GraphBuilder, w: Operand, g: Operand, l1: float, l2: float) -> Operand:
    """Return the gradient plus that of λ1·Σ|w| + ½λ2·Σw²."""
    if l2:
        g = g + w * l2
    if l1:
        g = g + b.sign(w) * l1
    return g


def compute_penalty(
    b: GraphBuilder, parameters: Sequence[Operand], l1: float, l2: float
) -> Operand:
    """Return λ1·Σ|w| + ½λ2·Σw² over all parameters."""
    total = b.constant(0, "float32")
    for w in parameters:
        axes = range(w.rank)
        if l2:
            total = total + b.reduce_sum_square(w, axes=axes) * (0.5 * l2)
        if l1:
            total = total + b.reduce_l1(w, axes=axes) * l1
    return total
