"""How many positions the tables of a network have for its sequences."""

from __future__ import annotations

from webnnm.graph.elaboration.vertices import Network


def find_position_limits(network: Network) -> dict[str | None, int]:
    """Return the most positions of sequences by name, of those that a table of positions limits."""
    limits: dict[str | None, int] = {}
    for layer in network.order:
        if layer.operator.name == "positionalEmbedding":
            values, table = (operand.features for operand in layer.operands)
            rows = table.sizes()[0]
            limits[values.sequence] = min(rows, limits.get(values.sequence, rows))
    return limits
