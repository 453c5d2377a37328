"""How layers follow each other: what the rules ask of a network."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from webnnm.core.dtypes import byte_length
from webnnm.core.shapes import Shape, count
from webnnm.graph.vertices import (
    LayerVertex,
    Network,
    Source,
    Vertex,
    result_type,
)

PLAIN = frozenset(
    {"identity", "cast", "dropout", "reshape", "flatten", "squeeze", "unsqueeze", "transpose"}
)
"""What hands values on as they are."""

LINEAR = PLAIN.union(
    ("add", "sub", "mul", "div", "neg", "linear", "slice", "pad", "split", "tile", "expand"),
    ("averagePool2d", "globalAveragePool", "reduceMean", "reduceSum", "batchNormalization"),
)
"""What changes values linearly, as long as they meet parameters and constants only."""


def numbers(vertex: Vertex) -> int:
    """Return how many numbers a row has there, or each position of a sequence."""
    return count(vertex.features[0].sizes())


def flowing(layer: LayerVertex) -> list[LayerVertex]:
    """Return the layers whose results a layer takes."""
    return [s.vertex for s in layer.sources() if isinstance(s.vertex, LayerVertex)]


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


SCALING = frozenset(
    {"batchNormalization", "layerNormalization", "instanceNormalization"}
    | {"mul", "div", "sub", "linear", "embedding", "gather"}
)
"""What scales numbers, or looks them up in a table: their inputs need not be scaled."""


def _first_layers(network: Network, source: Vertex) -> Iterator[LayerVertex]:
    """Yield the layers that an input meets first, behind those that hand it on."""
    for layer in network.layers:
        if any(one.vertex is source for one in layer.sources()):
            if layer.operator.name in PLAIN:
                yield from _first_layers(network, layer)
            else:
                yield layer


def first_layers(network: Network, names: Collection[str]) -> set[str]:
    """Return the inputs that meet layers of these names first, and no others."""
    found: set[str] = set()
    for vertex in network.inputs:
        first = [layer.operator.name for layer in _first_layers(network, vertex)]
        if first and {*first} <= {*names}:
            found.add(vertex.block)
    return found


PICTURED = ("conv1d", "conv2d", "convTranspose2d", "maxPool2d", "averagePool2d")
MOST_CHANNELS = 4
"""Pictures have 1, 3 or 4 channels, and more rows and columns than that; signals have more steps
than the square of that."""


def _nhwc(layer: LayerVertex) -> bool:
    return "nhwc" in (layer.options.get("input_layout"), layer.options.get("layout"))


def channels_last(network: Network) -> dict[str, tuple[Shape, str]]:
    """Return inputs like pictures with the channels last that a layer reads channels first, with
    their shape and that layer; inputs of which a later dimension is called channels are brought in
    order."""
    found: dict[str, tuple[Shape, str]] = {}
    for vertex in network.inputs:
        features = vertex.features[0]
        sizes = features.sizes()
        if features.sequence or "channels" in features.names[1:]:
            continue
        picture = len(sizes) == 3 and sizes[2] <= MOST_CHANNELS < min(sizes[0], sizes[1])
        signal = len(sizes) == 2 and sizes[1] <= MOST_CHANNELS < sizes[0] / MOST_CHANNELS
        if not picture and not signal:
            continue
        for layer in network.layers:
            direct = layer.operands and layer.operands[0].vertex is vertex
            if direct and layer.operator.name in PICTURED and not _nhwc(layer):
                found[vertex.block] = sizes, layer.label
    return found
