"""The units of a weight: which dimensions count them, and which weights precede a head."""

from __future__ import annotations

from webnnm.graph.elaboration.vertices import LayerVertex, Network, ParameterVertex

WEIGHT_ROLES = ("weight", "projection", "recurrent")
"""Roles of parameters that make a layer a weight layer."""


def find_unit_axes(parameter: ParameterVertex) -> tuple[int, ...]:
    """Return the dimensions of a parameter that count units, none for a vector or a scalar.

    For a product `[in, out]` these are the columns, for a convolution the output channels. A row of
    a recurrent weight is the input of one unit of one gate, whatever the order of the gates; each
    direction has its own rows, and a recurrent bias is one unit per direction. Spec E.6.
    """
    rank = parameter.features[0].rank or 0
    if rank < 2:
        return ()
    options = parameter.user.options if parameter.user is not None else {}
    layout = options.get("filter_layout")
    if isinstance(layout, str) and "o" in layout and len(layout) == rank:
        return (layout.index("o"),)
    is_transposed = _is_recurrent(parameter) or options.get("b_transpose")
    return product_units(rank, rank - 1 if is_transposed else rank - 2)


def product_units(rank: int, inner: int) -> tuple[int, ...]:
    """Return the dimensions that count the units of a weight with the summed dimension `inner`."""
    return tuple(axis for axis in range(rank) if axis != inner)


def find_clipped_units(network: Network) -> dict[str, tuple[int, ...]]:
    """Return which parameters are clipped unit by unit: parameter → the dimensions of its units.

    >>> from webnnm.graph.elaboration.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> text = "m:input shape=[4]; m:output shape=[3];"
    >>> text += "m:layers matmul(w, shape=[5]), add(b), relu(), matmul(w), add(b), softmax();"
    >>> find_clipped_units(elaborate(parse(text)))
    {'w1': (1,), 'b1': ()}

    These are weights, and every vector and scalar as a whole (recurrent biases per direction);
    parameters before a head are exempt (spec E.6).
    """
    head_parameters = find_head_parameters(network)
    return {
        p.name: find_unit_axes(p)
        for p in network.parameters
        if p.trainable
        and p.name not in head_parameters
        and (p.role in WEIGHT_ROLES or (p.features[0].rank or 0) < 2 or _is_recurrent(p))
    }


def _is_recurrent(parameter: ParameterVertex) -> bool:
    """Return whether a parameter belongs to a recurrent layer."""
    layer = parameter.user
    sources = () if layer is None else [source.vertex for source in layer.sources()]
    return any(isinstance(s, ParameterVertex) and s.role == "recurrent" for s in sources)


def find_head_parameters(network: Network) -> set[str]:
    """Return the parameters that reach an output without passing a weight layer.

    These are those of the last weight layers, and all between them and the outputs, such as biases.

    >>> from webnnm.graph.elaboration.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> text = "m:input shape=[4]; m:output shape=[3];"
    >>> text += "m:layers matmul(w, shape=[5]), relu(), matmul(w), add(b), softmax();"
    >>> sorted(find_head_parameters(elaborate(parse(text))))
    ['b1', 'w2']
    """
    names: set[str] = set()
    queue = [output.source.vertex for output in network.outputs]
    seen: set[int] = set()
    while queue:
        vertex = queue.pop()
        if id(vertex) in seen or not isinstance(vertex, LayerVertex):
            continue
        seen.add(id(vertex))
        sources = [source.vertex for source in vertex.sources()]
        parameters = [s for s in sources if isinstance(s, ParameterVertex)]
        names |= {p.name for p in parameters}
        if not any(p.role in WEIGHT_ROLES for p in parameters):
            queue += sources
    return names
