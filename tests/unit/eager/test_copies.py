"""Arrays as Python objects: formatted, copied, pickled."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from webnnm import jit, random, xp
from webnnm.eager.errors import ArrayTypeError, TracedValueError


def test_a_number_is_formatted_as_python_does() -> None:
    assert f"{xp.asarray(1.25):.1f}|{xp.asarray(3):>4d}|{xp.asarray(1.5)}" == (
        "1.2|   3|Array(1.5, dtype=float32)"
    )
    assert f"{xp.asarray([1.5])}" == "Array([1.5], dtype=float32)"


def test_several_numbers_are_formatted_one_by_one() -> None:
    x = xp.asarray([1.0, 2.5])
    with pytest.raises(ArrayTypeError, match="one number, not of an array") as raised:
        f"{x:.2f}"
    remedy = raised.value.hint.partition(": ")[2]
    assert eval(remedy, {"x": x}) == ["1.00", "2.50"]
    with pytest.raises(ArrayTypeError, match="tolist"):
        f"{x[None]:.2f}"


DTYPES = ["bool", "int8", "uint8", "int32", "uint32", "int64", "float16", "float32"]


@pytest.mark.parametrize("name", DTYPES)
def test_arrays_can_be_pickled_and_copied(name: str) -> None:
    x = xp.asarray([[0, 1, 1]], dtype=getattr(xp, name))
    for again in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy({"x": [x]})["x"][0]):
        assert again.dtype is x.dtype
        assert again.tolist() == x.tolist()
        again[0, 0] = True
        assert x[0, 0].item() == 0
    empty = pickle.loads(pickle.dumps(xp.zeros((0, 3))))
    assert (empty.shape, copy.deepcopy(empty).shape) == ((0, 3), (0, 3))


def test_a_data_type_stays_the_same_object() -> None:
    for again in (pickle.loads(pickle.dumps(xp.bool)), copy.deepcopy(xp.bool)):
        assert again is xp.bool


def test_keys_give_the_same_numbers_after_pickling() -> None:
    key = pickle.loads(pickle.dumps(random.key(3)))
    assert random.bits(key, 4).tolist() == random.bits(random.key(3), 4).tolist()


def test_a_traced_array_has_no_values_to_pickle() -> None:
    with pytest.raises(TracedValueError):
        jit(lambda x: pickle.dumps(x))(xp.ones(2))
    assert jit(lambda x: copy.deepcopy(x) + 1)(xp.ones(2)).tolist() == [2, 2]


COPIES: list[Any] = [
    copy.copy,
    copy.deepcopy,
    lambda x: xp.asarray(x, copy=True),
    lambda x: xp.astype(x, x.dtype),
    lambda x: xp.concat([x]),
    lambda x: x + 0,
]


@pytest.mark.parametrize("duplicate", COPIES)
def test_what_was_made_of_an_array_stays_when_it_is_donated(duplicate: Any) -> None:
    step = jit(lambda x: x * 2, donate_argnames=["x"])
    for size in (3, 2000):
        x = xp.ones(size) + 0
        x.tolist()
        kept = duplicate(x)
        assert step(x)[0].item() == 2
        assert kept[0].item() == 1
