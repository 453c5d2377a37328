"""Split the text of a model in two: a trunk, and a head that takes its output."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import NamedTuple

from webnnm.core.errors import DataError, suggestion
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.graph.elaboration.vertices import (
    InputVertex,
    LayerVertex,
    Network,
    ParameterVertex,
    Source,
    layers_before,
    result_type,
)
from webnnm.notation import parse
from webnnm.notation.formatter import format_document
from webnnm.notation.syntax import (
    AnyStatement,
    BlockStatement,
    Constants,
    Dimension,
    Document,
    GlobalConstant,
    Items,
    Layer,
    Layers,
    Loss,
    LossParameter,
    ModelFile,
    Name,
    NamedShape,
    Number,
    Option,
    Parameters,
    Port,
    Reference,
    ShapeValue,
)
from webnnm.ops.declare.features import Features


class Cut(NamedTuple):
    """Where a model is cut: before a layer of a root block, counted from 0."""

    block: str
    position: int


def split_document(document: Document, at: str) -> tuple[Document, Document]:
    """Return the trunk, which computes what flows into a layer, and the head, all after it.

    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w, shape=[8]), head();"
    >>> trunk, head = split_document(parse(text + "head:layers relu(), matmul(w);"), "head")
    >>> print(format_document(head), end="")
    m:input shape=[8];
    m:output shape=[3];
    m:layers
      head();
    head:layers
      relu(),
      matmul(w);

    `at` is the first layer of the head: its `name=`, or the operator or block that it calls; or a
    root block, whose value the head begins with. Raises `DataError` NNM710 for a layer that does
    not exist or occurs twice, NNM704 if more than one value, or a parameter, is needed on both
    sides, or if the value has a layout that no input has.
    """
    network = elaborate(document)
    position = _find_cut(network, at)
    marked_network = _mark_cut(network, position)
    cut = next((layer for layer in marked_network.layers if layer.label == MARK), None)
    if cut is None:
        raise DataError("NNM704", f'no output depends on what flows into "{at}"')
    before = _before(marked_network, cut)
    _refuse_crossings(marked_network, cut, before, at)
    in_trunk = {layer.chain[0] for layer in marked_network.layers if id(layer) in before}
    in_trunk |= {v.block for v in _inputs(marked_network, before)}
    is_output = _is_output(network, position)
    port = None if is_output else _port(position.block, "output", cut)
    trunk = _statements(marked_network, position, before, in_trunk, port)
    after = {id(layer) for layer in marked_network.layers} - before - {id(cut)}
    others = {output.name for output in marked_network.outputs} | {
        v.block for v in marked_network.inputs
    }
    beside = (others | {layer.chain[0] for layer in marked_network.layers}) - in_trunk
    port = _port(position.block, "input", cut)
    head = (
        statement
        for statement in _statements(marked_network, position, after, beside, port, of_trunk=False)
        if not (is_output and _of_output(statement, position.block))
    )
    parts = _reparse(document, trunk), _reparse(document, head)
    _refuse_layout(elaborate(parts[0]), position.block, at)
    return parts


def _of_output(statement: AnyStatement, block: str) -> bool:
    """Return whether a statement is about the output of a block."""
    if not isinstance(statement, BlockStatement) or statement.block != block:
        return False
    if isinstance(statement, Port):
        return statement.direction == "output"
    return isinstance(statement, (Loss, LossParameter))


MARK = "cut_here"
"""The name of the layer that marks the cut while the model is examined."""


def _find_cut(network: Network, at: str) -> Cut:
    cuts: list[Cut] = []
    names: set[str] = set()
    for block in network.outline.roots:
        layers = block.layers.layers if block.layers else ()
        names |= {block.name, *(name for layer in layers for name in _words(layer))}
        if block.name == at:
            cuts.append(Cut(at, len(layers)))
        cuts += [Cut(block.name, k) for k, layer in enumerate(layers) if at in _words(layer)]
    if not cuts:
        hint = suggestion(at, names) or f"available: {', '.join(sorted(names))}"
        raise DataError("NNM710", f'the model has no layer "{at}" to split at', hint=hint)
    if len(cuts) > 1:
        raise DataError(
            "NNM710",
            f'"{at}" appears {len(cuts)} times in the model',
            hint="give the first layer of the head a name: name=head",
        )
    if cuts[0].position == 0:
        raise DataError("NNM704", f'nothing comes before "{at}": the trunk would be empty')
    return cuts[0]


def _words(layer: Layer) -> Iterator[str]:
    name = layer.option("name")
    yield layer.operator
    if name is not None and isinstance(name.value, Reference):
        yield str(name.value)


def _is_output(network: Network, cut: Cut) -> bool:
    """Return whether the value at a cut is already an output of the trunk."""
    block = network.outline.blocks[cut.block]
    layer_count = len(block.layers.layers) if block.layers else 0
    return cut.position == layer_count and block.output is not None


def _mark_cut(network: Network, cut: Cut) -> Network:
    """Return the network with a layer that changes nothing at the place of the cut."""
    mark = Layer("identity", options=(Option("name", Reference((MARK,))),))

    def insert_mark(statement: AnyStatement) -> AnyStatement:
        if not isinstance(statement, Layers) or statement.block != cut.block:
            return statement
        first, rest = statement.layers[: cut.position], statement.layers[cut.position :]
        return replace(statement, layers=(*first, mark, *rest))

    document = network.outline.document
    document_with_mark = replace(document, statements=tuple(map(insert_mark, document.statements)))
    return elaborate(reparse(document_with_mark))


def _sources(network: Network, layers: Collection[int]) -> list[Source]:
    return [s for layer in network.layers if id(layer) in layers for s in layer.sources()]


def _inputs(network: Network, layers: Collection[int]) -> list[InputVertex]:
    vertices = (source.vertex for source in _sources(network, layers))
    return [vertex for vertex in vertices if isinstance(vertex, InputVertex)]


def _before(network: Network, cut: LayerVertex) -> set[int]:
    """Return the layers of a trunk: those that the cut depends on, and the rest of their blocks."""
    ids = {id(layer) for layer in layers_before([cut]) if layer is not cut}
    block = cut.chain[0]
    layers_of_block = [layer for layer in network.layers if layer.chain[0] == block]
    ids |= {id(layer) for layer in layers_of_block[: layers_of_block.index(cut)]}
    size = 0
    while size < len(ids):
        size = len(ids)
        trunk = [layer for layer in network.layers if id(layer) in ids]
        blocks = {layer.chain[0] for layer in trunk} - {block}
        layers_of_blocks = [layer for layer in network.layers if layer.chain[0] in blocks]
        ids |= {id(layer) for layer in layers_before([*trunk, *layers_of_blocks])} - {id(cut)}
    return ids


def _refuse_crossings(network: Network, cut: LayerVertex, before: Collection[int], at: str) -> None:
    """Raise NNM704 if a head needs more of the trunk than the value at the cut."""
    trunk = _sources(network, before)
    inputs = {id(vertex) for vertex in _inputs(network, before)}
    shared = {id(s.vertex) for s in trunk if isinstance(s.vertex, ParameterVertex)}
    crossing: dict[str, str] = {}
    for layer in network.layers:
        if id(layer) in before or layer is cut:
            continue
        for vertex in (source.vertex for source in layer.sources()):
            if isinstance(vertex, LayerVertex) and id(vertex) in before:
                crossing[f'layer "{vertex.label}"'] = layer.label
            elif isinstance(vertex, InputVertex) and id(vertex) in inputs:
                crossing[f'input "{vertex.block}"'] = layer.label
            elif isinstance(vertex, ParameterVertex) and id(vertex) in shared:
                crossing[f'parameter "{vertex.name}"'] = layer.label
    rest = [layer for layer in network.layers if id(layer) not in before and layer is not cut]
    if not any(source.vertex is cut for layer in rest for source in layer.sources()):
        raise DataError("NNM704", f'no layer takes what comes before "{at}": the head is empty')
    if crossing:
        listed = ", ".join(f'{what} by "{user}"' for what, user in crossing.items())
        raise DataError(
            "NNM704",
            f'the model cannot be split at "{at}": the head also needs {listed}',
            hint="split it where one value flows from trunk to head",
        )


BATCH, LENGTH = 97, 89
"""Sizes that features hardly ever have, so that a shape shows which dimension is which."""


def _refuse_layout(trunk: Network, block: str, at: str) -> None:
    """Raise NNM704 if a trunk returns batch or sequence after features."""
    if not any(layer.operator.name == "transpose" for layer in trunk.layers):
        return
    names = {vertex.features[0].sequence: vertex.length or LENGTH for vertex in trunk.inputs}
    lengths = {name: length for name, length in names.items() if name is not None}
    delivered = lower_network(trunk, batch=BATCH, sequence=lengths).outputs[block].shape
    (output,) = [output for output in trunk.outputs if output.name == block]
    sizes = output.source.features.sizes()
    if delivered[0] != BATCH or delivered[len(delivered) - len(sizes) :] != sizes:
        raise DataError(
            "NNM704",
            f'what flows into "{at}" has batch or sequence after a feature, which no input has',
            hint="split it before that transpose, or after the one that undoes it",
        )


def _port(block: str, direction: str, cut: LayerVertex) -> Port:
    """Return the statement that declares the value at a cut."""
    features = cut.features[0]
    dtype = result_type(Source(cut))
    options: tuple[Option, ...] = ()
    if features.sequence is not None and direction == "input":
        options = (Option("sequence", Reference((features.sequence,))),)
    return Port(
        block=block,
        direction=direction,
        dtype=dtype if dtype != "float32" and direction == "input" else None,
        shape=shape_value(features),
        options=options,
    )


def _statements(
    network: Network,
    cut: Cut,
    layers: Collection[int],
    roots: Collection[str],
    port: Port | None,
    *,
    of_trunk: bool = True,
) -> Iterator[AnyStatement]:
    """Yield the statements of one side: its root blocks and what these use."""
    layers_of_side = [layer for layer in network.layers if id(layer) in layers]
    macros = {name for layer in layers_of_side for name in (*layer.chain[1:], layer.operator.name)}
    vertices = (source.vertex for layer in layers_of_side for source in layer.sources())
    used = {vertex.name for vertex in vertices if isinstance(vertex, ParameterVertex)}
    pending_port = port
    for statement in network.outline.document.statements:
        block = statement.block if isinstance(statement, BlockStatement) else ""
        if isinstance(statement, Parameters):
            used_parameters = [p for p in statement.parameters if _is_used(p.name, used)]
            if used_parameters:
                yield replace(statement, parameters=tuple(used_parameters))
        elif isinstance(statement, (GlobalConstant, Constants)):
            yield statement
        elif block == cut.block:
            if pending_port is not None and not (of_trunk and isinstance(statement, Name)):
                if of_trunk and isinstance(statement, Port) and statement.direction == "input":
                    yield statement
                    yield pending_port
                    pending_port = None
                    continue
                yield pending_port
                pending_port = None
            yield from _of_cut_block(statement, cut, of_trunk, port is not None)
        elif block in roots or block in macros:
            yield statement


def _of_cut_block(
    statement: AnyStatement, cut: Cut, of_trunk: bool, new_port: bool
) -> Iterator[AnyStatement]:
    """Yield what one side keeps of a statement in the block that is cut."""
    if isinstance(statement, Layers):
        mark = cut.position
        layers = statement.layers[:mark] if of_trunk else statement.layers[mark + 1 :]
        if layers:
            yield replace(statement, layers=layers)
    elif isinstance(statement, Port):
        entering = statement.direction == "input"
        if entering == of_trunk or (of_trunk and not new_port):
            yield statement
    elif isinstance(statement, (Loss, LossParameter)):
        if not of_trunk or not new_port:
            yield statement
    else:
        yield statement


def _is_used(declared: str, used: Collection[str]) -> bool:
    """Return whether a declared parameter is in use; its copies are called name2, name3, …"""
    return any(n == declared or n.removeprefix(declared).isdecimal() for n in used)


def _reparse(document: Document, statements: Iterator[AnyStatement]) -> Document:
    return reparse(Document(document.version, tuple(statements), files=document.files))


def reparse(document: Document) -> Document:
    """Return an assembled document with places in its own text and its own files."""
    names_of_files = {s.file for s in document.statements if isinstance(s, ModelFile)}
    files = {name: file for name, file in document.files.items() if name in names_of_files}
    return replace(parse(format_document(document)), files=files)


def shape_value(features: Features) -> ShapeValue:
    """Return features as they are written in a declaration."""
    sizes = features.sizes()
    names = features.names
    if len(sizes) > 1 and all(names):
        return NamedShape(
            tuple(Dimension(str(n), Number(k)) for n, k in zip(names, sizes, strict=True))
        )
    return Items(tuple(Number(size) for size in sizes))
