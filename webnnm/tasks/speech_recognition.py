"""Transcripts of speech."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.formats.fields import Fields
from webnnm.tasks.letters import Letters, read_letters
from webnnm.tasks.sound_task import SoundTask, as_sounds

BEAMS = 5
"""The beams of models other than Whisper."""


class SpeechRecognition(SoundTask):
    """Transcribes speech of any length.

    >>> async def write_down(transcribe):
    ...     return (await transcribe("speech.wav", return_timestamps=True))["chunks"]
    """

    inputs = frozenset()
    outputs = frozenset({"logits"})
    classes = "WhisperForConditionalGeneration, MoonshineForConditionalGeneration, …ForCTC"
    letters: Letters | None = None

    def fits(self) -> bool:
        """Return whether the model writes about sound, or has a letter for each moment of it."""
        if self.model.config.get("model_type") == "whisper":
            return True
        is_sound = "input_values" in self.model.inputs()
        return is_sound and self.model.describe_output("logits").sequence is not None

    async def prepare(self) -> None:
        """Read how the model takes sound, and its letters; Whisper needs neither."""
        if "input_values" in self.model.inputs():
            await super().prepare()
            if "decoder_input_ids" not in self.model.inputs():
                self.letters = await read_letters(self.model.read_file)

    async def __call__(
        self, inputs: Any, *, return_timestamps: bool = False, **settings: Any
    ) -> Any:
        """Return a dict with the `text`, and with timestamps the `chunks`.

        - `inputs`: a path, URL, bytes of a file, `Sound` or samples, see
          `PretrainedModel.transcribe`, which also lists the `settings` of Whisper: `rate`,
          `language`, `task`. Other models take what `AudioClassification` takes, also lists;
          Moonshine has the `settings` of `PretrainedModel.generate_ids`, and by default
          `num_beams=5` and `max_new_tokens=256`, or what its generation config says.
        - `return_timestamps`: whether to return chunks: dicts with `timestamp`, a pair of seconds,
          and `text`; only for Whisper.

        Raises `DataError` NNM704 for settings that the model does not have.
        """
        if self.processor is not None:
            refused = [*settings] if self.letters is not None else []
            if return_timestamps or refused:
                names = ", ".join([*refused, *["return_timestamps"] * return_timestamps])
                raise DataError("NNM704", f"{names}: only Whisper has these settings")
            sounds, single = as_sounds(inputs)
            results = [{"text": await self._write_text(sound, settings)} for sound in sounds]
            return results[0] if single else results
        transcript = await self.model.transcribe(inputs, **settings)
        result: dict[str, Any] = {"text": transcript.text}
        if return_timestamps:
            result["chunks"] = [
                {"timestamp": (segment.start, segment.end), "text": segment.text}
                for segment in transcript.segments
            ]
        return result

    async def _write_text(self, sound: Any, settings: Mapping[str, Any]) -> str:
        """Return the text of a sound."""
        values = await self.process(sound)
        if self.letters is None:
            (tokens,) = await self.model.generate_ids(
                input_values=values, **{**self._generation_defaults(), **settings}
            )
            return self.model.tokenizer.decode(tokens)
        outputs = await self.model.predict(input_values=values)
        (rows,) = HostArray.of(outputs["logits"], "float32").tolist()
        best = [max(range(len(row)), key=row.__getitem__) for row in rows]
        return self.letters.decode(best)

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
