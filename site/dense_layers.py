"""A network as columns of units, and edits of its text that change them. Knows no page.

Only plain stacks of dense layers have columns: each layer takes the results of the one before it.
"""

import re
from dataclasses import replace
from typing import NamedTuple

from webnnm import parse
from webnnm.core.errors import Edit
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.outline import Block
from webnnm.graph.elaboration.vertices import LayerVertex, Output, ParameterVertex, Source
from webnnm.notation.lexer import tokenize
from webnnm.notation.syntax import Items, Layers, Number

MAX_COLUMNS = 8
"""Layers of a network that still fits beside its text."""
NEW_UNITS, NEW_ACTIVATION = 4, "tanh"
"""The first hidden layer of a network that has none."""
BLANK = re.compile(r"\s*")
INPUT = re.compile(r"(:input\b[^;]*?shape=\[)\d+(\])")
"""The size of an input, also in a text that is wrong elsewhere."""
OUTPUT = re.compile(r"(:output\b[^;]*?shape=\[)\d+(\])")
"""That of an output."""


class UneditableError(ValueError):
    """An edit that cannot be made in this text; the message says why."""


class Column(NamedTuple):
    """A dense layer.

    - `units`: the number of its units.
    - `result`: the last layer of the network that belongs to it, which has their activations.
    - `weights`, `bias`: the names of the parameters; `bias` is None if there is none.
    - `is_transposed`: whether weights have a row for each unit, not a column.
    - `activation`: the operator after the product and the bias, "linear" if there is none.
    - `start`: the offset of the call that writes it, None if it is not one call of a block.
    """

    units: int
    result: LayerVertex
    weights: str
    bias: str | None
    is_transposed: bool
    activation: str
    start: int | None


class Call(NamedTuple):
    """A call in the text: `syntax`, its tokens with their offsets, and where it begins and ends."""

    syntax: object
    tokens: list
    start: int
    end: int


def find_columns(network):
    """Return the dense layers of a network, or None if it is not a plain stack of them."""
    if len(network.inputs) != 1 or len(network.outputs) != 1:
        return None
    (previous,) = network.inputs
    if previous.features[0].sequence or len(previous.features[0].sizes()) != 1:
        return None
    columns = []
    for layer in network.order:
        if not layer.operands:
            return None
        flow, *others = [*layer.operands, *layer.tensors.values()]
        parameters = [source.vertex for source in others]
        sizes = layer.features[0].sizes()
        # A second operand that is computed makes a branch.
        if flow.vertex is not previous or len(sizes) != 1:
            return None
        if any(
            isinstance(vertex, LayerVertex) or vertex in network.inputs for vertex in parameters
        ):
            return None
        if layer.has("product"):
            column = _begin_column(layer, parameters, previous.features[0].sizes()[0])
            if column is None:
                return None
            columns.append(column)
        elif not columns or sizes != previous.features[0].sizes():
            return None
        else:
            columns[-1] = _extend_column(columns[-1], layer, parameters)
        previous = layer
    if not columns or len(columns) > MAX_COLUMNS:
        return None
    if network.outputs[0].source.vertex is not previous:
        return None
    starts = [column.start for column in columns]
    # One call with several products, or copies of one, is not the text of one column.
    return [
        column._replace(start=None) if starts.count(column.start) > 1 else column
        for column in columns
    ]


def _begin_column(layer, parameters, inputs):
    """Return the column of a product, None if it does not multiply by a matrix of weights."""
    weights = parameters[0] if parameters else None
    if not isinstance(weights, ParameterVertex):
        return None
    (units,) = layer.features[0].sizes()
    is_transposed = bool(layer.options.get("b_transpose"))
    if weights.features[0].sizes() != ((units, inputs) if is_transposed else (inputs, units)):
        return None
    start = layer.calls[0].span.start if layer.calls else None
    bias = next((vertex.name for vertex in parameters[1:]), None)
    return Column(units, layer, weights.name, bias, is_transposed, "linear", start)


def _extend_column(column, layer, parameters):
    """Return a column with one more layer, such as the bias or the activation."""
    column = column._replace(result=layer)
    names = [vertex.name for vertex in parameters if isinstance(vertex, ParameterVertex)]
    if layer.has("additive") and names and column.bias is None:
        return column._replace(bias=names[0])
    if layer.has("activation", "probabilistic"):
        return column._replace(activation=layer.operator.name)
    return column


def expose_columns(network, columns):
    """Return a network whose outputs are the results of the columns, named by their numbers."""
    outputs = [
        Output(Block(str(number)), Source(column.result), order=(0,))
        for number, column in enumerate(columns)
    ]
    return replace(network, outputs=outputs)


# Edits of the text.


def set_units(text, number, units):
    """Return the text with so many units in a column.

    >>> text = "m:input shape=[2]; m:layers d(shape=[8]); m:output shape=[1];"
    >>> text += "d:layers matmul(w);"
    >>> text = text.replace("d(shape=[8])", "d(shape=[8]), d(shape=[1])")
    >>> set_units(text, 0, 9).partition(";")[2][:35]
    ' m:layers d(shape=[9]), d(shape=[1]'
    """
    call = _call_of(_columns_of(text), number, text)
    return _edit(text, [Edit(*_size_of(call), str(units))])


def set_inputs(text, count):
    """Return the text of a model with so many inputs.

    >>> set_inputs("m:input shape=[2]; m:layers relu();", 3)
    'm:input shape=[3]; m:layers relu();'
    """
    return INPUT.sub(rf"\g<1>{count}\g<2>", text, count=1)


def set_output(text, units, activation):
    """Return the text of a model with so many outputs, and another activation of them.

    >>> text = "m:input shape=[2]; m:output shape=[2]; m:layers d(shape=[2], activation=softmax);"
    >>> set_output(text + "d:layers matmul(w), activation();", 1, "identity")[19:84]
    'm:output shape=[1]; m:layers d(shape=[1], activation=identity);d:'
    """
    columns = _columns_of(text)
    call = _call_of(columns, len(columns) - 1, text)
    option = call.syntax.option("activation")
    if option is None:
        raise UneditableError("the last layer does not say activation=… itself")
    span = option.value.span
    edits = [Edit(*_size_of(call), str(units)), Edit(span.start, span.end, activation)]
    return OUTPUT.sub(rf"\g<1>{units}\g<2>", _edit(text, edits), count=1)


def set_activation(text, activation):
    """Return the text with an activation for all hidden layers that name one.

    >>> text = "m:input shape=[2]; m:output shape=[1]; m:layers d(shape=[3], activation=relu), "
    >>> text += "d(shape=[1]); d:layers matmul(w), activation();"
    >>> set_activation(text, "tanh")[48:77]
    'd(shape=[3], activation=tanh)'
    """
    columns = _columns_of(text)
    calls = (_call_of(columns, n, text) for n, c in enumerate(columns[:-1]) if c.start is not None)
    options = [option for call in calls if (option := call.syntax.option("activation"))]
    if not options:
        raise UneditableError("no hidden layer says activation=… itself")
    spans = (option.value.span for option in options)
    return _edit(text, [Edit(span.start, span.end, activation) for span in spans])


def insert_layer(text, number):
    """Return the text with a hidden layer before a column.

    It is a copy of the hidden layer before it or after it, where there is one.
    """
    columns = _columns_of(text)
    call = _call_of(columns, number, text)
    gap = re.search(r"\s*\Z", text[: call.start])[0] or " "
    hidden = [n for n in (number - 1, number) if 0 <= n < len(columns) - 1]
    if hidden:
        written = _copy(_call_of(columns, hidden[0], text), text)
    else:
        if call.syntax.option("activation") is None:
            raise UneditableError("there is no hidden layer to copy: write the first one")
        written = _copy(call, text, units=NEW_UNITS, activation=NEW_ACTIVATION)
    return _edit(text, [Edit(call.start, call.start, f"{written},{gap}")])


def remove_layer(text, number):
    """Return the text without a hidden layer."""
    columns = _columns_of(text)
    if number >= len(columns) - 1:
        raise UneditableError("the last layer is the output")
    call = _call_of(columns, number, text)
    comma = next(
        start for kind, _, start in tokenize(text).tokens if kind == "," and start >= call.end
    )
    end = BLANK.match(text, comma + 1).end()
    return _edit(text, [Edit(call.start, end, "")])


def _columns_of(text):
    columns = find_columns(elaborate(parse(text)))
    if columns is None:
        raise UneditableError("the model is not a plain stack of dense layers")
    return columns


def _call_of(columns, number, text):
    """Return the call that writes a column."""
    start = columns[number].start
    for statement in parse(text).statements:
        if isinstance(statement, Layers):
            for syntax in statement.layers:
                if syntax.span.start == start:
                    return _read_call(syntax, text)
    raise UneditableError("this layer has no call of its own in the text")


def _read_call(syntax, text):
    tokens, depth = [], 0
    for token in tokenize(text).tokens:
        kind, _, start = token
        if start < syntax.span.start:
            continue
        tokens.append(token)
        depth += (kind in "([{") - (kind in ")]}")
        if kind == ")" and not depth:
            return Call(syntax, tokens, syntax.span.start, start + 1)
    raise AssertionError("a text that was parsed closes its parentheses")


def _size_of(call):
    """Return where the size in `shape=[8]` begins and ends."""
    option = call.syntax.option("shape")
    if option is not None and isinstance(option.value, Items) and len(option.value.items) == 1:
        (size,) = option.value.items
        if isinstance(size, Number):
            return size.span.start, size.span.end
    raise UneditableError("this layer does not say shape=[…] itself")


def _copy(call, text, units=None, activation=None):
    """Return the text of a call for another layer: without the name, which has to be unique."""
    edits = []
    if units is not None:
        edits.append(Edit(*_size_of(call), str(units)))
    option = call.syntax.option("activation")
    if activation is not None and option is not None:
        edits.append(Edit(option.value.span.start, option.value.span.end, activation))
    if call.syntax.option("name"):
        edits.append(_removal_of_name(call))
    written = _edit(text, edits)
    return written[call.start : call.end + len(written) - len(text)]


def _removal_of_name(call):
    """Return the edit that takes `name=…` out of a call, with one of the commas beside it."""
    start = call.syntax.option("name").span.start
    here = next(n for n, token in enumerate(call.tokens) if token[2] == start)
    after = call.tokens[here + 3]  # name, =, value
    before = call.tokens[here - 1]
    if after[0] == ",":
        return Edit(start, call.tokens[here + 4][2], "")
    return Edit(before[2] if before[0] == "," else start, after[2], "")


def _edit(text, edits):
    """Return a text with changes that do not overlap, each at its offsets in the text."""
    for edit in sorted(edits, reverse=True):
        text = edit.apply(text)
    return text
