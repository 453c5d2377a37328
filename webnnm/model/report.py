"""Human-readable texts about a model: the summary, values of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count, show
from webnnm.graph.elaboration.vertices import LayerVertex, Network, ParameterVertex

MOST_NAMED = 4
"""How many parameters of a layer the table names; a graph from a file may have hundreds."""


def summary(network: Network, running_on: str) -> str:
    """Return a table of layers with their shapes and parameters.

    >>> from webnnm.graph.elaboration.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    >>> print(summary(elaborate(parse(text)), "NumPy"))
    layer     result      parameters       count
    m:input   float32[4]
    matmul1   float32[3]  w1 [4, 3]           12
    softmax1  float32[3]
    12 parameters, 12 trainable, running on NumPy
    """
    rows = layer_rows(network)
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    widths[2] = max(widths[2], 15)
    lines = [
        "  ".join(
            [cell.ljust(width) for cell, width in zip(row[:3], widths[:3], strict=True)]
            + [row[3].rjust(widths[3])]
        ).rstrip()
        for row in rows
    ]
    lines.append(f"{parameter_count(network)}, running on {running_on}")
    return "\n".join(lines)


def layer_rows(network: Network) -> list[tuple[str, str, str, str]]:
    """Return the rows of the table of layers, the headings first."""
    rows = [("layer", "result", "parameters", "count")]
    for vertex in network.inputs:
        shape = f"{vertex.dtype}{vertex.features[0]}"
        rows.append((f"{vertex.block}:input", shape, "", ""))
    return rows + [_layer_row(layer) for layer in network.layers]


def parameter_count(network: Network) -> str:
    """Return the number of parameters of a network in words."""
    total = sum(count(p.features[0].sizes()) for p in network.parameters)
    learn = sum(count(p.features[0].sizes()) for p in network.parameters if p.trainable)
    return f"{total:,} parameters, {learn:,} trainable"


def _layer_row(layer: LayerVertex) -> tuple[str, str, str, str]:
    own = [
        source.vertex
        for source in layer.sources()
        if isinstance(source.vertex, ParameterVertex) and source.vertex.user is layer
    ]
    names = ", ".join(f"{p.name} {p.packing or ''}{p.features[0]}" for p in own[:MOST_NAMED])
    if len(own) > MOST_NAMED:
        names += f", … {len(own)} in all"
    number = sum(count(p.features[0].sizes()) for p in own)
    result = f"{layer.result_types[0]}{layer.features[0]}"
    return layer.label, result, names, f"{number:,}" if own else ""


def view(data: Any, limit: int = 11) -> str:
    """Return values as text: floats with three decimals, integers plain, an ellipsis past `limit`.

    >>> view([[0.5, 1], [2, 3.25]])
    '[2, 2] 0.500, 1.000, 2.000, 3.250'
    """
    array = HostArray.of(data)
    values: Sequence[Any] = array.values()
    shown = [f"{v:.3f}" if is_float(array.dtype) else str(v) for v in values[:limit]]
    more = ", …" if len(values) > limit else ""
    return f"{show(array.shape)} {', '.join(shown)}{more}"
