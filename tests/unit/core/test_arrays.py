"""Host arrays: what they are made of, how they lie in memory, what users get back."""

from __future__ import annotations

import copy
import ctypes
import math
import pickle
import struct
import sys
from array import array
from typing import Any

import pytest

from webnnm.core.arrays import HostArray, pack, zeros
from webnnm.core.dtypes import PRECEDENCE, DataType
from webnnm.core.errors import DataError

MEMORY: dict[DataType, tuple[list[float], str]] = {
    "float32": ([0.0, 1.0, -2.5], "000000000000803f000020c0"),
    "float16": ([0.0, 1.0, -2.5], "0000003c00c1"),
    "int64": ([0, 2**53 + 1, -1], "00000000000000000100000000002000ffffffffffffffff"),
    "uint64": ([0, 2**64 - 1], "0000000000000000ffffffffffffffff"),
    "int32": ([-(2**31), 2**31 - 1], "00000080ffffff7f"),
    "uint32": ([1, 2**32 - 1], "01000000ffffffff"),
    "int8": ([-128, 127], "807f"),
    "uint8": ([0, 255, 7], "00ff07"),
    "int4": ([1, -2, -8], "e108"),
    "uint4": ([1, 2, 15, 8], "218f"),
}
"""Data type → numbers and their bytes, written out by hand, the first of two in the low half."""


@pytest.mark.parametrize("dtype", PRECEDENCE)
def test_numbers_become_these_bytes_and_come_back(dtype: DataType) -> None:
    numbers, expected = MEMORY[dtype]
    made = HostArray.of(numbers, dtype)
    assert bytes(made.data).hex() == expected
    assert made.dtype == dtype
    assert made.shape == (len(numbers),)
    assert list(made.values()) == numbers
    assert HostArray.of(bytes.fromhex(expected), dtype, [len(numbers)]).tolist() == numbers


@pytest.mark.parametrize(
    ("dtype", "number"),
    [
        ("int8", 128),
        ("int8", -129),
        ("uint8", -1),
        ("int4", 8),
        ("uint4", 16),
        ("int32", 2**31),
        ("uint64", 2**64),
        ("int32", 0.5),
        ("int64", math.nan),
        ("uint8", math.inf),
        ("float16", 1e6),
        ("float32", 10**400),
    ],
)
def test_numbers_outside_a_type_are_refused(dtype: DataType, number: float) -> None:
    with pytest.raises(DataError) as caught:
        HostArray.of([number], dtype)
    assert caught.value.code == "NNM702"


def test_float16_rounds_to_even_and_keeps_what_is_not_finite() -> None:
    assert HostArray.of([2049.0, 2051.0, 0.1], "float16").tolist() == [2048, 2052, 0.0999755859375]
    infinite, none = HostArray.of([math.inf, math.nan], "float16").tolist()
    assert infinite == math.inf
    assert math.isnan(none)


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (7, ()),
        ([], (0,)),
        ([[], []], (2, 0)),
        ([7], (1,)),
        ([[1, 2, 3], [4, 5, 6]], (2, 3)),
        (((1,), (2,)), (2, 1)),
        ([[[1, 2]], [[3, 4]]], (2, 1, 2)),
        ([range(3), [4, 5, 6]], (2, 3)),
    ],
)
def test_nested_lists_have_a_shape_and_come_back(value: Any, shape: tuple[int, ...]) -> None:
    def plain(part: Any) -> Any:
        return part if isinstance(part, int) else [plain(inner) for inner in part]

    made = HostArray.of(value)
    assert (made.dtype, made.shape) == ("float32", shape)
    assert made.tolist() == plain(value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([[1, 2], [3]], "list 0 at depth 1 has 2 elements, item 1 is a list of 1"),
        ([[1, 2], 3], "list 0 at depth 1 has 2 elements, item 1 is 3"),
        ([[[1], [2]], [[3], [4, 5]]], "list 0 at depth 2 has 1 elements, item 3 is a list of 2"),
        ([1, [2]], "not all values are float32 numbers"),
    ],
)
def test_ragged_lists_say_where(value: Any, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        HostArray.of(value)
    assert caught.value.code == "NNM702"


@pytest.mark.parametrize("value", ["12", ["ab", "cd"], None, {1: 2}, [None], object()])
def test_what_is_not_a_number_is_refused(value: Any) -> None:
    with pytest.raises(DataError) as caught:
        HostArray.of(value)
    assert caught.value.code == "NNM702"


@pytest.mark.parametrize(
    ("code", "dtype"),
    [
        ("f", "float32"),
        ("d", "float32"),
        ("b", "int8"),
        ("B", "uint8"),
        ("h", "int32"),
        ("H", "uint32"),
        ("i", "int32"),
        ("I", "uint32"),
        ("q", "int64"),
        ("Q", "uint64"),
    ],
)
def test_buffers_keep_their_type(code: str, dtype: DataType) -> None:
    made = HostArray.of(array(code, [1, 2, 3]))
    assert (made.dtype, made.tolist()) == (dtype, [1, 2, 3])
    every_second = HostArray.of(memoryview(array(code, [1, 2, 3]))[::2])
    assert (every_second.dtype, every_second.tolist()) == (dtype, [1, 3])


def test_buffers_of_structures_are_refused() -> None:
    class Pair(ctypes.Structure):
        _fields_ = (("left", ctypes.c_float), ("right", ctypes.c_float))

    with pytest.raises(DataError, match=r"a buffer of format .* is not supported"):
        HostArray.of((Pair * 2)())


def test_arrays_of_ctypes_come_in() -> None:
    assert HostArray.of((ctypes.c_float * 3)(1, 2, 3)).tolist() == [1, 2, 3]


def test_a_buffer_with_a_shape_keeps_it() -> None:
    view = memoryview(array("i", range(6))).cast("B").cast("i", [2, 3])
    assert HostArray.of(view).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_float64_is_not_rounded_to_float32_on_the_way_to_another_type() -> None:
    exact = array("d", [2.0**31 - 1, -7.0])
    assert HostArray.of(exact, "int32").tolist() == [2**31 - 1, -7]
    assert HostArray.of(exact, "int64").tolist() == [2**31 - 1, -7]


def test_bytes_are_memory_where_type_and_shape_are_given_else_numbers() -> None:
    assert HostArray.of(struct.pack("<2f", 1.5, -1), "float32", [2, 1]).tolist() == [[1.5], [-1]]
    assert HostArray.of(b"\x01\xff").tolist() == [1, 255]
    with pytest.raises(DataError, match=r"float32\[3\] takes 12 bytes, 8 given"):
        HostArray.of(bytes(8), "float32", [3])


def test_shape_lays_elements_out_anew() -> None:
    assert HostArray.of([1, 2, 3, 4], shape=[2, 2]).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(DataError, match=r"4 values \[4\] do not fill \[3\]"):
        HostArray.of([1, 2, 3, 4], shape=[3])


def test_memory_of_a_user_is_copied_also_through_another_array() -> None:
    own = array("f", [1.0, 2.0])
    copied = HostArray.of(HostArray.of(own), copy=True)
    made = HostArray.of([1.0, 2.0])
    own[0] = 9.0
    assert copied.tolist() == [1.0, 2.0]
    assert HostArray.of(made, copy=True).data.obj is made.data.obj, "nobody else has it"


def test_an_array_that_fits_is_not_copied() -> None:
    made = HostArray.of([1, 2], "int32")
    assert HostArray.of(made) is made
    assert HostArray.of(made, "int32", [2]) is made
    assert HostArray.of(made, "float32").tolist() == [1.0, 2.0]


class Proxy:
    """Stands in for a JavaScript object as Pyodide hands it over."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def to_py(self) -> Any:
        return self.value


def test_objects_of_javascript_are_converted() -> None:
    assert HostArray.of(Proxy(array("f", [1, 2]))).tolist() == [1, 2]
    assert HostArray.of(Proxy([[1, 2], [3, 4]]), "int8").tolist() == [[1, 2], [3, 4]]
    assert HostArray.of([Proxy([1, 2]), Proxy([3, 4])]).tolist() == [[1, 2], [3, 4]]


def test_lists_of_buffers_are_rows() -> None:
    rows = [array("f", [1, 2]), memoryview(array("f", [3, 4])), HostArray.of([5, 6])]
    assert HostArray.of(rows).tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("dtype", PRECEDENCE)
@pytest.mark.parametrize("width", [1, 2, 3])
def test_rows_are_picked_in_order(dtype: DataType, width: int) -> None:
    table = [[(3 * row + column) % 7 for column in range(width)] for row in range(5)]
    picked = HostArray.of(table, dtype).rows([4, 0, 0, 3])
    assert picked.tolist() == [table[4], table[0], table[0], table[3]]
    assert picked.dtype == dtype


def test_rows_that_do_not_exist_are_refused() -> None:
    made = HostArray.of([[1, 2], [3, 4]])
    assert made.rows([]).shape == (0, 2)
    for wrong in (2, -1):
        with pytest.raises(DataError, match="of 2 do not exist"):
            made.rows([0, wrong])


def test_zeros_and_memory_that_does_not_fit() -> None:
    assert zeros("int4", [3]).tolist() == [0, 0, 0]
    assert zeros("float16", [2, 1]).tolist() == [[0], [0]]
    with pytest.raises(DataError, match=r"int32\[2\] takes 8 bytes, 4 given"):
        HostArray("int32", [2], bytes(4))


def test_pack_takes_any_iterable() -> None:
    assert bytes(pack((x for x in (1, 2)), "uint8")) == b"\x01\x02"
    assert bytes(pack([True, False], "uint8")) == b"\x01\x00"


@pytest.fixture
def without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numpy", raising=False)


@pytest.mark.usefixtures("without_numpy")
@pytest.mark.parametrize(
    ("dtype", "code"),
    [("float32", "f"), ("float16", "f"), ("int64", "q"), ("uint8", "B"), ("int4", "b")],
)
def test_users_get_an_array_of_numbers(dtype: DataType, code: str) -> None:
    result = HostArray.of([[1, 2, 3], [4, 5, 6]], dtype).public()
    assert result.shape == (2, 3)
    assert result[1, 2] == result[-1][-1] == 6
    assert [row.tolist() for row in result] == result[:].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert result[1:].tolist() == [[4, 5, 6]]
    assert repr(result) == f"HostArray({result.dtype}[2, 3], [[1, 2, 3], [4, 5, 6]])"
    if sys.version_info >= (3, 12):
        view = memoryview(result)
        assert (view.format, view.shape, view.tolist()) == (code, (2, 3), result.tolist())
    with pytest.raises(IndexError):
        result[2]
    with pytest.raises(TypeError, match="the only index"):
        result[:, 0]


def test_arrays_print_their_first_numbers() -> None:
    numbers = HostArray.of([[0.1 * n for n in range(1000)]], "float32")
    assert repr(numbers) == "HostArray(float32[1, 1000], [[0, 0.1, 0.2, 0.3, 0.4, 0.5, …]])"
    assert repr(HostArray.of(12345678, "int32")) == "HostArray(int32[], 12345678)"
    assert repr(HostArray.of([[], []])) == "HostArray(float32[2, 0], [[], []])"


@pytest.mark.usefixtures("without_numpy")
def test_users_get_scalars_and_empty_arrays_too() -> None:
    assert HostArray.of(2.5).public().tolist() == 2.5
    assert HostArray.of([[], []]).public().tolist() == [[], []]


def test_numpy_arrays_come_in() -> None:
    np = pytest.importorskip("numpy")
    for dtype in ("float32", "float16", "int64", "uint64", "int32", "uint32", "int8", "uint8"):
        table = np.arange(6).reshape(2, 3).astype(dtype)
        made = HostArray.of(table)
        assert (made.dtype, made.tolist()) == (dtype, [[0, 1, 2], [3, 4, 5]])
        assert HostArray.of(table.T).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert HostArray.of(np.array([True, False])).tolist() == [1, 0]
    assert HostArray.of(np.arange(3, dtype="int16")).dtype == "int32"
    assert HostArray.of(np.arange(3, dtype="float64")).dtype == "float32"


def test_numpy_scalars_and_empty_arrays_come_in() -> None:
    np = pytest.importorskip("numpy")
    assert HostArray.of(np.float32(1.5)).tolist() == 1.5
    assert HostArray.of(np.array(7)).shape == ()
    assert HostArray.of([np.int64(3), np.int64(4)], "int32").tolist() == [3, 4]
    assert HostArray.of([np.array([1.0, 2.0]), np.array([3.0, 4.0])]).tolist() == [[1, 2], [3, 4]]
    for dtype in ("float32", "float64", "float16"):
        assert HostArray.of(np.zeros((0, 3), dtype)).shape == (0, 3)


@pytest.mark.parametrize("dtype", ["complex128", ">f4"])
def test_numpy_types_without_a_counterpart_are_refused(dtype: str) -> None:
    np = pytest.importorskip("numpy")
    with pytest.raises(DataError, match="is not supported"):
        HostArray.of(np.zeros(2, dtype))


def test_users_get_numpy_arrays_where_it_is_loaded() -> None:
    np = pytest.importorskip("numpy")
    for dtype in ("float32", "float16", "int64", "int8"):
        found = HostArray.of([[1, 2], [3, 4]], dtype).public()
        assert isinstance(found, np.ndarray)
        assert (found.dtype, found.tolist()) == (np.dtype(dtype), [[1, 2], [3, 4]])
    assert HostArray.of([1, -1], "int4").public().tolist() == [1, -1]


def test_words_of_sixteen_bits_are_the_bits_of_halves() -> None:
    found = HostArray.of(array("H", [0x3C00, 0xC000]), "float16")
    assert (found.dtype, found.tolist()) == ("float16", [1, -2])
    assert HostArray.of(array("H", [1, 2]), "float32").tolist() == [1, 2]


def test_copy_to_a_buffer() -> None:
    buffer = bytearray(8)
    HostArray.of([1, 2], "float32").copy_to(buffer)
    assert HostArray("float32", [2], buffer).tolist() == [1, 2]


@pytest.mark.parametrize(("buffer", "found"), [(bytearray(4), "4 bytes"), (bytes(8), "read-only")])
def test_copy_to_a_buffer_that_does_not_fit(buffer: Any, found: str) -> None:
    with pytest.raises(DataError, match=f"takes 8 bytes, the buffer is {found}"):
        HostArray.of([1, 2], "float32").copy_to(buffer)


@pytest.mark.parametrize(
    ("given", "shape"),
    [
        ([1, 2.5, True], (3,)),
        ([[1, 2.5]], (1, 2)),
        ([[1.5, 2], [3, 4.5]], (2, 2)),
        ([[True, 2], (3, 4)], (2, 2)),
        ([[[1.0], [2]]], (1, 2, 1)),
        ([[], []], (2, 0)),
    ],
    ids=repr,
)
def test_lists_of_numbers_however_they_are_nested(given: Any, shape: tuple[int, ...]) -> None:
    made = HostArray.of(given)
    assert (made.dtype, made.shape) == ("float32", shape)
    flat: list[Any] = given
    while flat and isinstance(flat[0], (list, tuple)):
        flat = [element for row in flat for element in row]
    assert list(made.values()) == [float(number) for number in flat]


@pytest.mark.parametrize("given", [[1.0, "2"], [[1.0, None]], [[1.0], [2.0, 3.0]], [[1.0], 2.0]])
def test_lists_that_are_not_numbers_are_told(given: Any) -> None:
    with pytest.raises(DataError) as caught:
        HostArray.of(given)
    assert caught.value.code == "NNM702"


@pytest.mark.parametrize("dtype", PRECEDENCE)
def test_a_part_is_rows_that_share_the_memory(dtype: DataType) -> None:
    whole = HostArray.of([[1, 0, 1], [0, 0, 1], [1, 1, 0]], dtype)
    assert whole.part(0, 3) is whole
    for start, stop in ((0, 1), (1, 3), (2, 2)):
        part = whole.part(start, stop)
        assert part.dtype == dtype
        assert part.tolist() == whole.tolist()[start:stop]
        assert dtype in ("int4", "uint4") or part.data.obj is whole.data.obj


@pytest.mark.parametrize("dtype", PRECEDENCE)
def test_copies_and_pickles_have_memory_of_their_own(dtype: DataType) -> None:
    memory = bytearray(HostArray.of([[1, 0, 1], [0, 0, 1]], dtype).data)
    x = HostArray(dtype, (2, 3), memory)
    for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert (other.dtype, other.shape, other.tolist()) == (x.dtype, x.shape, x.tolist())
        assert not other.shares(memory)
