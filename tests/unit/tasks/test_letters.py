"""Texts of letters: what repeats is one letter, blanks are none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from webnnm import DataError
from webnnm.tasks.letters import Letters, read_letters

TOKENS = {0: "<pad>", 1: "A", 2: "B", 3: "|"}


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([], ""),
        ([1, 1, 1], "A"),
        ([1, 0, 1], "AA"),
        ([3, 1, 3, 3, 2, 3], "A B"),
        ([3, 0, 3, 1], "A"),
        ([1, 9, 2], "AB"),
    ],
)
def test_numbers_become_texts(numbers: list[int], text: str) -> None:
    assert Letters(TOKENS).decode(numbers) == text
    assert Letters(TOKENS, lower=True).decode(numbers) == text.lower()


def reader(**files: Any) -> Any:
    async def read(name: str) -> str:
        key = name.partition(".")[0]
        if key not in files:
            raise DataError("NNM715", f"there is no {name}")
        return json.dumps(files[key])

    return read


async def test_letters_are_read_from_the_folder() -> None:
    vocabulary = {text: number for number, text in TOKENS.items()}
    assert await read_letters(reader(vocab=vocabulary)) == Letters(TOKENS)
    settings = {"pad_token": {"content": "A"}, "word_delimiter_token": "B", "do_lower_case": True}
    letters = await read_letters(reader(vocab=vocabulary, tokenizer_config=settings))
    assert letters == Letters(TOKENS, "A", "B", lower=True)
    assert (
        await read_letters(reader(vocab=vocabulary, tokenizer_config={"pad_token": "B"}))
    ).blank == "B"
    with pytest.raises(DataError, match=r"NNM718: .* no vocab\.json"):
        await read_letters(reader())
    with pytest.raises(DataError, match="NNM818"):
        await read_letters(reader(vocab={"A": "one"}))
