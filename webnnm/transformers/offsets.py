"""Finds the part of a text that each token stands for.

The package for pages does not return it; what is found here is the same on desktops.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Self, cast

from webnnm.transformers.gguf_tokenizer import SPACE, get_letters

PREFIX, SUFFIX = "##", "</w>"
"""What vocabularies write at the beginning of pieces within a word, and at the end of a word."""
WHOLE_WORDS = ("WordPiece", "WordLevel")
"""Models in which an unknown token stands for a whole word."""

DROP_SPACES = ("WhitespaceSplit", "Whitespace", "BertPreTokenizer")
"""Steps after which words are without spaces."""
BYTE = re.compile("<0x([0-9A-F]{2})>")
"""Pieces for one byte of a character that the vocabulary lacks."""
LINES = "\t\n\r"
"""Spaces that some vocabularies have pieces of their own for."""
SPACES = " \n"
"""What `_normalise` writes for spaces."""

Offsets = list[tuple[int, int]]


class OffsetFinder:
    """Finds pieces in texts, in characters, as the package `tokenizers` does.

    >>> OffsetFinder().find("Café  open!", ["cafe", "op", "##en", "!"])
    [(0, 4), (6, 8), (8, 10), (10, 11)]
    >>> OffsetFinder(byte_level=True).find("so good", ["so", "Ġgood"])
    [(0, 2), (3, 7)]
    >>> OffsetFinder().find("so good", ["▁so", "▁good"])
    [(0, 2), (2, 7)]

    `byte_level` says that pieces have a letter for each byte of the text, `trims`, that spaces
    around these are left out, and `begins_with_space`, that the first one keeps those before it;
    `unknown`, which piece stands for what the vocabulary lacks, `whole_words`,
    that this is a word, not a letter, and `fuses`, that it is several letters; `drops_spaces`, that
    a ▁ marks the beginning of a word, not a space.
    """

    def __init__(
        self,
        *,
        byte_level: bool = False,
        trims: bool = True,
        begins_with_space: bool = False,
        unknown: str | None = None,
        whole_words: bool = True,
        fuses: bool = False,
        drops_spaces: bool = False,
    ) -> None:
        self.unknown, self.whole_words = unknown, whole_words
        self._byte_level, self._trims, self._keeps_first = byte_level, trims, begins_with_space
        self._fuses, self._drops_spaces = fuses, drops_spaces

    @classmethod
    def of(cls, tokenizer: str) -> Self:
        """Return one for the pieces of a `tokenizer.json`."""
        file = json.loads(tokenizer)
        model = file.get("model") or {}
        unknown = model.get("unk_token")
        if isinstance(model.get("unk_id"), int):
            unknown = model["vocab"][model["unk_id"]][0]
        splitters = _list_parts(file.get("pre_tokenizer"))
        trimmers = [
            part for part in _list_parts(file.get("post_processor")) if part.get("trim_offsets")
        ]
        return cls(
            byte_level=any(
                names_bytes(file.get(part))
                for part in ("decoder", "pre_tokenizer", "normalizer", "post_processor")
            ),
            trims=bool(trimmers),
            begins_with_space=any(part.get("add_prefix_space") for part in trimmers),
            unknown=unknown,
            whole_words=model.get("type") in WHOLE_WORDS,
            fuses=model.get("type") == "Unigram" or bool(model.get("fuse_unk")),
            drops_spaces=any(part.get("type") in DROP_SPACES for part in splitters),
        )

    def find(self, text: str, pieces: Sequence[str]) -> Offsets:
        """Return where each piece begins and ends; (0, 0) for those that stand for nothing.

        `pieces` are those of the text alone, without first and last tokens, as the vocabulary
        writes them. Case, accents and forms of letters may differ from those of the text.
        """
        if self._byte_level:
            offsets = _find_bytes(text, pieces)
            return (
                [_trim(text, *one, self._keeps_first) for one in offsets]
                if self._trims
                else offsets
            )
        letters = [(part, k) for k, letter in enumerate(text) for part in _normalise(letter)]
        string = "".join(letter for letter, _ in letters)
        offsets: Offsets = []
        position = 0
        texts, counts = _join_bytes(pieces)
        for number, count in enumerate(counts):
            start, end, position = self._find_next(string, position, texts, number)
            offset = (letters[start][1], letters[end - 1][1] + 1) if start < end else (0, 0)
            offsets += [offset] * count
        return offsets

    def _find_next(
        self, string: str, position: int, pieces: Sequence[str], number: int
    ) -> tuple[int, int, int]:
        """Return where a piece begins and ends, and where the search for the next one begins."""
        piece = _normalise(_strip(pieces[number]))
        letters = piece.lstrip()
        if not piece:
            return position, position, position
        marks, later = _find_marks(pieces, number)
        is_letter = later == self.unknown and not self.whole_words and not self._drops_spaces
        # A tab or the end of a line may be unknown, too.
        skipped = " " if is_letter and "\n" not in marks else SPACES
        spaces = _skip_spaces(string, position, skipped) - position
        if self._drops_spaces:
            position, spaces = position + spaces, 0
        # Of several spaces, of which normalizers leave fewer, the last ones stay.
        position += max(0, spaces - len(marks))
        spaces = min(spaces, len(marks))
        # A ▁ that does not stand for a space has the place of the letter after it.
        begin = position + max(0, len(piece) - len(letters) - (len(marks) - spaces))
        if not letters:
            end = max(begin, position + 1)
            return position, min(end, len(string)), min(begin, len(string))
        start, end = self._find_letters(string, begin, letters, pieces, number)
        return (position if position < begin else start), end, end

    def _find_letters(
        self, string: str, start: int, letters: str, pieces: Sequence[str], number: int
    ) -> tuple[int, int]:
        if pieces[number] != self.unknown:
            limit = _find_letter(string, start) + len(letters)
            index = string.find(letters, start, limit)
            if index >= 0:
                return index, index + len(letters)
        if self.whole_words:
            return start, _find_end_of_word(string, start)
        if self._fuses and pieces[number] == self.unknown:
            return start, self._find_end_of_unknown(string, start, pieces[number + 1 :])
        return start, min(len(string), start + 1)

    def _find_end_of_unknown(self, string: str, start: int, following: Sequence[str]) -> int:
        """Return where letters end that are unknown together: at a space, or the next piece."""
        end = string.find(" ", start + 1)
        end = len(string) if end < 0 else end
        letters = _normalise(_strip(following[0])).strip(" ") if following else ""
        if not letters or following[0] == self.unknown:
            return end
        index = string.find(letters, start + 1, end)
        return end if index < 0 else index


def _list_parts(part: Any) -> list[dict[str, Any]]:
    """Return a part of a `tokenizer.json`, or those of a sequence."""
    if not isinstance(part, dict):
        return []
    entry = cast("dict[str, Any]", part)
    inner = entry.get("pretokenizers") or entry.get("processors")
    return [inside for one in inner for inside in _list_parts(one)] if inner else [entry]


def _find_marks(pieces: Sequence[str], number: int) -> tuple[str, str | None]:
    """Return the spaces from a piece on, and the first piece of other letters, if any."""
    marks = ""
    for index in range(number, len(pieces)):
        letters = _normalise(_strip(pieces[index]))
        marks += letters[: len(letters) - len(letters.lstrip())]
        if letters.strip():
            return marks, pieces[index]
    return marks, None


def _join_bytes(pieces: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return pieces with those for the bytes of a character joined, and how many each was."""
    texts: list[str] = []
    counts: list[int] = []
    code, size = b"", 0
    for piece in pieces:
        byte = BYTE.fullmatch(piece)
        if byte and size and len(code) < size:
            code += bytes.fromhex(byte[1])
            texts[-1] = code.decode(errors="replace")
            counts[-1] += 1
            continue
        code = bytes.fromhex(byte[1]) if byte else b""
        size = _count_bytes(code[0]) if code else 0
        texts.append(code.decode(errors="replace") if code else piece)
        counts.append(1)
    return texts, counts


def _count_bytes(first: int) -> int:
    """Return how many bytes a character has in UTF-8, whose first one it is (RFC 3629)."""
    return 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4


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
        offsets.append((covered[0], covered[-1] + 1) if covered else (0, 0))
    return offsets


def _trim(text: str, start: int, end: int, keeps_first: bool) -> tuple[int, int]:
    """Return the part between spaces, without those in front unless the text begins with them."""
    first = start
    while start < end and text[start] == " ":
        start += 1
    if keeps_first and first == 0:
        start = 0
    while end > start and text[end - 1] == " ":
        end -= 1
    return start, end


def _skip_spaces(string: str, position: int, spaces: str) -> int:
    while position < len(string) and string[position] in spaces:
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
    """Return where a word ends: before a space or a sign, which is a word of its own.

    Each Chinese character is a word, as in BERT.
    """
    end = start
    while end < len(string) and not string[end].isspace() and not _is_alone(string[end]):
        end += 1
    return max(end, min(len(string), start + 1))


def _is_alone(letter: str) -> bool:
    kind = unicodedata.category(letter)[0]
    return kind == "P" or (kind == "S" and letter.isascii()) or _is_ideograph(letter)


def _is_ideograph(letter: str) -> bool:
    return unicodedata.name(letter, "").startswith("CJK ")


def _strip(piece: str) -> str:
    return piece.removeprefix(PREFIX).removesuffix(SUFFIX).replace(SPACE, " ")


def _normalise(text: str) -> str:
    """Return a text without accents and case, in the plain forms of its letters."""
    plain = unicodedata.normalize("NFKD", text).lower()
    spaced = ("\n" if letter in LINES else " " if letter.isspace() else letter for letter in plain)
    return "".join(
        letter for letter in spaced if letter == "\n" or unicodedata.category(letter)[0] not in "MC"
    )
