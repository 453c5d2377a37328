"""Texts as the phonemes of a voice: what Piper's models read."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from webnnm.core.errors import DataError
from webnnm.formats.fields import Fields
from webnnm.transformers.piper_model import PHONEMES

PAUSE, START, END = "_", "^", "$"
"""What stands between phonemes, and what begins and ends a text."""
Phonemize = Callable[[str], str]
"""Returns the phonemes of a text, in the letters of the International Phonetic Alphabet."""


@dataclass(frozen=True)
class Phonemes:
    """The phonemes that a voice knows, by their numbers.

    >>> numbers = {"_": [0], "^": [1], "$": [2], "h": [3], "aɪ": [4], "a": [5], "ɪ": [6]}
    >>> Phonemes(numbers).encode("haɪ", phonemize=str)
    [1, 0, 3, 0, 5, 0, 6, 0, 2]

    Attributes: `numbers`; `is_text`, whether the voice reads letters, not phonemes.
    """

    numbers: Mapping[str, Sequence[int]]
    is_text: bool = False

    def encode(self, text: str, phonemize: Phonemize | None = None) -> list[int]:
        """Return the numbers of a text; phonemes that the voice does not know are left out.

        Raises `DataError` NNM718 without a function that returns phonemes, NNM711 if nothing of
        the text can be spoken.
        """
        if phonemize is not None:
            phonemes = phonemize(text)
        elif self.is_text:
            phonemes = unicodedata.normalize("NFD", text.casefold())
        else:
            hint = "pass phonemize=, a function from a text to the phonemes of eSpeak"
            raise DataError("NNM718", "the voice speaks phonemes, not letters", hint=hint)
        spoken_numbers = [self.numbers[p] for p in phonemes if p in self.numbers]
        if not spoken_numbers:
            hint = "write words in the language of the voice"
            raise DataError("NNM711", f"there is nothing to speak in {text[:40]!r}", hint=hint)
        pause = [*self.numbers.get(PAUSE, ())]
        spoken = [number for numbers in spoken_numbers for number in (*numbers, *pause)]
        ends = ([*self.numbers.get(end, ())] for end in (START, END))
        first, last = ends
        return [*first, *(pause if first else []), *spoken, *last]


def read_phonemes(config: Fields) -> Phonemes:
    """Return the phonemes of a config. Raises `DataError` NNM818 if they are wrong."""
    table = Fields.of(config.object(PHONEMES), f"{config.file}: {PHONEMES}")
    numbers = {phoneme: table.integers(phoneme) for phoneme in table.given}
    return Phonemes(numbers, config.text("phoneme_type", "espeak") == "text")
