"""Maxima that keep NaN, for backends where one of the two operands loses it."""

from __future__ import annotations

from webnnm.core.shapes import Shape
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand


def larger(b: GraphBuilder, x: Operand, kept: Operand) -> Operand:
    """Return the maximum of two tensors of one shape, NaN where the second one is that."""
    return b.max(kept, x) if keeps_nan(kept, kept.shape) else b.max(x, kept)


def keeps_nan(x: Operand, shape: Shape) -> bool:
    """Return whether an extremum of x and another, of this shape, keeps NaN of x, not of the other.

    So it is where x does not vary along the last axis of several elements.
    """
    sizes = (1,) * (len(shape) - x.rank) + x.shape
    last = [size for size, length in zip(sizes, shape, strict=True) if length > 1][-1:]
    return last in ([], [1])
