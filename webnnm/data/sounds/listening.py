"""Sounds of any rate and length, brought to those of a dataset.

The policy is one, wherever a sound is read: one channel, resampled, and of a longer sound its
loudest part, while a shorter one gets silence on both sides. In pages browsers decode and resample
files, by filters of their own; exported pages do the rest in `js_bridge/inference/sounds.js`.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from operator import sub
from typing import Any, NamedTuple

from webnnm.backends import pyodide_host
from webnnm.backends.selection import backend
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.page_arrays import find_class
from webnnm.data.files.labelled_files import load_file
from webnnm.data.sounds.resampling import resample
from webnnm.data.sounds.sound import Sound, load_sound

ENDINGS = (".wav", ".flac", ".ogg", ".mp3", ".oga", ".aif", ".aiff", ".m4a", ".webm")
FILES = ("Blob", "File")
"""Classes of files in pages."""


class Listening(NamedTuple):
    """What sounds are brought to: `rate`, samples per second, and `length`, their number."""

    rate: int
    length: int


def is_sound(value: Any) -> bool:
    """Return whether something is a single sound: a file, its bytes, or a `Sound`.

    >>> is_sound("dog.wav"), is_sound([0.5, 0.25])
    (True, False)
    """
    if hasattr(value, "js_id"):
        return find_class(value) in FILES
    if isinstance(value, memoryview):  # of bytes, or of samples
        return value.itemsize == 1
    kinds = (str, bytes, bytearray, Sound)
    return isinstance(value, kinds) or hasattr(value, "read") or hasattr(value, "read_bytes")


async def load_samples(source: Any, name: str, rate: int) -> HostArray:
    """Return all samples of a file or a `Sound`, float32 `[length]`, at a rate.

    Raises `DataError` NNM715, NNM801 and NNM802 if it cannot be read, `BackendError` NNM709 if
    something is missing to read it.
    """
    content = await load_file(source)
    if hasattr(content, "js_id"):
        content = (await content.arrayBuffer()).to_bytes()
    if pyodide_host.has_document() and not isinstance(content, Sound):
        return await _decode_in_page(content, name, rate)
    try:
        sound = content if isinstance(content, Sound) else await load_sound(content)
    except DataError as error:
        raise DataError(error.code, f"{name}: {error.message}", hint=error.hint) from error
    if sound.rate == rate:
        return sound.samples
    # Desktops have NumPy, workers of pages what "auto" finds there.
    device = await backend("auto" if pyodide_host.in_browser() else "numpy", log=lambda line: None)
    try:
        return await resample(sound.samples, sound.rate, rate, device)
    finally:
        device.close()


async def _decode_in_page(content: Any, name: str, rate: int) -> HostArray:
    module = await pyodide_host.load_module("page/sounds")
    try:
        samples = await module.decode(memoryview(content), rate)
    except pyodide_host.js_error() as error:
        message = f"{name}: the browser cannot read it: {getattr(error, 'message', error)}"
        raise DataError("NNM802", message, hint="all browsers read WAV, MP3 and FLAC") from error
    return Sound(samples.to_py(), rate).samples


def cut_loudest(samples: HostArray, length: int) -> HostArray:
    """Return the loudest part of a sound; one that is too short gets silence on both sides.

    >>> cut_loudest(HostArray.of([0.0, 0.5, 1.0, 0.0]), 2).tolist()
    [0.5, 1.0]
    >>> cut_loudest(HostArray.of([0.5]), 3).tolist()
    [0.0, 0.5, 0.0]
    """
    values: Any = samples.values()
    spare = len(values) - length
    if spare <= 0:
        front = -spare // 2
        padded = array("f", bytes(4 * length))
        padded[front : front + len(values)] = array("f", values)
        return HostArray("float32", (length,), padded)
    power = [0.0, *accumulate(value * value for value in values)]
    parts: list[float] = list(map(sub, power[length:], power))
    start = parts.index(max(parts))
    return samples.part(start, start + length)


async def listen(
    sounds: Sequence[Any], names: Sequence[str], form: Listening
) -> list[HostArray | DataError]:
    """Return the samples of each sound, float32 `[length]`, or why there are none."""
    results: list[HostArray | DataError] = []
    for sound, name in zip(sounds, names, strict=True):
        try:
            samples = await load_samples(sound, name, form.rate)
        except DataError as error:
            results.append(error)
        else:
            results.append(cut_loudest(samples, form.length))
    return results
