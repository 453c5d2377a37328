"""Join the texts of two models: a head takes the output of a trunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from webnnm.core.errors import DataError, ModelError
from webnnm.core.shapes import show
from webnnm.editing.splitting import reparse, shape_value
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


def join_documents(
    trunk: Document, head: Document, *, freeze: bool = False, keep_output: bool = False
) -> Document:
    """Return the model that applies a head to the output of a trunk.

    >>> from webnnm.notation import parse
    >>> from webnnm.notation.formatter import format_document
    >>> trunk = parse("base:input shape=[4]; base:output shape=[8]; base:layers matmul(w);")
    >>> head = parse("kind:input shape=[8]; kind:output shape=[3]; kind:layers relu(), matmul(w);")
    >>> print(format_document(join_documents(trunk, head)), end="")
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
    output, input_vertex = link(elaborate(trunk), elaborate(head))
    _check_types(output, input_vertex)
    one_block = output.name == input_vertex.block
    if not one_block and not _has_layers(head, input_vertex.block):
        raise DataError(
            "NNM710",
            f'block "{input_vertex.block}" of the head is only an input',
            hint=f'call it "{output.name}", like the output of the trunk',
        )
    with_output = one_block and _has_port(head, input_vertex.block, "output")
    if keep_output and with_output:
        raise DataError(
            "NNM704",
            f'trunk and head both have an output "{output.name}", and only one can be kept',
            hint="give the block of the head another name",
        )
    keeps = keep_output or not (with_output or _has_port(trunk, output.name, "input"))
    kept = list(_of_trunk(trunk, output, freeze, keeps))
    first = link_layers(head, output, input_vertex)
    added = _of_head(head, input_vertex, first)
    statements = _merge(kept, list(added), output.name if one_block else None)
    version = trunk.version or head.version
    return reparse(Document(version, tuple(statements), files=_files(trunk, head)))


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


def link_layers(head: Document, output: Output, input_vertex: InputVertex) -> tuple[Layer, ...]:
    """Return the layers between a trunk and a head, which are usually none."""
    node: list[Option] = []
    if output.name != input_vertex.block:
        node.append(Option("node", Reference((output.name,))))
    shape = Option("shape", shape_value(input_vertex.features[0]))
    layers: list[Layer] = []
    if result_type(output.source) != input_vertex.dtype:
        layers.append(Layer("cast", (Reference((input_vertex.dtype,)),), tuple(node)))
        node = []
    has_other_names = output.source.features.names != input_vertex.features[0].names
    if _entering(head, input_vertex.block):
        name = Option("name", Reference((ENTERING,)))
        layers.append(Layer("identity", options=(*node, shape, name)))
    elif node or has_other_names:
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


def _check_types(output: Output, input_vertex: InputVertex) -> None:
    features, expected = output.source.features, input_vertex.features[0]
    sizes = tuple(features.sizes()[axis] for axis in output.order)
    same = sizes == expected.sizes() and output.dtype == input_vertex.dtype
    if not same or (features.sequence is None) != (expected.sequence is None):
        along = [f' along "{f.sequence}"' if f.sequence else "" for f in (features, expected)]
        raise DataError(
            "NNM702",
            f'output "{output.name}" of the trunk is {output.dtype}{show(sizes)}{along[0]}, '
            f'input "{input_vertex.block}" of the head is '
            f"{input_vertex.dtype}{show(expected.sizes())}{along[1]}",
            hint="the two have to be the same",
        )
    if output.order != tuple(range(len(sizes))):
        raise DataError(
            "NNM702",
            f'output "{output.name}" of the trunk declares its dimensions in another order',
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
        _rewrite(statement, look_within if own else look)
    return any(seen)


def _rewrite(value: Any, rule: Callable[[Any], Any]) -> Any:
    """Return a tree with `rule` applied to all of its nodes, inner ones first."""
    if isinstance(value, tuple):
        items: tuple[Any, ...] = value
        return tuple(_rewrite(item, rule) for item in items)
    if not isinstance(value, Syntax):
        return value
    inner = {f.name: _rewrite(getattr(value, f.name), rule) for f in fields(value)}
    return rule(replace(value, **inner))


def _of_trunk(trunk: Document, output: Output, freeze: bool, keeps: bool) -> Iterator[AnyStatement]:
    """Yield the statements of a trunk whose output flows into a head."""
    roots = [block.name for block in elaborate(trunk).outline.roots]
    for statement in trunk.statements:
        is_output_block = isinstance(statement, BlockStatement) and statement.block == output.name
        if is_output_block and not keeps and isinstance(statement, (Loss, LossParameter)):
            continue
        if (
            is_output_block
            and not keeps
            and isinstance(statement, Port)
            and statement.direction == "output"
        ):
            continue
        if isinstance(statement, Layers):
            layers = statement.layers
            if (
                is_output_block
            ):  # the last layer's shape may have been inferred from the declared one
                layers = (*layers[:-1], _add_shape(layers[-1], output.source.features))
            if freeze and statement.block in roots:
                layers = tuple(map(_freeze, layers))
            statement = replace(statement, layers=layers)
        elif freeze and isinstance(statement, Parameters):
            declared = tuple(_freeze(parameter) for parameter in statement.parameters)
            statement = replace(statement, parameters=declared)
        yield statement


def _add_shape(layer: Layer, features: Features) -> Layer:
    if any(layer.option(name) for name in ("shape", "shapes")):
        return layer
    return replace(layer, options=(*layer.options, Option("shape", shape_value(features))))


def _freeze(thing: Any) -> Any:
    if any(o.name == "trainable" and str(o.value) == "false" for o in thing.options):
        return thing
    options = tuple(o for o in thing.options if o.name != "lrm")
    return replace(thing, options=(*options, Option("lrm", Number(0))))


def _of_head(
    head: Document, input_vertex: InputVertex, first: tuple[Layer, ...]
) -> Iterator[AnyStatement]:
    """Yield the statements of a head that takes the output of a trunk."""

    def rename_port(node: Any) -> Any:
        return Reference((ENTERING,)) if node == Reference((input_vertex.block,), "input") else node

    def rename_input(node: Any) -> Any:
        return Reference((ENTERING,)) if node == Reference(("input",)) else rename_port(node)

    for statement in head.statements:
        is_input_block = (
            isinstance(statement, BlockStatement) and statement.block == input_vertex.block
        )
        if is_input_block and isinstance(statement, Port) and statement.direction == "input":
            continue
        if is_input_block and isinstance(statement, Layers):
            layers = _rewrite(statement.layers, rename_input)
            yield replace(statement, layers=(*first, *layers))
        else:
            yield _rewrite(statement, rename_port)


def _merge(
    trunk: list[AnyStatement], head: list[AnyStatement], merged_block: str | None
) -> list[AnyStatement]:
    """Return the statements of both; those of `merged_block` are merged into one block."""
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
        if block == merged_block and isinstance(statement, Name):
            continue
        if block == merged_block and isinstance(statement, Layers):
            index = next(
                k for k, s in enumerate(result) if isinstance(s, Layers) and s.block == merged_block
            )
            before = result[index]
            assert isinstance(before, Layers)
            result[index] = replace(before, layers=(*before.layers, *statement.layers))
        elif isinstance(statement, Layers) and statement in trunk:
            continue  # a block that both call
        else:
            if (
                block in blocks
                and block != merged_block
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
    outline = collect_outline(document)
    yield from (*outline.blocks, *outline.constants, *outline.parameters)
    for block in outline.blocks.values():
        for layer in block.layers.layers if block.layers else ():
            name = layer.option("name")
            if name is not None and isinstance(name.value, Reference):
                yield str(name.value)


def _words(document: Document) -> set[str]:
    names: set[str] = set()

    def look(node: Any) -> Any:
        if isinstance(node, Reference) and node.word is not None:
            names.add(node.word)
        return node

    for statement in document.statements:
        _rewrite(statement, look)
    return names
