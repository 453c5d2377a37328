"""Depth and path ratio: how far a parameter is from inputs and outputs (spec B.7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from webnnm.graph.elaboration.vertices import LayerVertex, Network, Source


@dataclass(frozen=True)
class Depth:
    """Longest paths in edges from an input and to an output."""

    from_input: int
    to_output: int

    @property
    def path_ratio(self) -> float:
        """`from_input / (from_input + to_output)`: near 0 at the input, near 1 at the output."""
        total = self.from_input + self.to_output
        return self.from_input / total if total else 0.0


def depths(network: Network) -> dict[int, Depth]:
    """Return the depth of every layer by `id(vertex)`; an output is one edge after its layer."""
    before: dict[int, int] = {}
    for layer in network.order:
        flowing = [
            s.vertex for s in _iterate_path_sources(layer) if isinstance(s.vertex, LayerVertex)
        ]
        before[id(layer)] = 1 + max((before[id(vertex)] for vertex in flowing), default=0)
    after: dict[int, int] = {}
    for output in network.outputs:
        after[id(output.source.vertex)] = 1
    for layer in reversed(network.order):
        own = after.setdefault(id(layer), 1)
        for source in _iterate_path_sources(layer):
            if isinstance(source.vertex, LayerVertex):
                key = id(source.vertex)
                after[key] = max(after.get(key, 1), own + 1)
    return {id(layer): Depth(before[id(layer)], after[id(layer)]) for layer in network.order}


def _iterate_path_sources(layer: LayerVertex) -> Iterator[Source]:
    """Yield the sources of a layer along which paths are measured."""
    aside = {slot.name for slot in layer.rules.slots if slot.aside}
    yield from layer.operands
    yield from (source for name, source in layer.tensors.items() if name not in aside)


def parameter_depths(network: Network) -> dict[str, Depth]:
    """Return the depth of every parameter's first user.

    >>> from webnnm.graph.elaboration.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"
    >>> found = parameter_depths(elaborate(parse(text)))
    >>> {name: round(depth.path_ratio, 2) for name, depth in found.items()}
    {'w1': 0.25, 'b1': 0.5}
    """
    depth_of_layer = depths(network)
    return {
        parameter.name: depth_of_layer[id(parameter.user)]
        for parameter in network.parameters
        if parameter.user is not None
    }
