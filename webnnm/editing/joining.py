"""Join the texts of two models: a head takes the output of a trunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from webnnm.core.errors import DataError, ModelError
from webnnm.core.shapes import show
from webnnm.editing.splitting import reparsed, shape_value
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.outline import collect_outline
from webnnm.graph.elaboration.vertices import InputVertex, Network, Output, result_type
from webnnm.notation.syntax import (
    AnyStatement,
    BlockStatement,
    Document,
    Layer,
    Layers,
    Loss,
    LossParameter,
    ModelFile,
    Name,
    Number,
    Option,
    Parameters,
    Port,
    Reference,
    Syntax,
)
from webnnm.ops.declare.features import Features


def joined_document(
    trunk: Document, head: Document, *, freeze: bool = False, keep_output: bool = False
) -> Document:
    """Return the model that applies a head to the output of a trunk.

    >>> from webnnm.notation import parse
    >>> from webnnm.notation.formatter import format_document
    >>> trunk = parse("base:input shape=[4]; base:output shape=[8]; base:layers matmul(w);")
    >>> head = parse("kind:input shape=[8]; kind:output shape=[3]; kind:layers relu(), matmul(w);")
    >>> print(format_document(joined_document(trunk, head)), end="")
    base:input shape=[4];
    base:layers
      matmul(w, shape=[8]);
    kind:output shape=[3];
    kind:layers
      identity(node=base, shape=[8]),
      relu(),
      matmul(w);

    An input of the head takes the output of the trunk that has its name; if there is only one of
    each, these are connected. Blocks of the same name become one block. `freeze` gives the layers
    of the trunk `lrm=0`; `keep_output` keeps the output of the trunk an output, which it also
    remains if nothing else makes its block a root block.

    Raises `DataError` NNM710 if no output fits an input by name, NNM702 if they differ in type or
    shape, and `ModelError` NNM206 for other names that both texts have.
    """
    given, taken = link(elaborate(trunk), elaborate(head))
    _check_types(given, taken)
    one_block = given.name == taken.block
    if not one_block and not _has_layers(head, taken.block):
        raise DataError(
            "NNM710",
            f'block "{taken.block}" of the head is only an input',
            hint=f'call it "{given.name}", like the output of the trunk',
        )
    with_output = one_block and _has_port(head, taken.block, "output")
    if keep_output and with_output:
        raise DataError(
            "NNM704",
            f'trunk and head both have an output "{given.name}", and only one can be kept',
            hint="give the block of the head another name",
        )
    keeps = keep_output or not (with_output or _has_port(trunk, given.name, "input"))
    kept = list(_of_trunk(trunk, given, freeze, keeps))
    first = link_layers(head, given, taken)
    added = _of_head(head, taken, first)
    statements = _merged(kept, list(added), given.name if one_block else None)
    version = trunk.version or head.version
    return reparsed(Document(version, tuple(statements), files=_files(trunk, head)))


def _files(trunk: Document, head: Document) -> Mapping[str, Any]:
    """Return the files of both. Raises NNM206 if one name refers to different files."""
    for name in trunk.files.keys() & head.files.keys():
        if trunk.files[name] is not head.files[name]:
            raise ModelError(
                "NNM206",
                f'trunk and head each have a file "{name}"',
                hint="give one of them another name",
            )
    return {**trunk.files, **head.files}


def link_layers(head: Document, given: Output, taken: InputVertex) -> tuple[Layer, ...]:
    """Return the layers between a trunk and a head, which are usually none."""
    node: list[Option] = []
    if given.name != taken.block:
        node.append(Option("node", Reference((given.name,))))
    shape = Option("shape", shape_value(taken.features[0]))
    layers: list[Layer] = []
    if result_type(given.source) != taken.dtype:
        layers.append(Layer("cast", (Reference((taken.dtype,)),), tuple(node)))
        node = []
    renamed = given.source.features.names != taken.features[0].names
    if _entering(head, taken.block):
        name = Option("name", Reference((ENTERING,)))
        layers.append(Layer("identity", options=(*node, shape, name)))
    elif node or renamed:
        layers.append(Layer("identity", options=(*node, shape)))
    return tuple(layers)


def _has_port(document: Document, block: str, direction: str) -> bool:
    ports = [s for s in document.statements if isinstance(s, Port) and s.block == block]
    return any(port.direction == direction for port in ports)


def _has_layers(head: Document, block: str) -> bool:
    return any(isinstance(s, Layers) and s.block == block for s in head.statements)


ENTERING = "entering"
"""The name of the trunk's output if the head refers to its input."""


def link(trunk: Network, head: Network) -> tuple[Output, InputVertex]:
    """Return the output of a trunk and the input of a head that takes it (NNM710 if none does)."""
    outputs = {output.name: output for output in trunk.outputs}
    named = [vertex for vertex in head.inputs if vertex.block in outputs]
    if len(named) == 1:
        return outputs[named[0].block], named[0]
    if len(trunk.outputs) == 1 == len(head.inputs):
        return trunk.outputs[0], head.inputs[0]
    raise DataError(
        "NNM710",
        f"the trunk has the outputs {', '.join(outputs)}, but the head has the inputs "
        f"{', '.join(vertex.block for vertex in head.inputs)}",
        hint="name the input of the head after the output of the trunk that it takes",
    )


def _check_types(given: Output, taken: InputVertex) -> None:
    features, wanted = given.source.features, taken.features[0]
    sizes = tuple(features.sizes()[axis] for axis in given.order)
    same = sizes == wanted.sizes() and given.dtype == taken.dtype
    if not same or (features.sequence is None) != (wanted.sequence is None):
        along = [f' along "{f.sequence}"' if f.sequence else "" for f in (features, wanted)]
        raise DataError(
            "NNM702",
            f'output "{given.name}" of the trunk is {given.dtype}{show(sizes)}{along[0]}, '
            f'input "{taken.block}" of the head is {taken.dtype}{show(wanted.sizes())}{along[1]}',
            hint="the two have to be the same",
        )
    if given.order != tuple(range(len(sizes))):
        raise DataError(
            "NNM702",
            f'output "{given.name}" of the trunk declares its dimensions in another order',
            hint="declare them in the order in which the last layer returns them",
        )


def _entering(head: Document, block: str) -> bool:
    """Return whether a head refers to its input by name: `input` in its block, or `block:input`."""
    seen: list[bool] = []

    def look(node: Any) -> Any:
        seen.append(node == Reference((block,), "input"))  # pyrefly: ignore[unknown-argument-type]
        return node

    def look_within(node: Any) -> Any:
        seen.append(node == Reference(("input",)))  # pyrefly: ignore[unknown-argument-type]
        return look(node)

    for statement in head.statements:
        own = isinstance(statement, Layers) and statement.block == block
        _rewritten(statement, look_within if own else look)
    return any(seen)


def _rewritten(value: Any, rule: Callable[[Any], Any]) -> Any:
    """Return a tree with `rule` applied to all of its nodes, inner ones first."""
    if isinstance(value, tuple):
        items: tuple[Any, ...] = value
        return tuple(_rewritten(item, rule) for item in items)
    if not isinstance(value, Syntax):
        return value
    inner = {f.name: _rewritten(getattr(value, f.name), rule) for f in fields(value)}
    return rule(replace(value, **inner))


def _of_trunk(trunk: Document, given: Output, freeze: bool, keeps: bool) -> Iterator[AnyStatement]:
    """Yield the statements of a trunk whose output flows into a head."""
    roots = [block.name for block in elaborate(trunk).outline.roots]
    for statement in trunk.statements:
        own = isinstance(statement, BlockStatement) and statement.block == given.name
        if own and not keeps and isinstance(statement, (Loss, LossParameter)):
            continue
        if own and not keeps and isinstance(statement, Port) and statement.direction == "output":
            continue
        if isinstance(statement, Layers):
            layers = statement.layers
            if own:  # the last layer's shape may have been inferred from the declared one
                layers = (*layers[:-1], _shaped(layers[-1], given.source.features))
            if freeze and statement.block in roots:
                layers = tuple(map(_frozen, layers))
            statement = replace(statement, layers=layers)
        elif freeze and isinstance(statement, Parameters):
            declared = tuple(_frozen(each) for each in statement.parameters)
            statement = replace(statement, parameters=declared)
        yield statement


def _shaped(layer: Layer, features: Features) -> Layer:
    if any(layer.option(name) for name in ("shape", "shapes")):
        return layer
    return replace(layer, options=(*layer.options, Option("shape", shape_value(features))))


def _frozen(thing: Any) -> Any:
    if any(o.name == "trainable" and str(o.value) == "false" for o in thing.options):
        return thing
    options = tuple(o for o in thing.options if o.name != "lrm")
    return replace(thing, options=(*options, Option("lrm", Number(0))))


def _of_head(
    head: Document, taken: InputVertex, first: tuple[Layer, ...]
) -> Iterator[AnyStatement]:
    """Yield the statements of a head that takes the output of a trunk."""

    def named(node: Any) -> Any:
        return Reference((ENTERING,)) if node == Reference((taken.block,), "input") else node

    def entering(node: Any) -> Any:
        return Reference((ENTERING,)) if node == Reference(("input",)) else named(node)

    for statement in head.statements:
        own = isinstance(statement, BlockStatement) and statement.block == taken.block
        if own and isinstance(statement, Port) and statement.direction == "input":
            continue
        if own and isinstance(statement, Layers):
            layers = _rewritten(statement.layers, entering)
            yield replace(statement, layers=(*first, *layers))
        else:
            yield _rewritten(statement, named)


def _merged(
    trunk: list[AnyStatement], head: list[AnyStatement], one: str | None
) -> list[AnyStatement]:
    """Return the statements of both; those of the block `one` are merged into one block."""
    result = list(trunk)
    blocks = {s.block for s in trunk if isinstance(s, BlockStatement)}
    declared = {p.name for s in trunk if isinstance(s, Parameters) for p in s.parameters}
    for statement in head:
        if isinstance(statement, Parameters):
            twice = [p.name for p in statement.parameters if p.name in declared]
            if twice:
                raise ModelError(
                    "NNM206",
                    f'trunk and head both declare a parameter "{twice[0]}"',
                    hint="call one of them by another name",
                )
        elif statement in trunk and not isinstance(statement, (Layers, Port)):
            continue
        block = statement.block if isinstance(statement, BlockStatement) else ""
        if block == one and isinstance(statement, Name):
            continue
        if block == one and isinstance(statement, Layers):
            place = next(
                k for k, s in enumerate(result) if isinstance(s, Layers) and s.block == one
            )
            before = result[place]
            assert isinstance(before, Layers)
            result[place] = replace(before, layers=(*before.layers, *statement.layers))
        elif isinstance(statement, Layers) and statement in trunk:
            continue  # a block that both call
        else:
            if (
                block in blocks
                and block != one
                and isinstance(statement, (Layers, ModelFile, Port))
            ):
                raise ModelError(
                    "NNM206",
                    f'trunk and head both have a block "{block}", but the two differ',
                    hint="call one of them by another name",
                )
            result.append(statement)
    return result


def clashes(trunk: Document, head: Document) -> list[str]:
    """Return the names that one text defines and the other uses without defining them."""
    names = [set(_names(document)) for document in (trunk, head)]
    words = [_words(document) for document in (trunk, head)]
    return sorted((words[0] & names[1] - names[0]) | (words[1] & names[0] - names[1]))


def _names(document: Document) -> Iterator[str]:
    found = collect_outline(document)
    yield from (*found.blocks, *found.constants, *found.parameters)
    for block in found.blocks.values():
        for layer in block.layers.layers if block.layers else ():
            name = layer.option("name")
            if name is not None and isinstance(name.value, Reference):
                yield str(name.value)


def _words(document: Document) -> set[str]:
    found: set[str] = set()

    def look(node: Any) -> Any:
        if isinstance(node, Reference) and node.word is not None:
            found.add(node.word)
        return node

    for statement in document.statements:
        _rewritten(statement, look)
    return found
