"""Values: operands, what follows `=`, and items of lists."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import NoReturn

from webnnm.core.errors import Span
from webnnm.notation.cursor import Cursor
from webnnm.notation.lexer import COMPOUND, END, ERROR, STRING, WORD, unquote
from webnnm.notation.numerals import NumberTooLarge, read_number, read_percent
from webnnm.notation.syntax import (
    Call,
    Dimension,
    Items,
    NamedShape,
    Number,
    Option,
    Percent,
    Reference,
    Text,
    Value,
)
from webnnm.notation.words import HYPHENATED, fail_compound, is_number, read_word

_BARE_WORD = re.compile(r"\w+", re.ASCII)
_DIMENSION_SIZE = re.compile(r"-?\d+", re.ASCII)


def read_value(cursor: Cursor, missing: str = "", *, layers: bool = True) -> Value:
    """Consume a value (`value` of the grammar).

    Arguments: `missing`: the message if there is no value, where the default one will not do;
    `layers`: whether a plain call is allowed here, else it is taken for a layer used as an operand.
    """
    if cursor.at(WORD, COMPOUND):
        return _word_value(cursor, layers=layers)
    if cursor.at("["):
        return read_items(cursor, layers=layers)
    return _literal(cursor, missing)


def read_operand(cursor: Cursor) -> Value:
    """Consume an operand: a value, but not a percentage, call or hyphenated word."""
    if cursor.at(WORD, COMPOUND):
        value = read_word(cursor)
        if value is not None:
            if cursor.at("(") and isinstance(value, Reference):
                _fail_nested(cursor, value)
            return value
        fail_compound(cursor)
    if cursor.at("["):
        return read_items(cursor, layers=False)
    return _literal(cursor, f"expected an operand or option, found {cursor.describe_token()}")


def read_items(cursor: Cursor, *, layers: bool = True) -> Items:
    """Consume a list; the current token is its `[`."""
    start = cursor.open()
    items: list[Value] = []
    while True:
        _read_plain_numbers(cursor, items)
        if cursor.at("]"):
            break
        items.append(read_value(cursor, layers=layers))
        if not cursor.skip_comma():
            break
    hint = "named dimensions are written in { }" if cursor.at(":") else ""
    return Items(tuple(items), span=Span(start, cursor.close(hint)))


def read_named_shape(cursor: Cursor) -> NamedShape:
    """Consume a shape with names; the current token is its `{`."""
    start = cursor.open()
    dimensions: list[Dimension] = []
    names: set[str] = set()
    while not cursor.at("}"):
        dimension = _dimension(cursor)
        check_new_dimension(cursor, dimension.name, dimension.span, names)
        names.add(dimension.name)
        dimensions.append(dimension)
        if not cursor.skip_comma():
            break
    return NamedShape(tuple(dimensions), span=Span(start, cursor.close()))


def read_option(cursor: Cursor, names: Container[str]) -> Option:
    """Consume `name=value`; the current token is the name.

    Arguments: `names`: the names of options that were already read.
    """
    name, span = cursor.text, cursor.span
    if name in names:
        cursor.fail("NNM112", f'option "{name}" was given twice')
    cursor.advance()
    cursor.advance()
    return Option(name, read_value(cursor, f'option "{name}" has no value'), span=span)


def check_new_dimension(cursor: Cursor, name: str, span: Span, names: Container[str]) -> None:
    """Raise if a shape already has a dimension of that name."""
    if name in names:
        cursor.fail("NNM114", f'dimension "{name}" was given twice', span=span)


def _read_plain_numbers(cursor: Cursor, items: list[Value]) -> None:
    """Consume numbers that are followed by a comma; arrays of constants consist of many."""
    tokens, index = cursor.tokens, cursor.index
    while True:
        kind, text, start = tokens[index]
        if (kind != WORD and kind != COMPOUND) or tokens[index + 1][0] != ",":
            break
        try:
            value = read_number(text)
        except NumberTooLarge:
            break
        if value is None:
            break
        items.append(Number(value, span=Span(start, start + len(text))))
        index += 2
    cursor.go(index)


def _word_value(cursor: Cursor, *, layers: bool) -> Value:
    text, span = cursor.text, cursor.span
    value = read_word(cursor)
    if isinstance(value, Reference) and cursor.at("("):
        if value.word and not layers:
            _fail_nested(cursor, value)
        return _call(cursor, value)
    if value is not None:
        return value
    if HYPHENATED.fullmatch(text):
        cursor.advance()
        return Text(text, span=span)
    try:
        percent = read_percent(text)
    except NumberTooLarge:
        cursor.fail("NNM105", f"{cursor.describe_token()} is too large")
    if percent is None:
        fail_compound(cursor)
    cursor.advance()
    return Percent(percent, span=span)


def _literal(cursor: Cursor, missing: str) -> Value:
    """Consume a string or a named shape; raise for anything else."""
    if cursor.at(STRING):
        content, span = unquote(cursor.text), cursor.span
        cursor.advance()
        if _BARE_WORD.fullmatch(content) and not is_number(content):
            return Reference((content,), span=span)
        return Text(content, span=span)
    if cursor.at("{"):
        return read_named_shape(cursor)
    hint = cursor.hint_unclosed() if cursor.at(";", END) else ""
    cursor.fail("NNM103", missing or f"expected a value, found {cursor.describe_token()}", hint)


def _call(cursor: Cursor, function: Reference) -> Call:
    cursor.open()
    arguments: list[Value] = []
    while not cursor.at(")"):
        arguments.append(read_value(cursor))
        if not cursor.skip_comma():
            break
    hint = f'"{function}" takes values without names' if cursor.at("=") else ""
    end = cursor.close(hint)
    return Call(function, tuple(arguments), span=Span(function.span.start, end))


def _dimension(cursor: Cursor) -> Dimension:
    name, span = cursor.take_name("NNM108", "the name of a dimension or '}'")
    if not cursor.at(":"):
        return Dimension(name, None, span=span)
    cursor.advance()
    text, start = cursor.text, cursor.span
    size = read_value(cursor, f'dimension "{name}" has no size')
    match size:
        case Number() if not cursor.at(ERROR) and not _is_size(text, size):
            cursor.fail("NNM109", f'"{text}" is not a whole number of cells', span=start)
        case Text() | Items() | NamedShape():
            cursor.fail("NNM109", f'the size of dimension "{name}" must be a number', span=start)
        case Reference() if size.word is None or text[0] in "\"'":
            cursor.fail("NNM109", f'the size of dimension "{name}" must be a number', span=start)
        case _:
            return Dimension(name, size, span=span)


def _is_size(text: str, size: Number) -> bool:
    return bool(_DIMENSION_SIZE.fullmatch(text)) or (text[0] != "+" and isinstance(size.value, int))


def _fail_nested(cursor: Cursor, layer: Reference) -> NoReturn:
    cursor.fail(
        "NNM119",
        "layers cannot be nested",
        f'put "{layer}" before this layer, and use name= to refer to it',
        layer.span,
    )
