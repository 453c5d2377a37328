"""Sound for models: one channel of samples at a rate, from files, arrays and microphones."""

from __future__ import annotations

import asyncio
import importlib
import io
import math
from array import array
from collections.abc import AsyncGenerator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from webnnm.backends import pyodide_host
from webnnm.core.arrays import HostArray
from webnnm.core.awaiting import require_await
from webnnm.core.dtypes import is_float
from webnnm.core.errors import BackendError, DataError
from webnnm.core.shapes import is_integer, show
from webnnm.data.files.source_bytes import read_bytes
from webnnm.data.sounds import wav
from webnnm.ops.declare.mel import RATE

MAX_PEAK = 100.0
"""Samples beyond this are integers as floats: what is too loud is a little above 1."""


class Sound:
    """Samples of one channel.

    >>> sound = Sound([[0.5, 0.0], [1.0, 0.0]], 8000)  # two samples of two channels
    >>> sound.samples.tolist(), sound.rate, sound.seconds
    ([0.25, 0.5], 8000, 0.00025)

    - `samples`: numbers from −1 to 1, `[length]`, or with channels `[length, channels]` or
      `[channels, length]` (the shorter axis is the channels). Channels are mixed.
    - `rate`: samples per second.

    Raises `DataError` NNM702 for other shapes, for integers and for numbers that are not samples,
    NNM707 for NaN and infinity, NNM704 for an invalid rate.
    """

    def __init__(self, samples: Any, rate: int) -> None:
        if not is_integer(rate) or rate < 1:
            raise DataError("NNM704", f"rate is {rate!r}", hint="samples per second, at least 1")
        values = HostArray.of(samples)
        if not is_float(values.dtype):
            hint = "divide them by the value that stands for 1, such as 32768"
            raise DataError(
                "NNM702", f"samples are {values.dtype}, not numbers from −1 to 1", hint=hint
            )
        values = HostArray.of(values, "float32")
        _check_samples(values)
        if len(values.shape) not in (1, 2):
            hint = "samples are [length] or [length, channels]"
            raise DataError("NNM702", f"sound of the shape {show(values.shape)}", hint=hint)
        if len(values.shape) == 2:
            values = _mix_channels(values)
        self.samples, self.rate = values, rate

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return self.samples.shape[0] / self.rate

    def __repr__(self) -> str:
        return f"<Sound of {self.seconds:.2f} s, {self.rate} samples per second>"


@require_await
async def load_sound(source: Any) -> Sound:
    """Load a sound from a path, a URL, or bytes.

    >>> import asyncio
    >>> asyncio.run(load_sound(wav.encode_wav([0.5, -0.5], 8000)))
    <Sound of 0.00 s, 8000 samples per second>

    WAV files can be read everywhere. Other formats can be read in pages if the browser plays them,
    and are then resampled to 16,000 samples per second, and on desktops if the package `soundfile`
    reads them: FLAC, OGG, MP3.

    Raises `DataError` NNM715 if there is no such file, NNM801 and NNM802 if it is not a sound,
    `BackendError` NNM709 if something is missing to read it.
    """
    data = await read_bytes(source) if isinstance(source, (str, Path)) else source
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise DataError("NNM702", f"sound cannot be made from a {type(data).__name__}")
    view: memoryview[int] = memoryview(data).cast("B")
    if wav.is_wav(view):
        file = wav.read(view)
        shape = [len(file.samples) // file.channels, file.channels]
        frames = HostArray("float32", shape, file.samples)
        return Sound(_mix_channels(frames, 1), file.rate)
    if pyodide_host.in_browser():
        return await _decode_in_page(view)
    return _read_by_soundfile(view)


class Microphone:
    """The microphone of a page, as an asynchronous iterator of sounds.

    >>> async def record(seconds):
    ...     async with Microphone() as microphone:
    ...         async for sound in microphone:
    ...             seconds -= sound.seconds
    ...             if seconds <= 0:
    ...                 return

    The browser asks the user for permission. Raises `BackendError` NNM709 outside pages, or if the
    user or the system refuses. Attributes: `rate`, samples per second; `block`, samples per sound.
    """

    def __init__(self, rate: int = RATE, block: int = 4000) -> None:
        self.rate, self.block = rate, block
        self._heard: asyncio.Queue[Sound | None] = asyncio.Queue()
        self._open: Any = None
        self._proxy: Any = None

    async def __aenter__(self) -> Self:
        if not pyodide_host.in_browser():
            hint = "record a file, and load it with load_sound"
            raise BackendError("NNM709", "microphones can only be opened in pages", hint=hint)
        module = await pyodide_host.load_module("page/sounds")
        self._proxy = pyodide_host.callback(self._take)
        try:
            self._open = await module.open(self.rate, self.block, self._proxy)
        except pyodide_host.js_error() as error:
            self._proxy.destroy()
            message = f"the microphone cannot be opened: {getattr(error, 'message', error)}"
            hint = "allow it in the browser's settings for the page; pages need https or localhost"
            raise BackendError("NNM709", message, hint=hint) from error
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            await opened.close()
            self._proxy.destroy()

    async def __aiter__(self) -> AsyncGenerator[Sound]:
        """Yield what is recorded until `stop`, including what was recorded before."""
        while (sound := await self._heard.get()) is not None:
            yield sound

    def stop(self) -> None:
        """Stop recording."""
        self._heard.put_nowait(None)

    def _take(self, samples: Any) -> None:
        self._heard.put_nowait(Sound(samples.to_py(), self.rate))


def _check_samples(samples: HostArray) -> None:
    """Raise `DataError` for numbers that are no sound."""
    values: Any = samples.values()
    if not len(values):
        return
    if not math.isfinite(sum(values)):
        first = next(n for n, value in enumerate(values) if not math.isfinite(value))
        raise DataError(
            "NNM707",
            f"sample {first} of {len(values)} is {values[first]}",
            hint="sound has finite numbers: check what computed or recorded it",
        )
    peak: float = max(*map(abs, (max(values), min(values))))
    if peak > MAX_PEAK:
        raise DataError(
            "NNM702",
            f"samples reach {peak:.0f}, but 1 is the full scale",
            hint="divide them by the value that stands for 1, such as 32768",
        )


def _mix_channels(array_: HostArray, axis: int | None = None) -> HostArray:
    """Return the mean of the channels, by default along the shorter axis."""
    rows, columns = array_.shape
    axis = int(columns <= rows) if axis is None else axis
    count = array_.shape[axis]
    values: Any = array_.values()
    if count == 1:
        return HostArray("float32", [rows * columns], array_.data)
    size = array_.shape[1 - axis]
    parts = [
        values[channel::count] if axis else values[channel * size : (channel + 1) * size]
        for channel in range(count)
    ]
    if not parts:
        raise DataError("NNM702", "the sound has no channels")
    mean = array("f", (sum(frame) / count for frame in zip(*parts, strict=True)))
    return HostArray("float32", [size], mean)


async def _decode_in_page(data: memoryview[int]) -> Sound:
    """Return a file as decoded by the browser."""
    module = await pyodide_host.load_module("page/sounds")
    try:
        samples = await module.decode(data, RATE)
    except pyodide_host.js_error() as error:
        message = f"the browser cannot read this sound: {getattr(error, 'message', error)}"
        hint = "all browsers read WAV, MP3 and FLAC; workers read only WAV"
        raise DataError("NNM802", message, hint=hint) from error
    return Sound(samples.to_py(), RATE)


def _read_by_soundfile(data: memoryview[int]) -> Sound:
    try:
        package: Any = importlib.import_module("soundfile")
    except (ImportError, OSError) as error:  # it is installed, but the library that it loads is not
        raise BackendError(
            "NNM709",
            "sound other than WAV needs the package soundfile",
            hint="pip install 'webnnm[sound]', or save the file as WAV",
        ) from error
    try:
        samples, rate = package.read(io.BytesIO(data), dtype="float32", always_2d=True)
    except Exception as error:  # the package has no common base class for its exceptions
        message = f"this sound cannot be read: {str(error)[:200]}"
        raise DataError("NNM802", message, hint="check what the path leads to") from error
    return Sound(_mix_channels(HostArray.of(samples, "float32"), 1), rate)
