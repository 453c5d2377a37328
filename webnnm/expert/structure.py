"""How layers follow each other: what the rules ask of a network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from webnnm.core.dtypes import byte_length
from webnnm.core.shapes import Shape, count
from webnnm.expert.profile import PRODUCTS, heavy_in
from webnnm.graph.vertices import (
    LayerVertex,
    Network,
    ParameterVertex,
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


def flowing(layer: LayerVertex) -> list[LayerVertex]:
    """Return the layers whose results a layer takes."""
    return [s.vertex for s in layer.sources() if isinstance(s.vertex, LayerVertex)]


def _weight(layer: LayerVertex, uses: Counter[int]) -> bool:
    """Tell whether a layer is a product with weights of its own, which are not tied."""
    if layer.operator.name not in PRODUCTS:
        return False
    weight = layer.operands[1].vertex
    # A tied weight cannot be merged with another.
    return isinstance(weight, ParameterVertex) and uses[id(weight)] == 1


def _low_rank(first: LayerVertex, second: LayerVertex) -> bool:
    """Tell whether a product is narrower than its operand and the next one: a code, on purpose."""
    around = first.operands[0].features, second.features[0]
    return count(first.features[0].sizes()) < min(count(one.sizes()) for one in around)


def products_in_a_row(network: Network) -> dict[str, str]:
    """Return products whose values come from other products by linear steps alone."""
    uses = Counter(id(s.vertex) for layer in network.order for s in layer.sources())
    origin: dict[int, LayerVertex] = {}
    found: dict[str, str] = {}
    for layer in network.order:
        before = flowing(layer)
        # Where two values meet, one matrix cannot replace the products before and behind.
        alone = len(before) == 1 and layer.operands[0].vertex is before[0]
        source = origin.get(id(before[0])) if alone else None
        if _weight(layer, uses):
            if source is not None and not _low_rank(source, layer):
                found[layer.label] = source.label
            origin[id(layer)] = layer
        elif layer.operator.name in LINEAR and source is not None:
            origin[id(layer)] = source
    return found


def outputs_that_flow_on(network: Network) -> dict[str, str]:
    """Return softmax and sigmoid layers with the heavy layer that they flow into.

    Those are output activations that reach a product on any way but through `attend`, and softmax
    layers that are handed on to one. Products of two values, as in attention, do not count.
    """
    ends = {id(_behind(output.source.vertex)) for output in network.outputs}
    carried: dict[int, dict[str, bool]] = {}
    found: dict[str, str] = {}
    for layer in network.order:
        name = layer.operator.name
        if name == "attend":
            continue
        direct = name in PLAIN
        reach = {
            label: is_end
            for before in flowing(layer)
            for label, is_end in carried.get(id(before), {}).items()
        }
        weighted = heavy_in(layer) and any(
            isinstance(s.vertex, ParameterVertex) for s in layer.operands[1:]
        )
        if weighted:
            for label in reach:
                found.setdefault(label, layer.label)
            continue
        passed = {label: True for label, is_end in reach.items() if is_end}
        passed |= reach if direct else {}
        if name == "softmax" or (name == "sigmoid" and id(layer) in ends):
            passed[layer.label] = id(layer) in ends
        carried[id(layer)] = passed
    return found


def _behind(vertex: Vertex) -> Vertex:
    """Return what a value is before casts."""
    while isinstance(vertex, LayerVertex) and vertex.operator.name in ("cast", "identity"):
        vertex = vertex.operands[0].vertex
    return vertex


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
"""What scales numbers, or looks them up in a table."""


def _first_layers(network: Network, source: Vertex) -> Iterator[LayerVertex]:
    """Yield the layers that an input meets first, behind those that hand it on."""
    for layer in network.layers:
        if any(one.vertex is source for one in layer.sources()):
            if layer.operator.name in PLAIN:
                yield from _first_layers(network, layer)
            else:
                yield layer


def scaled_inputs(network: Network) -> set[str]:
    """Return the inputs that the model scales by itself, or that are numbers of table rows."""
    found: set[str] = set()
    for vertex in network.inputs:
        first = [layer.operator.name for layer in _first_layers(network, vertex)]
        if first and SCALING.issuperset(first):
            found.add(vertex.block)
    return found


PICTURED = ("conv2d", "convTranspose2d", "maxPool2d", "averagePool2d")
MOST_CHANNELS = 4
"""Pictures have 1, 3 or 4 channels, and more rows and columns than that."""


def _nhwc(layer: LayerVertex) -> bool:
    return "nhwc" in (layer.options.get("input_layout"), layer.options.get("layout"))


def channels_last(network: Network) -> dict[str, tuple[Shape, str]]:
    """Return inputs like pictures with the channels last that a layer reads channels first, with
    their shape and that layer; inputs whose dimensions have names are brought in order."""
    found: dict[str, tuple[Shape, str]] = {}
    for vertex in network.inputs:
        features = vertex.features[0]
        sizes = features.sizes()
        if len(sizes) != 3 or features.sequence or any(features.names):
            continue
        if not sizes[2] <= MOST_CHANNELS < min(sizes[0], sizes[1]):
            continue
        for layer in network.layers:
            direct = layer.operands and layer.operands[0].vertex is vertex
            if direct and layer.operator.name in PICTURED and not _nhwc(layer):
                found[vertex.block] = sizes, layer.label
    return found
