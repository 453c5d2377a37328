"""CTranslate2's model.bin: what is in a file, and damaged files refused by name."""

from __future__ import annotations

import random
import struct

import pytest

from webnnm import DataError
from webnnm.formats.ctranslate2 import chunks, dequantize_rows, read

TENSORS = {
    "encoder/conv1/weight": ("F16", [1, 2, 3], struct.pack("<6e", *range(6))),
    "decoder/w": ("I8", [2, 3], struct.pack("<6b", 127, 0, -127, 64, -1, 1)),
    "decoder/w_scale": ("F32", [2], struct.pack("<2f", 127, 2)),
    "decoder/b": ("BF16", [2], struct.pack("<2H", 0x3F80, 0xC000)),
    "decoder/num_heads": ("I16", [], struct.pack("<h", 6)),
}
WHOLE = b"".join(chunks("WhisperSpec", TENSORS, {"decoder/other": "decoder/w"}))


def test_what_is_written_comes_back() -> None:
    found = read(WHOLE)
    assert found.spec == "WhisperSpec"
    assert list(found.tensors) == [*TENSORS, "decoder/other"]
    assert found.tensors["encoder/conv1/weight"].array().tolist() == [[[0, 1, 2], [3, 4, 5]]]
    assert found.tensors["decoder/b"].array().tolist() == [1, -2]
    assert found.tensors["decoder/other"] is found.tensors["decoder/w"]
    assert (found.value("decoder/num_heads"), found.value("decoder/b"), found.value("no")) == (
        6,
        None,
        None,
    )


def test_numbers_of_int8_are_divided_by_the_scales_of_their_rows() -> None:
    tensors = read(WHOLE).tensors
    found = dequantize_rows(tensors["decoder/w"], tensors["decoder/w_scale"])
    assert found.tolist() == [[1, 0, -1], [32, -0.5, 0.5]]
    with pytest.raises(DataError, match="one for each row"):
        dequantize_rows(
            tensors["decoder/w"], tensors["decoder/b"].__class__("F32", (1,), WHOLE[:4])
        )


def test_tensors_are_views() -> None:
    data = bytearray(WHOLE)
    tensor = read(data).tensors["encoder/conv1/weight"]
    place = data.index(struct.pack("<6e", *range(6)))
    data[place : place + 2] = struct.pack("<e", 5)
    assert tensor.array().values()[0] == 5


def head(version: int = 6, count: int = 0) -> bytes:
    return struct.pack("<IH", version, 2) + b"m\0" + struct.pack("<II", 3, count)


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"", "NNM801", "the file ends within its version"),
        (b"GGUF" + bytes(20), "NNM802", "its version is"),
        (head(5), "NNM802", "its version is 5; only version 6"),
        (head(count=2**31), "NNM801", "the file ends within its tensors"),
        (WHOLE[:-40], "NNM801", "the file ends within"),
        (WHOLE + b"more", "NNM802", "4 bytes follow the last alias"),
        (b"".join(chunks("m", {"t": ("F32", [3], bytes(8))})), "NNM802", r"F32\[3\] has 8 bytes"),
        (b"".join(chunks("m", {"t": ("F32", [1] * 9, bytes(4))})), "NNM802", "9 dimensions"),
        (b"".join(chunks("m", {}, {"a": "b"})), "NNM802", 'calls "b" "a" as well'),
    ],
)
def test_what_is_wrong_is_named(data: bytes, code: str, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        read(data)
    assert caught.value.code == code


@pytest.mark.parametrize("seed", range(200))
def test_damaged_files_are_refused_or_usable(seed: int) -> None:
    dice = random.Random(seed)
    data = bytearray(WHOLE)
    for _ in range(dice.randint(1, 3)):
        place = dice.randrange(len(data))
        how = dice.randrange(3)
        if how == 0:
            data[place] ^= 1 << dice.randrange(8)
        elif how == 1:
            data[place : place + 4] = dice.choice([b"\xff" * 4, bytes(4), bytes([9] * 4)])
        else:
            del data[place : place + dice.randrange(40)]
    try:
        for tensor in read(data).tensors.values():
            tensor.array()
    except DataError as error:
        assert error.code in ("NNM801", "NNM802")
        assert len(str(error)) < 400
