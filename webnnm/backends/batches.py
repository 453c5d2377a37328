"""Finds the nodes of a graph with the rows of a batch, which devices can share."""

from __future__ import annotations

from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.graph.node import ConstantNode, Graph, InputNode, Node, OperatorNode


def find_batch_nodes(graph: Graph) -> frozenset[int]:
    """Return the numbers of the nodes whose results have the rows of a batch along axis 0.

    In a graph that picks rows of its inputs, as a training step picks a batch of the data on the
    device, these are the picked rows. Otherwise, in the graph of a network, they are the inputs
    that are not parameters, if these have equally many rows.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> data, w = b.input("data", "float32", [90, 4]), b.input("param/w", "float32", [4, 2])
    >>> rows = b.gather(data, b.input("picked", "int32", [8]))
    >>> find_batch_nodes(b.build({"y": b.matmul(rows, w)})) == {rows.number}
    True
    >>> find_batch_nodes(b.build({"y": b.matmul(data, w)})) == {data.number}
    True
    >>> find_batch_nodes(b.build({"y": data * 2}))
    frozenset()
    """
    nodes = list(graph.nodes())
    picks = frozenset(node.number for node in nodes if _picks_rows(node))
    if picks:
        return picks
    inputs = [node for node in nodes if isinstance(node, InputNode) and node.types[0].shape]
    data = [node for node in inputs if not _is_parameter(node)]
    alike = len({node.types[0].shape[0] for node in data}) == 1
    return frozenset(node.number for node in data if alike and len(data) < len(inputs))


def _picks_rows(node: Node) -> bool:
    """Return whether a node gathers rows of an input, and not the same ones in every run."""
    if not isinstance(node, OperatorNode) or node.operator.name != "gather":
        return False
    source, indices = node.operands
    assert source is not None and indices is not None
    return (
        isinstance(source.node, InputNode)
        and not _is_parameter(source.node)
        and node.options["axis"] == 0
        and indices.rank > 0
        and not isinstance(indices.node, ConstantNode)
    )


def _is_parameter(node: InputNode) -> bool:
    return node.name.startswith(PARAMETER_PREFIX)
