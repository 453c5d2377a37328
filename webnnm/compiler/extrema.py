"""Maxima that keep NaN, for backends that lose it in one of the two operands."""

from __future__ import annotations

from webnnm.core.shapes import Shape
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand


def larger(b: GraphBuilder, x: Operand, nan_source: Operand) -> Operand:
    """Return the maximum of two tensors of the same shape, NaN where the second one is NaN."""
    return b.max(nan_source, x) if keeps_nan(nan_source, nan_source.shape) else b.max(x, nan_source)


def keeps_nan(x: Operand, shape: Shape) -> bool:
    """Return whether an extremum of this shape keeps NaN of x, but not of the other operand.

    It does if x does not vary along the last axis with several elements.
    """
    sizes = (1,) * (len(shape) - x.rank) + x.shape
    last = [size for size, length in zip(sizes, shape, strict=True) if length > 1][-1:]
    return last in ([], [1])
