"""BLIP writes the captions and answers that it writes in `transformers`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import webnnm
from tests.parity.pretrained import fixtures
from tests.parity.pretrained.fixtures import SEED
from tests.parity.pretrained.outcome import files
from tests.unit.tasks.words import QUIET, WORDS, write_tokenizer
from webnnm import DataError
from webnnm.core.arrays import HostArray

pytestmark = pytest.mark.desktop
LENGTH = 40
CAPTIONS = [
    [30, 29, 9, 20, 8, 10, 25, 1, 1, 8, 8, *[1] * 23, 25, 15, *[1] * 5],
    [
        *(30, 29, 9, 20, 8, 10, 25, 1, 1, 8, 8, *[1] * 7, 8, 8, 1, 1, 1, 8, 8, 25, *[1] * 4),
        *(25, 8, 25, 15, 8, 10, *[1] * 5),
    ],
]
PROMPTED = [
    [*(30, 7, 9, 25, 8, 10, 25, 1, 1, 8, 8, *[1] * 7, 8, 8, *[1] * 14, 8, 10), *[1] * 7],
    [
        *(30, 7, 9, 25, 8, 10, 25, 1, 1, 8, 8, *[1] * 7, 8, 8, 1, 1, 1, 8, 8, 25, 1, 1, 1),
        *(25, 15, 1, 1, 1, 8, 10, *[1] * 7),
    ],
]
QUESTION = [2, 5, 9, 11, 3]
ANSWERS = [
    [
        *(30, 8, 15, 8, 8, 10, 25, 1, *[8] * 13, 10, 8, 8, 25, 8, 8, 25, 8, 25, 15, 8, 25, 15, 8),
        *(25, 8, 8, 25, 8, 8),
    ],
    [
        *(30, 8, 15, 8, 8, 10, 25, 1, *[8] * 12, 1, 8, 8, 8, 8, 25, 1, 8, 8, 25, 15, 8, 25, 15),
        *[8] * 7,
    ],
]
"""What `transformers` wrote for the pictures of the fixture: greedy, 40 tokens."""
PICTURE = HostArray("uint8", (9, 12, 3), bytes(range(108)) * 3)


def make_files(kind: str) -> dict[str, bytes]:
    """Return the files of a class of BLIP; its question encoder has shapes like its decoder."""
    fixture = fixtures.read()["blip"]
    shapes, stack = dict(fixture.shapes), "text_decoder.bert."
    if kind == "BlipForQuestionAnswering":
        own = {name: shape for name, shape in shapes.items() if name.startswith(stack)}
        shapes |= {name.replace(stack, "text_encoder."): shape for name, shape in own.items()}
    config = {**fixture.config, "architectures": [kind]}
    return {
        **files(replace(fixture, config=config, shapes=shapes), SEED),
        "tokenizer.json": write_tokenizer(),
        "preprocessor_config.json": json.dumps(
            {"image_processor_type": "BlipImageProcessor", "size": 8}
        ).encode(),
    }


async def test_captions_are_those_of_transformers() -> None:
    pixels: Any = fixtures.read()["blip"].inputs["pixel_values"]
    given = make_files("BlipForConditionalGeneration")
    async with await webnnm.from_pretrained(given, **QUIET) as model:
        settings = {"pixel_values": pixels, "max_new_tokens": LENGTH}
        assert await model.generate_ids(**settings) == CAPTIONS
        assert await model.generate_ids([[30, 7, 9]] * 2, **settings) == PROMPTED
        assert await model.generate_ids([[7, 9]] * 2, **settings) == PROMPTED


async def test_answers_are_those_of_transformers() -> None:
    pixels: Any = fixtures.read()["blip"].inputs["pixel_values"]
    given = make_files("BlipForQuestionAnswering")
    async with await webnnm.from_pretrained(given, **QUIET) as model:
        settings = {"pixel_values": pixels, "max_new_tokens": LENGTH}
        assert await model.generate_ids([QUESTION] * 2, **settings) == ANSWERS
        for number, expected in enumerate(ANSWERS):  # alone, and beside a longer question
            pair = {"pixel_values": pixels[[number] * 2], "max_new_tokens": LENGTH}
            rows = await model.generate_ids([QUESTION, [*QUESTION, *QUESTION]], **pair)
            assert rows[0] == expected


async def test_pipelines_caption_and_answer() -> None:
    pytest.importorskip("tokenizers")
    options = {"suppress_tokens": [*range(5), *range(len(WORDS), 31)], "max_new_tokens": 6}
    captions = make_files("BlipForConditionalGeneration")
    async with await webnnm.pipeline("image-to-text", captions, **QUIET) as write:
        assert webnnm.list_tasks(write.model) == ["image-to-text"]
        (result,) = await write(PICTURE, **options)
        assert result["generated_text"]
        assert await write([PICTURE] * 2, batch_size=2, **options) == [[result], [result]]
        (told,) = await write(PICTURE, prompt="good bad", **options)
        assert told["generated_text"].startswith("good bad")
    answers = make_files("BlipForQuestionAnswering")
    task = "visual-question-answering"
    async with await webnnm.pipeline(task, answers, **QUIET) as answer:
        assert webnnm.list_tasks(answer.model) == [task]
        (result,) = await answer(PICTURE, "what day?", **options)
        assert result["answer"]
        pair = {"image": PICTURE, "question": "what day?"}
        assert await answer([pair, pair], **options) == [[result], [result]]
        with pytest.raises(DataError, match="NNM702"):
            await answer(PICTURE)
    with pytest.raises(DataError, match="NNM717: BlipForConditionalGeneration cannot be used"):
        await webnnm.pipeline(task, captions, **QUIET)


@pytest.mark.parametrize(
    ("part", "changes", "message"),
    [
        ("text_config", {"is_decoder": False}, '"text_config.is_decoder" is false'),
        ("vision_config", {"num_experts": 3}, '"vision_config.num_experts" is 3'),
        ("", {"qformer_config": {"a": 1}}, '"qformer_config" is'),
    ],
)
async def test_other_models_are_refused(part: str, changes: dict[str, Any], message: str) -> None:
    given = make_files("BlipForConditionalGeneration")
    config = json.loads(given["config.json"])
    (config[part] if part else config).update(changes)
    wrong = {**given, "config.json": json.dumps(config).encode()}
    with pytest.raises(DataError, match=f"NNM818: config.json: {message}"):
        await webnnm.from_pretrained(wrong, **QUIET)
