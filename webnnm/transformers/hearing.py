"""The input of a speech model: windows of sound, one after the other, as features."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

from webnnm.backends.base import Backend, Executable
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.data.sounds.resampling import resample
from webnnm.data.sounds.sound import Sound, load_sound
from webnnm.graph.builder import GraphBuilder
from webnnm.ops.declare.mel import HOP, RATE
from webnnm.transformers.log_mel import log_mel


class Features:
    """Turns windows of sound into features `[1, bands, frames]` on a device."""

    def __init__(self, backend: Backend, bands: int, frames: int) -> None:
        self.frames = frames
        self._backend, self._bands = backend, bands
        self._executable: Executable | None = None

    async def of(self, samples: bytes) -> HostArray:
        """Return the features of float32 samples at 16 kHz, padded with silence."""
        size = self.frames * HOP
        if self._executable is None:
            b = GraphBuilder()
            features = log_mel(b, b.input("samples", "float32", [1, size]), self._bands)
            self._executable = await self._backend.compile(b.build({"features": features}))
        data = samples[: 4 * size]
        tensor = HostArray("float32", [1, size], data + bytes(4 * size - len(data)))
        return (await self._executable.run_host({"samples": tensor}))["features"]

    def close(self) -> None:
        """Free the memory on the device."""
        if self._executable is not None:
            self._backend.release(self._executable)
            self._executable = None


class Stream:
    """Sound that arrives at any pace, as samples at 16 kHz; earlier samples are dropped."""

    def __init__(self, audio: Any, rate: int | None, backend: Backend) -> None:
        self._blocks = _blocks(audio, rate)
        self._backend = backend
        self._samples = bytearray()
        self._start = 0
        self._ended = False

    async def window(self, start: int, length: int) -> bytes:
        """Return a number of samples from a start, fewer at the end.

        Starts never decrease.
        """
        while not self._ended and (len(self._samples) // 4 + self._start < start + length):
            sound = await anext(self._blocks, None)
            if sound is None:
                self._ended = True
            else:
                samples = await resample(sound.samples, sound.rate, RATE, self._backend)
                self._samples += samples.data
        del self._samples[: 4 * (start - self._start)]
        self._start = start
        return bytes(self._samples[: 4 * length])


async def _blocks(audio: Any, rate: int | None) -> AsyncIterator[Sound]:
    """Yield the input as sounds: a single one, or those of a stream."""
    if isinstance(audio, AsyncIterable):
        sounds: AsyncIterable[Any] = audio
        async for block in sounds:
            yield _sound(block, rate)
        return
    yield await load_sound(audio) if _is_file(audio) else _sound(audio, rate)


def _is_file(audio: Any) -> bool:
    return isinstance(audio, (str, bytes, bytearray)) or hasattr(audio, "__fspath__")


def _sound(audio: Any, rate: int | None) -> Sound:
    if isinstance(audio, Sound):
        return audio
    if rate is None:
        message = "samples without a rate"
        raise DataError("NNM704", message, hint="pass rate=, in samples per second, or a Sound")
    return Sound(audio, rate)
