"""Finds the part of a text that each token stands for.

The package for pages does not return it; what is found here is the same on desktops.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from typing import Any, Self

from webnnm.transformers.gguf_tokenizer import SPACE, get_letters

PREFIX, SUFFIX = "##", "</w>"
"""What vocabularies write at the beginning of pieces within a word, and at the end of a word."""
WHOLE_WORDS = ("WordPiece", "WordLevel")
"""Models in which an unknown token stands for a whole word."""

Offsets = list[tuple[int, int]]


class OffsetFinder:
    """Finds pieces in texts, in characters, without spaces around them.

    >>> OffsetFinder().find("Café  open!", ["cafe", "op", "##en", "!"])
    [(0, 4), (6, 8), (8, 10), (10, 11)]
    >>> OffsetFinder(byte_level=True).find("so good", ["so", "Ġgood"])
    [(0, 2), (3, 7)]

    `byte_level` says that pieces have a letter for each byte of the text; `unknown`, which piece
    stands for what the vocabulary lacks, and `whole_words`, that this is a word, not a letter.
    """

    def __init__(
        self, *, byte_level: bool = False, unknown: str | None = None, whole_words: bool = True
    ) -> None:
        self.unknown, self.whole_words = unknown, whole_words
        self._byte_level = byte_level

    @classmethod
    def of(cls, tokenizer: str) -> Self:
        """Return one for the pieces of a `tokenizer.json`."""
        file = json.loads(tokenizer)
        model = file.get("model") or {}
        unknown = model.get("unk_token")
        if isinstance(model.get("unk_id"), int):
            unknown = model["vocab"][model["unk_id"]][0]
        return cls(
            byte_level=any(
                names_bytes(file.get(part))
                for part in ("decoder", "pre_tokenizer", "normalizer", "post_processor")
            ),
            unknown=unknown,
            whole_words=model.get("type") in WHOLE_WORDS,
        )

    def find(self, text: str, pieces: Sequence[str]) -> Offsets:
        """Return where each piece begins and ends; (0, 0) for those that stand for nothing.

        `pieces` are those of the text alone, without first and last tokens, as the vocabulary
        writes them. Case, accents and forms of letters may differ from those of the text.
        """
        if self._byte_level:
            return _find_bytes(text, pieces)
        letters = [(part, k) for k, letter in enumerate(text) for part in _normalise(letter)]
        string = "".join(letter for letter, _ in letters)
        offsets: Offsets = []
        end = 0
        for number in range(len(pieces)):
            start, end = self._find_next(string, end, pieces, number)
            while start < end and string[start] == " ":
                start += 1
            offset = (letters[start][1], letters[end - 1][1] + 1) if start < end else (0, 0)
            offsets.append(offset)
        return offsets

    def _find_next(
        self, string: str, position: int, pieces: Sequence[str], number: int
    ) -> tuple[int, int]:
        """Return where a piece begins and ends from a position on."""
        letters_of_piece = _normalise(_strip(pieces[number]))
        start = _skip_spaces(string, position)
        if not letters_of_piece.strip():
            return position, position
        if pieces[number] != self.unknown:
            limit = _find_letter(string, start) + len(letters_of_piece)
            index = string.find(letters_of_piece.lstrip(), start, limit)
            if index >= 0:
                return index, index + len(letters_of_piece.lstrip())
        if self.whole_words:
            return start, _find_end_of_word(string, start)
        return start, min(len(string), start + 1)


def names_bytes(part: Any) -> bool:
    """Return whether a part of a `tokenizer.json` writes a letter for each byte."""
    if isinstance(part, list):
        return any(map(names_bytes, part))
    if isinstance(part, dict):
        return part.get("type") == "ByteLevel" or any(map(names_bytes, part.values()))
    return False


def _find_bytes(text: str, pieces: Sequence[str]) -> Offsets:
    """Return the offsets of pieces that are bytes, which follow each other without gaps."""
    codes = {letter: byte for byte, letter in get_letters().items()}
    parts = [bytes(codes[letter] for letter in piece if letter in codes) for piece in pieces]
    places = [k for k, letter in enumerate(text) for _ in letter.encode(errors="replace")]
    # Some tokenizers put a space in front.
    position = min(0, len(places) - sum(map(len, parts)))
    offsets: Offsets = []
    for part in parts:
        covered = places[max(0, position) : max(0, position + len(part))]
        position += len(part)
        offsets.append(_trim(text, covered[0], covered[-1] + 1) if covered else (0, 0))
    return offsets


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _skip_spaces(string: str, position: int) -> int:
    while position < len(string) and string[position] == " ":
        position += 1
    return position


def _find_letter(string: str, position: int) -> int:
    """Return where the next letter or digit is.

    Some tokenizers drop the signs before it.
    """
    while position < len(string) and not string[position].isalnum():
        position += 1
    return position


def _find_end_of_word(string: str, start: int) -> int:
    """Return where a word ends: after its letters and digits, or after one other character.

    Each Chinese character is a word, as in BERT.
    """
    end = start
    while end < len(string) and string[end].isalnum() and not _is_ideograph(string[end]):
        end += 1
    return max(end, min(len(string), start + 1))


def _is_ideograph(letter: str) -> bool:
    return unicodedata.name(letter, "").startswith("CJK ")


def _strip(piece: str) -> str:
    return piece.removeprefix(PREFIX).removesuffix(SUFFIX).replace(SPACE, " ")


def _normalise(text: str) -> str:
    """Return a text without accents and case, in the plain forms of its letters."""
    plain = unicodedata.normalize("NFKD", text).lower()
    visible = (" " if letter.isspace() else letter for letter in plain)
    return "".join(letter for letter in visible if unicodedata.category(letter)[0] not in "MC")
