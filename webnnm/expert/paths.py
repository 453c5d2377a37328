"""Where values come from and where they go: what rules on layers ask of a network."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from webnnm.expert.profile import ACTIVATIONS, NORMALISATIONS, heavy_in
from webnnm.expert.structure import PLAIN, flowing
from webnnm.graph.vertices import (
    InputVertex,
    LayerVertex,
    LiteralVertex,
    Network,
    Output,
    ParameterVertex,
    Vertex,
)

ELEMENTWISE = PLAIN | ACTIVATIONS | {"add", "sub", "mul", "div"}
"""What leaves a number at its place."""

POOLS = frozenset({f"reduce{word}" for word in ("Mean", "Sum", "Max", "Min", "L2")})
EACH = (PLAIN - {"reshape", "flatten", "transpose"}).union(
    ACTIVATIONS,
    NORMALISATIONS,
    ("embedding", "gather", "add", "sub", "mul", "div", "linear", "residual"),
)
"""What does the same at every position of a sequence, whatever stands at the others."""


def tail(output: Output) -> list[LayerVertex]:
    """Return the layers from an output back to the last product, without it, the last one first.

    They end at the first layer that gathers or moves values as well.
    """
    found: list[LayerVertex] = []
    vertex = output.source.vertex
    while isinstance(vertex, LayerVertex) and vertex.operator.name in ELEMENTWISE:
        found.append(vertex)
        vertex = vertex.operands[0].vertex
    return found if isinstance(vertex, LayerVertex) and heavy_in(vertex) else []


def users(network: Network) -> dict[int, list[LayerVertex]]:
    """Return for each vertex, by its id, the layers that take it."""
    found: dict[int, list[LayerVertex]] = {}
    for layer in network.order:
        for source in layer.sources():
            found.setdefault(id(source.vertex), []).append(layer)
    return found


def origin(vertex: Vertex, passed: frozenset[str] = PLAIN) -> Vertex:
    """Return what a value is before the layers that hand it on, or those that are passed."""
    while isinstance(vertex, LayerVertex) and vertex.operator.name in passed:
        vertex = vertex.operands[0].vertex
    return vertex


def behind(layer: LayerVertex, using: dict[int, list[LayerVertex]]) -> LayerVertex | None:
    """Return the first layer behind another that does more than hand values on."""
    while len(following := using.get(id(layer), ())) == 1:
        (layer,) = following
        if layer.operator.name not in PLAIN | {"add"}:
            return layer
    return None


def ancestors(layer: LayerVertex) -> Iterator[LayerVertex]:
    """Yield every layer that a layer depends on."""
    seen: set[int] = set()
    waiting = flowing(layer)
    while waiting:
        vertex = waiting.pop()
        if id(vertex) not in seen:
            seen.add(id(vertex))
            yield vertex
            waiting += flowing(vertex)


def avoidable(network: Network, layer: LayerVertex) -> bool:
    """Tell whether values reach an output from an input by a way around a layer."""
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
    """Return the number that a layer multiplies values with, 1 if it does not."""
    name = layer.operator.name
    if name not in ("mul", "div") or len(layer.operands) < 2:
        return 1.0
    second = layer.operands[1].vertex
    if not isinstance(second, LiteralVertex) or not isinstance(second.data, int | float):
        return 1.0
    size = abs(float(second.data))
    return 1.0 if not size or not math.isfinite(size) else size if name == "mul" else 1 / size


def carried(
    network: Network, start: float, step: Callable[[LayerVertex, float], float]
) -> dict[int, float]:
    """Return for each layer, by its id, a number that is carried from the inputs to it.

    `step(layer, number before)` gives the next one; where ways meet, the largest goes on.
    """
    found: dict[int, float] = {}
    for layer in network.order:
        before = max((found[id(v)] for v in flowing(layer)), default=start)
        found[id(layer)] = step(layer, before)
    return found


def pools_without_order(network: Network) -> list[str]:
    """Return the layers that pool a sequence, if everything behind has the same value however its
    positions are ordered; none if the order has a way to some output.

    Attention without positions and without `causal=true` gives every position what it gives it in
    any other order, and is pooled like the rest.
    """
    ordered = [vertex for vertex in network.inputs if _positions(vertex)]
    if len(ordered) != 1:  # another one may number the positions
        return []
    found: dict[int, str] = {id(ordered[0]): "each"}
    pools: list[str] = []
    for layer in network.order:
        states = {found.get(id(source.vertex), "") for source in layer.sources()} - {""}
        if states == {"each"}:
            pools += [layer.label] * (pooled := _pools(layer))
            if not pooled and not _alike_everywhere(layer):
                return []
            found[id(layer)] = "pooled" if pooled else "each"
        elif states:
            found[id(layer)] = "pooled" if states == {"pooled"} else "each"
            if "each" in states and not _alike_everywhere(layer):
                return []
    ends = {found.get(id(output.source.vertex), "") for output in network.outputs}
    return pools if ends == {"pooled"} else []


def _positions(vertex: InputVertex) -> bool:
    """Tell whether an input is a sequence, or a row of words."""
    features = vertex.features[0]
    return bool(features.sequence) or (
        vertex.dtype.startswith(("int", "uint")) and _rank(vertex) == 1
    )


def _rank(vertex: Vertex) -> int:
    return len(vertex.features[0].sizes())


def _pools(layer: LayerVertex) -> bool:
    """Tell whether a layer takes all positions together, and leaves none of them."""
    before = layer.operands[0]
    if layer.operator.name not in POOLS:
        return False
    if before.features.sequence:
        return not layer.features[0].sequence
    axes = layer.options["axes"]
    return axes is not None and 0 in axes


def _alike_everywhere(layer: LayerVertex) -> bool:
    """Tell whether a layer does the same at every position."""
    name = layer.operator.name
    if name == "attend":
        told = any(layer.options.get(option) for option in ("causal", "rope", "window", "bias"))
        return not told and layer.parameters | layer.tensors.keys() <= {"q", "k", "v", "o"}
    if name in ("matmul", "gemm"):
        along = layer.features[0].sequence or _rank(layer) > 1
        return bool(along) and weight(layer) is not None
    # A table that is added has a row for every position, and tells where it is.
    tables = (s.vertex for s in layer.operands if isinstance(s.vertex, ParameterVertex))
    return name in EACH and not (name in ELEMENTWISE and any(_rank(table) > 1 for table in tables))
