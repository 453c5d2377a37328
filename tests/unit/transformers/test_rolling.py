"""Texts longer than a model has positions for: what is kept, and the tokens that follow it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.unit.tasks.words import QUIET
from tests.unit.transformers.folders import CONFIG, sized_files
from webnnm import DataError, PretrainedModel, from_pretrained
from webnnm.transformers.rolling import Window

POSITIONS = 12
PROMPTS = [[3, 9, 1, 30, 12], [7, 7]]


async def load(positions: int = POSITIONS) -> PretrainedModel:
    """Return a tiny Llama with few positions."""
    config = {**CONFIG, "max_position_embeddings": positions}
    return await from_pretrained(sized_files(config, {}, 0.6), **QUIET)


async def write_slowly(
    model: PretrainedModel, rows: Sequence[Sequence[int]], count: int, size: int, sinks: int
) -> list[list[int]]:
    """Return the most likely tokens, each from all scores of what is seen, without a cache."""
    texts, seen = [[*row] for row in rows], [[*row] for row in rows]
    for _ in range(count):
        if any(len(row) == size for row in seen):
            kept = (size - sinks) // 2
            seen = [row if len(row) < size else row[:sinks] + row[-kept:] for row in seen]
        for text, row in zip(texts, seen, strict=True):
            scores = (await model.predict(input_ids=[row]))["logits"][0][-1].tolist()
            text.append(scores.index(max(scores)))
            row.append(text[-1])
    return texts


@pytest.mark.parametrize(
    ("settings", "size", "sinks"),
    [
        ({"sinks": 2}, POSITIONS, 2),
        ({"sinks": 0}, POSITIONS, 0),
        ({"context": 8, "sinks": 1}, 8, 1),
        ({"context": 100}, POSITIONS, 0),
    ],
)
async def test_texts_go_on_with_their_first_and_their_last_tokens(
    settings: dict[str, Any], size: int, sinks: int
) -> None:
    async with await load() as model:
        texts = await model.generate_ids(PROMPTS, max_new_tokens=40, **settings)
        assert texts == await write_slowly(model, PROMPTS, 40, size, sinks)
        ended = await model.generate_ids(PROMPTS, max_new_tokens=40)
        assert [len(text) for text in ended] == [POSITIONS, POSITIONS]
        rows, mask = [PROMPTS[0], [0, 0, 0, 7, 7]], [[1] * 5, [0, 0, 0, 1, 1]]
        assert ended == await model.generate_ids(rows, attention_mask=mask, max_new_tokens=40)


async def test_long_prompts_are_cut() -> None:
    prompt = [n % 31 for n in range(50)]
    async with await load() as model:
        (text,) = await model.generate_ids([prompt], max_new_tokens=3, sinks=2)
        cut = [*prompt[:2], *prompt[-5:]]
        assert text == prompt + (await model.generate_ids([cut], max_new_tokens=3))[0][7:]
        with pytest.raises(DataError, match="NNM711: 50 tokens"):
            await model.generate_ids([prompt], max_new_tokens=3)


async def test_samples_do_not_depend_on_how_often_they_are_read() -> None:
    async with await load() as model:
        drawn = {"max_new_tokens": 30, "sinks": 2, "temperature": 1.5, "seed": 4}
        (one,) = await model.generate_ids([PROMPTS[0]], **drawn)
        (two,) = await model.generate_ids([PROMPTS[0]], **drawn)
        assert one == two and len(one) == 35 and len({*one[5:]}) > 5


async def test_models_without_a_limit_need_no_window() -> None:
    async with await load(4096) as model:
        plain = await model.generate_ids(PROMPTS, max_new_tokens=20)
        assert await model.generate_ids(PROMPTS, max_new_tokens=20, sinks=4) == plain


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sinks": -1}, "sinks is -1"),
        ({"sinks": 1.5}, "sinks is 1.5"),
        ({"context": 5, "sinks": 4}, "context is 5"),
        ({"sinks": 11}, "sinks is 11, the model has positions for 12 tokens"),
        ({"sinks": 2, "num_beams": 3}, "num_beams is 3, and context is None, sinks is 2"),
    ],
)
async def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    async with await load() as model:
        with pytest.raises(DataError, match=f"NNM704: {message}"):
            await model.generate_ids(PROMPTS, **settings)


def test_full_texts_lose_their_older_half() -> None:
    assert Window(4, 0).cut([1, 2, 3]) == [1, 2, 3]
    assert Window(4, 0).cut([1, 2, 3, 4]) == [3, 4]
    assert Window(6, 1).cut([*range(9)]) == [0, 7, 8]
