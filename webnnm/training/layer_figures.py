"""Statistics of layers over a batch: the shares of dead units and of saturated values."""

from __future__ import annotations

from collections.abc import Iterator

from webnnm.graph.elaboration.lowering import Lowered
from webnnm.graph.elaboration.vertices import LayerVertex
from webnnm.graph.node import Operand

ZERO_LIMIT = 1e-6
"""Values this close to 0 count as 0: gelu is not exactly 0."""
FLAT_LIMIT = 0.98
"""At this share of its range, the slope of tanh or sigmoid is at most 4% of its maximum."""


def compute_dead_shares(lowered: Lowered) -> dict[str, Operand]:
    """Return, by layer, the share of its units that no row activates, as scalars."""
    b = lowered.builder
    shares: dict[str, Operand] = {}
    for layer, x in _iterate_results(lowered):
        if layer.operator.silent_below is not None:
            axis = find_unit_axis(layer, x.rank)
            highest = b.reduce_max(b.abs(x), axes=[k for k in range(x.rank) if k != axis])
            is_dead = b.lesser_or_equal(highest, b.constant(ZERO_LIMIT, "float32"))
            shares[layer.label] = reduce_to_mean(b.cast(is_dead, type="float32"))
    return shares


def compute_saturated_shares(lowered: Lowered) -> dict[str, Operand]:
    """Return, by layer, the share of its values near an end of its activation, as scalars."""
    b = lowered.builder
    shares: dict[str, Operand] = {}
    for layer, x in _iterate_results(lowered):
        if "saturating" in layer.operator.traits:
            low, high = layer.operator.bounds
            scale, offset = 2 / (high - low), (high + low) / (high - low)
            is_flat = b.greater_or_equal(
                b.abs(x * scale - offset), b.constant(FLAT_LIMIT, "float32")
            )
            shares[layer.label] = reduce_to_mean(b.cast(is_flat, type="float32"))
    return shares


def find_unit_axis(layer: LayerVertex, rank: int) -> int:
    """Return the dimension of a layer's result that counts units; for images, the channels."""
    vertex: object = layer
    while isinstance(vertex, LayerVertex) and rank == 4:
        layout = vertex.options.get("input_layout", vertex.options.get("layout"))
        if isinstance(layout, str):
            return layout.index("c")
        vertex = vertex.operands[0].vertex if vertex.operands else None
    return rank - 1


def reduce_to_mean(x: Operand) -> Operand:
    """Return the mean of all elements, a scalar."""
    return x.builder.reduce_mean(x, axes=range(x.rank)) if x.rank else x


def _iterate_results(lowered: Lowered) -> Iterator[tuple[LayerVertex, Operand]]:
    """Yield layers with their first result in float32, for results of more than one number."""
    for layer, (result, *_) in lowered.layers:
        operator = layer.operator
        is_measured = operator.silent_below is not None or "saturating" in operator.traits
        if result.rank > 1 and is_measured:
            is_narrow = result.dtype != "float32"
            yield layer, result.builder.cast(result, type="float32") if is_narrow else result
