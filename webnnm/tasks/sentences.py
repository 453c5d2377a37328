"""The sentences of a text: what is spoken at once."""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 300
"""The characters that a sentence has at most: longer ones are cut between words."""
_END = re.compile(
    "(?<=[.!?\N{HORIZONTAL ELLIPSIS}])[\"')\\]\N{RIGHT DOUBLE QUOTATION MARK}"
    "\N{RIGHT SINGLE QUOTATION MARK}\N{RIGHT-POINTING DOUBLE ANGLE QUOTATION MARK}]*\\s+"
    "|(?<=[\N{IDEOGRAPHIC FULL STOP}\N{FULLWIDTH EXCLAMATION MARK}"
    "\N{FULLWIDTH QUESTION MARK}\N{DEVANAGARI DANDA}])\\s*|\\s*\n\\s*"
)
"""What is between sentences."""
_PAUSE = re.compile(r"(?<=[,;:–—])\s+")


def split_sentences(text: str, longest: int = LONGEST) -> Iterator[str]:
    """Yield the sentences of a text, without what has neither letters nor digits.

    >>> [*split_sentences("It rains. “Really?” Yes!")]
    ['It rains.', '“Really?', 'Yes!']
    >>> [*split_sentences("one, two three", longest=8)]
    ['one,', 'two', 'three']
    """
    for sentence in _END.split(text):
        for part in _cut(sentence.strip(), longest):
            if any(map(str.isalnum, part)):
                yield part


def _cut(sentence: str, longest: int) -> Iterator[str]:
    """Yield a sentence in parts that are short enough: at commas if possible, else at spaces."""
    if len(sentence) <= longest:
        yield sentence
        return
    for separator in (_PAUSE, re.compile(r"\s+")):
        pieces = separator.split(sentence)
        if len(pieces) > 1:
            for group in _join(pieces, longest):
                yield from _cut(group, longest)
            return
    for start in range(0, len(sentence), longest):
        yield sentence[start : start + longest]


def _join(pieces: list[str], longest: int) -> Iterator[str]:
    """Yield neighbouring pieces together, as many as are short enough."""
    group = pieces[0]
    for piece in pieces[1:]:
        if len(group) + 1 + len(piece) <= longest:
            group = f"{group} {piece}"
        else:
            yield group
            group = piece
    yield group
