"""Pipelines of sounds give what those of `transformers` gave, as the committed file has it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

import webnnm
from tests.parity.tasks.pictures import LIMIT, find_difference
from tests.parity.tasks.sounds import draw_samples
from tests.parity.tasks.speech import CALLS, LENGTHS, list_speech_cases, make_files, read_fixtures
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
        with pytest.raises(DataError, match=r"NNM704: language: …ForCTC has no such settings"):
            await run(draw_samples(3001), language="de")
        with pytest.raises(DataError, match=r"NNM704: return_timestamps is True\nhint: \"char\""):
            await run(draw_samples(3001), return_timestamps=True)
        with pytest.raises(DataError, match=r"NNM704: chunk_length_s is 0\.1, and stride_length_s"):
            await run(draw_samples(3001), chunk_length_s=0.1, stride_length_s=0.05)


async def test_letters_and_words_have_the_times_of_transformers() -> None:
    fixtures = [fixture for fixture in FIXTURES if "calls" in fixture]
    assert len(fixtures) == 2
    for fixture in fixtures:
        async with await webnnm.pipeline(fixture["task"], make_files(fixture), **SETTINGS) as run:
            actual = [await run(draw_samples(LENGTHS[0]), **settings) for settings in CALLS]
        assert json.loads(json.dumps(actual)) == fixture["calls"]
        assert len(actual[0]["chunks"]) > 50


async def test_moonshine_writes_as_it_is_told() -> None:
    pytest.importorskip("tokenizers")
    fixture = FIXTURES[-1]
    async with await webnnm.pipeline(fixture["task"], make_files(fixture), **SETTINGS) as run:
        text = (await run(draw_samples(9000), num_beams=1, max_new_tokens=3))["text"]
        with pytest.raises(DataError, match="NNM704: return_timestamps: MoonshineFor"):
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
