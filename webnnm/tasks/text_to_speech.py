"""Speech from texts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple, cast

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.formats.fields import Fields
from webnnm.tasks.characters import Characters, read_characters
from webnnm.tasks.phonemes import Phonemes, Phonemize, read_phonemes
from webnnm.tasks.pipeline import Pipeline
from webnnm.tasks.sentences import split_sentences
from webnnm.tasks.voice_frames import count_frames, draw_noise, repeat_tokens, round_length
from webnnm.transformers.piper_model import PHONEMES

RATE = 16_000
FRAME_INPUTS = {"prior_means": "frame_means", "prior_log_deviations": "frame_log_deviations"}
"""What is known of each token → the inputs of frames."""


class Delivery(NamedTuple):
    """How a text is spoken.

    Attributes: `speaker`; `rate`, 1 for the usual one; the scales of two noises; `seed`, that of
    both.
    """

    speaker: int
    rate: float
    noise_scale: float
    noise_scale_duration: float
    seed: int


class TextToSpeech(Pipeline):
    """Speaks texts.

    >>> async def speak(synthesize):
    ...     sound = await synthesize("It is a fine day.", seed=1)
    ...     return sound["audio"], sound["sampling_rate"]
    """

    inputs = frozenset({"input_ids"})
    outputs = frozenset({"waveform"})
    classes = "VitsModel, a voice of Piper"
    characters: Characters | Phonemes

    async def prepare(self) -> None:
        """Read the characters, or the phonemes, that the voice knows."""
        if PHONEMES in self.model.config:
            self.characters = read_phonemes(Fields(self.model.config))
        else:
            self.characters = await read_characters(self.model.read_file)

    def encode(self, text: str, phonemize: Phonemize | None = None) -> list[int]:
        """Return the numbers of a text; raises what a call raises."""
        if isinstance(self.characters, Phonemes):
            return self.characters.encode(text, phonemize)
        return self.characters.encode(text if phonemize is None else phonemize(text))

    @property
    def sampling_rate(self) -> int:
        """The samples per second of what it speaks."""
        return Fields(self.model.config).integer("sampling_rate", RATE, 1)

    async def __call__(
        self,
        text_inputs: str | list[str],
        *,
        speaker_id: int = 0,
        speaking_rate: float | None = None,
        noise_scale: float | None = None,
        noise_scale_duration: float | None = None,
        seed: int = 0,
        phonemize: Phonemize | None = None,
        forward_params: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return a dict with `audio`, an array of samples, and `sampling_rate`; for lists, a list.

        - `text_inputs`: a text or a list, each spoken at once; see `stream` for long ones.
        - `speaker_id`: the number of the speaker, for models that have several.
        - `speaking_rate`: 2 for twice as fast; by default what the config says, usually 1.
        - `noise_scale`, `noise_scale_duration`: how much what is drawn changes the sound and the
          durations; 0 for always the same speech. By default what the config says.
        - `seed`: what is drawn; the same seed gives the same speech.
        - `phonemize`: a function that returns the phonemes of a text, which voices of Piper need,
          such as `webnnm.EnglishPhonemes` for English.
        - `forward_params`: the same settings in a dict, as for `transformers`.

        Raises `DataError` NNM704 for settings out of range, NNM711 for a text without anything to
        speak, NNM718 for scripts that the voice cannot read.
        """
        settings: dict[str, Any] = {
            "speaker_id": speaker_id,
            "speaking_rate": speaking_rate,
            "noise_scale": noise_scale,
            "noise_scale_duration": noise_scale_duration,
            "seed": seed,
            **(forward_params or {}),
        }
        delivery = self._read_delivery(**settings)
        single = isinstance(text_inputs, str)
        texts = [text_inputs] if single else [*text_inputs]
        rows = [self.encode(text, phonemize) for text in texts]
        sounds = [await self._speak(row, delivery) for row in rows]
        return sounds[0] if single else sounds

    async def stream(self, text: str, **settings: Any) -> AsyncIterator[dict[str, Any]]:
        """Yield a text sentence by sentence: dicts with `text`, `audio` and `sampling_rate`.

        >>> async def play(synthesize, book, player):
        ...     async for sentence in synthesize.stream(book):
        ...         await player.play(sentence["audio"], sentence["sampling_rate"])

        The settings are those of a call. Texts of any length need the memory of their longest
        sentence. Raises what a call raises.
        """
        sentences = [*split_sentences(text)]
        if not sentences:
            self.encode(text, settings.get("phonemize"))  # raises: there is nothing to speak
            sentences = [text]
        for sentence in sentences:
            yield {"text": sentence, **await self(sentence, **settings)}

    def _read_delivery(
        self,
        speaker_id: int,
        speaking_rate: float | None,
        noise_scale: float | None,
        noise_scale_duration: float | None,
        seed: int,
        **others: Any,
    ) -> Delivery:
        """Return how texts are spoken. Raises `DataError` NNM704 for invalid settings."""
        if others:
            hint = "there are speaker_id, speaking_rate, noise_scale, noise_scale_duration, seed"
            raise DataError("NNM704", f"{', '.join(others)}: no such setting", hint=hint)
        config = Fields(self.model.config)
        speakers = config.integer("num_speakers", 1, 1)
        if not is_integer(speaker_id) or not 0 <= speaker_id < speakers:
            hint = f"a number from 0 to {speakers - 1}" if speakers > 1 else "the model has one"
            raise DataError("NNM704", f"speaker_id is {speaker_id!r}", hint=hint)
        choices = {
            "speaking_rate": speaking_rate,
            "noise_scale": noise_scale,
            "noise_scale_duration": noise_scale_duration,
        }
        numbers = Fields({k: v for k, v in choices.items() if v is not None}, "settings", "NNM704")
        defaults = {"speaking_rate": 1.0, "noise_scale": 0.667, "noise_scale_duration": 0.8}
        values = {
            name: numbers.number(name, config.number(name, default))
            for name, default in defaults.items()
        }
        if values["speaking_rate"] <= 0 or min(values.values()) < 0:
            shown = ", ".join(f"{name}={value:g}" for name, value in values.items())
            hint = "rates are above 0, noises not below it"
            raise DataError("NNM704", shown, hint=hint)
        if not is_integer(seed):
            raise DataError("NNM704", f"seed is {seed!r}", hint="an integer")
        rate, *noises = values.values()
        return Delivery(speaker_id, rate, noises[0], noises[1], seed)

    async def _speak(self, ids: list[int], delivery: Delivery) -> dict[str, Any]:
        """Return the sound of the numbers of a text."""
        count, length = len(ids), round_length(len(ids))
        inputs: dict[str, Any] = {
            "input_ids": [[*ids, *[0] * (length - count)]],
            "attention_mask": [[1] * count + [0] * (length - count)],
        }
        if "duration_noise" in self.model.inputs():
            scale = delivery.noise_scale_duration
            inputs["duration_noise"] = draw_noise(
                delivery.seed, "durations", count, length, 2, scale
            )
        has_speakers = "speaker_id" in self.model.inputs()
        if has_speakers:
            inputs["speaker_id"] = [delivery.speaker]
        tokens = {
            name: HostArray.of(value, "float32")
            for name, value in (await self.model.predict(inputs)).items()
        }
        (log_durations,) = tokens["log_durations"].tolist()
        counts = count_frames((row[0] for row in log_durations[:count]), delivery.rate)
        total = sum(counts)
        length = round_length(total)
        frames: dict[str, Any] = {
            name: repeat_tokens(tokens[output], counts, length)
            for output, name in FRAME_INPUTS.items()
        }
        channels = frames["frame_means"].shape[-1]
        scale = delivery.noise_scale
        frames["frame_noise"] = draw_noise(delivery.seed, "frames", total, length, channels, scale)
        frames["frame_mask"] = [[1] * total + [0] * (length - total)]
        if has_speakers:
            frames["voice"] = tokens["speaker_embeddings"]
        waves = HostArray.of((await self.model.predict(frames))["waveform"], "float32")
        samples = cast("Any", waves.values())[: total * (waves.shape[1] // length)]
        audio = HostArray("float32", (len(samples),), samples)
        return {"audio": audio.public(), "sampling_rate": self.sampling_rate}
