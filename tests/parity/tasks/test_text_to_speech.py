"""Speech: the samples of `transformers`, from the texts that its tokenizer reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

import webnnm
from tests.parity.pretrained import fixtures
from tests.parity.pretrained.outcome import files
from webnnm import DataError
from webnnm.tasks.characters import Characters, read_characters
from webnnm.tasks.sentences import split_sentences
from webnnm.tasks.voice_frames import count_frames, draw_noise, round_length

pytestmark = pytest.mark.desktop

VOCABULARY = {character: k for k, character in enumerate("kabcdefghijlmnopqrstuvwxyz '-")}
SETTINGS = {"phonemize": False, "pad_token": "k", "unk_token": "<unk>", "language": "eng"}
QUIET: dict[str, Any] = {"backend": "numpy", "log": lambda line: None}
A = [-0.021446, 0.023433, 0.068072, 0.209995, 0.038072, 0.009294, 0.034135, 0.202792]
KID = [-0.014308, 0.016731, 0.031081, 0.154698, 0.016408, 0.027969, 0.02076, 0.167588]
"""The first samples that `transformers` 5.23 speaks for two texts, without noise."""


def folder(name: str = "vits-plain", **more: Any) -> dict[str, Any]:
    fixture = fixtures.read()[name]
    return {
        **files(fixture, fixtures.SEED),
        "vocab.json": json.dumps(VOCABULARY).encode(),
        "tokenizer_config.json": json.dumps({**SETTINGS, **more}).encode(),
    }


@pytest.mark.parametrize(
    ("name", "text", "settings", "count", "total", "samples"),
    [
        ("vits-plain", "A", {}, 24, 1.5464835, A),
        ("vits-plain", "Hi, kid!", {}, 104, 6.591877, []),
        ("vits-speakers", "Hi, kid!", {"speaker_id": 2}, 176, 12.141466, KID),
    ],
)
async def test_without_noise_it_is_the_speech_of_transformers(
    name: str,
    text: str,
    settings: dict[str, Any],
    count: int,
    total: float,
    samples: list[float],
) -> None:
    async with await webnnm.pipeline("text-to-audio", folder(name), **QUIET) as speak:
        sound = await speak(text, **settings)
        again = await speak([text, text], forward_params=settings)
    audio = sound["audio"].tolist()
    assert (len(audio), sound["sampling_rate"]) == (count, 16_000)
    assert sum(audio) == pytest.approx(total, abs=1e-4)
    assert audio[: len(samples)] == pytest.approx(samples, abs=1e-5)
    assert [one["audio"].tolist() for one in again] == [audio, audio]


async def test_noise_follows_its_seed_and_the_rate_shortens_speech() -> None:
    async with await webnnm.pipeline("text-to-speech", folder(), **QUIET) as speak:
        plain = await speak("Good day")
        noisy = [await speak("Good day", noise_scale=0.5, seed=seed) for seed in (1, 1, 2)]
        first, same, other = (sound["audio"].tolist() for sound in noisy)
        assert first == same
        assert first != other
        assert len(first) == len(plain["audio"])
        longer = await speak("Good day", noise_scale_duration=3.0, seed=1)
        assert len(longer["audio"]) != len(plain["audio"])
        slow = await speak("Good day", speaking_rate=0.25)
        assert len(slow["audio"]) > 1.2 * len(plain["audio"])


async def test_long_texts_come_sentence_by_sentence() -> None:
    async with await webnnm.pipeline("text-to-speech", folder(), **QUIET) as speak:
        sentences = [one async for one in speak.stream("Good day. Who? (…) I am")]
        assert [one["text"] for one in sentences] == ["Good day.", "Who?", "I am"]
        for one in sentences:
            alone = await speak(one["text"])
            assert alone["audio"].tolist() == one["audio"].tolist()
        with pytest.raises(DataError, match="NNM711: there is nothing to speak"):
            _ = [one async for one in speak.stream("…")]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"speaker_id": 1}, "speaker_id is 1"),
        ({"speaking_rate": 0}, "speaking_rate=0"),
        ({"noise_scale": -1}, "noise_scale=-1"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"forward_params": {"speed": 2}}, "speed: no such setting"),
        ({"noise_scale": "loud"}, '"noise_scale" is "loud"'),
    ],
)
async def test_settings_out_of_range_are_refused(settings: dict[str, Any], says: str) -> None:
    async with await webnnm.pipeline("text-to-speech", folder(), **QUIET) as speak:
        with pytest.raises(DataError, match="NNM704") as caught:
            await speak("Good day", **settings)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        ({"vocab.json": None}, "NNM718", "there is no vocab.json"),
        ({"vocab.json": b"[]"}, "NNM818", "vocab.json is not a JSON object"),
        ({"vocab.json": b'{"a": "b"}'}, "NNM818", '"a" is "b"'),
        ({"tokenizer_config.json": None}, "NNM718", '"phonemize" is true'),
        ({"tokenizer_config.json": b'{"phonemize": 1}'}, "NNM818", "phonemize"),
        ({"model.safetensors": None}, "NNM715", "model.safetensors"),
    ],
)
async def test_broken_folders_are_named_errors(
    change: Mapping[str, Any], code: str, says: str
) -> None:
    changed = {k: v for k, v in {**folder(), **change}.items() if v is not None}
    with pytest.raises(DataError, match=code) as caught:
        await webnnm.pipeline("text-to-speech", changed, **QUIET)
    assert says in str(caught.value)


async def test_other_models_do_not_speak_and_this_one_has_one_task() -> None:
    async with await webnnm.from_pretrained(folder(), **QUIET) as model:
        assert webnnm.list_tasks(model) == ["text-to-speech"]
        with pytest.raises(DataError, match="NNM717"):
            await webnnm.pipeline("feature-extraction", model)


def reader(**contents: Any) -> Any:
    async def read(name: str) -> str:
        key = name.partition(".")[0]
        if key not in contents:
            raise DataError("NNM715", f"there is no {name}")
        return json.dumps(contents[key])

    return read


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("ab", [0, 1, 0, 2, 0]),
        ("A, b!", [0, 1, 0, 26, 0, 2, 0]),
        ("kick", [0, 0, 9, 0, 3, 0, 0]),
        ("K", [0]),
        ("a<unk>", [0, 1, 0, 20, 0, 13, 0, 0]),
    ],
)
async def test_texts_have_the_numbers_of_transformers(text: str, numbers: list[int]) -> None:
    characters = await read_characters(reader(vocab=VOCABULARY, tokenizer_config=SETTINGS))
    assert characters.encode(text) == numbers


async def test_settings_of_the_tokenizer_count() -> None:
    plain = {**SETTINGS, "pad_token": "-", "normalize": False, "add_blank": False}
    added = {"7": {"content": "<x>"}}
    read = reader(
        vocab=VOCABULARY,
        added_tokens={"<unk>": 3},
        tokenizer_config={**plain, "added_tokens_decoder": added},
    )
    characters = await read_characters(read)
    assert characters.encode("a<x>Bb-") == [1, 7, 3, 2, 28]
    roman = await read_characters(
        reader(
            vocab={"ţ": 1, "a": 2},
            tokenizer_config={**SETTINGS, "language": "ron", "add_blank": False},
        )
    )
    assert roman.encode("Ța") == [1, 2]


def test_scripts_that_have_to_be_romanised_are_refused() -> None:
    voice = Characters({"_": 0, "a": 1}, romanizes=True)
    assert voice.encode("A") == [0, 1, 0]
    with pytest.raises(DataError, match=r"NNM718: .*is_uroman"):
        voice.encode("안녕")
    with pytest.raises(DataError, match="NNM718: the voice does not know 'b'"):
        Characters({"a": 1}, lower=False).encode("b")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        ("One.\n\nTwo!  Three", ["One.", "Two!", "Three"]),
        ("3.14 is pi. (Yes.) No", ["3.14 is pi.", "(Yes.", "No"]),
        ("\u65e5\u672c\u3002\u8a9e", ["\u65e5\u672c\u3002", "\u8a9e"]),
        ("— … !", []),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert [*split_sentences(text)] == sentences


def test_long_sentences_are_cut_between_words() -> None:
    text = "one two, three four five, sixseveneight"
    parts = [*split_sentences(text, longest=10)]
    assert parts == ["one two,", "three four", "five,", "sixseveneight"[:10], "ght"]


def test_durations_that_no_speech_has_are_refused() -> None:
    assert count_frames([0.0, 0.1, -5.0], 1.0) == [1, 2, 1]
    for value in (float("nan"), float("inf"), 50.0):
        with pytest.raises(DataError, match="NNM711: a duration"):
            count_frames([value], 1.0)


def test_graphs_have_few_lengths() -> None:
    lengths = [round_length(count) for count in range(1, 5000)]
    assert all(count <= length for count, length in enumerate(lengths, start=1))
    assert all(
        length <= 1.25 * count for count, length in enumerate(lengths, start=1) if count > 15
    )
    assert len(set(lengths)) < 40


def test_noise_is_normal_and_does_not_depend_on_the_padding() -> None:
    long, short = (draw_noise(5, "x", 1000, length, 4, 2.0) for length in (1200, 1000))
    values = long.values()
    assert [*values[:4000]] == [*short.values()]
    assert not any(values[4000:])
    mean = sum(values) / 4000
    deviation = (sum((value - mean) ** 2 for value in values[:4000]) / 4000) ** 0.5
    assert mean == pytest.approx(0, abs=0.15)
    assert deviation == pytest.approx(2, abs=0.1)
