"""Pools with output sizes become pools with the padding that these sizes need.

The specification's text ignores the padding of pools with output sizes, refuses sizes that are not
smaller than the strides, and lets both axes round in the same direction only.
"""

from __future__ import annotations

from webnnm.compiler.traps.convolution import POOLS
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import rewrite


def pad_pool_sizes(graph: Graph) -> Graph:
    """Return the graph without output sizes of pools.

    >>> b = GraphBuilder()
    >>> x = b.input("x", "float32", [1, 1, 5, 5])
    >>> y = b.max_pool2d(x, window_dimensions=(2, 2), strides=(2, 2), output_sizes=(3, 3))
    >>> graph = pad_pool_sizes(b.build({"y": y}))
    >>> graph.outputs["y"].node.options["padding"]
    (0, 1, 0, 1)
    """
    return rewrite(graph, _pad_sizes, POOLS)


def _pad_sizes(b: GraphBuilder, node: Node) -> Operand | None:
    assert isinstance(node, OperatorNode)
    if node.options["output_sizes"] is None:
        return None
    from webnnm.ops.pool2d import pool_windows

    (x,) = node.operands
    assert x is not None
    windows = pool_windows(x.shape, **node.options)
    padding = tuple(side for part in windows for side in (part.before, max(part.after, 0)))
    changes = {"padding": padding, "output_shape_rounding": "floor", "output_sizes": None}
    return b.apply(node.operator, [x], {**node.options, **changes})
