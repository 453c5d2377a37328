"""What is expected at each word of a text, from its tokens, so that unfinished texts work too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from webnnm.notation.lexer import COMPOUND, ERROR, TEXT, WORD, Token, tokenize

Role = Literal[
    "block",
    "colon",
    "property",
    "layer",
    "argument",
    "reference",
    "value",
    "dimension",
    "loss",
    "declared",
    "tensor",
    "text",
]
"""What is expected: a block at the start of a statement, the colon after it, a property; a layer,
its arguments, a list of operands, a value after `=`, names in `{}`; a loss; the name of a declared
tensor, what follows it; text without names."""

_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")
_DECLARING = ("constants", "param", "constant")


@dataclass(frozen=True)
class Context:
    """What is expected somewhere in a text, and its context.

    `callee` is the layer in whose parentheses it is, from `opening` on, `option` the option whose
    value is expected; `index` counts the commas of the layer before it.
    """

    role: Role = "block"
    block: str = ""
    property: str = ""
    callee: str = ""
    option: str = ""
    index: int = 0
    opening: int = -1
    statement: int = 0


@dataclass(frozen=True)
class Word:
    """A word of the text, its position, and the mark or word after it."""

    text: str
    start: int
    place: Context
    following: str

    @property
    def end(self) -> int:
        """The offset after the word."""
        return self.start + len(self.text)


def words(text: str) -> list[Word]:
    """Return the words of a text, up to its end or first lexical error.

    >>> [(word.text, word.place.role) for word in words("m:layers add(b, name=x)")]
    [('m', 'block'), ('layers', 'property'), ('add', 'layer'), ('b', 'argument'), \
('name', 'argument'), ('x', 'value')]
    """
    tokens = tokenize(text).tokens
    result: list[Word] = []
    for index, ((kind, shown, start), context) in enumerate(_contexts(tokens)):
        if kind in (WORD, COMPOUND):
            following = tokens[index + 1][1] if index + 1 < len(tokens) else ""
            result.append(Word(shown, start, context, following))
    return result


def context_at(text: str, offset: int) -> tuple[Context, int] | None:
    """Return the context of an offset, and the start of the word that ends there.

    >>> place, start = context_at("m:loss C", 8)
    >>> place.role, start
    ('loss', 7)

    None in comments, strings and free text, where no names are expected.
    """
    # A letter at the cursor: it becomes a word, or the end of one, unless it is in a comment.
    tokens = tokenize(f"{text[:offset]}x").tokens
    if len(tokens) < 2 or tokens[-1][0] == ERROR:
        return None
    *_, ((kind, shown, start), context), _ = _contexts(tokens)
    if kind not in (WORD, COMPOUND) or start + len(shown) != offset + 1:
        return None
    return context, start


@dataclass
class _Statement:
    """A statement as far as it was read: its context, and the contexts outside its brackets."""

    place: Context
    outer: list[tuple[str, Context]] = field(default_factory=list[tuple[str, Context]])
    before: Token = ("", "", 0)

    def enter(self, opening: str, start: int) -> None:
        """Advance over an opening bracket."""
        context = self.place
        self.outer.append((opening, context))
        if context.role == "layer" and opening == "(":
            self.place = replace(
                context, role="argument", callee=self.before[1], index=0, opening=start
            )
        elif opening == "{":
            self.place = replace(context, role="dimension")
        elif context.role == "argument" and opening == "[":
            self.place = replace(context, role="reference")

    def leave(self) -> None:
        """Advance over a closing bracket."""
        if self.outer:
            _, self.place = self.outer.pop()
        if self.place.property not in ("layers", "") and not self.outer:
            self.place = replace(self.place, role="tensor", option="")

    def comma(self) -> None:
        """Advance over a comma."""
        context = self.place
        if len(self.outer) == 1 and context.callee:
            self.place = replace(context, role="argument", option="", index=context.index + 1)
        elif not self.outer and context.property in _DECLARING:
            self.place = replace(context, role="declared", option="")

    def equals(self) -> None:
        """Note the sign after the name of an option."""
        if self.place.role in ("argument", "tensor"):
            self.place = replace(self.place, role="value", option=self.before[1])

    def word(self, text: str, start: int, following: str) -> None:
        """Advance over a word."""
        context = self.place
        if context.role == "block":
            constant = following in ("[", "{") or following not in (":", "", text)
            self.place = replace(
                context,
                role="tensor" if constant and following != ":" else "colon",
                block="" if constant and following != ":" else text,
                property="constant" if constant and following != ":" else "",
                statement=start,
            )
        elif context.role == "property":
            roles: dict[str, Role] = {"layers": "layer", "loss": "loss", "name": "text"}
            declares = text in _DECLARING
            role: Role = roles.get(text, "declared" if declares else "tensor")
            self.place = replace(context, role=role, property=text)
        elif context.role == "declared" or (context.role == "value" and not self.outer):
            self.place = replace(context, role="tensor", option="")


def _contexts(tokens: Sequence[Token]) -> Iterator[tuple[Token, Context]]:
    """Yield the tokens, each with its context."""
    statement = _Statement(Context())
    for index, token in enumerate(tokens):
        kind, text, start = token
        yield token, statement.place
        if kind in _OPENING:
            statement.enter(kind, start)
        elif kind in _CLOSING:
            statement.leave()
        elif kind == ";":
            statement = _Statement(Context())
        elif kind == ",":
            statement.comma()
        elif kind == "=":
            statement.equals()
        elif kind == ":" and statement.place.role == "colon":
            statement.place = replace(statement.place, role="property")
        elif kind in (WORD, COMPOUND, TEXT):
            following = tokens[index + 1][1] if index + 1 < len(tokens) else ""
            statement.word(text, start, following)
        statement.before = token
