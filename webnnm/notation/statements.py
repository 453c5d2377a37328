"""Statements: `block:property …`, and constants without a block."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypedDict, TypeVar

from webnnm.core.dtypes import is_data_type
from webnnm.core.errors import Remedy, Span, suggestion
from webnnm.notation.cursor import Cursor
from webnnm.notation.declarations import (
    read_constant,
    read_file,
    read_parameter,
    read_tensor,
)
from webnnm.notation.layers import read_layer
from webnnm.notation.lexer import COMPOUND, END, STRING, TEXT, WORD, unquote
from webnnm.notation.syntax import (
    AnyStatement,
    Constants,
    GlobalConstant,
    Items,
    Layers,
    Loss,
    LossParameter,
    ModelFile,
    Name,
    Number,
    Parameters,
    Port,
)
from webnnm.notation.values import read_value
from webnnm.notation.words import PROPERTIES

REPEATABLE = ("constants", "param")
"""Properties that a block may have more than once."""

Entry = TypeVar("Entry")


class _Common(TypedDict):
    """The fields that all statements of a block have."""

    block: str
    span: Span
    comments: tuple[str, ...]
    property_span: Span


def read_statement(
    cursor: Cursor, comments: tuple[str, ...], properties: dict[tuple[str, str], Span]
) -> AnyStatement:
    """Consume one statement, up to its semicolon.

    Arguments: `properties`: the spans of the properties read so far, by block and name; updated.
    """
    if not cursor.at(WORD):
        _fail_start(cursor)
    block, span = cursor.text, cursor.span
    if cursor.peek()[0] == ":":
        cursor.advance()
        cursor.advance()
        name, property_span = _read_property(cursor, block, properties)
        return _block_statement(
            cursor,
            name,
            _Common(block=block, span=span, comments=comments, property_span=property_span),
        )
    if begins_constant(cursor):
        return GlobalConstant(constant=read_constant(cursor), comments=comments, span=span)
    _fail_missing_colon(cursor)


def begins_constant(cursor: Cursor) -> bool:
    """Return whether the next tokens look like a constant without a block."""
    (following, name), (third, _) = cursor.peek(), cursor.peek(2)
    return following in ("[", "{") or (
        following == WORD
        and (is_data_type(name) or (third in ("[", "{") and name not in PROPERTIES))
    )


def check_end(cursor: Cursor) -> None:
    """Raise unless a statement ends at the current token; the semicolon is left there."""
    if cursor.at(";", END):
        return
    if cursor.at(")", "]", "}"):
        cursor.fail("NNM111", f"{cursor.describe_token()} has no opening bracket")
    if cursor.at(","):
        hint = Remedy("remove the comma", "", span=cursor.span)
        cursor.fail("NNM104", "';' expected, found ','", hint)
    following, text = cursor.peek()
    shown = cursor.describe_token()
    if cursor.at(WORD) and following == ":":
        shown = f'"{cursor.text}:{cursor.peek(2)[1]}"'
    elif cursor.at(WORD) and following == "=":
        shown = f'"{cursor.text}{text}"'
    hint = Remedy("", ";", span=cursor.behind_previous())
    cursor.fail("NNM104", f"';' expected before {shown}", hint)


def _read_property(
    cursor: Cursor, block: str, properties: dict[tuple[str, str], Span]
) -> tuple[str, Span]:
    """Consume the word after the colon."""
    name, span = cursor.take_name("NNM102", f'a property after "{block}:"')
    if name not in PROPERTIES:
        hint = suggestion(name, PROPERTIES) or f"properties are {', '.join(PROPERTIES)}"
        cursor.fail("NNM106", f'unknown property "{name}"', hint, span)
    if name not in REPEATABLE:
        if (block, name) in properties:
            line, _ = properties[block, name].position(cursor.source)
            cursor.fail("NNM107", f'"{block}:{name}" was given in line {line}', span=span)
        properties[block, name] = span
    if not cursor.at(";", END) and cursor.touches_previous():
        cursor.fail("NNM102", f'expected a space after "{name}", found {cursor.describe_token()}')
    return name, span


def _block_statement(cursor: Cursor, name: str, common: _Common) -> AnyStatement:
    """Consume what follows `block:property`."""
    match name:
        case "name":
            return Name(text=_name_text(cursor), **common)
        case "input" | "output":
            dtype, dtype_span, shape, options = read_tensor(cursor)
            return Port(
                direction=name,
                dtype=dtype,
                shape=shape,
                options=options,
                dtype_span=dtype_span,
                **common,
            )
        case "layers":
            if cursor.at(";", END) or cursor.peek()[0] == ":":
                cursor.fail("NNM110", f'"{common["block"]}:layers" has no layers')
            return Layers(layers=_entries(cursor, read_layer), **common)
        case "source":
            file, options = read_file(cursor)
            return ModelFile(file=file.value, file_span=file.span, options=options, **common)
        case "loss":
            loss, loss_span = cursor.take_name("NNM103", "the name of a loss")
            return Loss(loss=loss, loss_span=loss_span, **common)
        case "constants":
            return Constants(constants=_entries(cursor, read_constant), **common)
        case "param":
            return Parameters(parameters=_entries(cursor, read_parameter), **common)
        case _:
            return LossParameter(parameter=name, value=_loss_value(cursor, name), **common)


def _entries(cursor: Cursor, read: Callable[[Cursor], Entry]) -> tuple[Entry, ...]:
    """Consume a list that ends with the statement; its last entry may have a trailing comma."""
    entries = [read(cursor)]
    while cursor.at(","):
        cursor.advance()
        if cursor.at(";", END) or cursor.peek()[0] == ":":
            return tuple(entries)
        entries.append(read(cursor))
    following = cursor.peek()[0]
    if cursor.at(";", END, ")", "]", "}") or following == ":":
        return tuple(entries)
    # A semicolon is missing before a constant: `check_end` says so.
    if read is read_layer and cursor.at(WORD) and begins_constant(cursor):
        return tuple(entries)
    cursor.fail("NNM111", f"expected ',' or ';', found {cursor.describe_token()}")


def _name_text(cursor: Cursor) -> str:
    text = cursor.text
    if cursor.at(";", END):
        cursor.fail("NNM103", '"name" has no text')
    if not cursor.at(TEXT, STRING):
        message = f"{cursor.describe_token()} cannot begin a name"
        cursor.fail("NNM101", message, "write the name as a string")
    is_string = cursor.at(STRING)
    cursor.advance()
    return unquote(text) if is_string else text


def _loss_value(cursor: Cursor, name: str) -> Number | Items:
    span, shown = cursor.span, cursor.describe_token()
    if cursor.at(";", END):
        cursor.fail("NNM103", f'"{name}" has no value')
    value = read_value(cursor, f'"{name}" needs a number or a list of numbers, found {shown}')
    if not isinstance(value, (Number, Items)):
        hint = f'"{name}" takes a number or a list of numbers'
        cursor.fail("NNM105", f"{shown} is not a number", hint, span)
    return value


def _fail_start(cursor: Cursor) -> NoReturn:
    """Raise for a token that cannot begin a statement."""
    block, dot, name = cursor.text.partition(".")
    if cursor.at(COMPOUND) and dot and name in PROPERTIES:
        start = cursor.start + len(block)
        span = Span(start, start + 1)
        hint = Remedy(f'write "{block}:{name}"', ":", span=span)
        cursor.fail("NNM101", "'.' cannot occur in a name", hint, span)
    if cursor.at(COMPOUND):
        cursor.fail_character()
    if cursor.at(STRING):
        cursor.fail_name("NNM102", "a block or constant")
    cursor.fail("NNM102", f"expected a block or constant, found {cursor.describe_token()}")


def _fail_missing_colon(cursor: Cursor) -> NoReturn:
    """Raise for a word that is neither a block nor a constant."""
    name = cursor.text
    following, second = cursor.peek()
    hint = ""
    if following == WORD and second in PROPERTIES:
        _, _, start = cursor.tokens[cursor.index + 1]
        hint = Remedy(f'write "{name}:{second}"', ":", span=Span(cursor.end, start))
    elif name == "webnnm":
        hint = "the header must be the very first statement"
    elif following == "(":
        hint = f'layers belong to a block: write "model:layers {name}(…)"'
    cursor.advance()
    if cursor.at(COMPOUND) and name != "webnnm":
        hint = hint or f'a constant is written "{name} [] 0.5"'
    cursor.fail("NNM102", f"expected ':' after \"{name}\", found {cursor.describe_token()}", hint)
