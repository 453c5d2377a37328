"""Transcripts of speech: windows of half a minute, each transcribed with timestamps.

Source: A. Radford et al., arXiv:2212.04356, section 4.5, and whisper/transcribe.py of
https://github.com/openai/whisper.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import AsyncGenerator, Sequence
from collections.abc import Generator as Waiting
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.awaiting import Unfinished
from webnnm.ops.declare.mel import HOP, RATE
from webnnm.transformers.choice import Sampling
from webnnm.transformers.generator import Generator
from webnnm.transformers.hearing import Features, Stream
from webnnm.transformers.speech_tokens import SpeechTokens
from webnnm.transformers.texts import continue_rows
from webnnm.transformers.timestamps import PROGRESS
from webnnm.transformers.tokenizer import Tokenizer
from webnnm.transformers.voice import SILENT, has_speech

STEP = 2
"""Frames from one timestamp to the next, 0.02 s."""
TEMPERATURES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
MIN_SAMPLES = RATE // 10
"""The fewest samples that are transcribed."""


@dataclass(frozen=True, kw_only=True)
class TranscriptionThresholds:
    """When a window is transcribed again at the next temperature, or skipped.

    - `compression_ratio`: the ratio of compression by zlib above which a text is repetitive.
    - `log_probability`: the average log probability of a token below which a text is a guess.
    - `no_speech`: the probability that nobody speaks, above which guesses are skipped.
    - `quiet`: the peak of the samples below which a window is silence, which is not transcribed; 0
      transcribes every window. Even noise of a low level is not transcribed either.
    """

    compression_ratio: float = 2.4
    log_probability: float = -1.0
    no_speech: float = 0.6
    quiet: float = SILENT


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A segment of a transcript.

    Attributes: `start` and `end` in seconds; `text`; `tokens`, including timestamps; and of the
    window that it comes from, `log_probability`, the average over tokens, `silence`, the
    probability that nobody speaks, and `temperature`, at which it was transcribed.
    """

    start: float
    end: float
    text: str
    tokens: list[int] = field(repr=False)
    log_probability: float
    silence: float
    temperature: float


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """A transcript. Attributes: `text`, its `segments` in order, the `language`."""

    text: str
    segments: list[Segment] = field(repr=False)
    language: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, kw_only=True)
class _WindowResult:
    """The tokens of a window, without the end token, and the confidence of the model."""

    tokens: list[int]
    text: str
    log_probability: float
    silence: float
    temperature: float

    def is_poor(self, thresholds: TranscriptionThresholds) -> bool:
        """Return whether a window has to be transcribed again."""
        if self.is_silent(thresholds):
            return False
        data = self.text.encode()
        compression = len(data) / len(zlib.compress(data)) if data else 0.0
        return (
            compression > thresholds.compression_ratio
            or self.log_probability < thresholds.log_probability
        )

    def is_silent(self, thresholds: TranscriptionThresholds) -> bool:
        """Return whether nobody speaks."""
        return (
            self.silence > thresholds.no_speech
            and self.log_probability < thresholds.log_probability
        )


class Transcribing(Unfinished):
    """A transcript in progress: iterate over its segments, or await the whole."""

    def __init__(
        self,
        generator: Generator,
        tokenizer: Tokenizer,
        tokens: SpeechTokens,
        features: Features,
        stream: Stream,
        *,
        language: str | None,
        task: str,
        temperatures: Sequence[float],
        thresholds: TranscriptionThresholds,
        seed: int,
    ) -> None:
        tokens.prompt(language or next(iter(tokens.languages), None), task)
        self._generator, self._tokenizer, self._tokens = generator, tokenizer, tokens
        self._features, self._stream = features, stream
        self._task, self._temperatures, self._thresholds = task, temperatures, thresholds
        self._seed = seed
        self.language = language or (None if tokens.languages else "en")
        self._stopped = False

    def stop(self) -> None:
        """End the transcript after the segments so far."""
        self._stopped = True
        self._generator.stop()

    def _describe_call(self) -> tuple[str, tuple[type, ...]]:
        return "model.transcribe(…)", (Transcript,)

    def __await__(self) -> Waiting[Any, None, Transcript]:
        return self._whole().__await__()

    async def _whole(self) -> Transcript:
        segments = [segment async for segment in self._segments()]
        text = "".join(segment.text for segment in segments).strip()
        return Transcript(text=text, segments=segments, language=self.language or "")

    def __aiter__(self) -> AsyncGenerator[Segment]:
        return self._segments()

    async def _segments(self) -> AsyncGenerator[Segment]:
        start, size = 0, self._features.frames * HOP
        while not self._stopped:
            samples = await self._stream.window(start, size)
            if len(samples) // 4 < MIN_SAMPLES:
                return
            if self._thresholds.quiet and not has_speech(samples, self._thresholds.quiet):
                start += len(samples) // 4
                continue
            source = {"input_features": await self._features.of(samples)}
            result = await self._transcribe_window(source)
            if self._stopped:
                return
            frames = -(-len(samples) // (4 * HOP))
            if result.is_silent(self._thresholds):
                start += frames * HOP
                continue
            segments, frames_used = self._parts(result, frames, start / RATE)
            for segment in segments:
                yield segment
            start += frames_used * HOP

    async def _transcribe_window(self, source: dict[str, HostArray]) -> _WindowResult:
        """Return the tokens of a window, at the first temperature that gives a good result."""
        prompt, silence = await self._prompt(source)
        result: _WindowResult | None = None
        for number, temperature in enumerate(self._temperatures):
            result = await self._attempt(source, prompt, temperature, self._seed + number, silence)
            if self._stopped or not result.is_poor(self._thresholds):
                break
        assert result is not None
        return result

    async def _prompt(self, source: dict[str, HostArray]) -> tuple[list[int], float | None]:
        """Return the tokens that a transcript begins with; for multilingual models, also what the
        first token reveals: the language, if it is unknown, and the probability of silence."""
        if not self._tokens.languages:
            return self._tokens.prompt(None, self._task), None
        heard: list[Any] = []

        def listen(scores: Any, texts: list[list[int]]) -> list[int]:
            heard.append(HostArray.of(scores, "float32").values())
            return [self._tokens.start for _ in texts]

        rounds = self._generator.generate([[self._tokens.start]], 1, choose=listen, source=source)
        async with aclosing(rounds):
            async for _ in rounds:
                pass
        scores = heard[0]
        if self.language is None:
            codes = self._tokens.languages
            self.language = max(codes, key=lambda code: scores[codes[code]])
        shares = HostArray.of(scores)
        return self._tokens.prompt(self.language, self._task), _share(
            shares, self._tokens.times.silence
        )

    async def _attempt(
        self,
        source: dict[str, HostArray],
        prompt: list[int],
        temperature: float,
        seed: int,
        silence: float | None,
    ) -> _WindowResult:
        """Return the result at a temperature."""
        times = self._tokens.times
        sampling = Sampling(
            temperature=temperature, suppress_tokens=self._tokens.hidden, timestamps=times
        )
        limit = (self._generator.max_length or 2 * 224) // 2
        settings: dict[str, Any] = {"sampling": sampling, "seed": seed, "source": source}
        ends = frozenset({times.end})
        (row,) = await continue_rows(self._generator, [prompt], limit, ends, settings)
        tokens = row[len(prompt) :]
        *_, total, quiet = (await self._generator.state(PROGRESS)).values()
        ended = tokens[-1:] == [times.end]
        return _WindowResult(
            tokens=tokens[:-1] if ended else tokens,
            text=self._text(tokens),
            log_probability=total / max(len(tokens), 1),
            silence=quiet if silence is None else silence,
            temperature=temperature,
        )

    def _text(self, tokens: Sequence[int]) -> str:
        return self._tokenizer.decode([t for t in tokens if t < self._tokens.times.end])

    def _parts(
        self, result: _WindowResult, frames: int, offset: float
    ) -> tuple[list[Segment], int]:
        """Return the segments of a window, and how many of its frames they cover."""
        tokens, first = result.tokens, self._tokens.times.first
        is_time = [token >= first for token in tokens]
        cuts = [index + 1 for index, pair in enumerate(pairwise(is_time)) if all(pair)]
        ends_alone = is_time[-2:] == [False, True]
        frames_used = frames
        if cuts and not ends_alone:
            # What follows the last pair is incomplete: it is heard again.
            frames_used = STEP * (tokens[cuts[-1] - 1] - first)
        ends = [*cuts, len(tokens)] if ends_alone or not cuts else cuts
        parts = [tokens[a:b] for a, b in zip([0, *ends], ends, strict=False)]
        segments: list[Segment] = []
        for part in parts:
            times = [token - first for token in part if token >= first]
            limit = frames // STEP
            start = min(times[0], limit) if times else 0
            end = min(times[-1], limit) if len(times) > 1 else limit
            text = self._text(part)
            if text.strip() and end >= start:
                segments.append(
                    Segment(
                        start=round(offset + start * STEP * HOP / RATE, 2),
                        end=round(offset + end * STEP * HOP / RATE, 2),
                        text=text,
                        tokens=part,
                        log_probability=result.log_probability,
                        silence=result.silence,
                        temperature=result.temperature,
                    )
                )
        return segments, min(max(frames_used, STEP), frames)


def _share(scores: HostArray, token: int) -> float:
    """Return the probability of a token."""
    values = scores.values()
    top = max(values)
    return math.exp(values[token] - top) / sum(math.exp(value - top) for value in values)
