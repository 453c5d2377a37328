"""Several texts for a prompt, tokens that end them, and how likely the tokens of a text are."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from typing import Any

import pytest

import webnnm
from tests.unit.transformers.folders import files_with_words
from webnnm import DataError

pytestmark = pytest.mark.desktop


@pytest.fixture
async def model() -> AsyncIterator[Any]:
    pytest.importorskip("tokenizers")
    opened = await webnnm.from_pretrained(files_with_words(), backend="numpy", log=lambda _: None)
    yield opened
    opened.close()


async def test_samples_of_a_prompt_are_those_of_equal_prompts(model: Any) -> None:
    settings: dict[str, Any] = {"max_new_tokens": 8, "temperature": 2.0, "seed": 4}
    texts = await model.generate("abc", num_return_sequences=3, **settings)
    assert texts == await model.generate(["abc"] * 3, **settings) and len({*texts}) > 1
    several = await model.generate(["abc", "d"], num_return_sequences=2, **settings)
    assert several == await model.generate(["abc", "abc", "d", "d"], **settings)
    pieces = [piece async for piece in model.generate("abc", num_return_sequences=3, **settings)]
    assert ["".join(column) for column in zip(*pieces, strict=True)] == texts


async def test_a_search_returns_its_best_texts(model: Any) -> None:
    settings: dict[str, Any] = {"max_new_tokens": 6, "num_beams": 4}
    texts = await model.generate(["abc", "d"], num_return_sequences=3, **settings)
    best = await model.generate(["abc", "d"], **settings)
    assert texts[::3] == best and len({*texts[:3]}) == 3


async def test_tokens_end_texts_besides_those_of_the_model(model: Any) -> None:
    (row,) = await model.generate_ids([[5, 6]], max_new_tokens=9)
    end = row[5]
    (shorter,) = await model.generate_ids([[5, 6]], max_new_tokens=9, eos_token_id=end)
    assert shorter == row[: row.index(end, 2) + 1]
    text = await model.generate("cd", max_new_tokens=9, eos_token_id=[end])
    ids = (await model.generate_ids([model.tokenizer.encode("cd")], max_new_tokens=9))[0][2:]
    kept = ids[: ids.index(end)] if end in ids else ids
    assert text == model.tokenizer.decode(kept)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"num_return_sequences": 2}, "there is no temperature"),
        ({"num_return_sequences": 0}, "num_return_sequences is 0"),
        ({"num_return_sequences": 3, "num_beams": 2}, "num_beams is 2"),
        ({"eos_token_id": "x"}, "eos_token_id has 'x'"),
    ],
)
async def test_what_cannot_be_is_refused(model: Any, settings: Any, why: str) -> None:
    with pytest.raises(DataError, match="NNM704") as caught:
        await model.generate("a", **settings)
    assert why in str(caught.value)


async def test_probabilities_are_those_of_the_scores(model: Any) -> None:
    tokens = [5, 9, 20, 3, 7]
    (scores,) = (await model.predict(input_ids=[tokens]))["logits"].tolist()
    expected = [
        row[token] - math.log(sum(map(math.exp, row)))
        for row, token in zip(scores, tokens[1:], strict=False)
    ]
    assert await model.log_probabilities(tokens) == pytest.approx(expected, abs=1e-5)
    after = await model.log_probabilities(tokens[2:], prompt=tokens[:2])
    assert after == pytest.approx(expected[1:], abs=1e-5)
    windows = await model.log_probabilities(tokens, length=3, stride=1)
    assert len(windows) == 4 and windows[:2] == pytest.approx(expected[:2], abs=1e-5)
    text = await model.log_probabilities("cd", prompt="ab")
    assert text == (await model.log_probabilities(model.tokenizer.encode("abcd")))[1:]
    with pytest.raises(DataError, match="NNM711"):
        await model.log_probabilities([5])
