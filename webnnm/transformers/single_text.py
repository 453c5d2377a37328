"""A text as the only row of a causal model: its inputs, and the network that reads it."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import Lowered, lower_network
from webnnm.graph.elaboration.vertices import Network


def lower_for_text(network: Network, length: int, b: GraphBuilder) -> Lowered:
    """Return a network that is lowered for one text of this many tokens."""
    names = {vertex.features[0].sequence for vertex in network.inputs}
    sequence = {name: length for name in names if name is not None}
    return lower_network(network, batch=1, sequence=sequence, builder=b)


def pad_text(tokens: Sequence[int], length: int) -> dict[str, list[int]]:
    """Return the inputs that causal models may have for a text, padded at its end.

    >>> pad_text([7, 8], 3)["attention_mask"]
    [1, 1, 0]
    """
    rest = [0] * (length - len(tokens))
    return {
        "input_ids": [*tokens, *rest],
        "attention_mask": [1] * len(tokens) + rest,
        "position_ids": [*range(len(tokens)), *rest],
        "token_type_ids": [0] * length,
    }
