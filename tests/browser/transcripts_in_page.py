"""Runs in a page: a tiny Whisper writes down a tone."""

from __future__ import annotations

import math
from typing import Any

from tests.unit.transformers.tiny_whisper import files
from webnnm import Sound, from_pretrained
from webnnm.data.sounds.wav import encode_wav


async def transcripts(backend: str) -> dict[str, Any]:
    """Return the segments of a tone at two rates, and whether memory stays the same."""
    model = await from_pretrained(files(), backend=backend, log=lambda line: None)
    tone = [math.sin(place / 4) for place in range(4000)]
    first = await model.transcribe(encode_wav(tone, 16_000), temperature=0)
    slower = await model.transcribe(Sound(tone, 8000), temperature=0)
    before = model.backend.memory()
    again = [segment async for segment in model.transcribe(Sound(tone, 8000), temperature=0)]
    steady = model.backend.memory() == before
    model.close()
    return {
        "first": [(s.start, s.end, s.text) for s in first.segments],
        "slower": [(s.start, s.end, s.text) for s in slower.segments],
        "sure": [s.log_probability for s in slower.segments],
        "same": again == slower.segments,
        "steady": steady,
    }
