"""Networks whose inputs are float16."""

from __future__ import annotations

from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.vertices import LayerVertex, Network


def half_network(network: Network) -> Network:
    """Return the network with float16 inputs, except those with a written type and indices."""
    indices = {
        source.vertex
        for layer in network.layers
        if layer.has("lookup")  # float16 cannot represent the numbers of rows
        for source in layer.sources()
        if not isinstance(source.vertex, LayerVertex)
    }
    half = [vertex.block for vertex in network.inputs if vertex not in indices]
    return elaborate(network.outline.document, half)
