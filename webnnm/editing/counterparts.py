"""Maps parameters of a part of a model to parameters of the whole."""

from __future__ import annotations

from collections.abc import Mapping

from webnnm.core.errors import ModelError
from webnnm.graph.elaboration.vertices import (
    ConstantVertex,
    InputVertex,
    LayerVertex,
    LiteralVertex,
    Network,
    ParameterVertex,
    Vertex,
)


def counterparts(part: Network, whole: Network, offsets: Mapping[str, int]) -> dict[str, str]:
    """Return the mapping of each parameter of a part to the same parameter of the whole.

    >>> from webnnm.graph.elaboration.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> def network(layers):
    ...     return elaborate(parse(f"m:input shape=[4]; m:output shape=[3]; m:layers {layers};"))
    >>> whole = network("matmul(w, shape=[4]), matmul(w), softmax()")
    >>> counterparts(network("matmul(w), softmax()"), whole, {"m": 1})
    {'w1': 'w2'}

    `offsets` is, by root block, the number of layers of the whole that come before those of the
    part. Raises `ModelError` NNM206 if a name means different things in the two.
    """
    blocks: dict[str, list[LayerVertex]] = {}
    for layer in whole.layers:
        blocks.setdefault(layer.chain[0], []).append(layer)
    next_index = dict(offsets)
    counterpart_of: dict[int, Vertex] = {}
    for layer in part.layers:
        block = layer.chain[0]
        index = next_index.get(block, 0)
        next_index[block] = index + 1
        if index >= len(blocks.get(block, ())):
            raise _mismatch_error(layer.label)
        counterpart_of[id(layer)] = blocks[block][index]
    names: dict[str, str] = {}
    for layer in part.layers:
        other = counterpart_of[id(layer)]
        assert isinstance(other, LayerVertex)
        mine = [source.vertex for source in layer.sources()]
        theirs = [source.vertex for source in other.sources()]
        if layer.operator.name != other.operator.name or len(mine) != len(theirs):
            raise _mismatch_error(layer.label)
        for own, theirs_source in zip(mine, theirs, strict=True):
            if isinstance(own, ParameterVertex) and isinstance(theirs_source, ParameterVertex):
                if names.setdefault(own.name, theirs_source.name) != theirs_source.name:
                    raise _mismatch_error(own.name)
            elif not _alike(own, theirs_source, counterpart_of):
                raise _mismatch_error(layer.label)
    if len(set(names.values())) < len(names):
        raise _mismatch_error(", ".join(names))
    return names


def _alike(own: Vertex, its: Vertex, same: Mapping[int, Vertex]) -> bool:
    """Return whether two sources of layers correspond to each other."""
    match own:
        case LayerVertex():
            return same[id(own)] is its
        case InputVertex():  # which may be the result of another part
            return isinstance(its, (InputVertex, LayerVertex))
        case ConstantVertex():
            return isinstance(its, ConstantVertex) and own.name == its.name
        case LiteralVertex():
            return isinstance(its, LiteralVertex) and own.data == its.data
        case _:
            return False


def _mismatch_error(what: str) -> ModelError:
    return ModelError(
        "NNM206",
        f'"{what}" means different things in the two models',
        hint="a name in one part refers to something in the other: choose another name",
    )
