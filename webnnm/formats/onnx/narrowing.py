"""Narrows float64 to float32, the widest floating-point type that devices compute with."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import FLOAT_INFO
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Graph, Node, OperatorNode
from webnnm.graph.transforms.rewrite import Replacement, reapply, rewrite_from

LARGEST = FLOAT_INFO["float32"].max
SMALLEST = 2.0**-126
"""The smallest positive number of float32 with all its digits."""


def narrow(x: HostArray) -> HostArray:
    """Return float64 numbers as float32; other arrays are returned as they are.

    Finite numbers stay finite, and numbers other than 0 do not become 0: models clip to the
    largest number of float64, and add tiny ones before a division or a logarithm.

    >>> narrow(HostArray.of([0.5, -1e300, 1e-300], "float64")).tolist()
    [0.5, -3.4028234663852886e+38, 1.1754943508222875e-38]
    """
    if x.dtype != "float64":
        return x
    wide = x.values()
    narrowed = array("f", wide)
    for index, value in enumerate(narrowed):
        if math.isinf(value) or not value:
            narrowed[index] = _inside(wide[index])
    return HostArray("float32", x.shape, narrowed)


def _inside(value: float) -> float:
    """Return a number that float32 holds only as 0 or infinity, within its range."""
    if math.isinf(value) or not value:
        return value
    return math.copysign(LARGEST if abs(value) > 1 else SMALLEST, value)


def narrow_graph(graph: Graph) -> Graph:
    """Return a graph that computes in float32 wherever it computed in float64."""
    return rewrite_from(graph, _narrow_node, 0) if _count(graph.nodes()) else graph


def explain(graph: Graph) -> tuple[str, ...]:
    """Return a sentence about what `narrow_graph` changes, none if nothing."""
    amount = _count(graph.nodes())
    return (f"float64 is computed as float32: {amount} values",) if amount else ()


def _count(nodes: Collection[Node]) -> int:
    return sum(type.dtype == "float64" for node in nodes for type in node.types)


def _narrow_node(b: GraphBuilder, node: Node) -> Replacement | None:
    if isinstance(node, ConstantNode):
        return b.constant(narrow(node.array)) if node.array.dtype == "float64" else None
    if not isinstance(node, OperatorNode):
        return None
    dtype, *_ = ["float32" if type.dtype == "float64" else type.dtype for type in node.types]
    x = node.operands[0] if node.operands else None
    if node.operator.name == "cast" and x is not None and x.dtype == dtype:
        return x
    if all(type.dtype != "float64" for type in node.types):
        return None
    options: dict[str, Any] = {
        name: "float32" if value == "float64" else value for name, value in node.options.items()
    }
    return reapply(b, node.at(node.number, options=options), *node.operands)
