"""Tensors of other programs: found by other names, turned, cut and widened without a loss."""

from __future__ import annotations

import itertools
import json
import math
import struct
import sys
import tracemalloc
from typing import Any

import pytest

from webnnm import DataError
from webnnm.core.arrays import HostArray
from webnnm.core.shapes import count
from webnnm.ops.declare.tensors import TensorType
from webnnm.snapshots.foreign import Form, Part, Permuted, Reshaped, Transposed, permute
from webnnm.snapshots.name_map import Names, assign_tensors, read_name_map
from webnnm.snapshots.safetensors import StoredTensor, chunks, read


def number_rows(*shape: int, start: int = 0) -> HostArray:
    """Return the numbers from `start`, so that every element tells where it was."""
    return HostArray.of([float(start + k) for k in range(count(shape))], "float32", shape)


def found(
    tensors: dict[str, HostArray], wanted: dict[str, tuple[int, ...]], names: Names, **options: Any
) -> dict[str, Any]:
    file = read(b"".join(chunks(tensors, {})))
    types = {name: TensorType("float32", shape) for name, shape in wanted.items()}
    return {
        name: one.array().tolist()
        for name, one in assign_tensors(file.tensors, types, names, **options).items()
    }


def form(value: Form, array: HostArray) -> list[Any]:
    shape = value.shape(array.shape)
    data = value.data(array.shape, array.data, 4)
    return HostArray("float32", shape, data).tolist()


# Forms.


@pytest.mark.parametrize("numpy", [True, False])
@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (3, 1), (2, 3, 4), (2, 1, 3, 2), (0, 3)])
def test_every_order_of_axes(
    shape: tuple[int, ...], size: int, numpy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if numpy:
        pytest.importorskip("numpy")
    else:
        monkeypatch.setattr("webnnm.snapshots.foreign.has_numpy", lambda: False)
    items = [k.to_bytes(size, "little") for k in range(count(shape))]
    data = memoryview(b"".join(items))
    for order in itertools.permutations(range(len(shape))):
        sizes = [shape[axis] for axis in order]
        expected = []
        for place in itertools.product(*map(range, sizes)):
            old = dict(zip(order, place, strict=True))
            number = 0
            for axis, length in enumerate(shape):
                number = number * length + old[axis]
            expected.append(items[number])
        assert bytes(permute(shape, data, size, order)) == b"".join(expected)


def test_transposed_and_reshaped() -> None:
    assert form(Transposed("w"), number_rows(2, 3)) == [[0, 3], [1, 4], [2, 5]]
    assert form(Reshaped("w", [1, 2, 3]), number_rows(2, 3)) == [[[0, 1, 2], [3, 4, 5]]]
    assert form(Reshaped("w", [2, 2, 1, 3]), number_rows(4, 3))[1] == [[[6, 7, 8]], [[9, 10, 11]]]
    filters = number_rows(2, 3, 1, 2)
    back = form(Permuted(Permuted("w", "oihw -> hwio"), "hwio -> oihw"), filters)
    assert back == filters.tolist()


def test_parts_side_by_side() -> None:
    fused = number_rows(6, 2)
    assert form(Part("w", 0, 3), fused) == [[0, 1], [2, 3]]
    assert form(Part("w", 2, 3), fused) == [[8, 9], [10, 11]]
    assert form(Part("w", 1, (3, 1, 2)), fused) == [[6, 7]]
    assert form(Part("w", 1, 2, axis=-1), fused) == [[k] for k in (1, 3, 5, 7, 9, 11)]
    assert form(Transposed(Part("w", 1, 3)), fused) == [[4, 6], [5, 7]]


def test_parts_of_every_head() -> None:
    """Rows are q of head 0, k of head 0, v of head 0, q of head 1, …"""
    fused = number_rows(12, 1)  # 2 heads of 2 rows, 3 parts
    assert form(Part("w", 0, 3, heads=2), fused) == [[0], [1], [6], [7]]
    assert form(Part("w", 2, 3, heads=2), fused) == [[4], [5], [10], [11]]
    # Two query heads share a key head and a value head.
    groups = number_rows(8, 1)
    assert form(Part("w", 0, (4, 2, 2), heads=2), groups) == [[0], [1], [4], [5]]
    assert form(Part("w", 1, (4, 2, 2), heads=2), groups) == [[2], [6]]


def test_parts_are_not_copied_where_they_lie_together() -> None:
    data = memoryview(bytearray(number_rows(6, 2).data))
    part = Part("w", 1, 3).data((6, 2), data, 4)
    data[16] ^= 1
    assert part[0] == data[16]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Part("w", 3, 3), "index=3"),
        (lambda: Part("w", -1, 3), "index=-1"),
        (lambda: Part("w", 0, 3, heads=0), "heads=0"),
        (lambda: Part("w", 0, (0, 3)), "of=(0, 3)"),
        (lambda: Permuted("w", "oihw"), 'axes="oihw"'),
        (lambda: Permuted("w", "oihw -> hwii"), "hwii"),
        (lambda: Permuted("w", "oo -> oo"), "oo -> oo"),
    ],
)
def test_forms_without_sense_are_refused(make: Any, words: str) -> None:
    with pytest.raises(DataError) as caught:
        make()
    assert (caught.value.code, words in caught.value.message) == ("NNM704", True)


# Names.


def test_full_names_go_before_patterns_and_own_names_after() -> None:
    tensors = {"a": number_rows(1), "b": number_rows(1, start=5), "w3": number_rows(1, start=7)}
    names = {"w*": "*", "w1": "a", "w2": "b"}
    with pytest.raises(DataError, match=r"w3 \(3 in the file\) missing"):
        found(tensors, dict.fromkeys(("w1", "w2", "w3"), (1,)), names)
    del names["w*"]
    values = found(tensors, dict.fromkeys(("w1", "w2", "w3"), (1,)), names)
    assert values == {"w1": [0], "w2": [5], "w3": [7]}


def test_numbers_count_differently_here_and_there() -> None:
    """Two matrices in every block are w1, w2, w3, … here and numbered by block there."""
    tensors = {
        f"h.{block}.{layer}.weight": number_rows(1, start=10 * block + place)
        for block in range(12)
        for place, layer in enumerate(("fc", "proj"))
    }
    wanted = {f"w{k}": (1,) for k in range(1, 25)}
    names = {"w{2n+1}": "h.{n}.fc.weight", "w{2n+2}": "h.{n}.proj.weight"}
    values = found(tensors, wanted, names)
    assert values["w1"] == [0] and values["w2"] == [1] and values["w24"] == [111]
    assert len(values) == 24


def test_stars_and_numbers_together() -> None:
    tensors = {
        "enc.1.key.weight": number_rows(2, 3),
        "enc.1.mask": number_rows(1),
        "mask": number_rows(1),
    }
    names: Names = {"{layer}_*_w": Transposed("enc.{layer+1}.*.weight"), "*mask": None}
    assert found(tensors, {"0_key_w": (3, 2)}, names) == {"0_key_w": [[0, 3], [1, 4], [2, 5]]}


def test_the_same_number_twice_is_one_number() -> None:
    names: Names = {"{n}.{n}": "x{n}"}
    tensors = {"x4": number_rows(1), "4.5": number_rows(1, start=3)}
    assert found(tensors, {"4.4": (1,), "4.5": (1,)}, names) == {"4.4": [0], "4.5": [3]}


@pytest.mark.parametrize(
    "names", [{"w": "x.{n}"}, {"w*": "a.*.*"}, {"w{n}": Transposed("h.{m}")}, {"w": 3}]
)
def test_patterns_without_sense_are_refused(names: Any) -> None:
    with pytest.raises(DataError) as caught:
        found({"x": number_rows(1)}, {"w": (1,)}, names)
    assert caught.value.code == "NNM704"


def catch_error(tensors: dict[str, HostArray], wanted: Any, names: Names) -> DataError:
    with pytest.raises(DataError) as caught:
        found(tensors, wanted, names)
    return caught.value


def test_names_that_lack_a_counterpart_are_told_on_both_sides() -> None:
    tensors = {"fc1.weight": number_rows(3, 4), "fc1.bias": number_rows(3)}
    error = catch_error(tensors, {"w1": (4, 3), "b1": (3,)}, {})
    assert error.code == "NNM805"
    assert "w1, b1 missing; fc1.weight, fc1.bias not in the model" in error.message
    turned = 'mapping={"w1": Transposed("fc1.weight")}'
    assert error.hint == f'"fc1.weight" would fit transposed: {turned}'
    error = catch_error(tensors, {"b1": (3,)}, {"b1": "fc1.bais"})
    assert "b1 (fc1.bais in the file) missing" in error.message
    assert error.hint == 'did you mean "fc1.bias"?'
    error = catch_error({"bias": number_rows(3)}, {"bias1": (3,)}, {"bias2": "bias"})
    assert "bias2 in the name map not in the model" in error.message
    error = catch_error({f"t{k}": number_rows(1) for k in range(20)}, {}, {})
    assert "t7 and 12 more not in the model" in error.message


@pytest.mark.parametrize(
    ("names", "words", "hint"),
    [
        ({"w1": "fc"}, '"w1" is float32[4, 3] in the model, float32[3, 4] in the file as "fc"', 1),
        ({"w1": Transposed(Part("fc", 0, 2))}, "does not split into 2", 0),
        ({"w1": Part("fc", 0, 3)}, 'Part("fc", 0, 3) of it is [1, 4]', 0),
        ({"w1": Permuted("fc", "abc -> cab")}, '"abc -> cab" has 3 axes, [3, 4] does not', 0),
        ({"w1": Reshaped("fc", [5, 5])}, "has a different number of elements than [5, 5]", 0),
        ({"w1": Reshaped("fc", [4, 3])}, "[3, 4] is not [4, 3] with axes joined or split", 0),
        ({"w1": Part("fc", 0, 2, axis=2)}, "there is no axis 2 in [3, 4]", 0),
    ],
)
def test_shapes_are_told_before_and_after(names: Names, words: str, hint: int) -> None:
    error = catch_error({"fc": number_rows(3, 4)}, {"w1": (4, 3)}, names)
    assert (error.code, words in error.message) == ("NNM806", True), error.message
    assert error.hint == ('mapping={"w1": Transposed("fc")}' if hint else "")


def test_without_strict_what_fits_is_taken() -> None:
    tensors = {"a": number_rows(2), "b": number_rows(3), "rest": number_rows(1)}
    names = {"w1": "a", "w2": "b", "w3": "c", "w9": "a"}
    values = found(tensors, {"w1": (2,), "w2": (2,), "w3": (1,)}, names, strict=False)
    assert values == {"w1": [0, 1]}


def test_json_says_the_same() -> None:
    names: Names = {
        "w{n}": Transposed("fc.{n-1}.weight"),
        "q": Transposed(Part("qkv", 0, (4, 2, 2), axis=1, heads=2)),
        "f": Permuted("conv", "oihw -> hwio"),
        "u": Reshaped("ih", (1, 8, 2)),
        "b": "bias",
        "*.mask": None,
    }
    text = json.dumps(
        {
            "w{n}": {"transposed": "fc.{n-1}.weight"},
            "q": {
                "transposed": {"part": "qkv", "index": 0, "of": [4, 2, 2], "axis": 1, "heads": 2}
            },
            "f": {"permuted": "conv", "axes": "oihw -> hwio"},
            "u": {"reshaped": "ih", "sizes": [1, 8, 2]},
            "b": "bias",
            "*.mask": None,
        }
    )
    assert read_name_map(text) == names


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", '{"w": 3}', '{"w": {}}', '{"w": {"transpose": "x"}}', '{"w": {"part": "x"}}'),
        *('{"w": {"part": "x", "index": 0, "of": 3, "axes": 1}}', '{"a": "b", "a": "c"}'),
    ],
)
def test_texts_that_are_not_a_name_map(text: str) -> None:
    with pytest.raises(DataError, match="not a name map") as caught:
        read_name_map(text)
    assert caught.value.code == "NNM704"


# Values.


def widen(code: str, data: bytes) -> list[float]:
    tensor = StoredTensor(code, (len(data) // 2,), memoryview(data))
    types = {"x": TensorType("float32", tensor.shape)}
    return assign_tensors({"x": tensor}, types)["x"].array().values().tolist()  # type: ignore[union-attr]


def test_every_float16_and_bfloat16_widens_exactly() -> None:
    """All 65,536 of them: zeros, subnormals, infinities and NaN too."""
    bits = struct.pack("<65536H", *range(65536))
    halves = widen("F16", bits)
    brains = widen("BF16", bits)
    for word in range(65536):
        sign, exponent, fraction = -1.0 if word >> 15 else 1.0, word >> 10 & 31, word & 1023
        if exponent == 31:
            expected = math.nan if fraction else math.inf
        else:
            lead = 1024 if exponent else 0
            expected = math.ldexp(lead + fraction, max(exponent, 1) - 25)
        same(halves[word], sign * expected)
        (expected,) = struct.unpack("<f", struct.pack("<I", word << 16))
        same(brains[word], expected)


def same(value: float, expected: float) -> None:
    if math.isnan(expected):
        assert math.isnan(value)
    else:
        assert (value, math.copysign(1, value)) == (expected, math.copysign(1, expected))


def test_integers_are_not_floats() -> None:
    whole = {"x": HostArray.of([1, 2], "int32")}
    error = catch_error(whole, {"x": (2,)}, {})
    assert error.code == "NNM806" and "the types differ" in error.message
    strange = read(
        struct.pack("<Q", 64)
        + b'{"x":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}}'.ljust(64)
        + b"ab"
    )
    with pytest.raises(DataError, match=r"F8_E4M3\[2\] in the file: its type has no counterpart"):
        assign_tensors(strange.tensors, {"x": TensorType("float32", (2,))})


@pytest.mark.skipif(sys.platform == "emscripten", reason="measured on the desktop")
@pytest.mark.parametrize("code", ["F32", "F16", "BF16"])
def test_tensors_are_read_one_after_the_other(code: str) -> None:
    """What is needed beside the file and the results is small, whatever is turned or widened."""
    tensors, rows = 32, 256
    size = {"F32": 4, "F16": 2, "BF16": 2}[code]
    stored = {
        f"h.{k}.weight": StoredTensor(code, (rows, rows), memoryview(bytes(rows * rows * size)))
        for k in range(tensors)
    }
    types = {f"w{k + 1}": TensorType("float32", (rows, rows)) for k in range(tensors)}
    whole = tensors * rows * rows * size
    sink = bytearray(4 * rows * rows)
    tracemalloc.start()
    try:
        given = assign_tensors(stored, types, {"w{n}": Transposed("h.{n-1}.weight")})
        for one in given.values():
            sink[:] = one.array().data
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.2 * whole
