"""Feature extractors of sound: cases, and what `transformers` makes of them, recorded."""

from __future__ import annotations

import json
import math
import random
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webnnm import Sound, backend
from webnnm.core.arrays import HostArray
from webnnm.transformers.processors.sound_settings import read_sound_settings
from webnnm.transformers.processors.sounds import SoundProcessor

FILE = Path(__file__).with_name("sounds.json")
LIMIT = 1e-5
RATE = 16_000
LENGTHS = (9000, 3001, 17_000)
CASES: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("Wav2Vec2", {}),
    ("Wav2Vec2", {"do_normalize": False}),
    ("SpeechT5", {}),
    ("AST", {"max_length": 40}),
    ("AST", {"max_length": 60, "num_mel_bins": 24, "mean": -5.5, "std": 3.5}),
    ("AST", {"max_length": 30, "do_normalize": False}),
)
"""Classes of feature extractors and their settings."""


def draw_samples(length: int) -> array[float]:
    """Return tones in noise."""
    draw = random.Random(length)
    return array(
        "f",
        [
            0.3 * math.sin(0.05 * n) + 0.2 * math.sin(0.9 * n) + draw.gauss(0.01, 0.1)
            for n in range(length)
        ],
    )


async def prepare(file: Mapping[str, Any], length: int) -> HostArray:
    """Return what a model takes for a sound of a length."""
    processor = SoundProcessor(await backend("numpy"), read_sound_settings(file))
    try:
        return await processor.process(Sound(draw_samples(length), RATE))
    finally:
        processor.close()


def read_fixtures() -> list[Mapping[str, Any]]:
    """Return what was recorded."""
    return json.loads(FILE.read_text())
