"""Declared tensors: inputs, outputs, parameters, constants."""

from __future__ import annotations

import math
from typing import NoReturn

from webnnm.core.dtypes import DataType, is_data_type
from webnnm.core.errors import Remedy, Span, suggestion
from webnnm.notation.cursor import Cursor
from webnnm.notation.lexer import COMPOUND, END, ERROR, STRING, WORD, unquote
from webnnm.notation.syntax import (
    NOWHERE,
    Constant,
    Declaration,
    Dimension,
    Items,
    NamedShape,
    Number,
    Option,
    Reference,
    ShapeValue,
    Text,
    Value,
)
from webnnm.notation.values import check_new_dimension, read_option, read_value
from webnnm.notation.words import is_number

MAX_DIMENSION = 2**31 - 1
_DIMENSION_RANGE = f"dimension must be 1 … {MAX_DIMENSION}"
RESERVED_DIMENSIONS = ("batch", "sequence")
TENSOR_OPTIONS = ("sequence", "init", "trainable", "lrm", "decay", "shared", "at")
"""Options after a shape or file; used to tell a missing `=` from a new statement."""

Tensor = tuple[DataType | None, Span, ShapeValue, tuple[Option, ...]]
"""Data type and its span, shape, options."""


def read_tensor(cursor: Cursor) -> Tensor:
    """Consume `[data type] shape=… [option …]` (`tensor` of the grammar)."""
    dtype, dtype_span = _tensor_type(cursor)
    if cursor.text != "shape" or not cursor.at(WORD):
        _fail_shape_keyword(cursor)
    if cursor.peek()[0] != "=":
        cursor.advance()
        cursor.fail("NNM108", f"expected '=' after \"shape\", found {cursor.describe_token()}")
    cursor.advance()
    cursor.advance()
    shape = read_declared_shape(cursor)
    return dtype, dtype_span, shape, _tensor_options(cursor)


def read_parameter(cursor: Cursor) -> Declaration:
    """Consume one entry of a `param` statement."""
    name, span = cursor.take_name("NNM115", "the name of a parameter")
    if cursor.at("="):
        hint = "options of a parameter are separated by spaces, parameters by commas"
        cursor.fail("NNM108", f'expected "shape=" after "{name}"', hint)
    dtype, dtype_span, shape, options = read_tensor(cursor)
    return Declaration(name, dtype, shape, options, dtype_span, span=span)


def read_file(cursor: Cursor) -> tuple[Text, tuple[Option, ...]]:
    """Consume `"file" [option …]`."""
    name, span = cursor.text, cursor.span
    if not cursor.at(STRING):
        hint = 'write backbone:source "net.onnx";'
        cursor.fail(
            "NNM103",
            f"expected the name of a file in quotes, found {cursor.describe_token()}",
            hint,
        )
    cursor.advance()
    return Text(unquote(name), span=span), _tensor_options(cursor)


def read_constant(cursor: Cursor) -> Constant:
    """Consume `name [data type] shape data`."""
    name, span = cursor.take_name("NNM115", "the name of a constant")
    blank = not cursor.touches_previous()
    dtype, dtype_span = _constant_type(cursor)
    if not cursor.at("[", "{"):
        hint = f"write {name} [] 0.5 for a number, {name} [2, 3] […] for an array"
        if cursor.text == "shape" and cursor.peek()[0] == "=":
            hint = 'the shape of a constant is written without "shape="'
        span_of_error = None if cursor.at(COMPOUND) else span
        cursor.fail("NNM115", f'constant "{name}" has no shape', hint, span_of_error)
    if not blank:
        cursor.fail("NNM102", f'expected a space after "{name}"')
    shape = read_declared_shape(cursor)
    start = cursor.span
    if cursor.at(";", ",", END):
        cursor.fail("NNM103", f'constant "{name}" has no values')
    data = read_value(cursor)
    if not isinstance(data, (Number, Items)):
        cursor.fail("NNM115", "expected a number or a list of numbers", span=start)
    _check_count(cursor, shape, data)
    return Constant(name, dtype, shape, data, dtype_span, span=span)


def read_declared_shape(cursor: Cursor) -> ShapeValue:
    """Consume the shape of a declaration: every size is a number, or a word that a macro binds."""
    if cursor.at("["):
        return _read_sizes(cursor)
    if cursor.at("{"):
        return _read_named_sizes(cursor)
    hint = ""
    if cursor.at(STRING):
        hint = "write the shape without quotes"
    elif cursor.at(WORD, "("):
        hint = "a single size is a list, too: shape=[4]"
        if cursor.at(WORD):
            hint = Remedy(hint, f"[{cursor.text}]", span=cursor.span)
    cursor.fail("NNM108", f"expected '[' or '{{', found {cursor.describe_token()}", hint)


def _read_sizes(cursor: Cursor) -> Items:
    start = cursor.open()
    sizes: list[Value] = []
    while not cursor.at("]"):
        sizes.append(_read_size(cursor))
        if not cursor.skip_comma():
            break
    hint = "named dimensions are written in { }" if cursor.at(":") else ""
    return Items(tuple(sizes), span=Span(start, cursor.close(hint)))


def _read_named_sizes(cursor: Cursor) -> NamedShape:
    start = cursor.open()
    dimensions: list[Dimension] = []
    names: set[str] = set()
    while not cursor.at("}"):
        name, span = cursor.take_name("NNM108", "the name of a dimension or '}'")
        if name in RESERVED_DIMENSIONS:
            hint = "batch and sequence lengths never appear in shapes; see sequence="
            cursor.fail("NNM114", f'"{name}" is reserved', hint, span)
        check_new_dimension(cursor, name, span, names)
        names.add(name)
        if not cursor.at(":"):
            hint = "sizes without names are written in [ ]" if name.isdigit() else f"write {name}:8"
            span_of_error = None if cursor.kind in (ERROR, COMPOUND) else span
            cursor.fail("NNM109", f'dimension "{name}" has no size', hint, span_of_error)
        cursor.advance()
        dimensions.append(Dimension(name, _read_size(cursor), span=span))
        if not cursor.skip_comma():
            break
    return NamedShape(tuple(dimensions), span=Span(start, cursor.close()))


def _read_size(cursor: Cursor) -> Value:
    text, span = cursor.text, cursor.span
    if cursor.at(WORD) and not (text[0].isdigit() or text == "Infinity"):
        cursor.advance()
        return Reference((text,), span=span)
    if not cursor.at(WORD, COMPOUND):
        cursor.fail("NNM108", f"expected a dimension, found {cursor.describe_token()}")
    size = _decimal(text)
    if size is not None:
        cursor.advance()
        return Number(size, span=span)
    # Words may begin with a digit, provided they are not numbers.
    value = None if is_number(text) else read_value(cursor)
    if isinstance(value, Reference) and value.word:
        return value
    shown = text if len(text) < 40 else text[:39] + "…"
    hint = "; shapes do not include the batch" if text == "-1" else ""
    cursor.fail("NNM109", _DIMENSION_RANGE, f'found "{shown}"{hint}', span)


def _decimal(text: str) -> int | None:
    """Return the size that a text spells in base 10, or None if it is not a size."""
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0")
    size = int(digits) if 0 < len(digits) < 11 else 0
    return size if 1 <= size <= MAX_DIMENSION else None


def _tensor_type(cursor: Cursor) -> tuple[DataType | None, Span]:
    text, span = cursor.text, cursor.span
    if not cursor.at(WORD) or text == "shape":
        return None, NOWHERE
    following = cursor.peek()[0]
    if is_data_type(text):
        cursor.advance()
        return text, span
    if following not in ("=", ":"):
        _fail_type(cursor)
    return None, NOWHERE


def _constant_type(cursor: Cursor) -> tuple[DataType | None, Span]:
    text, span = cursor.text, cursor.span
    if not cursor.at(WORD):
        return None, NOWHERE
    if is_data_type(text):
        cursor.advance()
        return text, span
    if cursor.peek()[0] in ("[", "{"):
        _fail_type(cursor)
    return None, NOWHERE


def _fail_type(cursor: Cursor) -> NoReturn:
    from webnnm.notation.type_words import suggest_type

    message = f"unknown data type {cursor.describe_token()}"
    cursor.fail("NNM113", message, suggest_type(cursor.text))


def _fail_shape_keyword(cursor: Cursor) -> NoReturn:
    hint = ""
    if cursor.at("[", "{"):
        insertion = Span(cursor.start, cursor.start)
        hint = Remedy("write shape= before the shape", "shape=", span=insertion)
    elif cursor.at(WORD) and cursor.peek()[0] == "=":
        hint = suggestion(cursor.text, ["shape"]) or "the shape comes before all options"
    cursor.fail("NNM108", f'expected "shape=", found {cursor.describe_token()}', hint)


def _tensor_options(cursor: Cursor) -> tuple[Option, ...]:
    options: dict[str, Option] = {}
    while cursor.at(WORD, COMPOUND):
        name = cursor.text
        if cursor.peek()[0] != "=":
            if name in TENSOR_OPTIONS and cursor.peek()[0] != ":":
                cursor.advance()
                cursor.fail("NNM103", f'option "{name}" has no value', f"write {name}=…")
            break
        if cursor.at(COMPOUND):
            cursor.fail_character()
        if cursor.touches_previous():
            cursor.fail("NNM102", f'expected a space before "{name}"')
        if name == "shape":
            cursor.fail("NNM112", 'option "shape" was given twice')
        options[name] = read_option(cursor, options)
        _check_fixed_length(cursor, options[name])
    return tuple(options.values())


def _check_fixed_length(cursor: Cursor, option: Option) -> None:
    """Raise if `sequence={words:128}` has a length that is not a size."""
    if option.name != "sequence" or not isinstance(option.value, NamedShape):
        return
    for dimension in option.value.dimensions:
        if isinstance(dimension.size, Number):
            span = dimension.size.span
            if _decimal(cursor.source[span.start : span.end]) is None:
                cursor.fail("NNM109", _DIMENSION_RANGE, span=span)


def _check_count(cursor: Cursor, shape: ShapeValue, data: Number | Items) -> None:
    """Raise unless a constant has one number for each element of its shape."""
    if isinstance(data, Number):
        return
    actual = 0
    pending: list[Value] = [data]
    while pending:
        value = pending.pop()
        if isinstance(value, Items):
            pending.extend(reversed(value.items))
        elif isinstance(value, Number):
            actual += 1
        else:
            cursor.fail("NNM115", "the data of a constant must be numbers", span=value.span)
    sizes = [
        value.size if isinstance(value, Dimension) else value
        for value in (shape.items if isinstance(shape, Items) else shape.dimensions)
    ]
    numbers = [int(size.value) for size in sizes if isinstance(size, Number)]
    # A size that a macro binds is only known later.
    if len(numbers) == len(sizes) and math.prod(numbers) != actual:
        expected = math.prod(numbers)
        noun = "value" if expected == 1 else "values"
        cursor.fail("NNM115", f"{expected} {noun} expected, {actual} found", span=data.span)
