"""Remove operators without effect, and merge chains of the same operator."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from webnnm.compiler.passes.pending_transposes import reshape
from webnnm.core.dtypes import is_float
from webnnm.core.shapes import Shape, count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Graph, Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import rewrite

CLAMPS = ("clamp", "relu")
MAX_COMPARED = 64
"""Constants of up to this many elements are examined."""
MAX_SUMMED = 4096
"""Sums of sums of up to this many elements become one."""


def simplify(graph: Graph) -> Graph:
    """Return the graph without identities, and with successive reshapes merged into one.

    >>> b = GraphBuilder()
    >>> x = b.input("x", "float32", [2, 3])
    >>> y = b.relu(b.cast(b.reshape(b.reshape(x, new_shape=[6]), new_shape=[2, 3]), type="float32"))
    >>> [type(node).__name__ for node in simplify(b.build({"y": y * 1 + 0})).nodes()]
    ['InputNode', 'OperatorNode']
    """
    return rewrite(graph, _rule, _RULES)


def _rule(b: GraphBuilder, node: Node) -> Operand | None:
    assert isinstance(node, OperatorNode)
    simpler = _RULES[node.operator.name](node)
    # Broadcasting against the removed operand may have changed the shape.
    return simpler if simpler is not None and simpler.type == node.types[0] else None


def _drop_if_unchanged(node: OperatorNode) -> Operand | None:
    """Return the operand: if it has the type of the result, the operator does nothing."""
    return node.operands[0]


def _drop_if_alone(node: OperatorNode) -> Operand | None:
    return node.operands[0] if len(node.operands) == 1 else None


def _merge_reshapes(node: OperatorNode) -> Operand | None:
    (x,) = node.operands
    assert x is not None
    source, shape = x, node.types[0].shape
    while (inner := _operand_of(source, "reshape")) is not None:
        source = inner
    if source is x and x.shape != shape and not isinstance(x.node, ConstantNode):
        return None
    return reshape(source, shape)


def _drop_addend(node: OperatorNode) -> Operand | None:
    """Drop the addend of a product with β = 0: it may crash browsers."""
    a, b, c = node.operands
    if c is None or node.options["beta"] != 0:
        return None
    assert a is not None
    return a.builder.gemm(a, b, **node.options)


def _merge_clamps(node: OperatorNode) -> Operand | None:
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
    new_low, new_high = (min(max(bound, low), high) for bound in bounds)
    if (new_low, new_high) == bounds:
        return x
    return x.builder.clamp(inner.operands[0], min_value=new_low, max_value=new_high)


def _bounds(node: OperatorNode) -> tuple[float, float]:
    """Return the bounds of a clamp or a relu."""
    if node.operator.name == "relu":
        return 0.0, math.inf
    # In this order, NaN, which is not a bound, is dropped.
    return max(-math.inf, node.options["min_value"]), min(math.inf, node.options["max_value"])


def _merge_negations(node: OperatorNode) -> Operand | None:
    (x,) = node.operands
    return x and _operand_of(x, "neg")


def _merge_sums(node: OperatorNode) -> Operand | None:
    (x,) = node.operands
    assert x is not None
    total = _sum(x, node.options["axes"], node.types[0].shape)
    # Nothing changed: the builder returned the same node.
    return None if isinstance(total.node, OperatorNode) and total.node.operands == (x,) else total


def _sum(x: Operand, axes: Sequence[int], shape: Shape) -> Operand:
    """Return Σ x in a shape. Σ Σ x becomes one sum, and Σ −x becomes −Σ x, which negates less."""
    inner = _operand_of(x, "neg")
    if inner is not None and count(shape) < count(x.shape):
        return -_sum(inner, axes, shape)
    inner = _operand_of(x, "reduceSum")
    # A sum with other users is then computed twice, which matters for large operands.
    if inner is not None and count(inner.shape) <= MAX_SUMMED:
        assert isinstance(x.node, OperatorNode)
        summed_axes = set(x.node.options["axes"])
        keeps_dimensions = x.node.options["keep_dimensions"]
        remaining_axes = [
            axis for axis in range(inner.rank) if keeps_dimensions or axis not in summed_axes
        ]
        return _sum(inner, sorted(summed_axes | {remaining_axes[axis] for axis in axes}), shape)
    keep = len(shape) == x.rank
    return reshape(x.builder.reduce_sum(x, axes=axes, keep_dimensions=keep), shape)


def _operand_of(x: Operand, name: str) -> Operand | None:
    """Return the operand of an operator of this name, None if `x` is not a result of one."""
    node = x.node
    return (
        node.operands[0] if isinstance(node, OperatorNode) and node.operator.name == name else None
    )


def _drop_neutral(number: float, *, both: bool) -> Callable[[OperatorNode], Operand | None]:
    """Drop an operand that is this number everywhere: the second operand, or either of them."""

    def drop(node: OperatorNode) -> Operand | None:
        x, z = node.operands
        if _is_constant(z, number):
            return x
        return z if both and _is_constant(x, number) else None

    return drop


def _is_constant(x: Operand | None, number: float) -> bool:
    node = x and x.node
    if not isinstance(node, ConstantNode) or node.array.data.nbytes > 4 * MAX_COMPARED:
        return False
    return {*node.array.values()} <= {number}


_RULES: dict[str, Callable[[OperatorNode], Operand | None]] = {
    **dict.fromkeys(("cast", "expand", "identity", "pad", "slice", "tile"), _drop_if_unchanged),
    **dict.fromkeys(CLAMPS, _merge_clamps),
    "add": _drop_neutral(0, both=True),
    "concat": _drop_if_alone,
    "div": _drop_neutral(1, both=False),
    "gemm": _drop_addend,
    "mul": _drop_neutral(1, both=True),
    "neg": _merge_negations,
    "pow": _drop_neutral(1, both=False),
    "reduceSum": _merge_sums,
    "reshape": _merge_reshapes,
    "sub": _drop_neutral(0, both=False),
}
