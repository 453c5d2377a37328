"""Operators on what may be infinite, written with others, for backends that make NaN of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand, OperatorNode
from webnnm.ops.declare.known import known_values


def pooled_squares(b: GraphBuilder, wide: Operand, options: Mapping[str, Any]) -> Operand:
    """Return Σ x² of the cells of each window."""
    from webnnm.ops.pool2d import pool_windows, real_cells

    cells = real_cells(b, wide, options["layout"], *pool_windows(wide.shape, **options))
    return b.average_pool2d(wide * wide, **options) * cells


def triangle(b: GraphBuilder, node: OperatorNode) -> Operand | None:
    """Return where(triangle of ones, x, 0), None for what is known to be finite."""
    (x,) = node.operands
    assert x is not None
    inner, source = x.node, x
    if isinstance(inner, OperatorNode) and inner.operator.name == "expand":
        (source,) = inner.operands
    values = known_values(source)
    if values is not None and all(map(math.isfinite, values)):
        return None
    height, width = x.shape[-2:]
    upper = node.options["upper"]
    kept = bytearray()
    for row in range(height):
        start = min(max(row + node.options["diagonal"] + (not upper), 0), width)
        kept += bytes([not upper]) * start + bytes([upper]) * (width - start)
    return b.where(b.constant(kept, "uint8", [height, width]), x, 0.0)
