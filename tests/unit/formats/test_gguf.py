"""The GGUF format: blocks as llama.cpp unpacks them, and damaged files refused by name."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest

from webnnm import DataError
from webnnm.formats.gguf import BLOCKS, SIZES, StoredTensor, chunks, dequantize_in_python, read

GOLDEN: dict[str, Any] = json.loads(Path(__file__).with_name("gguf_blocks.json").read_text())
"""Bytes of blocks, and some of the values that the package `gguf` (llama.cpp) makes of them."""
ROWS = struct.pack("<16f", *range(16))
METADATA = {
    "general.architecture": "llama",
    "llama.attention.head_count": 2,
    "llama.rope.freq_base": 10000.0,
    "tokenizer.ggml.add_bos_token": False,
    "tokenizer.ggml.tokens": ["a", "b", "Ġc"],
    "tokenizer.ggml.token_type": [3, 1, 1],
    "nested": [[1, 2], [3]],
}
TENSORS = {
    "blk.0.attn_q.weight": ("F32", [8, 2], ROWS),
    "blk.0.attn_v.weight": ("F32", [8, 2], ROWS),
    "table": ("Q8_0", [2, 32], bytes(range(68))),
    "half": ("F16", [3], struct.pack("<3e", 1, 2, 3)),
}
WHOLE = b"".join(chunks(METADATA, TENSORS))


@pytest.mark.parametrize("name", GOLDEN)
def test_values_are_those_of_llama_cpp(name: str) -> None:
    text, wanted = GOLDEN[name]
    data = bytes.fromhex(text)
    values, size = SIZES[name]
    tensor = StoredTensor(name, (len(data) // size * values,), memoryview(data))
    found = [tensor.array().values()]
    if name in BLOCKS:
        found.append(dequantize_in_python(tensor.data, BLOCKS[name]))
    for values in found:
        assert list(values[:: len(values) // len(wanted)]) == pytest.approx(wanted, rel=1e-6)


def test_what_is_written_comes_back() -> None:
    found = read(WHOLE)
    assert list(found.metadata) == list(METADATA)
    assert found.metadata["tokenizer.ggml.tokens"] == ["a", "b", "Ġc"]
    assert [list(row) for row in found.metadata["nested"]] == [[1, 2], [3]]
    assert found.metadata["tokenizer.ggml.add_bos_token"] is False
    assert {name: (t.code, list(t.shape)) for name, t in found.tensors.items()} == {
        name: (code, shape) for name, (code, shape, _) in TENSORS.items()
    }
    assert found.tensors["half"].array().tolist() == [1, 2, 3]


def test_tensors_are_views() -> None:
    data = bytearray(WHOLE)
    tensor = read(data).tensors["half"]
    place = data.index(struct.pack("<3e", 1, 2, 3))
    data[place : place + 2] = struct.pack("<e", 5)
    assert tensor.array().tolist() == [5, 2, 3]


def test_projections_to_queries_turn_as_hugging_face_does() -> None:
    """Rows (0, 1), (2, 3) of a head turn together in the file, (0, 2), (1, 3) here."""
    found = read(WHOLE)
    rows = [row[0] / 2 for row in found.rope_order("blk.0.attn_q.weight").tolist()]
    assert rows == [0, 2, 1, 3, 4, 6, 5, 7]
    assert [row[0] / 2 for row in found.rope_order("blk.0.attn_v.weight").tolist()] == [*range(8)]


def counts(tensors: int = 0, pairs: int = 0, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, pairs)


def key(code: int, value: bytes, name: bytes = b"k") -> bytes:
    return struct.pack("<Q", len(name)) + name + struct.pack("<I", code) + value


def list_items(code: int, number: int) -> bytes:
    return struct.pack("<IQ", code, number)


PAIR = b"".join(chunks({}, {name: ("F32", [8], bytes(32)) for name in "ab"}))
OVERLAPPING = PAIR.replace(struct.pack("<IQ", 0, 32), struct.pack("<IQ", 0, 0))


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"", "NNM801", "the file ends within its first word"),
        (b"GGML" + bytes(20), "NNM802", "does not begin with GGUF"),
        (counts(version=1), "NNM802", "its version is 1"),
        (counts(pairs=2**60), "NNM801", "the file ends within its metadata"),
        (counts(tensors=2**60), "NNM801", "the file ends within its list of tensors"),
        (counts(pairs=1) + key(99, b""), "NNM802", "unknown type 99"),
        (counts(pairs=1) + key(8, struct.pack("<Q", 2**62)), "NNM801", 'ends within "k"'),
        (counts(pairs=1) + key(9, list_items(4, 2**62)), "NNM801", 'ends within "k"'),
        (counts(pairs=1) + key(9, list_items(9, 1) * 9), "NNM802", "nested too deeply"),
        (counts(pairs=1) + key(8, struct.pack("<Q", 1) + b"\xff"), "NNM802", "is not UTF-8"),
        (counts(pairs=2) + key(7, b"\1") * 2, "NNM802", "twice"),
        (WHOLE[:-40], "NNM801", 'the file ends within tensor "half"'),
        (
            b"".join(chunks({"general.alignment": 7}, TENSORS)),
            "NNM802",
            "its alignment is 7",
        ),
        (b"".join(chunks({}, {"t": ("Q8_0", [4, 8], b"")})), "NNM802", "blocks of Q8_0 have 32"),
        (OVERLAPPING, "NNM802", 'tensor "b" overlaps the one before'),
    ],
)
def test_what_is_wrong_is_named(data: bytes, code: str, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        read(data)
    assert caught.value.code == code


def test_a_type_that_is_not_read_is_named() -> None:
    tensor = read(b"".join(chunks({}, {"t": ("IQ2_XS", [256], b"")}))).tensors["t"]
    with pytest.raises(DataError, match="type IQ2_XS cannot be read"):
        tensor.array()


@pytest.mark.parametrize("seed", range(300))
def test_damaged_files_are_refused_or_usable(seed: int) -> None:
    dice = random.Random(seed)
    data = bytearray(WHOLE)
    for _ in range(dice.randint(1, 4)):
        place = dice.randrange(len(data))
        how = dice.randrange(4)
        if how == 0:
            data[place] ^= 1 << dice.randrange(8)
        elif how == 1:
            data[place : place + 8] = dice.choice([b"\xff" * 8, bytes(8), bytes([9] * 8)])
        elif how == 2:
            del data[place : place + dice.randrange(64)]
        else:
            data[place:place] = dice.randbytes(dice.randrange(16))
    try:
        found = read(data)
        for name in found.tensors:
            found.rope_order(name)
    except DataError as error:
        assert error.code in ("NNM801", "NNM802", "NNM806")
        assert len(str(error)) < 400


def test_lists_of_strings_may_have_any_lengths() -> None:
    texts = ["", "é", "a" * 300, "b" * 70, *map(str, range(100)), "c" * (1 << 19), "Ġ"]
    data = b"".join(chunks({"words": texts, "last": "word"}, {}))
    assert read(data).metadata == {"words": texts, "last": "word"}


def test_a_string_in_a_list_that_is_not_utf_8_is_refused() -> None:
    data = b"".join(chunks({"words": ["one", "two", "three"]}, {}))
    with pytest.raises(DataError, match=r'NNM802: .*"words" is not UTF-8'):
        read(data.replace(b"two", b"\xfftw"))
