"""Fold arithmetic on small constants."""

from __future__ import annotations

import math
import operator
from array import array
from itertools import chain
from typing import Any

from webnnm.core.shapes import count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Graph, Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import rewrite

MAX_ELEMENTS = 64
"""Constants with more elements are left to the device."""


def _quotient(x: float, z: float) -> float:
    return x / z


def _reciprocal(x: float) -> float:
    return 1 / x


# For float32 operands, float64 arithmetic rounded to float32 gives the float32 result.
_RULES: dict[str, Any] = {
    "abs": abs,
    "add": operator.add,
    "div": _quotient,
    "max": max,
    "min": min,
    "mul": operator.mul,
    "neg": operator.neg,
    "reciprocal": _reciprocal,
    "sqrt": math.sqrt,
    "sub": operator.sub,
}


def fold_constants(graph: Graph) -> Graph:
    """Return the graph with float32 arithmetic on constants replaced by its result.

    Operands have one element or the shape of the result. Operations that overflow or are undefined
    stay, so that the device decides their result.

    >>> b = GraphBuilder()
    >>> x = b.input("x", "float32", [2])
    >>> third = b.constant(1, "float32") / b.max(b.constant(3, "float32"), 1)
    >>> graph = fold_constants(b.build({"y": x * third}))
    >>> [node.operator.name for node in graph.nodes() if isinstance(node, OperatorNode)]
    ['mul']
    """
    return rewrite(graph, _rule, _RULES)


def _rule(b: GraphBuilder, node: Node) -> Operand | None:
    assert isinstance(node, OperatorNode)
    (type,) = node.types
    size = count(type.shape)
    if type.dtype != "float32" or size > MAX_ELEMENTS:
        return None
    columns: list[Any] = []
    for operand in node.operands:
        if operand is None or not isinstance(operand.node, ConstantNode):
            return None
        if count(operand.shape) not in (1, size) or (
            count(operand.shape) == size > 1 and operand.shape != type.shape
        ):
            return None
        values = operand.node.array.values()
        columns.append(values if len(values) == size else [values[0]] * size)
    try:
        rule = _RULES[node.operator.name]
        results = array("f", [rule(*row) for row in zip(*columns, strict=True)])
    except (ArithmeticError, ValueError):
        return None
    if not all(map(math.isfinite, chain(results, *columns))):
        return None
    return b.constant(results, type.dtype, type.shape)
