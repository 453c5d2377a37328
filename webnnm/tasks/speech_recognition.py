"""Transcripts of speech."""

from __future__ import annotations

from typing import Any

from webnnm.tasks.pipeline import Pipeline


class SpeechRecognition(Pipeline):
    """Transcribes speech of any length.

    >>> async def write_down(transcribe):
    ...     return (await transcribe("speech.wav", return_timestamps=True))["chunks"]
    """

    outputs = frozenset({"logits"})
    classes = "WhisperForConditionalGeneration"

    def fits(self) -> bool:
        """Return whether the model is a Whisper."""
        return self.model.config.get("model_type") == "whisper"

    async def __call__(
        self, inputs: Any, *, return_timestamps: bool = False, **settings: Any
    ) -> dict[str, Any]:
        """Return a dict with the `text`, and with timestamps the `chunks`.

        - `inputs`: a path, URL, bytes of a file, `Sound` or samples, see
          `PretrainedModel.transcribe`, which also lists the `settings`: `rate`, `language`, `task`.
        - `return_timestamps`: whether to return chunks: dicts with `timestamp`, a pair of seconds,
          and `text`.
        """
        transcript = await self.model.transcribe(inputs, **settings)
        result: dict[str, Any] = {"text": transcript.text}
        if return_timestamps:
            result["chunks"] = [
                {"timestamp": (segment.start, segment.end), "text": segment.text}
                for segment in transcript.segments
            ]
        return result
