"""Florence-2 carries out the tasks that it carries out in `transformers`."""

from __future__ import annotations

import json
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
LENGTH = 30


def read_rows(*rows: str) -> list[list[int]]:
    """Return rows of tokens from texts."""
    return [[int(token) for token in row.split()] for row in rows]


GREEDY = read_rows(
    "2 9 9 3 9 10 10 9 19 19 10 18 30 4 30 30 15 19 23 23 29 29 15 23 4 23 15 29 16 1 2",
    "2 9 9 3 9 10 10 9 19 19 10 18 30 4 30 30 8 8 30 16 29 29 26 29 4 23 23 29 16 26 2",
)
BEAMS = read_rows(
    "2 9 9 10 10 5 5 1 19 19 10 18 30 23 23 4 23 29 29 16 13 30 30 13 13 6 6 1 1 5 2",
    "2 9 9 10 10 5 5 1 19 19 10 18 30 23 23 4 23 29 29 16 13 30 30 13 13 23 12 12 17 5 2",
)
"""What `transformers` wrote for the pictures and texts of the fixture: no pair of tokens twice."""
PICTURE = HostArray("uint8", (9, 12, 3), bytes(range(108)) * 3)
SPECIAL = {"bos_token": "[CLS]", "eos_token": "[SEP]"}
PLACES = [f"<loc_{60 * n}>" for n in range(16)]
IMAGE = 30


def make_files() -> dict[str, bytes]:
    """Return the files of the fixture, with a tokenizer and a processor."""
    sizes = {"image_processor_type": "CLIPImageProcessor", "do_center_crop": False}
    sizes |= {"size": {"height": 10, "width": 8}}
    answers = {"phrase_grounding": {"banned_grounding_tokens": ["it"]}, "ocr": {}}
    assert len(WORDS) + len(PLACES) == IMAGE
    return {
        **files(fixtures.read()["florence2"], SEED),
        "tokenizer.json": write_tokenizer([*PLACES, "<image>"]),
        "tokenizer_config.json": json.dumps(SPECIAL).encode(),
        "preprocessor_config.json": json.dumps(sizes).encode(),
        "processor_config.json": json.dumps({"post_processor_config": answers}).encode(),
    }


async def test_texts_are_those_of_transformers() -> None:
    inputs: Any = fixtures.read()["florence2"].inputs
    given = {name: inputs[name] for name in ("input_ids", "attention_mask", "pixel_values")}
    async with await webnnm.from_pretrained(make_files(), **QUIET) as model:
        settings = {"max_new_tokens": LENGTH, "no_repeat_ngram_size": 2}
        assert await model.generate_ids(**given, **settings) == GREEDY
        assert await model.generate_ids(**given, **settings, num_beams=3) == BEAMS
        alone = {name: array[1:] for name, array in given.items()}
        assert await model.generate_ids(**alone, **settings) == GREEDY[1:]


async def test_tasks_are_carried_out() -> None:
    pytest.importorskip("tokenizers")
    async with await webnnm.pipeline("image-text-to-text", make_files(), **QUIET) as look:
        assert webnnm.list_tasks(look.model) == ["image-text-to-text"]
        settings = {"max_new_tokens": 8}
        (result,) = await look(PICTURE, "<CAPTION>", **settings)
        text = await look.model.generate("<CAPTION>", images=[PICTURE], **settings)
        assert result["input_text"] == "<CAPTION>"
        assert result["generated_text"] == "<CAPTION>" + text
        assert result["answer"].keys() == {"<CAPTION>"}
        own = await look([PICTURE] * 2, ["<OD>", "good"], return_full_text=False, **settings)
        assert [[*one[0]] for one in own] == [
            ["input_text", "generated_text", "answer"],
            ["input_text", "generated_text"],
        ]
        assert own[0][0]["answer"]["<OD>"].keys() == {"bboxes", "labels"}
        with pytest.raises(DataError, match="NNM704: there is more than <OD> in the prompt"):
            await look(PICTURE, "<OD> cars")
        with pytest.raises(DataError, match="NNM702: 2 texts for 1 pictures"):
            await look([PICTURE], ["<OD>", "<OCR>"])
        with pytest.raises(DataError, match="NNM704: there is no picture"):
            await look(text="<OD>")
        with pytest.raises(DataError, match="NNM702: a task for 2 pictures"):
            await look.model.generate("<OD>", images=[PICTURE] * 2)


async def test_pictures_need_their_places() -> None:
    inputs: Any = fixtures.read()["florence2"].inputs
    async with await webnnm.from_pretrained(make_files(), **QUIET) as model:
        pixels = inputs["pixel_values"][:1]
        with pytest.raises(DataError, match=r"NNM702: a text has 1 tokens of pictures"):
            await model.generate_ids([[IMAGE, 5, 6]], pixel_values=pixels)
        plain = await model.generate_ids([[0, 5, 6, 2]], max_new_tokens=4)
        assert len(plain[0]) <= 5
        assert await model.generate("so good", max_new_tokens=4) is not None


@pytest.mark.parametrize(
    ("part", "changes", "message"),
    [
        (
            "text_config",
            {"tie_word_embeddings": False},
            '"text_config.tie_word_embeddings" is false',
        ),
        ("text_config", {"model_type": "t5"}, '"text_config.model_type" is "t5"'),
        ("vision_config", {"dim_embed": [4, 8]}, '"vision_config.dim_embed" is'),
        ("vision_config", {"patch_prenorm": [1, 0]}, '"vision_config.patch_prenorm" is'),
        ("vision_config", {"num_groups": [3, 4]}, '"vision_config.num_groups" is'),
        ("vision_config", {"depths": [1]}, '"vision_config.depths" is'),
        ("vision_config", {"projection_dim": 9}, '"vision_config.projection_dim" is 9'),
        (
            "vision_config",
            {"max_position_embeddings": 2},
            '"vision_config.max_position_embeddings"',
        ),
    ],
)
async def test_other_models_are_refused(part: str, changes: dict[str, Any], message: str) -> None:
    given = make_files()
    config = json.loads(given["config.json"])
    config[part].update(changes)
    wrong = {**given, "config.json": json.dumps(config).encode()}
    with pytest.raises(DataError, match=f"NNM818: config.json: {message}"):
        await webnnm.from_pretrained(wrong, **QUIET)


async def test_other_ways_to_read_texts_are_refused() -> None:
    pytest.importorskip("tokenizers")
    answers = {"post_processor_config": {"ocr": {"AREA_THRESHOLD": 0.01}}}
    given = {**make_files(), "processor_config.json": json.dumps(answers).encode()}
    async with await webnnm.pipeline("image-text-to-text", given, **QUIET) as look:
        with pytest.raises(DataError, match=r"NNM818: .*AREA_THRESHOLD"):
            await look(PICTURE, "<OCR>")
