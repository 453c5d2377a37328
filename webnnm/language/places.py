"""The places of the words in a text, derived from tokens, so that unfinished texts work as well."""

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
class Place:
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
    place: Place
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
    found: list[Word] = []
    for index, ((kind, shown, start), place) in enumerate(_places(tokens)):
        if kind in (WORD, COMPOUND):
            following = tokens[index + 1][1] if index + 1 < len(tokens) else ""
            found.append(Word(shown, start, place, following))
    return found


def place_at(text: str, offset: int) -> tuple[Place, int] | None:
    """Return what is expected at an offset, and where the word that ends there begins.

    >>> place, start = place_at("m:loss C", 8)
    >>> place.role, start
    ('loss', 7)

    None in comments, strings and free text, where no names are expected.
    """
    # A letter at the cursor: it becomes a word, or the end of one, unless it is in a comment.
    tokens = tokenize(f"{text[:offset]}x").tokens
    if len(tokens) < 2 or tokens[-1][0] == ERROR:
        return None
    *_, ((kind, shown, start), place), _ = _places(tokens)
    if kind not in (WORD, COMPOUND) or start + len(shown) != offset + 1:
        return None
    return place, start


@dataclass
class _Statement:
    """A statement as far as it was read: its place, and the places that its brackets
    interrupted."""

    place: Place
    outer: list[tuple[str, Place]] = field(default_factory=list[tuple[str, Place]])
    before: Token = ("", "", 0)

    def enter(self, opening: str, start: int) -> None:
        """Note an opening bracket."""
        place = self.place
        self.outer.append((opening, place))
        if place.role == "layer" and opening == "(":
            self.place = replace(
                place, role="argument", callee=self.before[1], index=0, opening=start
            )
        elif opening == "{":
            self.place = replace(place, role="dimension")
        elif place.role == "argument" and opening == "[":
            self.place = replace(place, role="reference")

    def leave(self) -> None:
        """Note a closing bracket."""
        if self.outer:
            _, self.place = self.outer.pop()
        if self.place.property not in ("layers", "") and not self.outer:
            self.place = replace(self.place, role="tensor", option="")

    def comma(self) -> None:
        """Note a comma."""
        place = self.place
        if len(self.outer) == 1 and place.callee:
            self.place = replace(place, role="argument", option="", index=place.index + 1)
        elif not self.outer and place.property in _DECLARING:
            self.place = replace(place, role="declared", option="")

    def equals(self) -> None:
        """Note the sign after the name of an option."""
        if self.place.role in ("argument", "tensor"):
            self.place = replace(self.place, role="value", option=self.before[1])

    def word(self, text: str, start: int, following: str) -> None:
        """Note a word that was read in its place."""
        place = self.place
        if place.role == "block":
            constant = following in ("[", "{") or following not in (":", "", text)
            self.place = replace(
                place,
                role="tensor" if constant and following != ":" else "colon",
                block="" if constant and following != ":" else text,
                property="constant" if constant and following != ":" else "",
                statement=start,
            )
        elif place.role == "property":
            roles: dict[str, Role] = {"layers": "layer", "loss": "loss", "name": "text"}
            declares = text in _DECLARING
            role: Role = roles.get(text, "declared" if declares else "tensor")
            self.place = replace(place, role=role, property=text)
        elif place.role == "declared" or (place.role == "value" and not self.outer):
            self.place = replace(place, role="tensor", option="")


def _places(tokens: Sequence[Token]) -> Iterator[tuple[Token, Place]]:
    """Yield the tokens, each with its place."""
    statement = _Statement(Place())
    for index, token in enumerate(tokens):
        kind, text, start = token
        yield token, statement.place
        if kind in _OPENING:
            statement.enter(kind, start)
        elif kind in _CLOSING:
            statement.leave()
        elif kind == ";":
            statement = _Statement(Place())
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
