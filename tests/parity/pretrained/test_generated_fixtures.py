"""Models write the texts of `transformers`, as the committed file has them."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.parity.pretrained import fixtures, generated
from tests.parity.pretrained.generated import Texts, draw_rows, select_settings
from webnnm import DataError, PretrainedModel

recorded = cache(generated.read)


class Loaded(NamedTuple):
    """A model, what it reads, and what it writes by the names of settings."""

    model: PretrainedModel
    rows: list[list[int]]
    wanted: Texts
    settings: dict[str, dict[str, Any]]


@pytest.fixture(scope="module", params=generated.CASES, ids=str)
def loaded(request: pytest.FixtureRequest) -> Generator[Loaded]:
    fixture, wanted = recorded()[request.param.name]
    model = generated.load(fixture, fixtures.SEED)
    rows = draw_rows(fixture.config["vocab_size"], fixtures.SEED)
    yield Loaded(model, rows, wanted, select_settings(fixture.config))
    model.close()


def test_texts_are_those_of_transformers(loaded: Loaded) -> None:
    for name, settings in loaded.settings.items():
        found = asyncio.run(loaded.model.generate_ids(loaded.rows, **settings))
        assert found == loaded.wanted[name], name


@pytest.mark.parametrize("name", ["greedy", "beams"])
def test_each_row_alone_gives_the_same(loaded: Loaded, name: str) -> None:
    for row, wanted in zip(loaded.rows, loaded.wanted[name], strict=True):
        given = {**loaded.settings[name], "max_new_tokens": 20}
        found = asyncio.run(loaded.model.generate_ids(row, **given))
        ends = found[:-1] == wanted[: len(found) - 1]  # the last may be a forced end
        assert found == wanted if name == "beams" else ends


def test_without_a_cache_the_tokens_are_the_same(loaded: Loaded) -> None:
    text, last = loaded.wanted["greedy"][1], loaded.model.config.get("forced_eos_token_id")
    inputs: dict[str, Any] = {"input_ids": [text[:-1]]}
    start = len(loaded.rows[1]) - 1
    if "decoder_input_ids" in loaded.model.inputs():
        inputs, start = {"input_ids": [loaded.rows[1]], "decoder_input_ids": [text[:-1]]}, 0
    scores = asyncio.run(loaded.model.predict(**inputs))["logits"]
    following = np.asarray(scores)[0, start:].argmax(axis=-1).tolist()
    assert following[:-1] == text[start + 1 : -1]
    assert following[-1] == text[-1] or (len(text) == 65 and text[-1] == last)


def test_padding_is_told_by_a_mask(loaded: Loaded) -> None:
    longest = max(map(len, loaded.rows))
    ids = np.array([[*row] + [1] * (longest - len(row)) for row in loaded.rows])
    mask = np.arange(longest) < np.array([[len(row)] for row in loaded.rows])
    given = {"attention_mask": mask.astype(int), **loaded.settings["forced"]}
    assert asyncio.run(loaded.model.generate_ids(ids, **given)) == loaded.wanted["forced"]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"num_beams": 0}, "num_beams is 0"),
    ({"num_beams": 2, "length_penalty": "long"}, "length_penalty is 'long'"),
    ({"num_beams": 2, "early_stopping": "soon"}, "early_stopping is 'soon'"),
    ({"num_beams": 2, "temperature": 1.0}, "num_beams is 2, temperature is 1.0"),
    ({"num_beams": 2, "choose": lambda scores, texts: [1]}, "num_beams is 2, and choose"),
    ({"forced_bos_token_id": 4, "max_new_tokens": 1}, "the first token is forced"),
    ({"decoder_input_ids": [[1], [2]]}, "2 rows of decoder_input_ids for 1 sources"),
    ({"encoder_no_repeat_ngram_size": -1}, "encoder_no_repeat_ngram_size is -1"),
    ({"suppress_tokens": [99]}, "suppress_tokens: 99 is not from 0 to 64"),
]


@pytest.mark.parametrize(("given", "words"), WRONG, ids=[words for _, words in WRONG])
def test_wrong_settings_are_named(given: dict[str, Any], words: str) -> None:
    model = generated.load(recorded()["bart"][0], fixtures.SEED)
    with pytest.raises(DataError, match=words):
        asyncio.run(model.generate_ids([5, 6], **given))


def test_decoders_begin_as_they_are_told() -> None:
    fixture, wanted = recorded()["bart"]
    model = generated.load(fixture, fixtures.SEED)
    row = draw_rows(fixture.config["vocab_size"], fixtures.SEED)[0]
    text = wanted["greedy"][0]

    def write(**given: Any) -> list[int]:
        return asyncio.run(model.generate_ids(row, max_new_tokens=6, **given))

    assert write(decoder_input_ids=[text[:4]])[:9] == text[:9]
    assert write(decoder_input_ids=[text[1:4]])[:9] == text[:9]  # its first token is added
    rows = asyncio.run(model.predict(input_ids=[row]))["logits"]
    shifted = asyncio.run(model.predict(input_ids=[row], decoder_input_ids=[[2, *row[:-1]]]))
    assert np.array_equal(np.asarray(rows), np.asarray(shifted["logits"]))


def test_other_decoders_are_told_what_to_read() -> None:
    model = generated.load(recorded()["t5"][0], fixtures.SEED)
    with pytest.raises(DataError, match="decoder_input_ids is needed"):
        asyncio.run(model.predict(input_ids=[[5, 6]]))


def test_positions_that_a_model_lacks_are_refused() -> None:
    model = generated.load(recorded()["m2m"][0], fixtures.SEED)
    for of in ("", "decoder_"):
        inputs = {"input_ids": [[5]], "decoder_input_ids": [[5]], f"{of}input_ids": [[5] * 81]}
        with pytest.raises(DataError, match=f"{of}position_ids: 80 is not from 0 to 79"):
            asyncio.run(model.predict(**inputs))
    with pytest.raises(DataError, match="80 tokens, the model has positions for 80"):
        asyncio.run(model.generate_ids([5], decoder_input_ids=[[2] * 80]))
    with pytest.raises(DataError, match="position_ids: 80 is not from 0 to 79"):
        asyncio.run(model.generate_ids([5] * 81))
