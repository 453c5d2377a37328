"""Make a bias that is added to a convolution part of it."""

from __future__ import annotations

from collections import Counter

from webnnm.compiler.passes.layout import CONVOLUTIONS
from webnnm.compiler.passes.pending_transposes import reshape
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import rewrite_from


def fuse_biases(graph: Graph) -> Graph:
    """Return the graph with one number per filter added by the convolution itself.

    It saves a pass over the image. A convolution whose result has other users stays as it is.

    >>> b = GraphBuilder()
    >>> x, w = b.input("x", "float32", [1, 2, 8, 8]), b.input("w", "float32", [3, 2, 3, 3])
    >>> y = b.conv2d(x, w) + b.input("c", "float32", [3, 1, 1])
    >>> graph = fuse_biases(b.build({"y": y}))
    >>> [node.operator.name for node in graph.nodes() if isinstance(node, OperatorNode)]
    ['reshape', 'conv2d']
    """
    users = Counter(operand.number for operand in graph.outputs.values())
    adds: list[OperatorNode] = []
    for node in graph.nodes():
        if isinstance(node, OperatorNode):
            users.update(operand.number for operand in node.operands if operand is not None)
            if node.operator.name == "add":
                adds.append(node)
    # For every addition, in graph order, the operand that is a convolution.
    convolutions = iter(
        [
            max(
                (k for k, o in enumerate(node.operands) if o and _can_take_bias(o, users)),
                default=None,
            )
            for node in adds
        ]
    )

    def rule(b: GraphBuilder, node: Node) -> Operand | None:
        if not isinstance(node, OperatorNode) or node.operator.name != "add":
            return None
        k = next(convolutions)
        if k is None:
            return None
        image, added = node.operands[k], node.operands[1 - k]
        if image is None or added is None or not isinstance(image.node, OperatorNode):
            return None
        options = image.node.options
        layout: str = options["input_layout"]
        filters = image.shape[layout.index("c")]
        per_filter = tuple(filters if letter == "c" else 1 for letter in layout)
        if (1,) * (4 - added.rank) + added.shape != per_filter:
            return None
        operands = [*image.node.operands[:2], reshape(added, (filters,))]
        fused = b.apply(image.node.operator, operands, options)
        assert isinstance(fused, Operand)
        return fused

    return rewrite_from(graph, rule, 0)


def _can_take_bias(operand: Operand, users: Counter[int]) -> bool:
    """Return whether an operand is a convolution without a bias or other users."""
    node = operand.node
    return (
        users[operand.number] == 1
        and isinstance(node, OperatorNode)
        and node.operator.name in CONVOLUTIONS
        and node.operands[2] is None
    )
