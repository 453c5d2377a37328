"""Layers: an operator word with operands and options in parentheses."""

from __future__ import annotations

from typing import NoReturn

from webnnm.core.errors import Span
from webnnm.notation.cursor import Cursor
from webnnm.notation.lexer import COMPOUND, ERROR, STRING, WORD
from webnnm.notation.syntax import Layer, Option, Value
from webnnm.notation.values import read_operand, read_option

_PARENTHESES = "the parentheses hold operands and options: matmul(w), lstm(w, r, hiddenSize=64)"


def read_layer(cursor: Cursor) -> Layer:
    """Consume `operator(operand, option=value)`."""
    operator, span = cursor.text, cursor.span
    if not cursor.at(WORD) or cursor.peek()[0] != "(":
        _fail_parentheses(cursor, span)
    cursor.advance()
    cursor.open()
    operands: list[Value] = []
    options: dict[str, Option] = {}
    while not cursor.at(")"):
        if cursor.peek()[0] != "=":
            operands.append(read_operand(cursor))
        elif cursor.at(WORD):
            option = read_option(cursor, options)
            options[option.name] = option
        else:
            cursor.fail_name("NNM103", "the name of an option")
        if not cursor.skip_comma():
            break
    cursor.close()
    return Layer(operator, tuple(operands), tuple(options.values()), span=span)


def _fail_parentheses(cursor: Cursor, span: Span) -> NoReturn:
    """Raise for a token that cannot begin a layer."""
    if cursor.at(STRING):
        cursor.fail(
            "NNM110", f"expected a layer, found {cursor.describe_token()}", "write it as relu()"
        )
    if cursor.at(COMPOUND):
        _, dot, name = cursor.text.rpartition(".")
        cursor.fail_character(hint=f'write "{name}" alone' if dot and name.isidentifier() else "")
    if not cursor.at(WORD):
        cursor.fail("NNM110", f"expected a layer such as relu(), found {cursor.describe_token()}")
    operator = cursor.text
    cursor.advance()
    if cursor.at(ERROR):
        cursor.fail("NNM110", "")
    if cursor.at("="):
        hint = f"such as relu({operator}=…)"
        cursor.fail(
            "NNM110", f'write "{operator}=" inside the parentheses of its layer', hint, span
        )
    cursor.fail("NNM110", f'write "{operator}()"', _PARENTHESES, span)
