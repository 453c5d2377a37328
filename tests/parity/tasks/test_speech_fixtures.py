"""Pipelines of sounds give what those of `transformers` gave, as the committed file has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import webnnm
from tests.parity.tasks.pictures import LIMIT, find_difference
from tests.parity.tasks.sounds import draw_samples
from tests.parity.tasks.speech import LENGTHS, list_speech_cases, make_files, read_fixtures
from webnnm import DataError

FIXTURES = read_fixtures()
SETTINGS: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}


def test_fixtures_are_those_of_the_cases() -> None:
    tasks = [case.task for case in list_speech_cases()]
    assert [fixture["task"] for fixture in FIXTURES] == tasks, "`make parity-fixtures` writes them"


@pytest.mark.parametrize(
    "fixture", FIXTURES, ids=lambda one: one["files"]["config.json"]["architectures"][0]
)
async def test_results_are_those_of_transformers(fixture: Mapping[str, Any]) -> None:
    if "tokenizer.json" in fixture["files"]:
        pytest.importorskip("tokenizers")
    async with await webnnm.pipeline(fixture["task"], make_files(fixture), **SETTINGS) as run:
        actual = await run([draw_samples(length) for length in LENGTHS])
    assert not find_difference(fixture["results"], actual, LIMIT)


async def test_models_of_letters_have_no_settings_of_whisper() -> None:
    async with await webnnm.pipeline(
        FIXTURES[0]["task"], make_files(FIXTURES[0]), **SETTINGS
    ) as run:
        with pytest.raises(DataError, match="NNM704: language, return_timestamps: only Whisper"):
            await run(draw_samples(3001), language="de", return_timestamps=True)


async def test_moonshine_writes_as_it_is_told() -> None:
    pytest.importorskip("tokenizers")
    fixture = FIXTURES[-1]
    async with await webnnm.pipeline(fixture["task"], make_files(fixture), **SETTINGS) as run:
        text = (await run(draw_samples(9000), num_beams=1, max_new_tokens=3))["text"]
        with pytest.raises(DataError, match="NNM704: return_timestamps: only Whisper"):
            await run(draw_samples(9000), return_timestamps=True)
    assert len(text) == 4  # with that with which texts begin, which is a letter here


async def test_all_classes_of_a_sound_are_returned() -> None:
    fixture = FIXTURES[1]
    assert fixture["task"] == "audio-classification"
    labels = {str(number): f"class {number}" for number in range(7)}
    config = {**fixture["files"]["config.json"], "id2label": labels, "label2id": {}}
    sizes = {name: fixture["shapes"][f"classifier.{name}"] for name in ("weight", "bias")}
    shapes = {f"classifier.{name}": [7, *size[1:]] for name, size in sizes.items()}
    changed = {
        **fixture,
        "files": {**fixture["files"], "config.json": config},
        "shapes": {**fixture["shapes"], **shapes},
    }
    async with await webnnm.pipeline(fixture["task"], make_files(changed), **SETTINGS) as run:
        found = await run(draw_samples(3001))
        assert {one["label"] for one in found} == {*labels.values()}
        assert await run(draw_samples(3001), top_k=2) == found[:2]
