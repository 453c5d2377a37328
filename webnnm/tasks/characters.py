"""Texts as the characters of a voice: the tokenizer of VITS."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from webnnm.core.errors import DataError
from webnnm.formats.fields import Fields
from webnnm.tasks.letters import SETTINGS, VOCABULARY
from webnnm.transformers.config import read_object
from webnnm.transformers.processors.files import ReadFile

ADDED = "added_tokens.json"
ROMANIAN = ("ron", "ț", "ţ")
"""A language in which voices know a letter by another code point: the code, the letter, theirs."""


@dataclass(frozen=True)
class Characters:
    """The characters that a voice knows, by their numbers.

    >>> Characters({"_": 0, "h": 1, "i": 2}).encode("Hi!")
    [0, 1, 0, 2, 0]

    Attributes: `tokens`; `special`, tokens that stand for themselves, and are not in pieces;
    `unknown`, the number of what is not known; `blank`, whether 0 stands between characters;
    `lower`, whether texts are in lower case, without characters that are not known; `romanizes`,
    whether texts of other scripts have to be romanised first; `language`.
    """

    tokens: Mapping[str, int]
    special: Mapping[str, int] | None = None
    unknown: int | None = None
    blank: bool = True
    lower: bool = True
    romanizes: bool = False
    language: str = ""

    def encode(self, text: str) -> list[int]:
        """Return the numbers of a text.

        Raises `DataError` NNM711 if nothing of it can be spoken, NNM718 for scripts that have to be
        romanised, and for unknown characters if there is no number for them.
        """
        spoken = self._prepare(text)
        special = self.special or {}
        parts = re.split(self._special_pattern, spoken) if special else [spoken]
        numbers = [*chain(*(self._encode_part(part) for part in parts if part))]
        if not numbers:
            hint = "write words in the letters of the language of the voice"
            raise DataError("NNM711", f"there is nothing to speak in {text[:40]!r}", hint=hint)
        return numbers

    def _prepare(self, text: str) -> str:
        if self.lower:
            text = self._lower(text)
        if self.language == ROMANIAN[0]:
            text = text.replace(*ROMANIAN[1:])
        if self.romanizes and not text.isascii():
            message = f'{SETTINGS}: "is_uroman" is true, and {text[:40]!r} is not in Latin letters'
            raise DataError("NNM718", message, hint="romanise the text first, as uroman does")
        return "".join(c for c in text if c in self.tokens).strip() if self.lower else text

    def _lower(self, text: str) -> str:
        """Return a text in lower case, but for tokens as they are written."""
        pieces: list[str] = []
        start = 0
        while start < len(text):
            candidates = self._tokens_by_first.get(text[start], ())
            match = next((c for c in candidates if text.startswith(c, start)), "")
            pieces.append(match or text[start].lower())
            start += len(match) or 1
        return "".join(pieces)

    @cached_property
    def _tokens_by_first(self) -> dict[str, list[str]]:
        tokens: dict[str, list[str]] = {}
        for token in (*self.tokens, *(self.special or {})):
            if token:
                tokens.setdefault(token[0], []).append(token)
        return tokens

    @cached_property
    def _special_pattern(self) -> str:
        longest_first = sorted(self.special or (), key=len, reverse=True)
        return f"({'|'.join(map(re.escape, longest_first))})"

    def _encode_part(self, part: str) -> Sequence[int]:
        if part in (self.special or {}):
            return [(self.special or {})[part]]
        numbers = [self._number(character) for character in part]
        if not self.blank:
            return numbers
        spread = [0] * (2 * len(numbers) + 1)
        spread[1::2] = numbers
        return spread

    def _number(self, character: str) -> int:
        number = self.tokens.get(character, self.unknown)
        if number is None:
            hint = f"{VOCABULARY} has {', '.join(map(repr, [*self.tokens][:20]))}"
            raise DataError("NNM718", f"the voice does not know {character!r}", hint=hint)
        return number


async def read_characters(read: ReadFile) -> Characters:
    """Return the characters of a voice in a folder, from `vocab.json` and `tokenizer_config.json`.

    Raises `DataError` NNM718 if there is no `vocab.json`, or if texts have to be turned into
    phonemes, NNM818 for a damaged file.
    """
    vocabulary = await _read(read, VOCABULARY)
    if vocabulary is None:
        hint = "put it next to config.json"
        raise DataError("NNM718", f"the voice speaks letters: there is no {VOCABULARY}", hint=hint)
    tokens = {token: vocabulary.integer(token) for token in vocabulary.given}
    settings = await _read(read, SETTINGS) or Fields({}, SETTINGS)
    if settings.flag("phonemize", True):
        message = f'{SETTINGS}: "phonemize" is true: texts have to be turned into phonemes'
        hint = "use a voice that reads letters, such as those of facebook/mms-tts"
        raise DataError("NNM718", message, hint=hint)
    more = await _read(read, ADDED) or Fields({}, ADDED)
    added = {token: more.integer(token) for token in more.given}
    for number, value in settings.object("added_tokens_decoder").items():
        entry = Fields.of(value, SETTINGS)
        if not number.isdecimal():
            raise settings.wrong("added_tokens_decoder", "an object with numbers as keys")
        added[entry.text("content")] = int(number)
    special: dict[str, int] = {**added}
    named = {key: _read_token(settings, key) for key in ("unk_token", "pad_token")}
    for token in named.values():
        if token is not None:
            special.setdefault(token, tokens.get(token, len({**tokens, **special})))
    unknown = named["unk_token"]
    return Characters(
        tokens,
        special,
        None if unknown is None else special[unknown],
        settings.flag("add_blank", True),
        settings.flag("normalize", True),
        settings.flag("is_uroman"),
        settings.text("language", ""),
    )


def _read_token(settings: Fields, key: str) -> str | None:
    default = {"unk_token": "<unk>", "pad_token": "<pad>"}[key]
    value: Any = settings.get(key, default)
    if isinstance(value, dict):
        return Fields.of(value, SETTINGS).text("content")
    return settings.text(key, default)


async def _read(read: ReadFile, name: str) -> Fields | None:
    """Return the values of a file, None if there is none."""
    try:
        text = await read(name)
    except DataError as error:
        if error.code != "NNM715":
            raise
        return None
    return read_object(text, name)
