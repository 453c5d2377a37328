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
from webnnm.graph.elaboration.initialise import check_initialisers
from webnnm.graph.elaboration.loss_words import check_losses
from webnnm.graph.elaboration.outline import Outline, collect_outline
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


@pause_garbage_collection()
def elaborate(document: Document, half: Collection[str] = ()) -> Network:
    """Turn a document into a network whose shapes and types are all known.

    >>> from webnnm.notation import parse
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"
    >>> [(p.name, str(p.features[0])) for p in elaborate(parse(text)).parameters]
    [('w1', '[4, 3]'), ('b1', '[3]')]

    `half` are inputs that are float16 unless their declaration names a type. Raises `ModelError`
    NNM201 … NNM603 at its position in the text.
    """
    outline = collect_outline(document)
    check_losses(outline)
    declared = Declared(outline, half)
    constant_types(declared.constants.values(), outline)
    expander = Expander(outline, _collect_sourced(outline, declared.changes))
    results: dict[str, Flow] = {}
    for block in outline.roots:
        entering = Source(declared.inputs[block.name]) if block.input else None
        results[block.name] = expander.expand_root(block, entering)
    expander.raise_errors()
    resolver = Resolver(outline, expander, declared)
    for layer in expander.layers:
        layer.vertex.features = [Features(declared.changes)]
        expander.attempt(resolver.resolve, layer)
    expander.raise_errors()
    layers = [layer.vertex for layer in expander.layers]
    _label(layers)
    _check_results(outline, layers)
    _refuse_cycles(outline, layers, resolver.blocks)
    outputs = [
        Output(block, resolver.references.source(results[block.name], Span(0, 0)))
        for block in outline.roots
        if block.output is not None
    ]
    network = _cull(outline, declared, layers, outputs, resolver.parameters)
    _warn_unused(outline, expander)
    infer_shapes(network, declared.changes)
    _drop_unneeded_parameters(network)
    infer_types(network)
    check_initialisers(network)
    return network


def _collect_sourced(outline: Outline, changes: Changes) -> Mapping[str, SourcedBlock]:
    """Return the blocks that are graphs in files; few models have some."""
    if not any(block.source for block in outline.blocks.values()):
        return {}
    from webnnm.graph.elaboration.sourced import collect_sourced_blocks

    return collect_sourced_blocks(outline, changes)


def _label(layers: Iterable[LayerVertex]) -> None:
    """Name every layer: as written, else by operator and running count (spec B.1).

    A local name that occurs in several expansions is numbered from its second occurrence on.
    """
    counts: dict[str, int] = {}
    names = {layer.name for layer in layers if layer.name}
    for layer in layers:
        base = layer.name or layer.operator.name
        number = counts.get(base, 0) + 1
        while (number > 1 or not layer.name) and f"{base}{number}" in names:
            number += 1
        counts[base] = number
        layer.label = base if layer.name and number == 1 else f"{base}{number}"


def _check_results(outline: Outline, layers: Iterable[LayerVertex]) -> None:
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
                raise outline.error("NNM205", message, layer.span, hint)


def _refuse_cycles(
    outline: Outline, layers: list[LayerVertex], blocks: Mapping[int, Reference]
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
        reference = blocks[id(user)]
        message += (
            f': "{reference}" in "{user.label}" is the block "{reference}", not a new parameter'
        )
        hint = f'give the parameter or the block "{reference}" another name'
    raise outline.error("NNM208", message, cycle[0].span, hint)


def _cull(
    outline: Outline,
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
        after = _find_dropper(layers, kept)
        if after is not None:
            message += f'; "{after.label}" takes what its list names, not what is before it'
        first = next((layer.span for layer in layers if id(layer) not in kept), None)
        outline.warn("NNM002", message, first or declared.inputs[idle[0].split(":")[0]].span)
    for layer in order:
        for source in layer.sources():
            if isinstance(source.vertex, ParameterVertex) and source.vertex.user is None:
                source.vertex.user = layer
    return Network(
        outline=outline,
        inputs=list[InputVertex](declared.inputs.values()),
        outputs=outputs,
        layers=[layer for layer in layers if id(layer) in kept],
        parameters=[p for p in parameters if id(p) in used],
        order=order,
    )


def _find_dropper(layers: list[LayerVertex], kept: Collection[int]) -> LayerVertex | None:
    """Return the layer written after one that no output needs, if it has a list of operands."""
    for before, layer in pairwise(layers):
        lost = id(before) not in kept and id(layer) in kept
        if lost and before.chain == layer.chain and (layer.rules.folds or layer.operator.variadic):
            return layer
    return None


def _drop_unneeded_parameters(network: Network) -> None:
    """Drop the parameters that layers do not need, which their shapes have shown."""
    network.parameters = [p for p in network.parameters if not p.features[0].unneeded]
    for layer in network.order:
        layer.tensors = {
            name: source for name, source in layer.tensors.items() if not source.features.unneeded
        }


def _warn_unused(outline: Outline, expander: Expander) -> None:
    for block in outline.blocks.values():
        first = block.layers or block.source
        if first is not None and not block.is_root and block.name not in expander.used:
            outline.warn("NNM001", f'block "{block.name}" is never used', first.span)
