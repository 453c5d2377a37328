"""From a document to a network: expansion, references, shapes, types (spec part B)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from webnnm.core.errors import Span
from webnnm.core.garbage import pause_garbage_collection
from webnnm.graph.elaboration.cycles import first_cycle
from webnnm.graph.elaboration.declare import Declared
from webnnm.graph.elaboration.expand import Expander
from webnnm.graph.elaboration.infer import infer_shapes
from webnnm.graph.elaboration.loss_words import check_losses
from webnnm.graph.elaboration.outline import Outline, outline
from webnnm.graph.elaboration.resolve import Resolver
from webnnm.graph.elaboration.scope import Flow
from webnnm.graph.elaboration.types import constant_types, infer_types
from webnnm.graph.elaboration.vertices import (
    InputVertex,
    LayerVertex,
    Network,
    Output,
    ParameterVertex,
    Source,
    layers_before,
)
from webnnm.notation.syntax import Document, Reference
from webnnm.ops.declare.features import Changes, Features

if TYPE_CHECKING:
    from webnnm.graph.elaboration.sourced import SourcedBlock


MERGING = ("add", "concat", "max", "min", "mul")
"""Operators whose operands may be a list, in which the previous result is not contained."""


@pause_garbage_collection()
def elaborate(document: Document, half: Collection[str] = ()) -> Network:
    """Turn a document into a network whose shapes and types are all known.

    >>> from webnnm.notation import parse
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"
    >>> [(p.name, str(p.features[0])) for p in elaborate(parse(text)).parameters]
    [('w1', '[4, 3]'), ('b1', '[3]')]

    `half` are inputs that are float16 unless their declaration names a type. Raises `ModelError`
    NNM201 … NNM603 at the place in the text.
    """
    found = outline(document)
    check_losses(found)
    declared = Declared(found, half)
    constant_types(declared.constants.values(), found)
    expander = Expander(found, _sourced(found, declared.changes))
    flows: dict[str, Flow] = {}
    for block in found.roots:
        entering = Source(declared.inputs[block.name]) if block.input else None
        flows[block.name] = expander.expand_root(block, entering)
    expander.raise_errors()
    resolver = Resolver(found, expander, declared)
    for given in expander.layers:
        given.vertex.features = [Features(declared.changes)]
        expander.attempt(resolver.resolve, given)
    expander.raise_errors()
    layers = [given.vertex for given in expander.layers]
    _label(layers)
    _check_results(found, layers)
    _refuse_cycles(found, layers, resolver.blocks)
    outputs = [
        Output(block, resolver.references.source(flows[block.name], Span(0, 0)))
        for block in found.roots
        if block.output is not None
    ]
    network = _culled(found, declared, layers, outputs, resolver.parameters)
    _warn_unused(found, expander)
    infer_shapes(network, declared.changes)
    _drop_unneeded(network)
    infer_types(network)
    return network


def _sourced(found: Outline, changes: Changes) -> Mapping[str, SourcedBlock]:
    """Return the blocks that are graphs in files; few models have some."""
    if not any(block.source for block in found.blocks.values()):
        return {}
    from webnnm.graph.elaboration.sourced import sourced_blocks

    return sourced_blocks(found, changes)


def _label(layers: Iterable[LayerVertex]) -> None:
    """Name every layer: as written, else by operator and running count (spec B.1).

    A local name that occurs in several expansions is numbered from its second occurrence on.
    """
    counts: dict[str, int] = {}
    taken = {layer.name for layer in layers if layer.name}
    for layer in layers:
        word = layer.name or layer.operator.name
        number = counts.get(word, 0) + 1
        while (number > 1 or not layer.name) and f"{word}{number}" in taken:
            number += 1
        counts[word] = number
        layer.label = word if layer.name and number == 1 else f"{word}{number}"


def _check_results(found: Outline, layers: Iterable[LayerVertex]) -> None:
    """Raise NNM205 if a layer takes a result that another layer does not have."""
    for layer in layers:
        for source in layer.sources():
            vertex = source.vertex
            if source.result >= len(vertex.features):
                assert isinstance(vertex, LayerVertex)
                count = len(vertex.features)
                message = f'"{vertex.label}" has {count} result{"" if count == 1 else "s"}'
                message += f"; there is no .{source.result}"
                hint = f"they are called .0 … .{count - 1}"
                raise found.error("NNM205", message, layer.span, hint)


def _refuse_cycles(
    found: Outline, layers: list[LayerVertex], blocks: Mapping[int, Reference]
) -> None:
    """Raise NNM208 for the first layer, in elaboration order, that depends on itself.

    `blocks` are, by layer, words that name a block although a parameter may have been meant.
    """
    cycle = first_cycle(layers)
    if not cycle:
        return
    message, hint = f'"{cycle[0].label}" depends on itself', "break the loop of references"
    user = next((layer for layer in cycle if id(layer) in blocks), None)
    if user is not None:
        word = blocks[id(user)]
        message += f': "{word}" in "{user.label}" is the block "{word}", not a new parameter'
        hint = f'give the parameter or the block "{word}" another name'
    raise found.error("NNM208", message, cycle[0].span, hint)


def _culled(
    found: Outline,
    declared: Declared,
    layers: list[LayerVertex],
    outputs: list[Output],
    parameters: list[ParameterVertex],
) -> Network:
    """Drop what no output depends on, with a warning that lists it."""
    order = layers_before(output.source.vertex for output in outputs)
    kept = {id(layer) for layer in order}
    used = {id(s.vertex) for layer in order for s in layer.sources()}
    used |= {id(output.source.vertex) for output in outputs}
    lost = [layer.label for layer in layers if id(layer) not in kept]
    idle = [f"{name}:input" for name, vertex in declared.inputs.items() if id(vertex) not in used]
    if lost or idle:
        message = f"no output depends on {', '.join([*lost, *idle])}"
        after = _dropped_by(layers, kept)
        if after is not None:
            message += f'; "{after.label}" takes what its list names, not what is before it'
        first = next((layer.span for layer in layers if id(layer) not in kept), None)
        found.warn("NNM002", message, first or declared.inputs[idle[0].split(":")[0]].span)
    for layer in order:
        for source in layer.sources():
            if isinstance(source.vertex, ParameterVertex) and source.vertex.user is None:
                source.vertex.user = layer
    return Network(
        outline=found,
        inputs=list[InputVertex](declared.inputs.values()),
        outputs=outputs,
        layers=[layer for layer in layers if id(layer) in kept],
        parameters=[p for p in parameters if id(p) in used],
        order=order,
    )


def _dropped_by(layers: list[LayerVertex], kept: Collection[int]) -> LayerVertex | None:
    """Return the layer written after one that no output needs, if it has a list of operands."""
    for before, layer in pairwise(layers):
        lost = id(before) not in kept and id(layer) in kept
        if lost and before.chain == layer.chain and layer.operator.name in MERGING:
            return layer
    return None


def _drop_unneeded(network: Network) -> None:
    """Drop the parameters that layers do not need, which their shapes have shown."""
    network.parameters = [p for p in network.parameters if not p.features[0].unneeded]
    for layer in network.order:
        layer.tensors = {
            name: source for name, source in layer.tensors.items() if not source.features.unneeded
        }


def _warn_unused(found: Outline, expander: Expander) -> None:
    for block in found.blocks.values():
        first = block.layers or block.source
        if first is not None and not block.is_root and block.name not in expander.used:
            found.warn("NNM001", f'block "{block.name}" is never used', first.span)
