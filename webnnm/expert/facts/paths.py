"""Where values come from and where they go, for the rules on layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator

from webnnm.expert.facts.profile import heavy_in
from webnnm.expert.facts.structure import numbers
from webnnm.graph.elaboration.vertices import (
    InputVertex,
    LayerVertex,
    LiteralVertex,
    Network,
    Output,
    ParameterVertex,
    Vertex,
)
from webnnm.ops.declare.traits import Trait

POSITIONS_REMEDY = (
    "Use flatten() in place of the pooling, or pool to a few parts, such as averagePool2d to 4 × 4."
)


def keeps_positions(layer: LayerVertex) -> bool:
    """Return whether a layer leaves a number at its position."""
    return layer.has("passing", "activation", "arithmetic")


def _slides_along(layer: LayerVertex) -> bool:
    """Return whether a layer does the same at every position of a picture, with nearby values."""
    return layer.has("windowed") or layer.operator.name == "resample2d"


def _takes_each(layer: LayerVertex) -> bool:
    """Return whether a layer does the same at every position of a sequence, whatever the others
    contain."""
    if layer.has("activation", "normalization", "lookup", "arithmetic", "scaling", "additive"):
        return True
    return layer.has("passing") and not layer.has("moving")


def tail(output: Output) -> list[LayerVertex]:
    """Return the layers from an output back to the last product, without it, the last one first.

    They also end at the first layer that gathers or moves values.
    """
    layers: list[LayerVertex] = []
    vertex = output.source.vertex
    while isinstance(vertex, LayerVertex) and keeps_positions(vertex):
        layers.append(vertex)
        vertex = vertex.operands[0].vertex
    return layers if isinstance(vertex, LayerVertex) and heavy_in(vertex) else []


def users(network: Network) -> dict[int, list[LayerVertex]]:
    """Return for each vertex, by its id, the layers that take it."""
    users_by_vertex: dict[int, list[LayerVertex]] = {}
    for layer in network.order:
        for source in layer.sources():
            users_by_vertex.setdefault(id(source.vertex), []).append(layer)
    return users_by_vertex


def origin(vertex: Vertex, *traits: Trait) -> Vertex:
    """Return the origin of a value before layers that pass it on, or before those with traits."""
    while isinstance(vertex, LayerVertex) and vertex.has("passing", *traits):
        vertex = vertex.operands[0].vertex
    return vertex


def behind(layer: LayerVertex, using: dict[int, list[LayerVertex]]) -> LayerVertex | None:
    """Return the first layer after another that does more than pass values on."""
    while len(following := using.get(id(layer), ())) == 1:
        (layer,) = following
        if not layer.has("passing") and layer.operator.name != "add":
            return layer
    return None


def source_layers(layer: LayerVertex) -> list[LayerVertex]:
    """Return the layers whose results a layer takes."""
    return [s.vertex for s in layer.sources() if isinstance(s.vertex, LayerVertex)]


def ancestors(layer: LayerVertex) -> Iterator[LayerVertex]:
    """Yield every layer that a layer depends on."""
    seen: set[int] = set()
    waiting = source_layers(layer)
    while waiting:
        vertex = waiting.pop()
        if id(vertex) not in seen:
            seen.add(id(vertex))
            yield vertex
            waiting += source_layers(vertex)


def avoidable(network: Network, layer: LayerVertex) -> bool:
    """Return whether values reach an output from an input by a path around a layer."""
    seen = {id(layer)}
    waiting: list[Vertex] = [output.source.vertex for output in network.outputs]
    while waiting:
        vertex = waiting.pop()
        if isinstance(vertex, InputVertex):
            return True
        if isinstance(vertex, LayerVertex) and id(vertex) not in seen:
            seen.add(id(vertex))
            waiting += [source.vertex for source in vertex.sources()]
    return False


def weight(layer: LayerVertex) -> ParameterVertex | None:
    """Return the weights that a product takes, None where it multiplies two values."""
    vertex = layer.operands[1].vertex if len(layer.operands) > 1 else None
    return vertex if isinstance(vertex, ParameterVertex) else None


def factor(layer: LayerVertex) -> float:
    """Return the number by which a layer multiplies values, 1 if it does not."""
    name = layer.operator.name
    if name not in ("mul", "div") or len(layer.operands) < 2:
        return 1.0
    second = layer.operands[1].vertex
    if not isinstance(second, LiteralVertex) or not isinstance(second.data, (int, float)):
        return 1.0
    size = abs(float(second.data))
    return 1.0 if not size or not math.isfinite(size) else size if name == "mul" else 1 / size


def propagate(
    network: Network, start: float, step: Callable[[LayerVertex, float], float]
) -> dict[int, float]:
    """Return for each layer, by its id, a number that is carried from the inputs to it.

    `step(layer, number before)` gives the next one; where paths meet, the largest continues.
    """
    numbers_by_layer: dict[int, float] = {}
    for layer in network.order:
        before = max((numbers_by_layer[id(v)] for v in source_layers(layer)), default=start)
        numbers_by_layer[id(layer)] = step(layer, before)
    return numbers_by_layer


def pools_without_order(network: Network) -> list[str]:
    """Return the layers that pool a sequence, if everything after them has the same value for any
    order of its positions; none if the order can reach some output.

    Attention without positions and without `causal=true` gives each position the same result in any
    order, and is pooled like the rest.
    """
    ordered = [vertex for vertex in network.inputs if _positions(vertex)]
    if len(ordered) != 1:  # another one may number the positions
        return []
    states_by_vertex: dict[int, str] = {id(ordered[0]): "each"}
    pools: list[str] = []
    for layer in network.order:
        states = {states_by_vertex.get(id(source.vertex), "") for source in layer.sources()} - {""}
        if states == {"each"}:
            pools += [layer.label] * (pooled := _pools(layer))
            if not pooled and not _is_same_everywhere(layer):
                return []
            states_by_vertex[id(layer)] = "pooled" if pooled else "each"
        elif states:
            states_by_vertex[id(layer)] = "pooled" if states == {"pooled"} else "each"
            if "each" in states and not _is_same_everywhere(layer):
                return []
    ends = {states_by_vertex.get(id(output.source.vertex), "") for output in network.outputs}
    return pools if ends == {"pooled"} else []


def _positions(vertex: InputVertex) -> bool:
    """Return whether an input is a sequence, or a row of words."""
    features = vertex.features[0]
    return bool(features.sequence) or (
        vertex.dtype.startswith(("int", "uint")) and _rank(vertex) == 1
    )


def _rank(vertex: Vertex) -> int:
    return len(vertex.features[0].sizes())


def _pools(layer: LayerVertex) -> bool:
    """Return whether a layer combines all positions, and leaves none of them."""
    before = layer.operands[0]
    if not layer.has("reduction"):
        return False
    if before.features.sequence:
        return not layer.features[0].sequence
    axes = layer.options["axes"]
    return axes is not None and 0 in axes


def _is_same_everywhere(layer: LayerVertex) -> bool:
    """Return whether a layer does the same at every position."""
    name = layer.operator.name
    if name == "attend":
        knows_order = any(
            layer.options.get(option) for option in ("causal", "rope", "window", "bias")
        )
        return not knows_order and layer.parameters | layer.tensors.keys() <= {"q", "k", "v", "o"}
    if layer.has("product") and not layer.has("convolution"):
        along = layer.features[0].sequence or _rank(layer) > 1
        return bool(along) and weight(layer) is not None
    # A table that is added has a row for every position, and thus encodes it.
    tables = (s.vertex for s in layer.operands if isinstance(s.vertex, ParameterVertex))
    return _takes_each(layer) and not (
        keeps_positions(layer) and any(_rank(table) > 1 for table in tables)
    )


def pools_without_positions(network: Network) -> list[str]:
    """Return the layers that pool a picture or a signal over all its positions.

    There are none if something else of it reaches an output, or a layer before them knows
    positions. Convolutions know how things are arranged, not where they are.
    """
    states_by_vertex: dict[int, str] = {}
    for vertex in network.inputs:
        if vertex.features[0].sequence or _rank(vertex) in (2, 3):
            states_by_vertex[id(vertex)] = "each"
    if len(states_by_vertex) != 1:
        return []
    pools: list[str] = []
    convolved = False
    for layer in network.order:
        states = {states_by_vertex.get(id(source.vertex), "") for source in layer.sources()} - {""}
        if not states:
            continue
        pooled = states == {"pooled"}
        if not pooled:
            convolved |= _slides_along(layer) or layer.operator.name == "concat"
            pooled = states == {"each"} and _pools_all_positions(layer)
            pools += [layer.label] * pooled
            if not pooled and not (
                _slides(layer, states_by_vertex.keys()) or _pools_one_dimension(layer)
            ):
                return []
        states_by_vertex[id(layer)] = "pooled" if pooled else "each"
    ends = {states_by_vertex.get(id(output.source.vertex), "") for output in network.outputs}
    return pools if ends == {"pooled"} and convolved else []


def _channel(vertex: Vertex) -> int:
    """Return the channel dimension of a picture or signal."""
    names, rank = vertex.features[0].names, _rank(vertex)
    if "channels" in names:
        return names.index("channels")
    return rank - 1 if vertex.features[0].sequence else 0


def _pools_all_positions(layer: LayerVertex) -> bool:
    """Return whether a layer combines all positions of a picture, channel by channel."""
    before = layer.operands[0].vertex
    sizes = before.features[0].sizes()
    if not layer.has("reduction", "pooling"):
        return False
    if before.features[0].sequence:
        return not layer.features[0].sequence
    if layer.has("reduction") and layer.options["axes"] is not None:
        return _find_reduced_axes(layer) == {*range(len(sizes))} - {_channel(before)}
    return layer.features[0].sizes() != sizes and numbers(layer) == sizes[_channel(before)]


def _find_reduced_axes(layer: LayerVertex) -> set[int]:
    """Return the dimensions of a row that a reduction combines; none if it combines other ones."""
    before = layer.operands[0].vertex
    names, rank = before.features[0].names, _rank(before)
    axes = [names.index(axis) if axis in names else axis for axis in layer.options["axes"]]
    return {axis % rank for axis in axes} if all(isinstance(axis, int) for axis in axes) else set()


def _pools_one_dimension(layer: LayerVertex) -> bool:
    """Return whether a layer combines the lines, or the columns, of a picture, and leaves the
    others."""
    before = layer.operands[0].vertex
    if not layer.has("reduction") or before.features[0].sequence or layer.options["axes"] is None:
        return False
    axes = _find_reduced_axes(layer)
    return bool(axes) and _channel(before) not in axes


def _slides(layer: LayerVertex, picture_ids: Collection[int]) -> bool:
    """Return whether a layer does the same at every position of a picture.

    `picture_ids` are the ids of the vertices that contain the picture; other joined or added values
    may have a number for every position, like a table of positions.
    """
    name = layer.operator.name
    if _slides_along(layer):
        return True
    size = layer.features[0].sizes()[_channel(layer)] if _rank(layer) else 1
    others = [s.vertex for s in layer.operands if id(s.vertex) not in picture_ids]
    if name == "concat":
        return not others
    return _takes_each(layer) and all(
        isinstance(vertex, LiteralVertex) or numbers(vertex) in (1, size) for vertex in others
    )
