"""A pipeline of webnnm on a folder, called from a page."""

from __future__ import annotations

import math
from typing import Any

from webnnm import Sound, TranscriptionThresholds, pipeline
from webnnm.core.arrays import HostArray

EVERYTHING = TranscriptionThresholds(
    compression_ratio=math.inf, log_probability=-math.inf, no_speech=1.0, quiet=0.0
)
"""Tones are transcribed as if they were speech, as the pipeline of transformers.js does."""
opened: list[Any] = []


async def open(task: str, folder: str, backend: str) -> None:
    """Open a folder of ONNX files."""
    settings: dict[str, Any] = {"dtype": "fp32", "backend": backend, "log": lambda line: None}
    opened.append(await pipeline(task, folder, **settings))


async def call(value: Any, settings: Any) -> Any:
    """Return what the pipeline finds."""
    more: dict[str, Any] = {}
    if hasattr(value, "BYTES_PER_ELEMENT"):  # samples of sound
        value, more["thresholds"] = Sound(value.to_py(), 16000), EVERYTHING
    return await opened[0](value, **settings.to_py(), **more)


def describe(result: Any) -> Any:
    """Return a result as page.html compares it, in lists and dicts."""
    if isinstance(result, list | dict | str):
        return result
    return HostArray.of(result).tolist()
