"""Estimates how long NumPy in a page would take for the likely use of a model."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.core.errors import DataError, ModelError
from webnnm.core.shapes import count
from webnnm.data.protocol import AnyDataset
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.graph.elaboration.vertices import Network
from webnnm.graph.node import Graph, OperatorNode
from webnnm.training.automatic import MIN_EPOCHS, MIN_UPDATES

PER_OPERATOR = 20e-6
"""Seconds of calling an operator of NumPy in a page,"""
PER_MULTIPLICATION = 1e-9
"""and of a multiplication and addition in its products, as measured."""
UPDATE = 6
"""A training step has this many times the operators of an inference, and thrice the products."""
BATCH, LENGTH, INFERENCES = 32, 32, 100
"""Rows of a step, steps of a sequence whose length is open, runs of a model without data."""


def seconds_on_numpy(network: Network, dataset: AnyDataset | None) -> float:
    """Return how long NumPy would take for a default training, or for 100 inferences.

    >>> from webnnm import parse
    >>> from webnnm.graph.elaboration.elaborate import elaborate
    >>> text = "m:input shape=[784]; m:output shape=[10]; m:layers matmul(w), softmax();"
    >>> round(seconds_on_numpy(elaborate(parse(text)), None), 2)
    0.01
    """
    names = {i.features[0].sequence for i in network.inputs if i.features} - {None}
    lengths = {name: LENGTH for name in names if name is not None}
    try:
        graph = lower_network(network, batch=1, sequence=lengths).graph()
        operators, products = len(list(graph.nodes())), multiplications(graph)
    except (DataError, ModelError):  # a sequence has to be longer
        operators, products = len(network.order), float(LENGTH * _weights(network))
    rows = 0 if dataset is None else dataset.size("training")
    if not rows:
        return seconds_of_inferences(operators, products)
    updates = max(MIN_UPDATES, MIN_EPOCHS * rows / BATCH)
    step = PER_OPERATOR * UPDATE * operators + PER_MULTIPLICATION * 3 * BATCH * products
    return updates * step


def seconds_of_inferences(operators: int, products: float) -> float:
    """Estimate how long NumPy would take for 100 runs of a graph."""
    return INFERENCES * (PER_OPERATOR * operators + PER_MULTIPLICATION * products)


def _weights(network: Network) -> int:
    return sum(count(vertex.features[0].sizes()) for vertex in network.parameters)


def multiplications(graph: Graph) -> float:
    """Estimate the number of multiplications in the products and convolutions of a graph.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> multiplications(b.build({"y": b.matmul(b.input("x", "float32", [2, 3]), [[1.0]] * 3)}))
    6.0
    """
    return sum(_multiplications(node) for node in graph.nodes() if isinstance(node, OperatorNode))


def _multiplications(node: OperatorNode) -> float:
    shapes: Sequence[Sequence[int]] = [x.shape for x in node.operands if x is not None]
    size = float(count(node.types[0].shape))
    traits = node.operator.traits
    if "convolution" in traits:
        layout: str = node.options["input_layout"]
        return size / node.types[0].shape[layout.index("c")] * count(shapes[1])
    if "product" in traits:
        return size * shapes[0][0 if node.options.get("a_transpose") else -1]
    if "recurrent" in traits:  # of all steps, or as a cell of a single one
        return float(count(shapes[0][:-1]) * (count(shapes[1]) + count(shapes[2])))
    return 0.0
