"""What a dataset accepts: kinds, labels, and what it says about data that make no sense."""

from __future__ import annotations

import math
from typing import Any

import pytest

from webnnm.core.errors import DataError
from webnnm.data import Dataset, Field
from webnnm.data.intake import read_input, read_output


@pytest.mark.parametrize(
    ("value", "kind", "dtype", "shape", "classes"),
    [
        ([0, 1, 2, 1], "classes", "int32", (), 3),
        ([0, 1, 1], "classes", "int32", (), 2),
        ([[2], [0], [1]], "classes", "int32", (), 3),
        ([True, False], "classes", "int32", (), 2),
        (b"\x00\x02\x01", "classes", "int32", (), 3),
        ([0, 1, 3], "continuous", "float32", (), 0),
        ([-1, 0, 1], "continuous", "float32", (), 0),
        ([200_000, 350_000], "continuous", "float32", (), 0),
        ([5_000_000_000, 1], "continuous", "float32", (), 0),
        ([0.0, 1.0, 2.0], "continuous", "float32", (), 0),
        ([0.0, 1.0], "multilabel", "float32", (), 1),
        ([[0], [1]], "classes", "int32", (), 2),
        ([[0.0], [1.0]], "multilabel", "float32", (1,), 1),
        ([[0.5], [1.5]], "continuous", "float32", (1,), 0),
        ([[1, 0, 0], [0, 0, 1]], "onehot", "float32", (3,), 3),
        ([[1, 0, 1], [0, 0, 1]], "multilabel", "float32", (3,), 3),
        ([[0, 0], [0, 1]], "multilabel", "float32", (2,), 2),
        ([[0.25, 0.75], [0.5, 0.5]], "distribution", "float32", (2,), 2),
        ([[0.25, 0.7505], [0.5, 0.5]], "distribution", "float32", (2,), 2),
        ([[0.25, 0.76], [0.5, 0.5]], "continuous", "float32", (2,), 0),
        ([[-0.5, 1.5], [0.5, 0.5]], "continuous", "float32", (2,), 0),
        ([[3, 4], [5, 6]], "continuous", "float32", (2,), 0),
        ([[[1, 0], [0, 1]]], "onehot", "float32", (2, 2), 2),
    ],
)
def test_kinds_are_detected(
    value: Any, kind: str, dtype: str, shape: tuple[int, ...], classes: int
) -> None:
    field, values = read_output("y", value)
    assert (field.kind, field.dtype, field.shape, field.classes) == (kind, dtype, shape, classes)
    assert values.shape[1:] == field.shape
    # Measurements keep the digits of float64 until they are scaled.
    assert values.dtype == ("float64" if kind == "continuous" else dtype)


def test_kinds_may_be_told() -> None:
    assert read_output("y", [0, 1, 2], "continuous")[0] == Field((), "float32")
    field, values = read_output("y", [0.0, 5.0], "classes")
    assert (field.kind, field.classes, values.tolist()) == ("classes", 6, [0, 5])
    assert read_output("y", [[0, 1]], "multilabel")[0].kind == "multilabel"
    assert read_input("x", [[0, 1]], "onehot")[0].kind == "onehot"


def test_positions_may_have_negative_classes() -> None:
    field, values = read_output("y", [[0, -1], [2, 1]], "classes")
    assert (field.shape, field.classes) == ((2,), 3)
    assert values.tolist() == [[0, -1], [2, 1]]


def test_labels_make_integers_classes() -> None:
    names = ["a", "b", "c", "d"]
    field, _ = read_output("y", [0, 1, 3], labels=names)
    assert (field.kind, field.classes) == ("classes", 4)
    assert read_output("y", [0.0, 1.0, 3.0], labels=names)[0].kind == "classes"


def fails(code: str, words: str, call: Any, *arguments: Any, **options: Any) -> None:
    with pytest.raises(DataError, match=words) as caught:
        call(*arguments, **options)
    assert caught.value.code == code


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused_with_their_place(bad: float) -> None:
    fails(
        "NNM707", f'input "x": row 1, element 2 is {bad}', read_input, "x", [[1, 2, 3], [4, 5, bad]]
    )
    fails("NNM707", f'output "y": row 2, element 0 is {bad}', read_output, "y", [1.0, 2.0, bad])


def test_ragged_and_scalar_data_are_refused() -> None:
    fails("NNM702", 'input "x": the nested lists are ragged', read_input, "x", [[1, 2], [3]])
    fails("NNM702", 'output "y" is a single number', read_output, "y", 3)


def test_labels_out_of_range_are_refused() -> None:
    names = ["a", "b"]
    fails("NNM706", "row 1 has class 2", read_output, "y", [0, 2], None, names)
    fails("NNM706", "no row has a class", read_output, "y", [-1, -1], "classes")
    fails("NNM706", r"row 0 has class 0\.5", read_output, "y", [0.5, 1], "classes")
    fails("NNM706", "row 2 is not one-hot", read_output, "y", [[0, 1], [1, 0], [1, 1]], "onehot")


def test_labels_that_do_not_fit_are_refused() -> None:
    fails("NNM702", "2 labels for 3 classes", read_output, "y", [[1, 0, 0]], None, ["a", "b"])
    fails("NNM702", "values are continuous", read_output, "y", [0.5, 1.5], None, ["a", "b"])
    assert read_output("y", [[0.0], [1.0]], None, ["no", "yes"])[0].kind == "multilabel"


def test_an_unknown_kind_is_refused() -> None:
    fails("NNM704", 'unknown kind "one_hot"', read_output, "y", [0, 1], "one_hot")


def test_names_of_dimensions_and_features() -> None:
    field, _ = read_input("x", [[[1, 2]]], None, ["height", "width"], ["left", "right"])
    assert (field.names, field.features) == (("height", "width"), ("left", "right"))
    fails("NNM702", "1 names for the dimensions", read_input, "x", [[[1, 2]]], None, ["height"])
    fails("NNM702", "3 feature names", read_input, "x", [[1, 2]], None, (), ["a", "b", "c"])


def test_unequal_and_missing_rows_are_refused() -> None:
    fails("NNM702", 'input "x" has 2, output "model" has 3', Dataset, {"x": [1, 2]}, [1, 2, 3])
    fails("NNM702", "no arrays", Dataset, {}, {})
    fails("NNM705", "has no rows", Dataset, [], [])


def test_options_of_unknown_blocks_are_refused() -> None:
    x, y = {"left": [1.0], "right": [1.0]}, {"answer": [0.5]}
    fails("NNM710", 'kinds: no block "anser"', Dataset, x, y, kinds={"anser": "continuous"})
    fails("NNM710", 'labels: no block "left"', Dataset, x, y, labels={"left": ["a"]})
    fails("NNM710", "features for which block", Dataset, x, y, features=["a"])


def test_numpy_arrays_come_in() -> None:
    np = pytest.importorskip("numpy")
    labels = np.array([0, 1, 2, 1])
    data = Dataset(np.arange(8, dtype="float64").reshape(4, 2), labels, split=(1, 0, 0))
    assert data.inputs["model"] == Field((2,), "float32")
    assert data.outputs["model"] == Field((), "int32", kind="classes", classes=3)
    assert read_output("y", np.array([0, 4]))[0].kind == "continuous"
    assert read_output("y", np.eye(3))[0].kind == "onehot"
    assert read_output("y", np.array([True, False]))[0].kind == "classes"
