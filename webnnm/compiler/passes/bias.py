"""A bias that is added to a convolution becomes part of it."""

from __future__ import annotations

from collections import Counter

from webnnm.compiler.passes.pending_transposes import reshaped
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Node, Operand, OperatorNode
from webnnm.graph.rewrite import rewrite

CONVOLUTIONS = frozenset({"conv2d", "convTranspose2d"})


def with_biases(graph: Graph) -> Graph:
    """Return the graph with one number per filter added by the convolution itself.

    It saves a pass over the image. A convolution whose result has other users stays as it is.

    >>> b = GraphBuilder()
    >>> x, w = b.input("x", "float32", [1, 2, 8, 8]), b.input("w", "float32", [3, 2, 3, 3])
    >>> y = b.conv2d(x, w) + b.input("c", "float32", [3, 1, 1])
    >>> found = with_biases(b.build({"y": y}))
    >>> [node.operator.name for node in found.nodes() if isinstance(node, OperatorNode)]
    ['reshape', 'conv2d']
    """
    users = Counter(operand.number for operand in graph.outputs.values())
    adds: list[OperatorNode] = []
    for node in graph.nodes():
        if isinstance(node, OperatorNode):
            users.update(operand.number for operand in node.operands if operand is not None)
            if node.operator.name == "add":
                adds.append(node)
    # Numbers are those of the given graph, all through a rewrite.
    places = {
        node.number: place
        for node in adds
        for place, operand in enumerate(node.operands)
        if operand is not None and users[operand.number] == 1 and _without_bias(operand)
    }

    def rule(b: GraphBuilder, node: Node) -> Operand | None:
        if node.number not in places or not isinstance(node, OperatorNode):
            return None
        place = places[node.number]
        image, added = node.operands[place], node.operands[1 - place]
        if image is None or added is None or not isinstance(image.node, OperatorNode):
            return None
        options = image.node.options
        layout: str = options["input_layout"]
        filters = image.shape[layout.index("c")]
        per_filter = tuple(filters if letter == "c" else 1 for letter in layout)
        if (1,) * (4 - added.rank) + added.shape != per_filter:
            return None
        given = [*image.node.operands[:2], reshaped(added, (filters,))]
        found = b.apply(image.node.operator, given, options)
        assert isinstance(found, Operand)
        return found

    return rewrite(graph, rule) if places else graph


def _without_bias(operand: Operand) -> bool:
    node = operand.node
    return (
        isinstance(node, OperatorNode)
        and node.operator.name in CONVOLUTIONS
        and node.operands[2] is None
    )
