"""Texts from a letter for each moment of a sound.

Source: A. Graves et al., "Connectionist temporal classification", ICML (2006).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from webnnm.core.errors import DataError
from webnnm.transformers.config import read_object
from webnnm.transformers.processors.files import ReadFile

VOCABULARY, SETTINGS = "vocab.json", "tokenizer_config.json"


class Passage(NamedTuple):
    """A letter or a word, the moment at which it begins, and that after its last one."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Letters:
    """The letters of a model by their numbers.

    >>> Letters({0: "<pad>", 1: "h", 2: "i", 3: "|"}).decode([1, 1, 0, 2, 0, 3, 1, 2, 2])
    'hi hi'

    Attributes: `tokens`; `blank`, what stands for no letter; `space`, what is between words;
    `lower`, whether texts are in lower case.
    """

    tokens: dict[int, str]
    blank: str = "<pad>"
    space: str = "|"
    lower: bool = False

    def decode(self, numbers: Iterable[int]) -> str:
        """Return the text of numbers: of equal neighbours one counts, and blanks do not."""
        text = "".join(letter.text for letter in self.find_letters(numbers)).strip()
        return text.lower() if self.lower else text

    def find_letters(self, numbers: Iterable[int]) -> list[Passage]:
        """Return the letters, and the spaces between words, with their moments.

        >>> Letters({0: "<pad>", 1: "h", 2: "i"}).find_letters([1, 1, 0, 2])
        [Passage(text='h', start=0, end=2), Passage(text='i', start=3, end=4)]
        """
        letters: list[Passage] = []
        start = 0
        for number, group in groupby(numbers):
            end = start + len([*group])
            letter = self.tokens.get(number, "")
            if letter != self.blank:
                letters.append(Passage(" " if letter == self.space else letter, start, end))
            start = end
        return letters

    def find_words(self, numbers: Iterable[int]) -> list[Passage]:
        """Return the words with their moments.

        >>> Letters({0: "<pad>", 1: "h", 2: "i", 3: "|"}).find_words([1, 1, 0, 2, 3, 0, 2])
        [Passage(text='hi', start=0, end=4), Passage(text='i', start=6, end=7)]
        """
        words: list[Passage] = []
        for is_space, group in groupby(self.find_letters(numbers), lambda one: one.text == " "):
            if not is_space:
                letters = [*group]
                text = "".join(letter.text for letter in letters)
                words.append(Passage(text, letters[0].start, letters[-1].end))
        return words


class Window(NamedTuple):
    """A part of a sound, in samples, and how many of it on either side are in other windows too."""

    start: int
    end: int
    left: int
    right: int

    def find_moments(self, step: int) -> tuple[int, int]:
        """Return the first moment of the window that counts, and that after the last one.

        >>> Window(600, 1600, 200, 200).find_moments(100)
        (2, 8)

        `step` are the samples for a moment.
        """
        size = self.end - self.start
        count = round(size / step)
        return round(self.left / size * count), count - round(self.right / size * count)


def cut_windows(length: int, size: int, left: int, right: int) -> Iterator[Window]:
    """Yield windows over a sound that overlap.

    >>> [*cut_windows(10, 6, 1, 1)]
    [Window(start=0, end=6, left=0, right=1), Window(start=4, end=10, left=1, right=0)]
    """
    for start in range(0, length, size - left - right):
        end = min(length, start + size)
        is_last = start + size >= length
        before = left if start else 0
        if end - start > before:
            yield Window(start, end, before, 0 if is_last else right)
        if is_last:
            return


async def read_letters(read: ReadFile) -> Letters:
    """Return the letters of a folder, those of `vocab.json`.

    Raises `DataError` NNM718 if there is none, NNM818 for a damaged file.
    """
    try:
        fields = read_object(await read(VOCABULARY), VOCABULARY)
    except DataError as error:
        if error.code != "NNM715":
            raise
        message = f"the model has letters, but there is no {VOCABULARY}"
        raise DataError("NNM718", message, hint="put it next to config.json") from error
    tokens = {fields.integer(text): text for text in fields.given}
    try:
        settings = read_object(await read(SETTINGS), SETTINGS)
    except DataError as error:
        if error.code != "NNM715":
            raise
        return Letters(tokens)
    blank = settings.get("pad_token", "<pad>")
    return Letters(
        tokens,
        blank["content"] if isinstance(blank, dict) else settings.text("pad_token", "<pad>"),
        settings.text("word_delimiter_token", "|"),
        settings.flag("do_lower_case"),
    )
