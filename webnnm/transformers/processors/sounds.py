"""Sound as the input of a model: samples, or powers in mel bands, scaled as it was trained."""

from __future__ import annotations

import math
from array import array
from typing import Any

from webnnm.backends.base import Backend, Executable
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.data.sounds.resampling import resample
from webnnm.data.sounds.sound import Sound
from webnnm.graph.builder import GraphBuilder
from webnnm.ops.declare.mel import HOP, WINDOW
from webnnm.transformers.processors.kaldi_bands import count_frames, kaldi_bands
from webnnm.transformers.processors.sound_settings import SoundSettings

SMALL = 1e-7
"""Added to variances: silence is not divided by 0."""


class SoundProcessor:
    """Turns sounds into the input of a model, on a device."""

    def __init__(self, backend: Backend, settings: SoundSettings) -> None:
        self.settings = settings
        self._backend = backend
        self._executable: Executable | None = None

    async def process(self, sound: Sound) -> HostArray:
        """Return what a model takes: samples `[1, length]`, or bands `[1, frames, bands]`.

        Raises `DataError` NNM702 if there is no sound.
        """
        settings = self.settings
        samples = await resample(sound.samples, sound.rate, settings.rate, self._backend)
        if not len(samples):
            raise DataError("NNM702", "the sound has no samples", hint="give a longer one")
        if settings.bands:
            return await self._compute_bands(samples)
        if settings.normalize:
            samples = normalize_samples(samples)
        return HostArray("float32", (1, len(samples)), samples.data)

    async def _compute_bands(self, samples: HostArray) -> HostArray:
        """Return the bands of as many frames as the model takes, zeros after the end."""
        settings = self.settings
        length = WINDOW + HOP * (settings.frames - 1)
        if self._executable is None:
            self._executable = await self._backend.compile(_build_bands(settings, length))
        data = bytes(samples.data[: 4 * length])
        count = min(settings.frames, count_frames(len(samples)))
        inputs = {
            "samples": HostArray("float32", (1, length), data + bytes(4 * length - len(data))),
            "present": HostArray.of(
                [1.0] * count + [0.0] * (settings.frames - count),
                "float32",
                (1, settings.frames, 1),
            ),
        }
        return (await self._executable.run_host(inputs))["bands"]

    def close(self) -> None:
        """Free the memory on the device."""
        if self._executable is not None:
            self._backend.release(self._executable)
            self._executable = None


def _build_bands(settings: SoundSettings, length: int) -> Any:
    b = GraphBuilder()
    samples = b.input("samples", "float32", [1, length])
    present = b.input("present", "float32", [1, settings.frames, 1])
    values = kaldi_bands(b, samples, settings.frames, settings.bands, settings.rate) * present
    if settings.normalize:
        values = (values - settings.mean) * (1 / (2 * settings.deviation))
    return b.build({"bands": values})


def normalize_samples(samples: HostArray) -> HostArray:
    """Return samples with the mean 0 and the variance 1.

    >>> [round(x, 3) for x in normalize_samples(HostArray.of([1.0, 3.0])).tolist()]
    [-1.0, 1.0]
    """
    values: Any = samples.values()
    mean = math.fsum(values) / len(values)
    variance = math.fsum([(value - mean) ** 2 for value in values]) / len(values)
    scale = 1 / math.sqrt(variance + SMALL)
    return HostArray("float32", samples.shape, array("f", [(v - mean) * scale for v in values]))
