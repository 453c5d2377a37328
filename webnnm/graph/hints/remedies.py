"""Hints for layers and shapes that newcomers write: how they are written in the notation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from webnnm.core.errors import ModelError, Span
from webnnm.core.naming import camel_case
from webnnm.core.shapes import MAX_DIMENSION, show
from webnnm.core.spelling import normalize_name
from webnnm.graph.elaboration.outline import Outline
from webnnm.graph.elaboration.vertices import (
    InputVertex,
    LayerVertex,
    LiteralVertex,
    Output,
    Source,
    Vertex,
)
from webnnm.graph.hints.foreign_layers import LAYERS
from webnnm.graph.hints.foreign_words import BATCH_WORDS
from webnnm.notation.numerals import write_number
from webnnm.notation.syntax import Items, Layer, Number, Reference, Text, Value
from webnnm.ops.declare.features import Features
from webnnm.ops.declare.layer import LayerRules

SIZED = ("weight", "table")
"""Roles of parameters that decide the shape of the result, so that `shape=` may set it."""


def usage(operator: str, rules: LayerRules, operands: Sequence[Value]) -> str:
    """Return how to write a layer whose operands are missing, or numbers that should be options.

    >>> from webnnm import ops
    >>> usage("maxPool2d", ops.registry()["maxPool2d"].layer, [Number(2)])
    'write maxPool2d(windowDimensions=2)'
    >>> usage("conv2d", ops.registry()["conv2d"].layer, [])
    'write conv2d(filter, …): a new name declares a parameter'
    """
    slots = [slot for slot in rules.slots if not slot.option]
    parts = [slot.name if len(slot.name) > 1 else "w" for slot in slots]
    if not operands and any(slot.parameter for slot in slots):
        return f"write {operator}({', '.join(parts)}, …): a new name declares a parameter"
    numbers = [value for value in operands if isinstance(value, Number)]
    if len(numbers) < len(operands) or not numbers:
        return ""
    if "dense" in LAYERS.get(normalize_name(operator), ""):
        return LAYERS[normalize_name(operator)]
    number_list = Items(tuple(numbers))
    for option in rules.options.values():
        if option.operand and len(numbers) > 1 and _reads(option.read, number_list):
            return f"write {operator}([{', '.join(write_number(n.value) for n in numbers)}])"
    free = list(rules.options.items())
    for value in numbers:
        text = write_number(value.value)
        name_and_option = next((pair for pair in free if _reads(pair[1].read, value)), None)
        if name_and_option is not None:
            free = free[free.index(name_and_option) + 1 :]
            parts.append(f"{camel_case(name_and_option[0])}={text}")
        elif any(slot.parameter in SIZED for slot in slots):
            parts.append(f"shape=[{text}]")
        else:
            return ""
    return f"write {operator}({', '.join(parts)})"


def _reads(read: Callable[[Value], object], value: Value) -> bool:
    try:
        read(value)
    except ValueError:
        return False
    return True


def hint_list_of_operands(layer: Layer, previous: object) -> str:
    """Return how to join the previous result and the only operand of a list."""
    operands = layer.operands[0]
    assert isinstance(operands, Items)
    other = str(operands.items[0])
    before = previous.vertex if isinstance(previous, Source) else None
    own_name = before.name if isinstance(before, LayerVertex) else ""
    other = "y" if other in (own_name or "input", "input") else other
    rest = "".join(f", {option.name}=…" for option in layer.options)
    call = f"{layer.operator}([{{}}, {other}]{rest})"
    if isinstance(before, LayerVertex) and before.name:
        return f"a list holds all operands: write {call.format(before.name)}"
    if isinstance(before, InputVertex):
        return f"a list holds all operands: write {call.format('input')}"
    return f"a list holds all operands: write name=x in the layer before, and {call.format('x')}"


def shape_remedy(vertex: LayerVertex) -> str:
    """Return what may help if the shapes of a layer do not fit, "" if nothing is obvious."""
    literals = [s.vertex for s in vertex.operands[1:] if isinstance(s.vertex, LiteralVertex)]
    numbers = [Number(v.data) for v in literals if isinstance(v.data, (int, float))]
    if numbers and any(slot.parameter in SIZED for slot in vertex.rules.slots if not slot.option):
        return usage(vertex.operator.name, vertex.rules, numbers)
    features = vertex.operands[0].features if vertex.operands else None
    if features is None or features.dims is None or len(features.dims) != 3 or any(features.names):
        return ""
    height, width, channels = features.dims
    spatial = {"input_layout", "layout"} & vertex.rules.options.keys()
    if spatial and height and width and channels and channels <= 4 < min(height, width):
        named_shape = f"{{height:{height}, width:{width}, channels:{channels}}}"
        return f"channels come first if dimensions have no names: write shape={named_shape}"
    return ""


def output_remedy(output: Output, declared: Sequence[int], source: str) -> str:
    """Return which layer decides the shape of an output that was declared otherwise."""
    vertex: Vertex = output.source.vertex
    features: Features = output.source.features
    while isinstance(vertex, LayerVertex) and vertex.shape is None and vertex.operands:
        before = vertex.operands[0]
        if before.features.dims != features.dims:
            break
        vertex = before.vertex
    if not isinstance(vertex, LayerVertex):
        return "the flow still has the shape of the input: matmul(w) changes it"
    line, _ = vertex.span.position(source)
    layer = f'"{vertex.label}" in line {line}'
    if features.dims is not None and len(features.dims) > len(declared):
        return f"{layer} keeps {len(features.dims)} dimensions: write flatten() before it"
    if vertex.shape is not None:
        return f"{layer} has that shape: write shape={show(declared)} there, or leave it out"
    return f"{layer} decides the shape"


def bad_size(outline: Outline, size: Any, span: Span) -> ModelError:
    """Return NNM109, the error of an invalid size in a declared shape."""
    if isinstance(size, (Reference, Text)):
        if isinstance(size, Text):
            message, hint = "not a size", _BOUND
        else:
            message = f'"{size}" is not bound to a size'
            hint = _NO_BATCH if normalize_name(str(size)) in BATCH_WORDS else _BOUND
        return outline.error("NNM109", message, size.span, hint)
    error_span = size.span if size is not None else span
    return outline.error("NNM109", f"dimension must be 1 … {MAX_DIMENSION}", error_span)


_BOUND = "sizes in a macro are bound by the call; those of its parameters need shared=false"
_NO_BATCH = "leave the batch out: shapes are those of one row, as in shape=[4]"
