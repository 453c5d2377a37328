"""The safetensors format: what is written comes back, and what is broken is refused by name."""

from __future__ import annotations

import json
import random
import struct
from typing import Any

import pytest

from webnnm import DataError, pack_safetensors, unpack_safetensors
from webnnm.core.arrays import HostArray
from webnnm.core.json_text import parse_json
from webnnm.snapshots.safetensors import CODES, SIZES, chunks, read

TENSORS = {
    "w": HostArray.of([[1.5, -2.0, 0.25], [3.0, 4.0, 5.0]]),
    "half": HostArray.of([0.5, 65504.0], "float16"),
    "numbers": HostArray.of([[-1], [2**40]], "int64"),
    "bytes": HostArray.of([0, 255], "uint8"),
    "one": HostArray.of(7.0),
    "none": HostArray("float32", [0, 3], b""),
}
METADATA = {"name": "sämtliche", "numbers": "[1, 2]"}
WHOLE = b"".join(chunks(TENSORS, METADATA))


def make(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(code: str = "F32", shape: Any = (1,), offsets: Any = (0, 4)) -> dict[str, Any]:
    return {"dtype": code, "shape": list(shape), "data_offsets": list(offsets)}


def test_what_is_written_comes_back() -> None:
    found = read(WHOLE)
    assert found.metadata == METADATA
    assert list(found.tensors) == list(TENSORS)
    for name, array in TENSORS.items():
        back = found.tensors[name].array()
        assert (back.dtype, back.shape, bytes(back.data)) == (
            array.dtype,
            array.shape,
            bytes(array.data),
        )


def test_data_begin_at_a_multiple_of_eight() -> None:
    assert struct.unpack("<Q", WHOLE[:8])[0] % 8 == 0
    assert len(b"".join(chunks({}, {}))) % 8 == 0


def test_nothing_is_copied_in_reading() -> None:
    data = bytearray(WHOLE)
    tensor = read(data).tensors["w"]
    data[len(data) - sum(a.data.nbytes for a in TENSORS.values())] ^= 1
    assert tensor.array().values()[0] != 1.5


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_four_bit_tensors_are_bytes(dtype: Any) -> None:
    array = HostArray.of([1, 2, 3], dtype)
    (found,) = read(b"".join(chunks({"q": array}, {}))).tensors.values()
    assert (found.code, found.shape, bytes(found.data)) == ("U8", (2,), bytes(array.data))


@pytest.mark.parametrize(
    ("code", "data", "dtype", "expected"),
    [
        ("BF16", b"\x80\x3f\x00\xc0", "float32", [1.0, -2.0]),
        ("F64", struct.pack("<2d", 0.1, -3.0), "float32", [0.10000000149011612, -3.0]),
        ("I16", struct.pack("<2h", -5, 300), "int32", [-5, 300]),
        ("U16", struct.pack("<2H", 5, 65535), "uint32", [5, 65535]),
        ("BOOL", b"\x01\x00", "uint8", [1, 0]),
    ],
)
def test_types_of_others(code: str, data: bytes, dtype: str, expected: list[Any]) -> None:
    found = read(make({"x": entry(code, [2], [0, len(data)])}, data)).tensors["x"].array()
    assert (found.dtype, found.tolist()) == (dtype, expected)


def test_a_type_without_counterpart_is_refused_when_it_is_used() -> None:
    found = read(make({"x": entry("F8_E4M3", [1], [0, 1])}, b"\0"))
    with pytest.raises(DataError, match="F8_E4M3") as caught:
        found.tensors["x"].array()
    assert caught.value.code == "NNM806"


def test_every_length_of_a_file_that_was_cut_off_is_refused() -> None:
    for length in range(len(WHOLE)):
        with pytest.raises(DataError) as caught:
            read(WHOLE[:length])
        assert caught.value.code == "NNM801", length


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (make(b"{"), "not JSON"),
        (make(b"[]"), "not a JSON object"),
        (make(b"\xff\xfe"), "not JSON"),
        (make(b'{"x": "\0"}'), "control characters"),
        (make(b'{"__metadata__": {"half": "\\ud83d"}}'), "surrogates"),
        (make(b'{"a": 1, "a": 2}'), "twice"),
        (make(b"[" * 100_000), "not JSON"),
        (struct.pack("<Q", 2**40) + b"{}", "1099511627776 bytes"),
        (make({"x": 3}), "needs dtype"),
        (make({"x": entry("F31")}, bytes(4)), "type 'F31'"),
        (make({"x": entry(shape=[-1])}, bytes(4)), "shape"),
        (make({"x": entry(shape=[1.0])}, bytes(4)), "shape"),
        (make({"x": entry(shape=[True])}, bytes(4)), "shape"),
        (make({"x": entry(shape=[1] * 65)}, bytes(4)), "shape"),
        (make({"x": entry(shape=[2**62, 2**62])}, bytes(4)), "its shape takes"),
        (make({"x": entry(offsets=[4, 0])}, bytes(4)), "has the offsets"),
        (make({"x": entry(offsets=[0, 2**70])}, bytes(4)), "has the offsets"),
        (make({"x": entry(offsets=[0])}, bytes(4)), "has the offsets"),
        (make({"x": entry(shape=[2])}, bytes(4)), "its shape takes 8"),
        (make({"x": entry(), "y": entry()}, bytes(4)), "overlaps"),
        (make({"x": entry(), "y": entry(offsets=[8, 12])}, bytes(12)), "gap"),
        (make({"x": entry(offsets=[4, 8])}, bytes(8)), "gap"),
        (make({"x": entry()}, bytes(5)), "1 bytes follow"),
        (make({"__metadata__": {"a": 1}}), "metadata"),
        (make({"__metadata__": []}), "metadata"),
        (make({"__metadata__": ""}), "metadata"),
        (make({"__metadata__": False}), "metadata"),
        (make({"__metadata__": {"a": None}}), "metadata"),
        (make({"x": {"dtype": "F32", "shape": [1]}}, bytes(4)), "needs dtype"),
        (make({"x": ["F32", [1]]}, bytes(4)), "needs dtype"),
        (make({"x": entry("F4")}, bytes(4)), "ends within a byte"),
    ],
)
def test_broken_headers_are_refused(data: bytes, words: str) -> None:
    with pytest.raises(DataError) as caught:
        read(data)
    assert caught.value.code == "NNM802"
    assert words in caught.value.message


@pytest.mark.alike
@pytest.mark.parametrize(
    "text",
    [
        '{"' + r"\"" * 2_000_000,
        '{"a": "' + "\\\\" * 2_000_000,
        '"' * 4_000_000,
        "\\\n" * 2_000_000,
        '{"a":' * 15 + "1," * 2_000_000,
    ],
    ids=["escaped quotes", "backslashes", "quotes", "escaped lines", "many values"],
)
def test_reading_a_header_takes_no_longer_than_its_text(text: str) -> None:
    """Where each quote searches the rest of the text for its end, this takes a day."""
    with pytest.raises(DataError, match="its header is not JSON") as caught:
        read(make(text.encode()))
    assert len(str(caught.value)) < 1000


def test_a_header_holds_so_many_values() -> None:
    most = json.dumps({"text": "[,{" * 200, "many": [0] * 95})
    assert len(parse_json(most, max_values=100)["many"]) == 95
    with pytest.raises(ValueError, match="more than 100 values"):
        parse_json(json.dumps([0] * 101), max_values=100)


def test_bytes_that_were_flipped_never_raise_anything_else() -> None:
    draw = random.Random(1)
    for _ in range(2000):
        data = bytearray(WHOLE)
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        try:
            for tensor in read(data).tensors.values():
                tensor.array()
        except DataError as error:
            assert error.code in ("NNM801", "NNM802", "NNM806")


def test_every_type_has_a_size() -> None:
    assert set(CODES.values()) <= SIZES.keys()


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ({"__metadata__": None, "x": entry()}, bytes(4)),
        ({"__metadata__": {}, "x": entry()}, bytes(4)),
        ({"x": {**entry(), "more": [1]}}, bytes(4)),
        ({"x": ["F32", [1], [0, 4]]}, bytes(4)),
        ({"x": entry("F32", [], [0, 4])}, bytes(4)),
        ({"x": entry("C64", [1], [0, 8])}, bytes(8)),
        ({"x": entry("F8_E8M0", [3], [0, 3])}, bytes(3)),
        ({"x": entry("F4", [6], [0, 3])}, bytes(3)),
        ({"x": entry("F6_E3M2", [4], [0, 3])}, bytes(3)),
        ({"x": entry("F32", [0, 3], [0, 0])}, b""),
    ],
)
def test_headers_that_the_library_takes_are_taken(header: Any, body: bytes) -> None:
    found = read(make(header, body))
    assert [*found.tensors] == ["x"] and not found.metadata


def test_packed_arrays_are_unpacked_with_their_types() -> None:
    packed = pack_safetensors(
        {"w": [[1.0, 2.0]], "n": HostArray.of([3], "int32")}, {"made by": "hand"}
    )
    arrays = unpack_safetensors(packed)
    assert {name: (each.dtype, each.tolist()) for name, each in arrays.items()} == {
        "w": ("float32", [[1.0, 2.0]]),
        "n": ("int32", [3]),
    }
    assert read(packed).metadata == {"made by": "hand"}
