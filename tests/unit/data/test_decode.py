"""Predictions become names, numbers, values."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm.core.errors import DataError
from webnnm.data import Field
from webnnm.data.binding.decode import decode

SPECIES = ["setosa", "versicolor", "virginica"]
ONE_HOT = Field((3,), "float32", kind="onehot", classes=3)
CLASSES = Field((), "int32", kind="classes", classes=3)
BINARY = Field((1,), "float32", kind="multilabel", classes=1)
COLUMN = Field((), "float32", kind="multilabel", classes=1)
TAGS = Field((3,), "float32", kind="multilabel", classes=3)


@pytest.mark.parametrize(
    ("values", "field", "labels", "expected"),
    [
        ([[0.1, 0.7, 0.2], [5, -1, 2]], ONE_HOT, SPECIES, ["versicolor", "setosa"]),
        ([[0.1, 0.7, 0.2], [5, -1, 2]], ONE_HOT, None, [1, 0]),
        ([0.1, 0.2, 0.7], ONE_HOT, SPECIES, "virginica"),
        ([[0.4, 0.4, 0.2]], ONE_HOT, None, [0]),
        ([2, 0], CLASSES, SPECIES, ["virginica", "setosa"]),
        (2, CLASSES, SPECIES, "virginica"),
        ([[0.1, 0.2, 0.7]], CLASSES, SPECIES, ["virginica"]),
        ([[[0.9, 0.1, 0], [0, 0, 1]]], CLASSES, SPECIES, [["setosa", "virginica"]]),
        ([[0.4], [0.5], [0.6]], BINARY, ["no", "yes"], ["no", "yes", "yes"]),
        ([[0.4], [0.6]], BINARY, None, [0, 1]),
        ([0.6], BINARY, ["no", "yes"], "yes"),
        ([0.4, 0.6], COLUMN, ["no", "yes"], ["no", "yes"]),
        ([[0.9, 0.1, 0.5], [0, 0, 0]], TAGS, ["a", "b", "c"], [["a", "c"], []]),
        ([0.9, 0.1, 0.5], TAGS, None, [0, 2]),
        ([[0.5], [1.5]], Field((1,), "float32"), None, [[0.5], [1.5]]),
    ],
)
def test_predictions_decode(values: Any, field: Field, labels: Any, expected: Any) -> None:
    assert decode(values, field, labels) == expected


@pytest.mark.parametrize(
    ("values", "field", "code"),
    [
        ([[0.5, 0.5]], ONE_HOT, "NNM702"),
        (0.5, ONE_HOT, "NNM702"),
        ([3], CLASSES, "NNM706"),
        ([-1], CLASSES, "NNM706"),
        ([[0.5, 0.5]], TAGS, "NNM702"),
        ([[0.5, 0.5]], BINARY, "NNM702"),
    ],
)
def test_what_does_not_fit_is_refused(values: Any, field: Field, code: str) -> None:
    with pytest.raises(DataError) as caught:
        decode(values, field, None)
    assert caught.value.code == code


def test_other_thresholds() -> None:
    assert decode([[0.4]], BINARY, None, threshold=0.0) == [1]
