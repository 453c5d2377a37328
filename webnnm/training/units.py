"""The units of a weight: along which dimensions they lie, and what stands before a head."""

from __future__ import annotations

from webnnm.graph.vertices import LayerVertex, Network, ParameterVertex

HEAVY = ("weight", "projection", "recurrent")
"""Roles of parameters that make a layer one of weights."""


def unit_axes(parameter: ParameterVertex) -> tuple[int, ...]:
    """Return the dimensions of a parameter that count units, none for a vector or a scalar.

    Of a product `[in, out]` it is the columns, of a convolution the channels that go out. A row of
    a recurrent weight is what enters one unit of one gate, whatever the order of the gates; there
    is one in every direction, and a recurrent bias is one there. Spec E.6.
    """
    rank = parameter.features[0].rank or 0
    if rank < 2:
        return ()
    options = parameter.user.options if parameter.user is not None else {}
    layout = options.get("filter_layout")
    if isinstance(layout, str) and "o" in layout and len(layout) == rank:
        return (layout.index("o"),)
    turned = _of_recurrence(parameter) or options.get("b_transpose")
    return product_units(rank, rank - 1 if turned else rank - 2)


def product_units(rank: int, inner: int) -> tuple[int, ...]:
    """Return the dimensions that count the units of a weight, whose dimension `inner` is summed."""
    return tuple(axis for axis in range(rank) if axis != inner)


def clipped_units(network: Network) -> dict[str, tuple[int, ...]]:
    """Return what is clipped unit by unit: trainable parameter → the dimensions of its units.

    >>> from webnnm.graph.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> text = "m:input shape=[4]; m:output shape=[3];"
    >>> text += "m:layers matmul(w, shape=[5]), add(b), relu(), matmul(w), add(b), softmax();"
    >>> clipped_units(elaborate(parse(text)))
    {'w1': (1,), 'b1': ()}

    Weights are, and every vector and scalar as a whole, of recurrent biases one for every
    direction; what stands before a head is exempt (spec E.6).
    """
    exempt = before_heads(network)
    return {
        p.name: unit_axes(p)
        for p in network.parameters
        if p.trainable
        and p.name not in exempt
        and (p.role in HEAVY or (p.features[0].rank or 0) < 2 or _of_recurrence(p))
    }


def _of_recurrence(parameter: ParameterVertex) -> bool:
    """Tell whether a parameter belongs to a recurrent layer."""
    layer = parameter.user
    sources = () if layer is None else [source.vertex for source in layer.sources()]
    return any(isinstance(s, ParameterVertex) and s.role == "recurrent" for s in sources)


def before_heads(network: Network) -> set[str]:
    """Return the parameters that reach an output without passing a layer of weights.

    Those of the last layers of weights, and of all between them and the outputs, as biases.

    >>> from webnnm.graph.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> text = "m:input shape=[4]; m:output shape=[3];"
    >>> text += "m:layers matmul(w, shape=[5]), relu(), matmul(w), add(b), softmax();"
    >>> sorted(before_heads(elaborate(parse(text))))
    ['b1', 'w2']
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
        parameters = [s for s in sources if isinstance(s, ParameterVertex)]
        found |= {p.name for p in parameters}
        if not any(p.role in HEAVY for p in parameters):
            waiting += sources
    return found
