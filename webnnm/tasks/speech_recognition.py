"""Transcripts of speech."""

from __future__ import annotations

from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.tasks.letters import Letters, read_letters
from webnnm.tasks.sound_task import SoundTask, as_sounds


class SpeechRecognition(SoundTask):
    """Transcribes speech of any length.

    >>> async def write_down(transcribe):
    ...     return (await transcribe("speech.wav", return_timestamps=True))["chunks"]
    """

    inputs = frozenset()
    outputs = frozenset({"logits"})
    classes = "WhisperForConditionalGeneration, …ForCTC"
    letters: Letters | None = None

    def fits(self) -> bool:
        """Return whether the model is a Whisper, or has a letter for each moment of sound."""
        if self.model.config.get("model_type") == "whisper":
            return True
        is_sound = "input_values" in self.model.inputs()
        return is_sound and self.model.describe_output("logits").sequence is not None

    async def prepare(self) -> None:
        """Read how the model takes sound, and its letters; Whisper needs neither."""
        if "input_values" in self.model.inputs():
            await super().prepare()
            self.letters = await read_letters(self.model.read_file)

    async def __call__(
        self, inputs: Any, *, return_timestamps: bool = False, **settings: Any
    ) -> Any:
        """Return a dict with the `text`, and with timestamps the `chunks`.

        - `inputs`: a path, URL, bytes of a file, `Sound` or samples, see
          `PretrainedModel.transcribe`, which also lists the `settings` of Whisper: `rate`,
          `language`, `task`. Models of letters take what `AudioClassification` takes, also lists.
        - `return_timestamps`: whether to return chunks: dicts with `timestamp`, a pair of seconds,
          and `text`; only for Whisper.

        Raises `DataError` NNM704 for settings that the model does not have.
        """
        if self.letters is not None:
            if return_timestamps or settings:
                names = ", ".join([*settings, *["return_timestamps"] * return_timestamps])
                raise DataError("NNM704", f"{names}: only Whisper has these settings")
            return await self._spell(inputs, self.letters)
        transcript = await self.model.transcribe(inputs, **settings)
        result: dict[str, Any] = {"text": transcript.text}
        if return_timestamps:
            result["chunks"] = [
                {"timestamp": (segment.start, segment.end), "text": segment.text}
                for segment in transcript.segments
            ]
        return result

    async def _spell(self, inputs: Any, letters: Letters) -> Any:
        """Return the text of the most likely letter of each moment."""
        sounds, single = as_sounds(inputs)
        results: list[dict[str, str]] = []
        for sound in sounds:
            outputs = await self.model.predict(input_values=await self.process(sound))
            (rows,) = HostArray.of(outputs["logits"], "float32").tolist()
            best = [max(range(len(row)), key=row.__getitem__) for row in rows]
            results.append({"text": letters.decode(best)})
        return results[0] if single else results
