"""Texts from a letter for each moment of a sound.

Source: A. Graves et al., "Connectionist temporal classification", ICML (2006).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from webnnm.core.errors import DataError
from webnnm.transformers.config import read_object
from webnnm.transformers.processors.files import ReadFile

VOCABULARY, SETTINGS = "vocab.json", "tokenizer_config.json"


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
        letters = [self.tokens.get(number, "") for number, _ in groupby(numbers)]
        text = "".join(" " if x == self.space else x for x in letters if x != self.blank).strip()
        return text.lower() if self.lower else text


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
