"""Transcripts of speech."""

from __future__ import annotations

import math
from collections.abc import AsyncIterable, Mapping, Sequence
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.data.sounds.resampling import resample
from webnnm.data.sounds.sound import Sound
from webnnm.formats.fields import Fields
from webnnm.ops.declare.mel import RATE
from webnnm.tasks.letters import Letters, cut_windows, read_letters
from webnnm.tasks.sound_task import SoundTask, as_sounds, read_sound

BEAMS = 5
"""The beams of models other than Whisper."""
UNITS = ("char", "word")
"""What has a timestamp in models of letters."""
CTC_SETTINGS = "return_timestamps, chunk_length_s and stride_length_s"


class SpeechRecognition(SoundTask):
    """Transcribes speech of any length.

    >>> async def write_down(transcribe):
    ...     return (await transcribe("speech.wav", return_timestamps=True))["chunks"]
    """

    inputs = frozenset()
    outputs = frozenset({"logits"})
    classes = (
        "WhisperForConditionalGeneration, MoonshineForConditionalGeneration, "
        "SpeechT5ForSpeechToText, …ForCTC"
    )
    letters: Letters | None = None

    def fits(self) -> bool:
        """Return whether the model writes about sound, or has a letter for each moment of it."""
        if self.model.config.get("model_type") == "whisper":
            return True
        is_sound = "input_values" in self.model.inputs()
        return is_sound and self.model.describe_output("logits").sequence is not None

    async def prepare(self) -> None:
        """Read how the model takes sound, and its letters; others than …ForCTC have a tokenizer."""
        if "input_values" in self.model.inputs():
            await super().prepare()
            if "decoder_input_ids" not in self.model.inputs():
                self.letters = await read_letters(self.model.read_file)
                return
        _ = self.model.tokenizer  # raises if there is none

    async def __call__(
        self,
        inputs: Any,
        *,
        return_timestamps: bool | str = False,
        chunk_length_s: float = 0,
        stride_length_s: float | Sequence[float] | None = None,
        **settings: Any,
    ) -> Any:
        """Return a dict with the `text`, and with timestamps the `chunks`.

        - `inputs`: what `AudioClassification` takes, also lists: paths, URLs, bytes of files, a
          `Sound`, samples at the rate of the model, or a dict with `raw` or `array` and
          `sampling_rate`; for Whisper also what `PretrainedModel.transcribe` takes.
        - `settings`: for Whisper those of `transcribe`: `rate`, `language`, `task`; for models like
          Moonshine those of `PretrainedModel.generate_ids`, by default `num_beams=5` and
          `max_new_tokens=256`, or what their generation config says.
        - `return_timestamps`: whether to return chunks: dicts with `timestamp`, a pair of seconds,
          and `text`. True for the segments of Whisper, "char" or "word" for …ForCTC.
        - `chunk_length_s`: for …ForCTC, the seconds of windows in which long sounds are read; 0
          for all at once.
        - `stride_length_s`: how many of these seconds are also in the window before and in the next
          one, a number or two; by default a sixth.

        Raises `DataError` NNM704 for settings that the model does not have.
        """
        windows = {"chunk_length_s": chunk_length_s, "stride_length_s": stride_length_s}
        refused = {name: value for name, value in windows.items() if value}
        if self.letters is not None:
            _refuse(settings, "…ForCTC", CTC_SETTINGS)
            if return_timestamps not in (False, *UNITS):
                message = f"return_timestamps is {return_timestamps!r}"
                raise DataError("NNM704", message, hint='"char" or "word" for …ForCTC')
            sounds, single = as_sounds(inputs)
            strides = chunk_length_s, stride_length_s
            results = [await self._read(one, return_timestamps, *strides) for one in sounds]
            return results[0] if single else results
        if self.processor is not None:
            refused |= {"return_timestamps": True} if return_timestamps else {}
            _refuse(refused, self.class_name, "those of generate_ids")
            sounds, single = as_sounds(inputs)
            results = [{"text": await self._write_text(sound, settings)} for sound in sounds]
            return results[0] if single else results
        _refuse(refused, "Whisper", "those of PretrainedModel.transcribe, for sounds of any length")
        if not isinstance(return_timestamps, bool):
            message = f"return_timestamps is {return_timestamps!r}"
            raise DataError("NNM704", message, hint="True gives those of segments of Whisper")
        sounds, single = as_sounds(inputs)
        results = [await self._transcribe(sound, return_timestamps, settings) for sound in sounds]
        return results[0] if single else results

    async def _transcribe(
        self, sound: Any, return_timestamps: bool, settings: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the transcript of a sound by Whisper, and its segments."""
        is_stream = isinstance(sound, AsyncIterable)
        if isinstance(sound, Mapping) or not (is_stream or "rate" in settings):
            sound = await read_sound(sound, RATE)
        transcript = await self.model.transcribe(sound, **settings)
        result: dict[str, Any] = {"text": transcript.text}
        if return_timestamps:
            result["chunks"] = [
                {"timestamp": (segment.start, segment.end), "text": segment.text}
                for segment in transcript.segments
            ]
        return result

    async def _write_text(self, sound: Any, settings: Mapping[str, Any]) -> str:
        """Return the text that a model with a decoder writes about a sound."""
        (tokens,) = await self.model.generate_ids(
            input_values=await self.process(sound), **{**self._generation_defaults(), **settings}
        )
        return self.model.tokenizer.decode(tokens)

    async def _read(
        self, sound: Any, unit: bool | str, size: float, stride: float | Sequence[float] | None
    ) -> dict[str, Any]:
        """Return the text of a sound that is read letter by letter, and its chunks."""
        assert self.letters is not None and self.processor is not None
        rate, step = self.processor.settings.rate, self._count_samples()
        if size:
            numbers: list[int] = []
            recording = await read_sound(sound, rate)
            samples = await resample(recording.samples, recording.rate, rate, self.model.backend)
            for window in cut_windows(len(samples), *_read_windows(size, stride, rate, step)):
                part = Sound(samples.part(window.start, window.end), rate)
                first, last = window.find_moments(step)
                numbers += (await self._choose(part))[first:last]
        else:
            numbers = await self._choose(sound)
        result: dict[str, Any] = {"text": self.letters.decode(numbers)}
        if unit:
            find = self.letters.find_letters if unit == "char" else self.letters.find_words
            result["chunks"] = [
                {"text": one.text, "timestamp": (one.start * step / rate, one.end * step / rate)}
                for one in find(numbers)
            ]
        return result

    async def _choose(self, sound: Any) -> list[int]:
        """Return the most likely letter for each moment of a sound."""
        outputs = await self.model.predict(input_values=await self.process(sound))
        (rows,) = HostArray.of(outputs["logits"], "float32").tolist()
        return [max(range(len(row)), key=row.__getitem__) for row in rows]

    def _count_samples(self) -> int:
        """Return the samples for a moment: the product of the strides of the convolutions."""
        from webnnm.transformers.architectures.wav2vec2 import STRIDES

        return math.prod(self.model.config.get("conv_stride") or STRIDES)

    def _generation_defaults(self) -> dict[str, Any]:
        """Return the settings of generation, as in `transformers`: those of the model come first.

        The `max_length` of a config counts the token with which texts begin.
        """
        config = Fields(self.model.generation_config, "the generation config", "NNM818")
        limit = config.integer("max_length", 257, 2) - 1
        return {
            "num_beams": config.integer("num_beams", BEAMS, 1),
            "max_new_tokens": config.integer("max_new_tokens", limit, 1),
        }


def _refuse(settings: Mapping[str, Any], family: str, allowed: str) -> None:
    """Raise `DataError` NNM704 for settings that models of a family do not have."""
    if settings:
        message = f"{', '.join(settings)}: {family} has no such settings"
        raise DataError("NNM704", message, hint=f"it has {allowed}")


def _read_windows(
    size: float, stride: float | Sequence[float] | None, rate: int, step: int
) -> tuple[int, int, int]:
    """Return the samples of windows, and those that they have in common on either side.

    Raises `DataError` NNM704 for windows that are no longer than that.
    """
    if stride is None:
        stride = size / 6
    sides = [stride, stride] if isinstance(stride, (int, float)) else [*stride]
    if len(sides) != 2:
        raise DataError("NNM704", f"stride_length_s has {len(sides)} numbers", hint="give one or 2")
    length, left, right = (round(seconds * rate / step) * step for seconds in (size, *sides))
    if min(left, right) < 0 or length <= left + right:
        message = f"chunk_length_s is {size:g}, and stride_length_s {sides[0]:g} and {sides[1]:g}"
        raise DataError("NNM704", message, hint="windows are longer than what they share")
    return length, left, right
