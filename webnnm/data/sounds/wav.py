"""The WAV format: sound as samples, interleaved by channel.

Source: IBM and Microsoft, "Multimedia programming interface and data specifications 1.0" (1991),
and Microsoft's "Multiple channel audio data and WAVE files" (2007).
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from webnnm.core.byte_cursor import Cursor
from webnnm.core.errors import DataError

PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
MAX_CHANNELS = 64
UNKNOWN = (0, 0xFFFFFFFF)
"""Sizes of data whose length was not known when the file was begun: they end with the file."""
CHUNK_BYTES = 3 << 16
"""How many bytes are read in one go, a multiple of all sample sizes."""


@dataclass(frozen=True)
class File:
    """The contents of a file: sample rate, channels, and all samples, from −1 to 1."""

    rate: int
    channels: int
    samples: array[float] = field(repr=False)


def is_wav(data: memoryview[int]) -> bool:
    """Return whether bytes begin like a WAV file."""
    return bytes(data[:4]) == b"RIFF" and bytes(data[8:12]) == b"WAVE"


def read(data: Any) -> File:
    """Return the contents of a file of integers or floats, from anything with the buffer protocol.

    >>> read(encode_wav([0.5, -0.5], 8000)).samples.tolist()
    [0.5, -0.5]

    Raises `DataError` NNM801 for a file that ends early, NNM802 for one that is not a WAV file, is
    compressed, or contradicts itself.
    """
    view = memoryview(data).cast("B")
    if not is_wav(view):
        raise _invalid("it does not begin with RIFF and WAVE")
    cursor, form = Cursor(view), None
    cursor.take(12, "its head")
    while cursor.position < len(view):
        name, size = bytes(cursor.take(4, "a name")), cursor.number("I", "a size")
        what = f'"{name.decode("latin-1")}"'
        if name == b"data":
            if form is None:
                raise _invalid("its data come before the format")
            left = len(view) - cursor.position
            return _read_samples(form, cursor.take(left if size in UNKNOWN else size, what))
        part = cursor.take(size, what)
        cursor.take(min(size % 2, len(view) - cursor.position), "padding")
        form = _read_form(part) if name == b"fmt " else form
    raise _invalid("it has no data")


def encode_wav(samples: list[float], rate: int, channels: int = 1) -> bytes:
    """Return a file of float32 samples."""
    data = array("f", samples).tobytes()
    form = struct.pack("<HHIIHH", FLOAT, channels, rate, 4 * channels * rate, 4 * channels, 32)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form
    body += b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


@dataclass(frozen=True)
class _Form:
    """The format of samples: how to read them, their bytes, channels, and the sample rate."""

    read: Callable[[bytes], array[float]]
    size: int
    channels: int
    rate: int


def _read_form(data: memoryview[int]) -> _Form:
    cursor = Cursor(data)
    code, channels, rate, _, block, bits = (
        cursor.number(type_code, "its format") for type_code in ("H", "H", "I", "I", "H", "H")
    )
    if code == EXTENSIBLE:
        cursor.take(8, "its format")
        code = cursor.number("H", "its format")
    reader = _READERS.get((code, bits))
    if reader is None:
        description = f"samples of kind {code} with {bits} bits"
        raise _invalid(
            f"{description} are not supported", "save it as PCM with 8, 16, 24 or 32 bits, or float"
        )
    if not 0 < channels <= MAX_CHANNELS or not rate or block != channels * bits // 8:
        raise _invalid(f"{channels} channels, {rate} samples a second, {block} bytes for each")
    return _Form(reader, bits // 8, channels, rate)


def _read_samples(form: _Form, data: memoryview[int]) -> File:
    size = len(data) - len(data) % (form.size * form.channels)
    samples = array("f")
    for start in range(0, size, CHUNK_BYTES):
        samples.extend(form.read(bytes(data[start : min(start + CHUNK_BYTES, size)])))
    return File(form.rate, form.channels, samples)


def _make_integer_reader(code: str) -> Callable[[bytes], array[float]]:
    scale = 1 << (8 * array(code).itemsize - 1)

    def read(data: bytes) -> array[float]:
        return array("f", [number / scale for number in array(code, data)])

    return read


def _read_uint8(data: bytes) -> array[float]:
    return array("f", [(number - 128) / 128 for number in data])


def _read_int24(data: bytes) -> array[float]:
    """Return three-byte numbers."""
    wide = bytearray(len(data) // 3 * 4)
    for byte in range(3):
        wide[byte + 1 :: 4] = data[byte::3]
    return _make_integer_reader("i")(bytes(wide))


_READERS: Mapping[tuple[int, int], Callable[[bytes], array[float]]] = {
    (PCM, 8): _read_uint8,
    (PCM, 16): _make_integer_reader("h"),
    (PCM, 24): _read_int24,
    (PCM, 32): _make_integer_reader("i"),
    (FLOAT, 32): lambda data: array("f", data),
    (FLOAT, 64): lambda data: array("f", array("d", data)),
}
"""Formats, by the kind of samples and their bits."""


def _invalid(reason: str, hint: str = "check what the path leads to") -> DataError:
    return DataError("NNM802", f"this is not a WAV file that can be read: {reason}", hint=hint)
