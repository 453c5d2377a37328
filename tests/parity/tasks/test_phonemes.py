"""Phonemes: voices of Piper speak what their VITS speaks, and English becomes what they read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.parity.pretrained import fixtures
from tests.parity.pretrained.outcome import files
from tests.unit.transformers.tiny_piper import PHONEMES, voice, write_graph
from webnnm import DataError
from webnnm.formats.onnx.messages import GraphProto
from webnnm.tasks.english import EnglishPhonemes
from webnnm.tasks.english_numbers import say_number
from webnnm.tasks.english_spelling import sound_out
from webnnm.tasks.phonemes import Phonemes

pytestmark = pytest.mark.desktop

QUIET: dict[str, Any] = {"backend": "numpy", "log": lambda line: None}
STARTS = {"1": {"content": "^"}, "2": {"content": "$"}}
DICTIONARY = """\
a AH0
breed B R IY1 D
bus B AH1 S # a comment
cat K AE1 T
city S IH1 T IY0
fish F IH1 SH
house HH AW1 S
the DH AH0
walk W AO1 K
want W AA1 N T
"""


@pytest.mark.parametrize("name", ["vits-plain", "vits-speakers"])
async def test_a_voice_of_piper_speaks_as_the_model_that_it_is(name: str) -> None:
    fixture = fixtures.read()[name]
    speakers = fixture.config.get("num_speakers", 1)
    original = {
        **files(fixture, fixtures.SEED),
        "config.json": json.dumps({**fixture.config, "leaky_relu_slope": 0.1}).encode(),
        "vocab.json": json.dumps({"a": 3, "b": 4}).encode(),
        "tokenizer_config.json": json.dumps(
            {"phonemize": False, "normalize": False, "added_tokens_decoder": STARTS}
        ).encode(),
    }
    speaker = {"speaker_id": speakers - 1}
    async with await webnnm.pipeline("text-to-speech", original, **QUIET) as speak:
        assert speak.encode("^ab$") == [1, 0, 3, 0, 4, 0, 2]
        expected = await speak("^ab$", **speaker)
    async with await webnnm.pipeline("text-to-speech", voice(name), **QUIET) as speak:
        sound = await speak("ab", phonemize=str, **speaker)
        assert sound["sampling_rate"] == 22050
        assert sound["audio"].tolist() == pytest.approx(expected["audio"].tolist(), abs=1e-5)
        with pytest.raises(DataError, match="NNM718: the voice speaks phonemes"):
            await speak("ab", **speaker)


async def test_a_voice_is_found_by_its_file_and_in_its_folder(tmp_path: Path) -> None:
    for name, data in voice().items():
        (tmp_path / name).write_bytes(data)
    for source in (tmp_path, str(tmp_path / "tiny.onnx"), tmp_path / "tiny.onnx"):
        async with await webnnm.from_pretrained(source, **QUIET) as model:
            assert model.outputs()[-1] == "waveform"
    (tmp_path / "tiny.onnx.json").unlink()
    with pytest.raises(DataError, match="NNM715"):
        await webnnm.from_pretrained(tmp_path / "tiny.onnx", **QUIET)


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        ({"tiny.onnx": b"no protobuf"}, "NNM8", ""),
        ({"tiny.onnx": b""}, "NNM811", "not an ONNX model"),
        ({"tiny.onnx": write_graph(GraphProto())}, "NNM805", "no voice of Piper"),
        ({"tiny.onnx.json": b"{"}, "NNM", "tiny.onnx.json"),
        ({"tiny.onnx.json": b'{"inference": {"length_scale": 0}}'}, "NNM818", "length_scale"),
    ],
)
async def test_broken_voices_are_named_errors(change: Any, code: str, says: str) -> None:
    with pytest.raises(DataError, match=code) as caught:
        await webnnm.pipeline("text-to-speech", {**voice(), **change}, **QUIET)
    assert says in str(caught.value)


async def test_phonemes_that_are_wrong_are_refused() -> None:
    for wrong in ({"a": "b"}, []):
        with pytest.raises(DataError, match="NNM818"):
            await webnnm.pipeline("text-to-speech", voice(phoneme_id_map=wrong), **QUIET)


def test_phonemes_stand_between_pauses() -> None:
    phonemes = Phonemes(PHONEMES)
    assert phonemes.encode("aɪ?", str) == [1, 0, 3, 0, 5, 0, 2]
    with pytest.raises(DataError, match="NNM711: there is nothing to speak"):
        phonemes.encode("?", str)
    assert Phonemes({"a": [7], "\u0301": [8]}, is_text=True).encode("Á") == [7, 8]


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("The cat.", "ðə kˈæt."),
        ("A city, a bus!", "ɐ sˈɪɾi, ɐ bˈʌs!"),
        ("cats buses breeds", "kˈæts bˈʌsᵻz bɹˈiːdz".replace("ᵻ", "ɪ")),
        ("walked wanted houses", "wˈɔːkt wˈɑːntɪd hˈaʊsɪz"),
        ("catfish", "kˈætfˌɪʃ"),
        ("walking", "wˈɔːkɪŋ"),
        ("5 % … “cat”", "fˈaɪv pɚsˈɛnt kˈæt"),
        ("", ""),
    ],
)
def test_english(text: str, spoken: str) -> None:
    more = "five F AY1 V\npercent P ER0 S EH1 N T\n"
    assert EnglishPhonemes(DICTIONARY + more)(text) == spoken


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("0", "zero"),
        ("21", "twenty one"),
        ("100", "one hundred"),
        ("1,000", "one thousand"),
        ("1905", "nineteen oh five"),
        ("1900", "nineteen hundred"),
        ("2026", "two thousand twenty six"),
        ("1000000", "one million"),
        ("3.14", "three point one four"),
        ("0042", "zero zero four two"),
        ("9" * 13, " ".join(["nine"] * 13)),
    ],
)
def test_numbers(number: str, words: str) -> None:
    assert " ".join(say_number(number)) == words


@pytest.mark.parametrize(
    ("word", "sounds"),
    [
        ("knife", "N AY1 F"),
        ("xylo", "K S IY1 L AA0"),
        ("yet", "Y EH1 T"),
        ("cell", "S EH1 L"),
        ("stage", "S T EY1 JH"),
        ("e", "EH1"),
        ("nation", "N AE1 SH AH0 N"),
    ],
)
def test_words_that_no_dictionary_has_are_sounded_out(word: str, sounds: str) -> None:
    assert " ".join(sound_out(word)) == sounds
