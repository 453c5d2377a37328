"""Rewrites of operators that backends get wrong, above all for large numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from webnnm.compiler.extrema import larger
from webnnm.core.dtypes import FLOAT_INFO, LARGEST_INVERTIBLE
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Operand, OperatorNode
from webnnm.ops.declare.constants import constant_values

SATURATION = 8.0
"""From this number on, gelu(x) is x and erf(x/√2) is 1."""
TINY = 1e-30
PRECISION = 2.0**-24
"""The relative precision of float32."""


def take_root(b: GraphBuilder, node: OperatorNode) -> Operand:
    """Return √x of any number, or √Σ x² with its squares summed in float32."""
    (x,) = node.operands
    assert x is not None
    type = node.types[0].dtype
    if node.operator.name != "sqrt":
        # The squares of float16 numbers exceed the range of float16.
        wide = x if x.dtype == "float32" else b.cast(x, type="float32")
        if node.operator.name == "reduceL2":
            x = b.reduce_sum_square(wide, **node.options)
        else:
            x = _sum_window_squares(b, wide, node.options)
    result = _sqrt_float16(b, x) if type == "float16" else _sqrt_float32(b, x)
    return result if result.dtype == type else b.cast(result, type=type)


def _sqrt_float16(b: GraphBuilder, x: Operand) -> Operand:
    """Return max(x / √largest, √(x kept finite)), which is the second except for infinity."""
    largest = FLOAT_INFO["float16"].max if x.dtype == "float16" else LARGEST_INVERTIBLE
    return larger(b, x / float(math.ceil(math.sqrt(largest))), b.sqrt(b.min(largest, x)))


def _sqrt_float32(b: GraphBuilder, x: Operand) -> Operand:
    """Return the largest of x/2⁶⁴, which is needed for infinity, 2³²·√(x/2⁶⁴) and √min(x, 1).

    No root is then taken of a number whose reciprocal is subnormal, and no number that is subnormal
    after division is lost.
    """
    small = x * 2.0**-64
    large = b.sqrt(b.min(2.0**64, small)) * 2.0**32
    return larger(b, larger(b, small, large), b.sqrt(b.min(1.0, x)))


def _sum_window_squares(b: GraphBuilder, wide: Operand, options: Mapping[str, Any]) -> Operand:
    """Return Σ x² of the cells of each window."""
    from webnnm.ops.pool2d import pool_windows, real_cells

    cells = real_cells(b, wide, options["layout"], *pool_windows(wide.shape, **options))
    return b.average_pool2d(wide * wide, **options) * cells


def compute_erf(b: GraphBuilder, x: Operand) -> Operand | None:
    """Return erf x = (2·gelu(h) − h) / h for float32, with h = √2·x kept from 0 and infinity."""
    if x.dtype != "float32":
        return None
    factor = math.sqrt(2)
    if isinstance(x.node, OperatorNode) and x.node.operator.name == "mul":
        inner, scale = x.node.operands
        values = constant_values(scale) if scale and not scale.rank else None
        if inner and values:
            x, factor = inner, factor * values[0]
    h = x if math.isclose(factor, 1, rel_tol=PRECISION) else x * factor
    h = b.max(-SATURATION, b.min(SATURATION, h))
    return (b.gelu(h) * 2.0 - h) * h / b.max(TINY, h * h)


def find_extremum(b: GraphBuilder, node: OperatorNode) -> Operand:
    """Return the index of the extremum of x, with NaN beyond all numbers, infinity included."""
    (x,) = node.operands
    assert x is not None
    largest = FLOAT_INFO[x.dtype].max
    highest = node.operator.name == "argMax"
    bounded = b.min(largest, x) if highest else b.max(-largest, x)
    infinity = b.constant(math.inf if highest else -math.inf, x.dtype)
    return b.apply(node.operator, [b.where(b.equal(x, x), bounded, infinity)], node.options)


def multiply(b: GraphBuilder, node: OperatorNode) -> Operand | None:
    """Return α·A·B + β·C with matmul, None for what the browser multiplies correctly."""
    x, w, c = node.operands
    assert x is not None
    assert w is not None
    alpha, beta = node.options["alpha"], node.options["beta"]
    if node.options["b_transpose"]:
        if isinstance(w.node, ConstantNode) and (c is None or isinstance(c.node, ConstantNode)):
            return None
        w = b.transpose(w)
    result = b.matmul(b.transpose(x) if node.options["a_transpose"] else x, w)
    result = result if alpha == 1 else result * alpha
    if c is None:
        return result
    return result + (c if beta == 1 else c * beta)


def mask_triangle(b: GraphBuilder, node: OperatorNode) -> Operand | None:
    """Return where(triangle of ones, x, 0), None if x is known to be finite."""
    (x,) = node.operands
    assert x is not None
    inner, source = x.node, x
    if isinstance(inner, OperatorNode) and inner.operator.name == "expand":
        (source,) = inner.operands
    values = constant_values(source)
    if values is not None and all(map(math.isfinite, values)):
        return None
    height, width = x.shape[-2:]
    upper = node.options["upper"]
    mask = bytearray()
    for row in range(height):
        start = min(max(row + node.options["diagonal"] + (not upper), 0), width)
        mask += bytes([not upper]) * start + bytes([upper]) * (width - start)
    return b.where(b.constant(mask, "uint8", [height, width]), x, 0.0)
