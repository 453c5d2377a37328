"""Arrays: what the array API asks of them, against Python's own arithmetic and NumPy."""

from __future__ import annotations

import asyncio
import math
import operator
from functools import partial
from typing import Any

import pytest

from webnnm import backend, xp
from webnnm.eager.device import Device
from webnnm.eager.errors import ArrayIndexError, ArrayTypeError, ArrayValueError


def grid() -> xp.Array:
    return xp.reshape(xp.arange(24), (2, 3, 4))


def nest(shape: tuple[int, ...], start: int = 0) -> Any:
    if not shape:
        return start
    stride = math.prod(shape[1:])
    return [nest(shape[1:], start + place * stride) for place in range(shape[0])]


def test_values_are_those_that_were_given() -> None:
    assert xp.asarray([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert xp.asarray([True, False]).tolist() == [True, False]
    assert xp.asarray(2.5).item() == 2.5
    assert xp.asarray([]).shape == (0,)
    assert xp.zeros((2, 0, 3)).tolist() == [[], []]


@pytest.mark.parametrize(
    ("value", "name"),
    [(1, "int32"), (2**40, "int64"), (1.0, "float32"), (True, "bool"), ([1, 2.0], "float32")],
)
def test_python_numbers_have_a_type(value: Any, name: str) -> None:
    assert repr(xp.asarray(value).dtype) == name


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        (xp.int8, xp.uint8, None),
        (xp.int8, xp.uint32, xp.int64),
        (xp.uint8, xp.int32, xp.int32),
        (xp.float16, xp.float32, xp.float32),
        (xp.float32, xp.float64, xp.float64),
        (xp.bool, xp.bool, xp.bool),
        (xp.int64, xp.int8, xp.int64),
    ],
)
def test_types_promote_as_the_standard_says(first: Any, second: Any, result: Any) -> None:
    if result is None:
        result = xp.int32  # int16 is missing, the next wider type holds both
    assert xp.result_type(first, second) is result
    assert (
        xp.ones(2, dtype=first) * xp.ones(2, dtype=second)
        if result is not xp.bool
        else xp.ones(2, dtype=first) & xp.ones(2, dtype=second)
    ).dtype is result


def test_kinds_that_do_not_mix_are_refused_by_name() -> None:
    with pytest.raises(ArrayTypeError, match="int32 and float32 have no common type"):
        xp.asarray([1]) + xp.asarray([1.0])
    with pytest.raises(TypeError, match="a Python float and int32"):
        xp.asarray([1]) + 1.5
    with pytest.raises(ArrayTypeError, match="complex"):
        xp.asarray(1j)


KEYS = [
    0,
    -1,
    (1, 2),
    (1, 2, 3),
    slice(None, None, -1),
    (slice(None), slice(2, None, -2)),
    (..., 0),
    (0, ..., slice(1, 3)),
    (None, 1, None, slice(3, 0, -1), 2),
    (slice(0, 0), ..., 1),
]


def plain(values: Any, key: Any) -> Any:
    """Index nested lists as NumPy does arrays."""
    numpy = pytest.importorskip("numpy")
    return numpy.asarray(values)[key]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_keys_take_what_they_name(key: Any) -> None:
    wanted = plain(nest((2, 3, 4)), key)
    found = grid()[key]
    assert found.shape == wanted.shape
    assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_keys_put_where_they_name(key: Any) -> None:
    numpy = pytest.importorskip("numpy")
    wanted = numpy.asarray(nest((2, 3, 4)))
    wanted[key] = -7
    found = grid()
    before = found + 0
    found[key] = -7
    assert found.tolist() == wanted.tolist()
    assert before.tolist() == nest((2, 3, 4))


@pytest.mark.parametrize(
    "key",
    [
        ([1, 0], slice(None), [0, 3]),
        (slice(None), [2, 0, 0]),
        ([[0], [1]], [0, 2]),
        (0, [-1, 0], slice(None, None, 2)),
        (slice(None), [0, 1], [1, 2]),
        ([0, 1], None, [1, 2]),
    ],
    ids=str,
)
def test_arrays_of_integers_are_keys(key: Any) -> None:
    numpy = pytest.importorskip("numpy")
    arrays = tuple(xp.asarray(each) if isinstance(each, list) else each for each in key)
    wanted = numpy.asarray(nest((2, 3, 4)))
    assert grid()[arrays].tolist() == wanted[key].tolist()
    found = grid()
    found[arrays] = xp.reshape(xp.arange(100, 100 + wanted[key].size), wanted[key].shape)
    if len({*wanted[key].ravel().tolist()}) == wanted[key].size:
        wanted[key] = numpy.arange(100, 100 + wanted[key].size).reshape(wanted[key].shape)
        assert found.tolist() == wanted.tolist()


def test_masks_are_keys() -> None:
    x = grid()
    assert x[x % 5 == 0].tolist() == [0, 5, 10, 15, 20]
    x[x > 2] = 0
    assert x[0].tolist() == [[0, 1, 2, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert xp.asarray(3)[xp.asarray(True)].tolist() == [3]


def test_keys_that_are_not_there_are_errors() -> None:
    with pytest.raises(ArrayIndexError, match="index 2 of dimension 0, which has 2 elements"):
        grid()[2]
    with pytest.raises(IndexError, match="4 indices for an array"):
        grid()[0, 0, 0, 0]
    with pytest.raises(ArrayValueError, match="do not broadcast"):
        xp.ones(2) + xp.ones(3)


def test_elements_are_counted_sorted_and_found() -> None:
    x = xp.asarray([3.0, -1.0, 2.0, -1.0])
    assert xp.sort(x).tolist() == [-1.0, -1.0, 2.0, 3.0]
    assert xp.argsort(x, descending=True).tolist() == [0, 2, 1, 3]
    assert int(xp.argmin(x)) == 1
    assert xp.unique_counts(x).counts.tolist() == [2, 1, 1]
    assert xp.searchsorted(xp.sort(x), xp.asarray([-1.0, 2.5]), side="right").tolist() == [2, 3]
    assert xp.nonzero(x > 0)[0].tolist() == [0, 2]
    assert xp.isin(x, xp.asarray([2.0, 3.0])).tolist() == [True, False, True, False]


def test_figures_of_no_elements_are_those_of_the_standard() -> None:
    none = xp.zeros((0, 2))
    assert xp.sum(none, axis=0).tolist() == [0.0, 0.0]
    assert xp.prod(none).item() == 1.0
    assert math.isnan(xp.mean(none).item())
    assert xp.all(none > 0).item() is True
    with pytest.raises(ArrayValueError, match="no extremum"):
        xp.max(none)
    assert (xp.ones((2, 0)) @ xp.ones((0, 3))).tolist() == [[0.0] * 3] * 2


def test_float64_is_computed_where_the_backend_has_it() -> None:
    x = xp.asarray([0.1], dtype=xp.float64, device=Device(partial(backend, "numpy")))
    assert (x + 0.2).tolist() == [0.1 + 0.2]
    assert xp.astype(x, xp.float32).tolist() != [0.1]


def test_values_can_be_awaited() -> None:
    async def main() -> Any:
        x = xp.asarray([1.0, 2.0]) * 3
        await x
        return (await (x + 1).numpy()).tolist()

    assert asyncio.run(main()) == [4.0, 7.0]


@pytest.mark.desktop
def test_numpy_takes_and_gives_arrays() -> None:
    numpy = pytest.importorskip("numpy")
    x = xp.asarray([[1.5, 2.5]])
    assert numpy.asarray(x).tolist() == [[1.5, 2.5]]
    assert numpy.from_dlpack(x).tolist() == [[1.5, 2.5]]
    assert xp.from_dlpack(numpy.asarray([1, 2], "int8")).dtype is xp.int8
    assert xp.asarray(numpy.asarray([True])).dtype is xp.bool
    assert xp.asarray([numpy.float64(1.5), numpy.int32(2)]).tolist() == [1.5, 2.0]
    assert (xp.asarray(numpy.float64(1.5)) * 2).item() == 3.0


@pytest.mark.parametrize("name", ["add", "sub", "mul", "floordiv", "mod", "pow"])
def test_arithmetic_is_that_of_python(name: str) -> None:
    function = getattr(operator, name)
    left, right = [7, -7, 9, -8], [2, 2, 3, 3]
    wanted = [function(a, b) for a, b in zip(left, right, strict=True)]
    assert function(xp.asarray(left), xp.asarray(right)).tolist() == wanted
    floats = function(xp.asarray(left) * 1, 2).tolist()
    assert floats == [function(a, 2) for a in left]
