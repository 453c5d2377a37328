"""Products and output activations that follow each other, for the rules on gradients."""

from __future__ import annotations

from collections import Counter

from webnnm.core.shapes import count
from webnnm.expert.facts.paths import source_layers
from webnnm.expert.facts.profile import heavy_in
from webnnm.graph.elaboration.vertices import LayerVertex, Network, ParameterVertex, Vertex


def _weight(layer: LayerVertex, uses: Counter[int]) -> bool:
    """Return whether a layer is a product with weights of its own, which are not tied."""
    if not layer.has("product"):
        return False
    weight = layer.operands[1].vertex
    # A tied weight cannot be merged with another.
    return isinstance(weight, ParameterVertex) and uses[id(weight)] == 1


def _is_bottleneck(first: LayerVertex, second: LayerVertex) -> bool:
    """Return whether a product is narrower than its operand and the next one: a bottleneck."""
    around = first.operands[0].features, second.features[0]
    return count(first.features[0].sizes()) < min(count(features.sizes()) for features in around)


def products_in_a_row(network: Network) -> dict[str, str]:
    """Return products whose values come from other products by linear steps alone."""
    uses = Counter(id(s.vertex) for layer in network.order for s in layer.sources())
    origin: dict[int, LayerVertex] = {}
    messages: dict[str, str] = {}
    for layer in network.order:
        before = source_layers(layer)
        # Where two values meet, or one is used twice, one matrix cannot replace the products before
        # and after.
        alone = len(before) == 1 and layer.operands[0].vertex is before[0]
        source = origin.get(id(before[0])) if alone and uses[id(before[0])] == 1 else None
        if _weight(layer, uses):
            if source is not None and not _is_bottleneck(source, layer):
                messages[layer.label] = source.label
            origin[id(layer)] = layer
        elif layer.has("linear") and source is not None:
            origin[id(layer)] = source
    return messages


def outputs_that_flow_on(network: Network) -> dict[str, str]:
    """Return softmax and sigmoid layers with the heavy layer that they flow into.

    These are output activations that reach a product by any path except through `attend`, and
    softmax layers that are passed on to one, or whose positions are pooled before it. Products of
    two values, as in attention, do not count.
    """
    ends = {id(_behind(output.source.vertex)) for output in network.outputs}
    carried: dict[int, dict[str, bool]] = {}
    messages: dict[str, str] = {}
    for layer in network.order:
        name = layer.operator.name
        if name == "attend":
            continue
        direct = layer.has("passing", "reduction")
        reach = {
            label: is_end
            for before in source_layers(layer)
            for label, is_end in carried.get(id(before), {}).items()
        }
        weighted = heavy_in(layer) and any(
            isinstance(s.vertex, ParameterVertex) for s in layer.operands[1:]
        )
        if weighted:
            for label in reach:
                messages.setdefault(label, layer.label)
            continue
        passed = {label: True for label, is_end in reach.items() if is_end}
        passed |= reach if direct else {}
        if name == "softmax" or (name == "sigmoid" and id(layer) in ends):
            passed[layer.label] = id(layer) in ends
        carried[id(layer)] = passed
    return messages


def _behind(vertex: Vertex) -> Vertex:
    """Return what a value is before casts."""
    while isinstance(vertex, LayerVertex) and vertex.has("copying"):
        vertex = vertex.operands[0].vertex
    return vertex
