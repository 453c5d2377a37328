"""The parser of whole documents."""

from __future__ import annotations

import re

from webnnm.core.dtypes import is_data_type
from webnnm.core.errors import NotationError, Span
from webnnm.notation.cursor import Cursor
from webnnm.notation.lexer import COMPOUND, END, WORD
from webnnm.notation.statements import check_end, read_statement
from webnnm.notation.syntax import AnyStatement, Document, Version

MAX_LENGTH = 2**24
"""The maximum number of characters of a text; large arrays belong in data, not in the notation."""

_VERSION = re.compile(r"0*(\d{1,9})(?:\.0*(\d{1,9}))?", re.ASCII)


def parse(text: str) -> Document:
    """Parse a model text into its syntax tree.

    >>> document = parse("model:input shape=[4]; model:layers relu();")
    >>> [type(statement).__name__ for statement in document.statements]
    ['Port', 'Layers']

    A byte-order mark at the start is ignored; positions count from the text after it, which is the
    `source` of the document.

    Raises `NotationError` for syntax errors, for shapes and constants that are invalid by
    themselves, for seen_properties given twice, and for texts of more than 2²⁴ characters.
    """
    source = text.removeprefix("\ufeff")
    if len(source) > MAX_LENGTH:
        message = f"the text has {len(source)} characters; at most {MAX_LENGTH} are allowed"
        hint = "large arrays belong in the dataset or in a snapshot"
        # The error does not keep the text alive.
        raise NotationError("NNM102", message, hint=hint, source=source[:1], span=Span(0, 0))
    cursor = Cursor(source)
    version = _read_header(cursor)
    seen_properties: dict[tuple[str, str], Span] = {}
    statements: list[AnyStatement] = []
    comments: list[str] = []
    while True:
        comments += cursor.lexed.comments.get(cursor.index, [])
        if cursor.at(END):
            break
        if cursor.at(";"):
            cursor.advance()
            continue
        statements.append(read_statement(cursor, tuple(comments), seen_properties))
        comments.clear()
        check_end(cursor)
        # Comments between a statement and its semicolon are dropped.
        if cursor.at(";"):
            cursor.advance()
    if not statements:
        hint = "a model needs at least an input, an output and layers"
        cursor.fail("NNM117", "no statements", hint, Span(0, 0))
    return Document(version, tuple(statements), tuple(comments), source)


def _read_header(cursor: Cursor) -> Version | None:
    """Consume the header, if there is one."""
    next_kind, next_text = cursor.peek()
    if cursor.text != "webnnm" or next_kind in (":", "[", "{") or is_data_type(next_text):
        return None
    comments = tuple(cursor.lexed.comments.get(0, ()))
    start = cursor.start
    cursor.advance()
    match = _VERSION.fullmatch(cursor.text)
    if match is None or not cursor.at(WORD, COMPOUND):
        cursor.fail(
            "NNM116", f"expected a version, found {cursor.describe_token()}", "write webnnm 1.0;"
        )
    if int(match[1]) != 1:
        hint = "this package reads version 1"
        cursor.fail("NNM116", f"version {cursor.text} is not supported", hint)
    minor = None if match[2] is None else int(match[2])
    version = Version(1, minor, comments, span=Span(start, cursor.end))
    cursor.advance()
    check_end(cursor)
    if cursor.at(";"):
        cursor.advance()
    return version
