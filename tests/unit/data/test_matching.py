"""Fields find their blocks, rows take the model's shape."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.data import Field
from webnnm.data.binding.matching import Slot, bind


def test_fields_bind_by_name_or_because_they_are_the_only_ones() -> None:
    four = Field((4,), "float32")
    slots = {"left": Slot((4,)), "right": Slot((4,))}
    bound = bind({"right": four, "left": four, "unused": four}, slots, "input")
    assert {block: binding.field for block, binding in bound.items()} == {
        "left": "left",
        "right": "right",
    }
    assert bind({"x": four}, {"model": Slot((4,))}, "input")["model"].field == "x"


def rows(field: Field, slot: Slot, values: Any, dtype: Any = None, **options: Any) -> HostArray:
    binding = bind({"x": field}, {"model": slot}, "input")["model"]
    return binding.apply(HostArray.of(values, dtype), **options)


def test_rows_take_shape_and_type() -> None:
    found = rows(Field((4,), "int32"), Slot((2, 2), "float16"), [[1, 2, 3, 4]], "int32")
    assert (found.dtype, found.tolist()) == ("float16", [[[1, 2], [3, 4]]])


def test_named_dimensions_take_the_order_of_the_model() -> None:
    field = Field((2, 2, 3), "float32", names=("height", "width", "channels"))
    pixels = [[[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]] * 2
    slot = Slot((3, 2, 2), names=("channels", "height", "width"))
    expected = [[[1, 4], [7, 10]], [[2, 5], [8, 11]], [[3, 6], [9, 12]]]
    assert rows(field, slot, pixels).tolist() == [expected, expected]
    with pytest.raises(DataError, match="in another order"):
        rows(field, Slot((3, 2, 2)), pixels)


CLASSES = Field((), "int32", kind="classes", classes=3)


def test_class_numbers_become_one_hot_or_stay() -> None:
    one_hot = rows(CLASSES, Slot((4,)), [2, 0], "int32")
    assert one_hot.tolist() == [[0, 0, 1, 0], [1, 0, 0, 0]]
    assert rows(CLASSES, Slot((4,)), [2, 0], "int32", expand=False).tolist() == [2, 0]
    two = Field((), "int32", kind="classes", classes=2)
    found = rows(two, Slot((1,)), [1, 0], "int32")
    assert (found.dtype, found.tolist()) == ("float32", [[1], [0]])


@pytest.mark.parametrize(
    ("fields", "slots", "code", "words"),
    [
        ({"a": CLASSES, "b": CLASSES}, {"model": Slot((3,))}, "NNM701", 'no input "model"'),
        ({}, {"model": Slot((3,))}, "NNM701", 'no input "model"'),
        (
            {"x": Field((4,), "float32")},
            {"m": Slot((3,))},
            "NNM702",
            r"takes \[3\], rows are \[4\]",
        ),
        ({"x": CLASSES}, {"model": Slot((2,))}, "NNM706", "3 classes, the model has 2 scores"),
        ({"x": CLASSES}, {"model": Slot((5, 3))}, "NNM702", r"takes \[5, 3\], classes \[\]"),
    ],
)
def test_what_does_not_fit_is_refused(fields: Any, slots: Any, code: str, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        bind(fields, slots, "input")
    assert caught.value.code == code


@pytest.mark.parametrize("shape", [(6, 4, 3), (4, 6, 3), (6, 1, 4, 3), (3, 4, 6)])
def test_rows_with_their_dimensions_in_another_order_are_refused(shape: tuple[int, ...]) -> None:
    slot = Slot((3, 6, 4), names=("channels", "height", "width"))
    with pytest.raises(DataError, match=r"NNM702: .*in another order"):
        bind({"x": Field(shape, "float32")}, {"model": slot}, "input")
    named = Field((6, 4, 3), "float32", names=("height", "width", "channels"))
    assert bind({"x": named}, {"model": slot}, "input")["model"].axes == (2, 0, 1)


@pytest.mark.parametrize("shape", [(72,), (3, 6, 4), (3, 1, 6, 4), (1, 3, 6, 4), (18, 4)])
def test_rows_in_the_order_of_the_model_are_taken(shape: tuple[int, ...]) -> None:
    bound = bind({"x": Field(shape, "float32")}, {"model": Slot((3, 6, 4))}, "input")
    assert bound["model"].axes == ()
