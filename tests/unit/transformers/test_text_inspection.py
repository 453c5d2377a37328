"""What a language model makes of a text: next tokens and attention."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from typing import Any

import pytest

import webnnm
from tests.unit.transformers.folders import CONFIG, files_with_words
from webnnm import DataError
from webnnm.transformers.text_inspection import TextInspector

pytestmark = pytest.mark.desktop


@pytest.fixture
async def model() -> AsyncIterator[Any]:
    pytest.importorskip("tokenizers")
    opened = await webnnm.from_pretrained(files_with_words(), backend="numpy", log=lambda _: None)
    yield opened
    opened.close()


async def test_next_tokens_have_the_probabilities_of_the_model(model: Any) -> None:
    tokens = [5, 9, 20, 3, 7]
    async with TextInspector(model) as inspector:
        seen = await inspector.inspect(tokens)
    every = seen.next_tokens(len(seen.scores))
    assert sum(token.probability for token in every) == pytest.approx(1)
    assert [t.probability for t in every] == sorted((t.probability for t in every), reverse=True)
    first = every[0]
    expected = (await model.log_probabilities([first.token], prompt=tokens))[0]
    assert math.log(first.probability) == pytest.approx(expected, abs=1e-5)
    assert first.text == model.tokenizer.decode([first.token])
    cold = seen.next_tokens(1, temperature=0.1)[0]
    assert cold.token == first.token and cold.probability > first.probability


async def test_attention_is_that_of_the_tokens_so_far(model: Any) -> None:
    async with TextInspector(model) as inspector:
        before = model.backend.memory().tensors
        short = await inspector.inspect([5, 9, 20])
        long = await inspector.inspect([5, 9, 20, 3, 7])
        assert model.backend.memory().tensors == before
    assert len(short.attention) == CONFIG["num_hidden_layers"]
    for label, weights_of_layer in short.attention.items():
        assert weights_of_layer.shape == (CONFIG["num_attention_heads"], 3, 3)
        for head, same in zip(
            weights_of_layer.tolist(), long.attention[label].tolist(), strict=True
        ):
            for number, row in enumerate(head):
                assert sum(row) == pytest.approx(1)
                assert row[number + 1 :] == [0] * (2 - number)
                assert same[number][:3] == pytest.approx(row, abs=1e-6)


async def test_what_cannot_be_read_is_refused(model: Any) -> None:
    async with TextInspector(model) as inspector:
        with pytest.raises(DataError, match="NNM711"):
            await inspector.inspect([])
        seen = await inspector.inspect([5])
    for settings in ({"temperature": 0.0}, {"temperature": math.nan}, {"count": 0}):
        with pytest.raises(DataError, match="NNM704"):
            seen.next_tokens(**settings)
