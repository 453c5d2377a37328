"""Regular expressions in Python's syntax, as patterns of whole texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

from webnnm.core.errors import DataError
from webnnm.transformers.structured.automaton import (
    Pattern,
    choice,
    repeat,
    sequence,
)
from webnnm.transformers.structured.characters import LAST, Ranges, characters, complement

CATEGORIES: dict[str, Ranges] = {
    "DIGIT": [(48, 57)],
    "SPACE": [(9, 13), (28, 32)],
    "WORD": [(48, 57), (65, 90), (95, 95), (97, 122)],
}
"""ASCII characters of `\\d`, `\\s` and `\\w`; their complements have ASCII characters only, so that
Python's own `re` agrees with every text, whatever it counts as a letter."""
NEWLINE = [(10, 10)]


Write = Callable[[Ranges], Pattern]
"""Returns the pattern of one character in some ranges, as the text writes it."""


def regular_expression(pattern: str, write: Write = characters, *, search: bool = False) -> Pattern:
    """Return the pattern of texts that a regular expression matches from beginning to end.

    >>> from webnnm.transformers.structured.automaton import Automaton
    >>> automaton = Automaton(regular_expression(r"[A-Z]\\w{2}-\\d+(\\.5)?"))
    >>> [automaton.advance(0, text) is None for text in (b"Abc-17", b"Ab-17")]
    [False, True]

    `write` is how a character is written, `search` whether the expression matches anywhere, unless
    it begins with `^` or ends with `$`.

    Raises `DataError` NNM704 for what is not a regular expression, and for what looks at text that
    it does not consume: groups that refer to others, look-around, word boundaries.
    """
    try:
        # Checks and parses as `re.compile` does, which does not publish what it parsed.
        tree = import_module("re._parser").parse(pattern)
    except (re.error, TypeError, RecursionError, OverflowError) as error:
        raise _refuse(pattern, str(error)) from error
    items, anything = [*tree], repeat(write(complement([])))
    begins, ends = _is_anchor(items[:1], _BEGINS), _is_anchor(items[-1:], _ENDS)
    items = items[begins : len(items) - (ends and len(items) > begins)]
    reader = _Reader(pattern, write)
    return sequence(
        *([anything] if search and not begins else []),
        reader.read(items, tree.state.flags),
        *([anything] if search and not ends else []),
    )


_BEGINS = ("AT_BEGINNING", "AT_BEGINNING_STRING")
_ENDS = ("AT_END", "AT_END_STRING")


def _is_anchor(items: Sequence[Any], names: Sequence[str]) -> bool:
    """Return whether an item anchors the expression to the beginning or the end of texts."""
    return any(str(kind) == "AT" and str(value) in names for kind, value in items)


class _Reader:
    """Turns items of a parsed expression into patterns."""

    def __init__(self, pattern: str, write: Write) -> None:
        self._pattern, self._write = pattern, write

    def read(self, items: Iterable[Any], flags: int) -> Pattern:
        """Return the pattern of items that follow each other."""
        return sequence(*(self._item(str(kind), value, flags) for kind, value in items))

    def _item(self, kind: str, value: Any, flags: int) -> Pattern:
        match kind:
            case "LITERAL":
                return self._write(_fold([(value, value)], flags))
            case "NOT_LITERAL":
                return self._write(complement(_fold([(value, value)], flags)))
            case "ANY":
                return self._write(complement([] if flags & re.DOTALL else NEWLINE))
            case "IN":
                return self._write(self._set(value, flags))
            case "BRANCH":
                return choice(*(self.read(part, flags) for part in value[1]))
            case "SUBPATTERN":
                _, added, removed, part = value
                return self.read(part, (flags | int(added)) & ~int(removed))
            case "MAX_REPEAT" | "MIN_REPEAT":
                minimum, maximum, part = value
                unlimited = str(maximum) == "MAXREPEAT"
                return repeat(self.read(part, flags), minimum, None if unlimited else maximum)
            case _:
                name = kind.lower().replace("_", " ")
                raise _refuse(self._pattern, f"{name} is not supported")

    def _set(self, items: Iterable[Any], flags: int) -> Ranges:
        """Return the characters of a set such as `[a-z\\d]`."""
        ranges: list[tuple[int, int]] = []
        negated = False
        for kind, value in items:
            match str(kind):
                case "NEGATE":
                    negated = True
                case "LITERAL":
                    ranges.append((value, value))
                case "RANGE":
                    ranges.append(value)
                case _:
                    ranges += _category(str(value), negated=negated)
        folded = _fold(ranges, flags)
        return complement(folded) if negated else folded


def _category(name: str, *, negated: bool) -> Ranges:
    """Return the characters of a class, or in a negated set all that may belong to it."""
    inside = CATEGORIES[name.rpartition("_")[2]]
    beyond = [(128, LAST)] if negated else []
    if "_NOT_" in name:
        return [*((low, min(high, 127)) for low, high in complement(inside) if low < 128), *beyond]
    return [*inside, *beyond]


def _fold(ranges: Iterable[tuple[int, int]], flags: int) -> Ranges:
    """Return ranges with the other case of their ASCII letters, where case is ignored."""
    ranges = [*ranges]
    if not flags & re.IGNORECASE:
        return ranges
    swapped = [
        (ord(chr(code).swapcase()),) * 2
        for low, high in ranges
        for code in range(low, min(high, 127) + 1)
        if chr(code).isalpha()
    ]
    return [*ranges, *swapped]


def _refuse(pattern: str, why: str) -> DataError:
    return DataError("NNM704", f"regex is {pattern!r}: {why}", hint="see docs/generation.md")
