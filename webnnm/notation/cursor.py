"""The parser's position in its tokens."""

from __future__ import annotations

import re
from typing import NoReturn

from webnnm.core.errors import NotationError, Remedy, Span
from webnnm.notation.lexer import (
    COMPOUND,
    END,
    ERROR,
    STRING,
    WORD,
    report_illegal_character,
    tokenize,
)

MAX_DEPTH = 64
"""Deepest nesting of brackets; the bound keeps deep texts from exhausting Python's stack."""

_LONGEST_QUOTE = 40
_LONG_WORD = re.compile(r"(\w{40})\w+", re.ASCII)
_NO_NAME_CHARACTER = re.compile(r"\W", re.ASCII)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class Cursor:
    """The current token (`kind`, `text`, `start`), and errors that point at it."""

    __slots__ = ("brackets", "index", "kind", "lexed", "source", "start", "text", "tokens")

    def __init__(self, source: str) -> None:
        """Start at the first token of a text."""
        self.source = source
        self.lexed = tokenize(source)
        self.tokens = self.lexed.tokens
        self.brackets: list[int] = []
        self.index = 0
        self.kind, self.text, self.start = self.tokens[0]

    @property
    def end(self) -> int:
        """The offset after the current token."""
        return self.start + len(self.text)

    @property
    def span(self) -> Span:
        """The span of the current token."""
        return Span(self.start, self.start + len(self.text))

    def advance(self) -> None:
        """Advance to the next token; at the last one, stay there."""
        if self.kind not in (END, ERROR):
            self.index += 1
            self.kind, self.text, self.start = self.tokens[self.index]

    def at(self, *kinds: str) -> bool:
        """Return whether the current token is of one of these kinds."""
        return self.kind in kinds

    def go(self, index: int) -> None:
        """Go to a token by its index."""
        self.index = index
        self.kind, self.text, self.start = self.tokens[index]

    def peek(self, distance: int = 1) -> tuple[str, str]:
        """Return the kind and text of a token further on, or of the last one beyond the end."""
        kind, text, _ = self.tokens[min(self.index + distance, len(self.tokens) - 1)]
        return kind, text

    def touches_previous(self) -> bool:
        """Return whether the current token directly follows the previous one, without a space."""
        _, text, start = self.tokens[self.index - 1]
        return start + len(text) == self.start

    def behind_previous(self) -> Span:
        """Return the empty span after the previous token."""
        _, text, start = self.tokens[self.index - 1]
        return Span(start + len(text), start + len(text))

    def take_name(self, code: str, expected: str, hint: str = "") -> tuple[str, Span]:
        """Consume a name; `code` and `expected` describe the error if there is none."""
        if self.kind != WORD:
            self.fail_name(code, expected, hint)
        name, span = self.text, self.span
        self.advance()
        return name, span

    def fail_name(self, code: str, expected: str, hint: str = "") -> NoReturn:
        """Raise an error for a token that is not a name."""
        if self.kind == COMPOUND:
            self.fail_character()
        if self.kind == STRING and re.fullmatch(r"\w+", self.text[1:-1], re.ASCII):
            name = self.text[1:-1]
            hint = Remedy(f"write {name} without quotes", name, span=self.span)
        self.fail(code, f"expected {expected}, found {self.describe_token()}", hint)

    def fail_character(self, where: str = "in a name", hint: str = "") -> NoReturn:
        """Raise for the first character of the token that is not allowed in a name."""
        match = _NO_NAME_CHARACTER.search(self.text)
        offset = match.start() if match else 0
        raise report_illegal_character(self.source, self.start + offset, where, hint)

    def open(self) -> int:
        """Consume an opening bracket; return its offset."""
        if len(self.brackets) == MAX_DEPTH:
            self.fail("NNM111", f"brackets are nested deeper than {MAX_DEPTH} levels")
        self.brackets.append(self.start)
        self.advance()
        return self.brackets[-1]

    def close(self, hint: str = "") -> int:
        """Consume the bracket that closes the last one opened; return the offset after it."""
        start = self.brackets[-1]
        closing = _CLOSING[self.source[start]]
        if self.kind != closing:
            hint = hint or self.hint_unclosed()
            self.fail("NNM111", f"expected ',' or '{closing}', found {self.describe_token()}", hint)
        self.brackets.pop()
        end = self.end
        self.advance()
        return end

    def open_bracket(self) -> str:
        """Return a hint that names the last bracket opened, or "" if none is open."""
        if not self.brackets:
            return ""
        start = self.brackets[-1]
        line, column = Span(start, start).position(self.source)
        return f"'{self.source[start]}' at line {line}, column {column} is still open"

    def hint_unclosed(self) -> str:
        """Return a hint that names the last open bracket; at the end of a statement, close it."""
        hint = self.open_bracket()
        if not hint or not self.at(";", END):
            return hint
        closing = _CLOSING[self.source[self.brackets[-1]]]
        return Remedy(hint, closing, span=self.behind_previous())

    def skip_comma(self) -> bool:
        """Consume a comma if there is one, and return whether there was."""
        is_comma = self.kind == ","
        if is_comma:
            self.advance()
        return is_comma

    def describe_token(self) -> str:
        """Return the current token as messages show it."""
        if self.kind == END:
            return "the end of the text"
        if self.kind == STRING:
            return f"the string {_shorten(self.text)}"
        return f"'{self.text}'" if self.kind == self.text else f'"{_shorten(self.text)}"'

    def fail(self, code: str, message: str, hint: str = "", span: Span | None = None) -> NoReturn:
        """Raise an error at the current token, or at a span before it."""
        # Where the lexer had to stop, its error says more than that a token is missing.
        if span is None and self.kind == ERROR and self.lexed.error is not None:
            raise self.lexed.error
        message = _LONG_WORD.sub(r"\1…", message)
        hint = hint if isinstance(hint, Remedy) else _LONG_WORD.sub(r"\1…", hint)
        raise NotationError(code, message, hint=hint, source=self.source, span=span or self.span)


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"
