"""Remove operators without effect, and merge chains of the same operator."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from webnnm.compiler.passes.pending_transposes import reshaped
from webnnm.core.dtypes import is_float
from webnnm.core.shapes import Shape, count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Graph, Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import rewrite

CLAMPS = ("clamp", "relu")
MOST_COMPARED = 64
"""Constants of up to this many elements are examined."""
MOST_SUMMED = 4096
"""Sums of sums of up to this many elements become one."""


def simplified(graph: Graph) -> Graph:
    """Return the graph without identities, and with successive reshapes merged into one.

    >>> b = GraphBuilder()
    >>> x = b.input("x", "float32", [2, 3])
    >>> y = b.relu(b.cast(b.reshape(b.reshape(x, new_shape=[6]), new_shape=[2, 3]), type="float32"))
    >>> [type(node).__name__ for node in simplified(b.build({"y": y * 1 + 0})).nodes()]
    ['InputNode', 'OperatorNode']
    """
    return rewrite(graph, _rule, _RULES)


def _rule(b: GraphBuilder, node: Node) -> Operand | None:
    assert isinstance(node, OperatorNode)
    found = _RULES[node.operator.name](node)
    # Broadcasting against the removed operand may have changed the shape.
    return found if found is not None and found.type == node.types[0] else None


def _first(node: OperatorNode) -> Operand | None:
    """Return the operand: if it has the type of the result, the operator does nothing."""
    return node.operands[0]


def _alone(node: OperatorNode) -> Operand | None:
    return node.operands[0] if len(node.operands) == 1 else None


def _reshape(node: OperatorNode) -> Operand | None:
    (x,) = node.operands
    assert x is not None
    source, shape = x, node.types[0].shape
    while (inner := _of(source, "reshape")) is not None:
        source = inner
    if source is x and x.shape != shape and not isinstance(x.node, ConstantNode):
        return None
    return reshaped(source, shape)


def _gemm(node: OperatorNode) -> Operand | None:
    """Drop the addend of a product with β = 0: it may crash browsers."""
    a, b, c = node.operands
    if c is None or node.options["beta"] != 0:
        return None
    assert a is not None
    return a.builder.gemm(a, b, **node.options)


def _clamp(node: OperatorNode) -> Operand | None:
    """Merge the bounds of nested clamps; a relu is a clamp from 0."""
    (x,) = node.operands
    assert x is not None
    if not is_float(x.dtype):
        return None
    low, high = _bounds(node)
    inner = x.node if isinstance(x.node, OperatorNode) else None
    if inner is None or inner.operator.name not in CLAMPS:
        return x if (low, high) == (-math.inf, math.inf) else None
    bounds = _bounds(inner)
    first, last = (min(max(bound, low), high) for bound in bounds)
    if (first, last) == bounds:
        return x
    return x.builder.clamp(inner.operands[0], min_value=first, max_value=last)


def _bounds(node: OperatorNode) -> tuple[float, float]:
    """Return the bounds of a clamp or a relu."""
    if node.operator.name == "relu":
        return 0.0, math.inf
    # In this order, NaN, which is not a bound, is dropped.
    return max(-math.inf, node.options["min_value"]), min(math.inf, node.options["max_value"])


def _neg(node: OperatorNode) -> Operand | None:
    (x,) = node.operands
    return x and _of(x, "neg")


def _reduce_sum(node: OperatorNode) -> Operand | None:
    (x,) = node.operands
    assert x is not None
    found = _sum(x, node.options["axes"], node.types[0].shape)
    # Nothing changed: the same node was found again.
    return None if isinstance(found.node, OperatorNode) and found.node.operands == (x,) else found


def _sum(x: Operand, axes: Sequence[int], shape: Shape) -> Operand:
    """Return Σ x in a shape. Σ Σ x becomes one sum, and Σ −x becomes −Σ x, which negates less."""
    inner = _of(x, "neg")
    if inner is not None and count(shape) < count(x.shape):
        return -_sum(inner, axes, shape)
    inner = _of(x, "reduceSum")
    # A sum with other users is then computed twice, which matters for large operands.
    if inner is not None and count(inner.shape) <= MOST_SUMMED:
        assert isinstance(x.node, OperatorNode)
        gone = set(x.node.options["axes"])
        kept = x.node.options["keep_dimensions"]
        left = [axis for axis in range(inner.rank) if kept or axis not in gone]
        return _sum(inner, sorted(gone | {left[axis] for axis in axes}), shape)
    keep = len(shape) == x.rank
    return reshaped(x.builder.reduce_sum(x, axes=axes, keep_dimensions=keep), shape)


def _of(x: Operand, name: str) -> Operand | None:
    """Return the operand of an operator of this name, None if `x` is not a result of one."""
    node = x.node
    return (
        node.operands[0] if isinstance(node, OperatorNode) and node.operator.name == name else None
    )


def _neutral(number: float, *, both: bool) -> Callable[[OperatorNode], Operand | None]:
    """Drop an operand that is this number everywhere: the second operand, or either of them."""

    def found(node: OperatorNode) -> Operand | None:
        x, z = node.operands
        if _is(z, number):
            return x
        return z if both and _is(x, number) else None

    return found


def _is(x: Operand | None, number: float) -> bool:
    node = x and x.node
    if not isinstance(node, ConstantNode) or node.array.data.nbytes > 4 * MOST_COMPARED:
        return False
    return {*node.array.values()} <= {number}


_RULES: dict[str, Callable[[OperatorNode], Operand | None]] = {
    **dict.fromkeys(("cast", "expand", "identity", "pad", "slice", "tile"), _first),
    **dict.fromkeys(CLAMPS, _clamp),
    "add": _neutral(0, both=True),
    "concat": _alone,
    "div": _neutral(1, both=False),
    "gemm": _gemm,
    "mul": _neutral(1, both=True),
    "neg": _neg,
    "pow": _neutral(1, both=False),
    "reduceSum": _reduce_sum,
    "reshape": _reshape,
    "sub": _neutral(0, both=False),
}
