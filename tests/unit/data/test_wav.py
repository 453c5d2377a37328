"""WAV files: all kinds of samples, and damaged files refused by name."""

from __future__ import annotations

import struct

import pytest

from webnnm import DataError
from webnnm.data.sounds.wav import FLOAT, PCM, encode_wav, read


def file(code: int, bits: int, data: bytes, channels: int = 1, **more: bytes) -> bytes:
    block = channels * bits // 8
    form = struct.pack("<HHIIHH", code, channels, 8000, 8000 * block, block, bits)
    form += more.get("form", b"")
    body = b"WAVE" + more.get("before", b"") + b"fmt " + struct.pack("<I", len(form)) + form
    body += b"data" + more.get("size", struct.pack("<I", len(data))) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


@pytest.mark.parametrize(
    ("code", "bits", "data"),
    [
        (PCM, 8, bytes([128, 192, 0])),
        (PCM, 16, struct.pack("<3h", 0, 1 << 14, -1 << 15)),
        (PCM, 24, b"\0\0\0" + b"\0\0\x40" + b"\0\0\x80"),
        (PCM, 32, struct.pack("<3i", 0, 1 << 30, -1 << 31)),
        (FLOAT, 32, struct.pack("<3f", 0, 0.5, -1)),
        (FLOAT, 64, struct.pack("<3d", 0, 0.5, -1)),
    ],
)
def test_all_kinds_of_samples_are_read(code: int, bits: int, data: bytes) -> None:
    found = read(file(code, bits, data))
    assert (found.rate, found.channels, found.samples.tolist()) == (8000, 1, [0, 0.5, -1])
    extended = file(0xFFFE, bits, data, form=struct.pack("<HHIH", 22, bits, 0, code) + bytes(14))
    assert read(extended).samples.tolist() == [0, 0.5, -1]


def test_other_parts_of_a_file_are_passed_over() -> None:
    data = struct.pack("<2h", 0, 1 << 14)
    odd = b"LIST" + struct.pack("<I", 3) + b"abc\0"
    assert read(file(PCM, 16, data, before=odd)).samples.tolist() == [0, 0.5]


def test_data_of_unknown_size_end_with_the_file() -> None:
    data = struct.pack("<2h", 0, 1 << 14)
    for size in (bytes(4), b"\xff" * 4):
        assert read(file(PCM, 16, data, size=size)).samples.tolist() == [0, 0.5]


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"OggS" + bytes(40), "NNM802", "does not begin with RIFF and WAVE"),
        (encode_wav([0.5] * 9, 8000)[:-4], "NNM801", 'the file ends within "data"'),
        (encode_wav([], 8000)[:12], "NNM802", "it has no data"),
        (file(2, 4, b""), "NNM802", "samples of kind 2 with 4 bits are not supported"),
        (file(PCM, 16, b"", channels=0), "NNM802", "0 channels"),
        (b"RIFF\0\0\0\0WAVEdata" + bytes(8), "NNM802", "data come before the format"),
        (b"RIFF\0\0\0\0WAVEfmt \4\0\0\0" + bytes(4), "NNM801", "ends within its format"),
    ],
)
def test_what_is_wrong_is_named(data: bytes, code: str, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        read(data)
    assert caught.value.code == code
