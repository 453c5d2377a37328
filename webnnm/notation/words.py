"""Words: numbers and references, as far as a single word shows what they are."""

from __future__ import annotations

import re
from typing import NoReturn

from webnnm.core.errors import Span, suggestion
from webnnm.notation.cursor import Cursor
from webnnm.notation.lexer import WORD
from webnnm.notation.numerals import NumberTooLarge, read_number
from webnnm.notation.syntax import Number, Reference

PROPERTIES = (
    "name",
    "input",
    "output",
    "layers",
    "source",
    "loss",
    "delta",
    "gamma",
    "alpha",
    "constants",
    "param",
)
"""What can follow `block:` at the start of a statement."""

HYPHENATED = re.compile(r"\w+(?:-\w+)+", re.ASCII)
"""A word such as `nearest-neighbor`, unless it is a number such as `1e-5`."""

_PORTS = ("input", "output")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+", re.ASCII)
_SIGNED = re.compile(r"[+-]0[xXoObB]\w")
_NUMERIC_START = re.compile(r"[+-]|\.?\d", re.ASCII)


def read_word(cursor: Cursor) -> Number | Reference | None:
    """Consume a number or reference; leave other tokens and return None."""
    text, span = cursor.text, cursor.span
    is_word = cursor.at(WORD)
    is_name = is_word or _DOTTED.fullmatch(text) is not None
    if is_name and cursor.peek()[0] == ":":
        reference = _read_port(cursor)
        if reference is not None:
            return reference
    value = _number(cursor)
    if value is None and not is_name:
        return None
    cursor.advance()
    if value is not None:
        return Number(value, span=span)
    return Reference((text,) if is_word else tuple(text.split(".")), span=span)


def is_number(text: str) -> bool:
    """Return whether a text is a number where a value is allowed, even if it is too large.

    >>> is_number("1e-5"), is_number("e5")
    (True, False)
    """
    try:
        return read_number(text) is not None
    except NumberTooLarge:
        return True


def fail_compound(cursor: Cursor) -> NoReturn:
    """Raise an error for a compound token that has no meaning here."""
    text = cursor.text
    if not _NUMERIC_START.match(text):
        cursor.fail_character()
    if HYPHENATED.fullmatch(text) or text.endswith("%"):
        cursor.fail("NNM105", f"{cursor.describe_token()} is not allowed here")
    hint = "hexadecimal, octal and binary numbers have no sign" if _SIGNED.match(text) else ""
    cursor.fail("NNM105", f"{cursor.describe_token()} is not a number", hint)


def _number(cursor: Cursor) -> int | float | None:
    try:
        return read_number(cursor.text)
    except NumberTooLarge:
        cursor.fail(
            "NNM105", f"{cursor.describe_token()} is too large", "write Infinity if you mean it"
        )


def _read_port(cursor: Cursor) -> Reference | None:
    """Consume `block:input`; if no port follows the colon, consume nothing and return None."""
    three = cursor.tokens[cursor.index : cursor.index + 3]
    (_, block, start), (_, _, colon), (kind, port, port_start) = three
    if kind != WORD or colon != start + len(block) or port_start != colon + 1:
        return None
    end = port_start + len(port)
    if port in _PORTS:
        cursor.go(cursor.index + 3)
        return Reference(tuple(block.split(".")), port, span=Span(start, end))
    if is_number(port):
        return None
    if cursor.brackets and port in PROPERTIES:
        message = f'expected a closing bracket before "{block}:{port}"'
        cursor.fail("NNM111", message, cursor.open_bracket())
    message = f'"{port}" is not a port, only "input" and "output" are'
    cursor.fail("NNM106", message, suggestion(port, _PORTS), Span(port_start, end))
