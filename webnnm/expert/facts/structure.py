"""How layers follow each other, for the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from webnnm.core.dtypes import byte_length
from webnnm.core.shapes import Shape, count
from webnnm.graph.elaboration.vertices import (
    LayerVertex,
    LiteralVertex,
    Network,
    Source,
    Vertex,
    result_type,
)


def numbers(vertex: Vertex) -> int:
    """Return how many numbers a row has there, or a position of a sequence."""
    return count(vertex.features[0].sizes())


def tensor_bytes(network: Network, batch: int, length: int) -> Iterator[tuple[str, int]]:
    """Yield every parameter and every layer's result with its bytes for batches of this size."""
    for parameter in network.parameters:
        size = count(parameter.features[0].sizes())
        yield parameter.name, byte_length(parameter.dtype, size)
    for layer in network.layers:
        for index, features in enumerate(layer.features):
            rows = batch * (max(1, length) if features.sequence else 1)
            dtype = result_type(Source(layer, index))
            yield layer.label, byte_length(dtype, rows * count(features.sizes()))


def looks_up(layer: LayerVertex) -> bool:
    """Return whether a layer looks numbers up in a table."""
    return layer.has("lookup")


def scales(layer: LayerVertex) -> bool:
    """Return whether a layer scales numbers, takes their logarithm, or looks them up: its inputs
    need no scaling."""
    return layer.has("scaling", "normalization", "lookup", "positive")


def _shifts(layer: LayerVertex) -> bool:
    """Return whether a layer adds a number that the text says."""
    return layer.has("additive") and all(
        isinstance(operand.vertex, LiteralVertex) for operand in layer.operands[1:]
    )


def _first_layers(network: Network, source: Vertex) -> Iterator[LayerVertex]:
    """Yield the first layers that use an input, after those that pass it on."""
    for layer in network.layers:
        if any(operand.vertex is source for operand in layer.sources()):
            if layer.has("passing") or _shifts(layer):
                yield from _first_layers(network, layer)
            else:
                yield layer


def first_layers(network: Network, matches: Callable[[LayerVertex], bool]) -> set[str]:
    """Return the inputs whose first layers are all wanted."""
    blocks: set[str] = set()
    for vertex in network.inputs:
        first = [matches(layer) for layer in _first_layers(network, vertex)]
        if first and all(first):
            blocks.add(vertex.block)
    return blocks


MAX_CHANNELS = 4
"""Pictures have 1, 3 or 4 channels, and more rows and columns than that; signals have more steps
than the square of that."""


def _nhwc(layer: LayerVertex) -> bool:
    return "nhwc" in (layer.options.get("input_layout"), layer.options.get("layout"))


def channels_last(network: Network) -> dict[str, tuple[Shape, str]]:
    """Return inputs that look like pictures with channels last but are read channels first, with
    their shape and the layer that reads them; inputs with a later dimension called channels are
    reordered."""
    inputs: dict[str, tuple[Shape, str]] = {}
    for vertex in network.inputs:
        features = vertex.features[0]
        sizes = features.sizes()
        if features.sequence or "channels" in features.names[1:]:
            continue
        picture = len(sizes) == 3 and sizes[2] <= MAX_CHANNELS < min(sizes[0], sizes[1])
        signal = len(sizes) == 2 and sizes[1] <= MAX_CHANNELS < sizes[0] / MAX_CHANNELS
        if not picture and not signal:
            continue
        for layer in network.layers:
            direct = layer.operands and layer.operands[0].vertex is vertex
            if direct and layer.has("windowed") and not _nhwc(layer):
                inputs[vertex.block] = sizes, layer.label
    return inputs
