"""The part of a network that some of its outputs need."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from webnnm.graph.elaboration.vertices import Network, Output, Vertex, layers_before


def part(network: Network, outputs: Collection[Output]) -> Network:
    """Return a network with some of its outputs, and only what these need of everything else."""
    ids = {id(vertex) for vertex in vertices_before(list(outputs))}
    return replace(
        network,
        outputs=[output for output in network.outputs if output in outputs],
        inputs=[vertex for vertex in network.inputs if id(vertex) in ids],
        parameters=[vertex for vertex in network.parameters if id(vertex) in ids],
        layers=[vertex for vertex in network.layers if id(vertex) in ids],
        order=[vertex for vertex in network.order if id(vertex) in ids],
    )


def vertices_before(outputs: Sequence[Output]) -> list[Vertex]:
    """Return all vertices that outputs depend on."""
    layers = layers_before(output.source.vertex for output in outputs)
    others = [source.vertex for layer in layers for source in layer.sources()]
    return [*layers, *others]
