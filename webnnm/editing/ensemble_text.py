"""Texts of ensembles: members with parameters of their own, whose mean the model returns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from webnnm.core.errors import DataError
from webnnm.editing.splitting import reparse, shape_value
from webnnm.graph.elaboration.outline import Block
from webnnm.graph.elaboration.vertices import LayerVertex, Network, ParameterVertex
from webnnm.notation.syntax import (
    AnyStatement,
    Declaration,
    Document,
    Items,
    Layer,
    Layers,
    Number,
    Option,
    Parameters,
    Reference,
)
from webnnm.ops.declare.features import Features

MEMBER = "member"
"""The block with the layers of one member; results are called member1, member2, …"""


@dataclass(frozen=True)
class EnsembleText:
    """The text of an ensemble.

    Attributes: `document`; `block`, the root block that averages the members; `count`, how many
    there are.
    """

    document: Document
    block: str
    count: int

    def of_member(self, number: int) -> Document:
        """Return the text in which the output is that of one member, counted from 1.

        Its parameters have the same names: all members are still there.
        """
        only = Layer("identity", options=(_make_option("node", f"{MEMBER}{number}"),))

        def select(statement: AnyStatement) -> AnyStatement:
            if not isinstance(statement, Layers) or statement.block != self.block:
                return statement
            members, head = statement.layers[: self.count], statement.layers[self.count + 2 :]
            return replace(statement, layers=(*members, only, *head))

        statements = tuple(map(select, self.document.statements))
        return reparse(replace(self.document, statements=statements))

    def parameters_of(self, number: int, network: Network, model: Network) -> dict[str, str]:
        """Return the names in a model of the parameters of one member, counted from 1.

        `network` is that of this text, `model` is like a member.
        """
        inner = [layer for layer in network.layers if layer.chain[1:2] == (MEMBER,)]
        size = len(inner) // self.count
        names: dict[str, str] = {}
        # What the model has after the layers of a member is the output activation.
        of_member = inner[(number - 1) * size : number * size]
        for own, layer in zip(of_member, model.layers, strict=False):
            for mine, source in zip(own.sources(), layer.sources(), strict=True):
                if isinstance(mine.vertex, ParameterVertex):
                    assert isinstance(source.vertex, ParameterVertex)
                    names[mine.vertex.name] = source.vertex.name
        return names


def write_ensemble(network: Network, members: int) -> EnsembleText:
    """Return the text of an ensemble of models like this one.

    >>> from webnnm.graph.elaboration.elaborate import elaborate
    >>> from webnnm.notation import parse
    >>> from webnnm.notation.formatter import format_document
    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"
    >>> print(format_document(write_ensemble(elaborate(parse(text)), 2).document), end="")
    m:input shape=[4];
    m:output shape=[3];
    m:layers
      member(node=input, name=member1, shape=[3]),
      member(node=input, name=member2, shape=[3]),
      add([member1, member2]),
      mul(0.5),
      softmax();
    member:layers
      matmul(w),
      add(b);

    The members become calls of one block, and parameters that they declare become their own.
    Softmax or sigmoid at the end is applied to the mean of the members' logits.

    Raises `DataError` NNM704 for models with layers in several blocks, for texts that use the name
    "member", for output activations within a block that the last layer calls, and for weights of
    files that are trained.
    """
    block = _find_block(network)
    assert block.layers is not None
    body, head = _divide(network, block.layers.layers)
    shape = _features_of_members(network, bool(head))
    start = "input" if block.input is not None else network.inputs[0].block
    options = Option("shape", shape_value(shape))
    calls = [
        Layer(MEMBER, (), (_make_option("node", start), _make_option("name", n), options))
        for n in _name_members(members)
    ]

    def rewrite(statement: AnyStatement) -> Iterator[AnyStatement]:
        if isinstance(statement, Layers) and statement.block == block.name:
            yield replace(statement, layers=(*calls, *_average(members), *head))
            yield Layers(block=MEMBER, layers=body)
        elif isinstance(statement, Parameters):
            yield replace(statement, parameters=tuple(map(_own, statement.parameters)))
        else:
            yield statement

    document = network.outline.document
    statements = [new for statement in document.statements for new in rewrite(statement)]
    return EnsembleText(
        reparse(replace(document, statements=tuple(statements))), block.name, members
    )


def read_ensemble(network: Network) -> EnsembleText | None:
    """Return the text of a network as that of an ensemble, None if it is not one."""
    for block in network.outline.roots:
        layers = block.layers.layers if block.layers else ()
        members = sum(layer.operator == MEMBER for layer in layers)
        if members and layers[members : members + 2] == _average(members):
            return EnsembleText(network.outline.document, block.name, members)
    return None


def _name_members(members: int) -> list[str]:
    return [f"{MEMBER}{number}" for number in range(1, members + 1)]


def _average(members: int) -> tuple[Layer, Layer]:
    """Return the layers that average the results of members."""
    results = Items(tuple(Reference((name,)) for name in _name_members(members)))
    return Layer("add", (results,)), Layer("mul", (Number(1 / members),))


def _find_block(network: Network) -> Block:
    """Return the only block with layers that is not a macro."""
    outline = network.outline
    blocks = [block for block in outline.roots if block.layers is not None]
    if len(blocks) != 1 or len(network.outputs) != 1:
        names = ", ".join(f'"{block.name}"' for block in blocks)
        raise DataError(
            "NNM704",
            f"an ensemble has one output and one block of layers; this model has {names}",
            hint="write all layers in the block of the output",
        )
    taken = {*outline.blocks, *outline.constants, *outline.parameters}
    if MEMBER in taken:
        raise DataError(
            "NNM704",
            f'the text has a "{MEMBER}" of its own, or is an ensemble already',
            hint="give it another name",
        )
    for vertex in network.parameters:
        if vertex.value is not None and vertex.trainable and vertex.lrm != 0:
            raise DataError(
                "NNM704",
                f'"{vertex.name}" starts with values of a file and is trained: calls share it',
                hint="freeze it with trainable=false",
            )
    return blocks[0]


def _divide(
    network: Network, layers: tuple[Layer, ...]
) -> tuple[tuple[Layer, ...], tuple[Layer, ...]]:
    """Return the layers of a member, and those that are applied to the mean: an activation.

    It is the last layer, or an option of the call that is the last layer, which then calls the
    identity instead.
    """
    *body, last = layers
    final = network.outputs[0].source.vertex
    if not isinstance(final, LayerVertex) or not final.has("probabilistic"):
        return layers, ()
    if len(final.chain) == 1:
        return tuple(body), (last,)
    options = [
        replace(option, value=Reference(("identity",)))
        if option.value == Reference((final.operator.name,))
        else option
        for option in last.options
    ]
    if tuple(options) == last.options:
        raise DataError(
            "NNM704",
            f'{final.label} ends the block "{last.operator}", which cannot be averaged before it',
            hint=f"write {final.operator.name}() as the last layer of the block of the output",
        )
    return (*body, replace(last, options=tuple(options))), (Layer(final.operator.name),)


def _features_of_members(network: Network, has_activation: bool) -> Features:
    """Return the shape of what each member computes."""
    source = network.outputs[0].source
    if has_activation:
        assert isinstance(source.vertex, LayerVertex)
        source = source.vertex.operands[0]
    return source.features


def _own(parameter: Declaration) -> Declaration:
    """Return a declared parameter of which every member has one of its own."""
    options = {option.name: option for option in parameter.options}
    trainable = options.get("trainable")
    if "shared" in options or (trainable is not None and str(trainable.value) == "false"):
        return parameter
    return replace(parameter, options=(*parameter.options, _make_option("shared", "false")))


def _make_option(name: str, value: str) -> Option:
    return Option(name, Reference((value,)))
