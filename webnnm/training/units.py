"""The units of a weight: along which dimension they lie, and which weights stand before a head."""

from __future__ import annotations

from webnnm.graph.vertices import LayerVertex, Network, ParameterVertex

HEAVY = ("weight", "projection", "recurrent")
"""Roles of parameters that make a layer one of weights."""


def unit_axis(parameter: ParameterVertex) -> int | None:
    """Return the dimension of a parameter that counts units, None for a vector or a scalar.

    Of a product `[in, out]` it is the columns, of a convolution the channels that go out.
    """
    rank = parameter.features[0].rank or 0
    if rank < 2:
        return None
    options = parameter.user.options if parameter.user is not None else {}
    layout = options.get("filter_layout")
    if isinstance(layout, str) and "o" in layout and len(layout) == rank:
        return layout.index("o")
    return 0 if options.get("b_transpose") else rank - 1


def before_heads(network: Network) -> set[str]:
    """Return the weights of layers that reach an output without passing another layer of weights.

    >>> from webnnm.graph.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> text = "m:input shape=[4]; m:output shape=[3];"
    >>> text += "m:layers matmul(w, shape=[5]), relu(), matmul(w), add(b), softmax();"
    >>> before_heads(elaborate(parse(text)))
    {'w2'}
    """
    found: set[str] = set()
    waiting = [output.source.vertex for output in network.outputs]
    seen: set[int] = set()
    while waiting:
        vertex = waiting.pop()
        if id(vertex) in seen or not isinstance(vertex, LayerVertex):
            continue
        seen.add(id(vertex))
        sources = [source.vertex for source in vertex.sources()]
        weights = {s.name for s in sources if isinstance(s, ParameterVertex) and s.role in HEAVY}
        found |= weights
        if not weights:
            waiting += sources
    return found
