"""Python numbers beside arrays: exact comparisons, and errors where a type cannot hold them."""

from __future__ import annotations

import math
import operator
from typing import Any

import pytest

from webnnm import jit, vmap, xp
from webnnm.eager.errors import ArrayAxisError, ArrayOverflowError, ArrayTypeError, ArrayValueError

LIMITS = [
    (xp.int8, -(2**7), 2**7 - 1),
    (xp.uint8, 0, 2**8 - 1),
    (xp.int32, -(2**31), 2**31 - 1),
    (xp.uint32, 0, 2**32 - 1),
    (xp.int64, -(2**63), 2**63 - 1),
]
integers = pytest.mark.parametrize(
    ("dtype", "low", "high"), LIMITS, ids=[str(t[0]) for t in LIMITS]
)


@integers
def test_comparisons_are_those_of_integers_without_limits(dtype: Any, low: int, high: int) -> None:
    values = [low, 1, high]
    x = xp.asarray(values, dtype=dtype)
    numbers = (low - 1, low, high, high + 1, high + 257, 2**70, -(2**70))
    for compare in (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge):
        for number in numbers:
            expected = [compare(value, number) for value in values]
            assert compare(x, number).tolist() == expected, (compare, number)
            turned = [compare(number, value) for value in values]
            assert compare(number, x).tolist() == turned, (compare, number)
            if -(2**63) <= number < 2**63 and dtype is not xp.int64:
                assert jit(compare)(x, number).tolist() == expected
                assert jit(compare)(number, x).tolist() == turned


ARITHMETIC = [
    *(operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod),
    *(operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.pow),
]


@integers
@pytest.mark.parametrize(
    "function", [*ARITHMETIC, xp.maximum, xp.minimum], ids=lambda f: f.__name__
)
def test_arithmetic_refuses_what_the_type_cannot_hold(
    function: Any, dtype: Any, low: int, high: int
) -> None:
    x = xp.asarray([1, 2], dtype=dtype)
    for number in (low - 1, high + 1, 2**70):
        for call in (lambda a, n: function(a, n), lambda a, n: function(n, a)):
            with pytest.raises(ArrayOverflowError, match=f"out of range for {dtype}"):
                call(x, number)
            if -(2**63) <= number < 2**63:
                with pytest.raises(OverflowError, match=f"{number} is out of range for {dtype}"):
                    jit(call)(x, number)


def test_a_traced_function_checks_the_numbers_of_every_call() -> None:
    x = xp.asarray([200], dtype=xp.uint8)
    shifted = jit(lambda x, n: jit(lambda y, m: y + m)(x, n))
    many = jit(lambda x, n: vmap(lambda y, m: y + m, (0, None))(x, n))
    chosen = jit(lambda x, n: xp.where(x > 3, x, n))
    for function in (shifted, many, chosen):
        assert function(x, 5).dtype is xp.uint8
        for number in (300, -1):
            with pytest.raises(OverflowError, match=f"{number} is out of range for uint8"):
                function(x, number)
        function(x, 7)


def test_creation_refuses_what_the_type_cannot_hold() -> None:
    calls: list[Any] = [
        lambda: xp.asarray([1, 300], dtype=xp.uint8),
        lambda: xp.asarray(-1, dtype=xp.uint32),
        lambda: xp.asarray([[2**70]]),
        lambda: xp.asarray([2**63, -1]),
        lambda: xp.asarray([1e10], dtype=xp.int32),
        lambda: xp.asarray([math.inf], dtype=xp.int32),
        lambda: xp.asarray([2**2000], dtype=xp.float32),
        lambda: xp.full(3, 300, dtype=xp.int8),
        lambda: xp.full((0,), 300, dtype=xp.int8),
        lambda: xp.full_like(xp.zeros(2, dtype=xp.uint8), -1),
        lambda: xp.arange(0, 300, 100, dtype=xp.int8),
        lambda: xp.arange(-1, 2, dtype=xp.uint8),
        lambda: xp.arange(0, 2**70, 2**69),
        lambda: xp.linspace(0, 300, 3, dtype=xp.uint8),
    ]
    for call in calls:
        with pytest.raises(OverflowError):
            call()
    with pytest.raises(ValueError, match="int32 has no NaN"):
        xp.asarray([math.nan], dtype=xp.int32)


@pytest.mark.parametrize(
    ("value", "dtype"), [(2**31, "int64"), (-(2**31) - 1, "int64"), (2**63, "uint64"), (1, "int32")]
)
def test_integers_get_a_type_that_holds_them(value: int, dtype: str) -> None:
    for x in (xp.asarray(value), xp.full(2, value)[0], xp.arange(value, value + 1)[0]):
        assert (str(x.dtype), x.item()) == (dtype, value)
    found = xp.arange(2**31 - 2, 2**31 + 1)
    assert (str(found.dtype), found.tolist()) == ("int64", [2**31 - 2, 2**31 - 1, 2**31])


def test_assignments_refuse_what_the_type_cannot_hold() -> None:
    x = xp.asarray([1, 2], dtype=xp.uint8)
    for key in (0, slice(None), xp.asarray([0]), xp.asarray([True, False])):
        with pytest.raises(OverflowError, match="256 is out of range for uint8"):
            x[key] = 256
    assert x.tolist() == [1, 2]


def test_limits_beyond_the_type_clip_nothing() -> None:
    x = xp.asarray([5, 200], dtype=xp.uint8)
    assert xp.clip(x, -1, 300).tolist() == [5, 200]
    assert xp.clip(x, None, 2**70).tolist() == [5, 200]
    assert xp.clip(x, xp.asarray(-5), xp.asarray([300, 100])).tolist() == [5, 100]
    assert jit(xp.clip)(x, -1, 300).tolist() == [5, 200]
    for low, high in ((300, None), (None, -1)):
        for call in (xp.clip, jit(xp.clip)):
            with pytest.raises(OverflowError):
                call(x, low, high)
    with pytest.raises(ArrayTypeError, match="of integral"):
        xp.clip(x, xp.asarray([1.5]))


def test_searching_for_what_cannot_be_there() -> None:
    x = xp.asarray([3, 200], dtype=xp.uint8)
    for function in (xp.isin, jit(xp.isin)):
        assert function(x, 456).tolist() == [False, False]
        assert function(x, 200).tolist() == [False, True]
    assert xp.isin(x, 456, invert=True).tolist() == [True, True]
    assert xp.isin(456, x).item() is False
    for function in (xp.searchsorted, jit(xp.searchsorted)):
        assert [function(x, n).item() for n in (-1, 4, 456)] == [0, 1, 2]
    with pytest.raises(ArrayValueError, match="in a vector"):
        xp.searchsorted(xp.zeros((2, 2)), 1.0)


def test_floats_beyond_a_type_are_infinite() -> None:
    half = xp.asarray([1.0], dtype=xp.float16)
    assert (half + 70_000).tolist() == [math.inf]
    assert (half * -1e300).tolist() == [-math.inf]
    assert jit(lambda x: x + 70_000)(half).tolist() == [math.inf]
    assert xp.asarray([1e300, -1e300], dtype=xp.float16).tolist() == [math.inf, -math.inf]
    assert (xp.asarray([1.0]) + 2**200).tolist() == [math.inf]
    with pytest.raises(OverflowError, match="an integer of 2001 bits is too large for float32"):
        xp.asarray([1.0]) + 2**2000


def test_negative_powers_of_integers_are_no_integers() -> None:
    with pytest.raises(ArrayValueError, match="to the power of -1"):
        xp.asarray([2]) ** -1
    assert (xp.asarray([2.0]) ** -1).tolist() == [0.5]


@pytest.mark.parametrize(
    "call",
    [
        lambda: xp.arange(2**40),
        lambda: xp.arange(math.inf),
        lambda: xp.arange(math.nan),
        lambda: xp.arange(1, 5, 0),
        lambda: xp.linspace(0, 1, -1),
        lambda: xp.linspace(0, 1, 2.5),  # pyrefly: ignore[bad-argument-type]
        lambda: xp.eye(-1),
        lambda: xp.repeat(xp.arange(3), -1),
        lambda: xp.repeat(xp.arange(3), xp.asarray([1, -1, 1])),
        lambda: xp.repeat(xp.arange(3), xp.asarray([[1, 1, 1]])),
        lambda: xp.tile(xp.arange(3), (-1,)),
        lambda: xp.reshape(xp.zeros((0,)), (-1, 0)),
        lambda: xp.diff(xp.arange(3), n=-1),
        lambda: xp.tensordot(xp.arange(3), xp.arange(3), axes=2),
        lambda: xp.linalg.cross(xp.ones(3), xp.ones(3), axis=2),
        lambda: xp.take_along_axis(xp.zeros((2, 2)), xp.asarray([0]), axis=1),
    ],
)
def test_numbers_that_make_no_sense(call: Any) -> None:
    with pytest.raises(ArrayValueError):
        call()


def test_a_dimension_that_there_is_not() -> None:
    for kind in (ArrayAxisError, ValueError, IndexError):
        with pytest.raises(kind, match="axis 2 of an array with 1 dimensions"):
            xp.sum(xp.arange(3), axis=2)
    with pytest.raises(TypeError, match="an axis is an integer"):
        xp.sum(xp.arange(3), axis=1.0)  # pyrefly: ignore[bad-argument-type]


def test_whole_numbers_of_a_line_are_rounded_down() -> None:
    assert xp.linspace(-1, 1, 4, dtype=xp.int32).tolist() == [-1, -1, 0, 1]


@pytest.mark.desktop
def test_a_float_keeps_its_digits_beside_float64() -> None:
    x = xp.asarray([1.0], dtype=xp.float64)
    assert jit(lambda x, rate: x * rate)(x, 0.1).tolist() == [0.1]
    assert jit(lambda x, rate: x * rate)(xp.asarray([1.0]), 0.1).dtype is xp.float32


def test_arrays_of_numpy_are_converted_as_numpy_does() -> None:
    np = pytest.importorskip("numpy")
    assert xp.asarray(np.asarray([300]), dtype=xp.uint8).tolist() == [44]
    assert xp.asarray(np.asarray([16777217.0]), dtype=xp.int32).tolist() == [16777217]
    assert xp.asarray(np.asarray([0.1]), dtype=xp.float64).tolist() == [0.1]
    assert xp.arange(np.int64(3)).dtype is xp.int32


def test_round_takes_an_array_of_one_number() -> None:
    assert (round(xp.asarray(2.5)), round(xp.asarray(1.25), 1)) == (2, 1.2)
    with pytest.raises(TypeError):
        round(xp.asarray([1.5, 2.5]))
