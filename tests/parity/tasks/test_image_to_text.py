"""Texts about pictures: those of a greedy choice, of beams and of prompts."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import webnnm
from tests.parity.pretrained import fixtures
from tests.parity.pretrained.fixtures import SEED, Fixture, draw_weights
from tests.parity.pretrained.outcome import files
from tests.parity.tasks.pictures import DONUT_TOKENS
from tests.unit.tasks.words import QUIET, WORDS, write_tokenizer
from tests.unit.transformers.folders import pack
from webnnm import DataError
from webnnm.core.arrays import HostArray
from webnnm.transformers.processors.picture_settings import read_picture_settings
from webnnm.transformers.processors.pictures import process_picture

pytestmark = pytest.mark.desktop
START = {"decoder_start_token_id": 2, "eos_token_id": None}
WRITABLE = {"suppress_tokens": [*range(5), *range(len(WORDS), 31)]}
PICTURES = [HostArray("uint8", (9, 12, 3), bytes(range(k, k + 108)) * 3) for k in (0, 70, 140)]


def make_files(name: str, **generation: Any) -> dict[str, bytes]:
    """Return the files of a recorded model, with a tokenizer and a processor."""
    side = fixtures.read()[name].config["encoder"]["image_size"]
    processor = {"image_processor_type": "ViTImageProcessor", "size": side}
    return {
        **files(fixtures.read()[name], SEED),
        "tokenizer.json": write_tokenizer(),
        "preprocessor_config.json": json.dumps(processor).encode(),
        "generation_config.json": json.dumps({**START, **generation}).encode(),
    }


@pytest.mark.parametrize("name", ["trocr", "trocr-untied", "vit-gpt2", "donut"])
async def test_texts_follow_from_scores_of_all_tokens(name: str) -> None:
    fixture = fixtures.read()[name]
    pixels = fixture.inputs["pixel_values"]
    start = {"generation_config.json": json.dumps(START).encode()}
    async with await webnnm.from_pretrained({**files(fixture, SEED), **start}, **QUIET) as model:
        ends: int = fixture.config["decoder"]["eos_token_id"]
        for row in range(len(pixels)):
            tokens = [2]
            while len(tokens) < 13 and (len(tokens) == 1 or tokens[-1] != ends):
                outputs = await model.predict(
                    pixel_values=pixels[row : row + 1], decoder_input_ids=[tokens]
                )
                tokens.append(int(np.argmax(outputs["logits"][0][-1])))
            written = await model.generate_ids(pixel_values=pixels, max_new_tokens=12)
            assert written[row] == tokens


async def test_pictures_have_texts_one_or_several() -> None:
    given = make_files("trocr", max_length=8)
    async with await webnnm.pipeline("image-to-text", given, **QUIET) as write:
        results = await write(PICTURES, **WRITABLE)
        assert [len(result) for result in results] == [1, 1, 1]
        assert all(text["generated_text"] for (text,) in results)
        assert await write(PICTURES[1], **WRITABLE) == results[1]
        assert await write(PICTURES, batch_size=2, **WRITABLE) == results
        beams = {"num_beams": 3, "num_return_sequences": 2, **WRITABLE}
        pairs = await write(PICTURES, **beams)
        assert [len(pair) for pair in pairs] == [2, 2, 2]
        assert all(one != other for one, other in pairs)
        assert await write(PICTURES, batch_size=2, **beams) == pairs
        drawn = await write(PICTURES[0], do_sample=True, num_return_sequences=3, seed=1, **WRITABLE)
        assert len(drawn) == 3
        (told,) = await write(PICTURES[0], prompt="good bad", **WRITABLE)
        assert told["generated_text"].startswith("good bad")


async def test_texts_are_as_long_as_the_generation_config_says() -> None:
    async with await webnnm.pipeline(
        "image-to-text", make_files("vit-gpt2", max_length=6, min_new_tokens=5), **QUIET
    ) as write:
        tokens = [*range(2, len(WORDS))]
        write.model.tokenizer.decode = lambda row: str(len([*row]))  # how many tokens there are
        (result,) = await write(PICTURES[0], suppress_tokens=tokens)
        assert result == {"generated_text": "6"}
        (result,) = await write(PICTURES[0], suppress_tokens=tokens, max_new_tokens=3)
        assert result == {"generated_text": "4"}


def make_donut_files() -> dict[str, bytes]:
    """Return the files of a recorded Donut that reads small pages and answers questions."""
    fixture = fixtures.read()["donut"]
    processor = {"image_processor_type": "DonutFeatureExtractor", "size": [8, 12]}
    return {
        **files(fixture, SEED),
        "tokenizer.json": write_tokenizer(DONUT_TOKENS),
        "preprocessor_config.json": json.dumps(processor).encode(),
        "generation_config.json": json.dumps({**START, "max_length": 20}).encode(),
    }


async def test_texts_of_donut_begin_with_the_prompt() -> None:
    async with await webnnm.pipeline("image-to-text", make_donut_files(), **QUIET) as write:
        inputs = {"pixel_values": [[[[0.5] * 8] * 12] * 3], "max_new_tokens": 3}
        for rows in ([[15, 6]], [[2, 15]]):
            (row,) = await write.model.generate_ids(decoder_input_ids=rows, **inputs)
            assert row[:2] == rows[0] and len(row) == 5
        (default,) = await write.model.generate_ids(**inputs)
        assert default[0] == 2 and len(default) == 4


async def test_questions_about_pages_are_checked() -> None:
    donut = make_donut_files()
    async with await webnnm.pipeline("document-question-answering", donut, **QUIET) as answer:
        pair = {"image": PICTURES[0], "question": "what day?"}
        (result,) = await answer(pair)
        assert result.keys() == {"answer"}
        assert await answer([pair, pair]) == [[result], [result]]
        wrong: list[tuple[Any, ...]] = [(PICTURES[0],), ([{"image": PICTURES[0]}],)]
        wrong += [(PICTURES[0], 3), ([PICTURES[0]],), ({**pair, "word_boxes": []},)]
        for arguments in wrong:
            with pytest.raises(DataError, match="NNM702"):
                await answer(*arguments)
    plain = {**donut, "tokenizer.json": write_tokenizer()}
    for given in (plain, make_files("trocr")):
        with pytest.raises(DataError, match=r"NNM717: [\s\S]*a Donut that knows the task"):
            await webnnm.pipeline("document-question-answering", given, **QUIET)


async def test_pages_larger_than_the_model_are_refused() -> None:
    processor = {"image_processor_type": "DonutImageProcessor", "size": [8, 12]}
    settings = read_picture_settings({**processor, "do_thumbnail": False})
    with pytest.raises(DataError, match=r"NNM702: it has 8 × 24 pixels .*\n.*8 × 12"):
        await process_picture(HostArray("uint8", (30, 10, 3), bytes(900)), "it", settings)


async def test_other_models_are_refused() -> None:
    bart = files(fixtures.read()["bart-plain"], SEED)
    with pytest.raises(DataError, match=r"NNM717: Bart.* cannot be used for image-to-text"):
        await webnnm.pipeline("image-to-text", bart, **QUIET)


@pytest.mark.parametrize(
    ("part", "changes", "message"),
    [
        ("encoder", {"model_type": "resnet"}, '"encoder.model_type" is "resnet"'),
        ("decoder", {"model_type": "opt"}, '"decoder.model_type" is "opt"'),
        ("decoder", {"cross_attention_hidden_size": 5}, '"decoder.cross_attention_hidden_size"'),
        ("decoder", {"is_decoder": False}, '"decoder.is_decoder" is false'),
    ],
)
async def test_other_parts_are_refused(part: str, changes: dict[str, Any], message: str) -> None:
    fixture = fixtures.read()["trocr"]
    config = {**fixture.config, part: {**fixture.config[part], **changes}}
    given = files(Fixture(config, fixture.shapes, fixture.inputs, {}), SEED)
    with pytest.raises(DataError, match=f"NNM818: config.json: {message}"):
        await webnnm.from_pretrained(given, **QUIET)


async def test_waves_are_the_positions_of_files_without_a_table() -> None:
    fixture = fixtures.read()["trocr-untied"]
    decoder = fixture.config["decoder"]
    table, width, padding = "decoder.model.decoder.embed_positions.weight", 8, 1
    rows = [
        [
            wave(row * math.exp(-math.log(10000) * k / (width // 2 - 1)))
            for wave in (math.sin, math.cos)
            for k in range(width // 2)
        ]
        for row in range(padding + 1, padding + 7)
    ]
    weights = draw_weights(fixture.shapes, SEED)
    weights[table][2 : 2 + len(rows)] = rows
    tensors = {name: HostArray.of(array) for name, array in weights.items()}
    learned = {**files(fixture, SEED), "model.safetensors": pack(tensors)}
    del tensors[table]
    config = {**fixture.config, "decoder": {**decoder, "use_learned_position_embeddings": False}}
    waves = {"config.json": json.dumps(config).encode(), "model.safetensors": pack(tensors)}
    results: list[Any] = []
    for given in (learned, waves):
        async with await webnnm.from_pretrained(given, **QUIET) as model:
            outputs = await model.predict(
                pixel_values=fixture.inputs["pixel_values"][:1],
                decoder_input_ids=[[5, 7, 9, 11, 3]],
            )
            results.append(outputs["logits"])
    assert np.allclose(*results, atol=1e-5)
