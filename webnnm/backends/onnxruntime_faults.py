"""Rewrites around what ONNX Runtime computes wrongly: lost NaN, sums that do not wrap around."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from webnnm.compiler.traps.numbers import GUARDS
from webnnm.core.dtypes import FLOAT_INFO, FORMATS, is_float
from webnnm.core.plugins import plugin
from webnnm.core.shapes import count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import Replacement, rewrite
from webnnm.ops.cast import float_range
from webnnm.ops.declare.along import slice_axis

LOSING_NAN = frozenset({"argMax", "argMin", "reduceMax", "reduceMin", "sign"})
"""Operators that lose NaN as some browsers do, whose guards help here too."""
HALF = 2**32


def without_faults(graph: Graph) -> Graph:
    """Return a graph of which ONNX Runtime computes the right numbers.

    >>> b = GraphBuilder()
    >>> graph = b.build({"y": b.reduce_sum(b.input("x", "int32", [2]))})
    >>> [node.operator.name for node in without_faults(graph).nodes()[1:]]
    ['cast', 'reduceSum', 'cast']
    """
    return rewrite(plugin("expressible")(graph), _rule, _RULES)


def _rule(b: GraphBuilder, node: Node) -> Replacement | None:
    assert isinstance(node, OperatorNode)
    return _RULES[node.operator.name](b, node)


def _sum(b: GraphBuilder, node: OperatorNode) -> Operand | None:
    """Sums of integers, which saturate → sums in 64 bits, or of the halves of 64 bits."""
    (x,) = node.operands
    return None if x is None or is_float(x.dtype) else _sum_with_wraparound(b, x, node.options)


def _sum_of_squares(b: GraphBuilder, node: OperatorNode) -> Operand | None:
    """Sums of squares of integers, which saturate → sums of products."""
    (x,) = node.operands
    return None if x is None or is_float(x.dtype) else _sum_with_wraparound(b, x * x, node.options)


def _product(b: GraphBuilder, node: OperatorNode) -> Operand | None:
    """Products of integers, which saturate → products of pairs of factors, which wrap around."""
    (x,) = node.operands
    if x is None or is_float(x.dtype):
        return None
    axes: Sequence[int] = node.options["axes"]
    kept = [axis for axis in range(x.rank) if axis not in axes]
    number = count([x.shape[axis] for axis in axes])
    rows = b.reshape(
        b.transpose(x, permutation=[*axes, *kept]),
        new_shape=[number, count([x.shape[axis] for axis in kept])],
    )
    while number > 1:
        half = number // 2
        pairs = slice_axis(b, rows, 0, 0, half) * slice_axis(b, rows, 0, half, half)
        odd = [slice_axis(b, rows, 0, 2 * half, 1)] if number % 2 else []
        rows = b.concat([pairs, *odd], axis=0)
        number = half + len(odd)
    return b.reshape(rows, new_shape=node.types[0].shape)


def _sum_with_wraparound(b: GraphBuilder, x: Operand, reduction: Mapping[str, Any]) -> Operand:
    options = dict(reduction)
    wide = b.cast(x, type="int64") if x.dtype != "int64" else x
    if not x.dtype.endswith("64"):
        return b.cast(b.reduce_sum(wide, **options), type=x.dtype)
    low = b.bitwise_and(wide, HALF - 1)
    high = b.div(wide - low, HALF)
    total = b.reduce_sum(high, **options) * HALF + b.reduce_sum(low, **options)
    return total if x.dtype == "int64" else b.cast(total, type=x.dtype)


def _cast(b: GraphBuilder, node: OperatorNode) -> Operand | None:
    """Casts of floats to 4 bits, which round → casts of truncated ones."""
    (x,) = node.operands
    assert x is not None
    type = node.types[0].dtype
    if type in FORMATS or not is_float(x.dtype):
        return None
    low, high = float_range(type, *FLOAT_INFO[x.dtype])
    bounded = b.trunc(b.max(b.min(x, high), low))
    return b.cast(b.where(b.equal(x, x), bounded, 0.0), type=type)


_RULES: dict[str, Callable[[GraphBuilder, OperatorNode], Replacement | None]] = {
    **{name: trap.rule for trap in GUARDS for name in sorted(trap.operators & LOSING_NAN)},
    "cast": _cast,
    "reduceProduct": _product,
    "reduceSum": _sum,
    "reduceSumSquare": _sum_of_squares,
}
