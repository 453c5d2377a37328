"""Facts about labels, and the losses that follow from them (spec D.4)."""

from __future__ import annotations

import math
from typing import Any

import pytest

from webnnm import Dataset
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.core.errors import DataError
from webnnm.core.random import Stream
from webnnm.data.binding.label_facts import measure_labels
from webnnm.data.field import Field, Kind
from webnnm.training.loss_choice import LabelFacts, choose_loss, choose_loss_settings


def facts(
    values: Any,
    kind: Kind = "continuous",
    dtype: DataType = "float32",
    classes: int = 0,
    mask: Any = None,
) -> LabelFacts:
    found = HostArray.of(values, dtype)
    field = Field(found.shape[1:], dtype, kind=kind, classes=classes)
    return measure_labels(found, field, None if mask is None else HostArray.of(mask))


def normal(n: int) -> list[float]:
    """Return normally distributed numbers, by Box and Muller."""
    u = Stream(1, 2).uniform(2 * n)
    return [
        math.sqrt(-2 * math.log(1 - a)) * math.cos(2 * math.pi * b)
        for a, b in zip(u[:n], u[n:], strict=True)
    ]


def test_measurements() -> None:
    found = facts([[1.0, 10.0], [2.0, 10.5], [6.0, 11.0]])
    assert (found.kind, found.shape, found.minimum, found.maximum) == ("continuous", (2,), 1, 11)
    assert found.mean == pytest.approx(6.75)
    assert found.std == pytest.approx(math.sqrt((14 / 3 + 1 / 6) / 2))
    assert found.deviation == pytest.approx((2 + 1 / 3) / 2)
    assert found.median_deviation == pytest.approx((1 + 0.5) / 2)
    assert not (found.whole or found.binary or found.signs or found.single or found.sums_to_one)
    assert (found.class_counts, found.share) == ((), 0)


def test_one_hot_rows() -> None:
    found = facts([[0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]], "onehot", classes=3)
    assert found.class_counts == (1, 3, 0)
    assert found.share == 0.75
    assert found.whole and found.binary and found.single and found.sums_to_one
    assert not found.several


@pytest.mark.parametrize(
    ("rows", "single", "several"),
    [
        ([[0, 1], [1, 0]], True, False),
        ([[0, 1], [1, 1]], False, True),
        ([[0, 1], [0, 0]], False, False),
        ([[1], [1]], False, False),
    ],
)
def test_yes_and_no(rows: Any, single: bool, several: bool) -> None:
    found = facts(rows, "multilabel", classes=len(rows[0]))
    assert (found.binary, found.single, found.several) == (True, single, several)
    ones = sum(map(sum, rows))
    each = (len(rows) * len(rows[0]) - ones, ones)
    assert found.class_counts == ((1, 1) if single else each)
    assert found.exclusive == single


def test_decisions_that_exclude_one_another_are_counted_by_class() -> None:
    rows = [[float(i % 20 == c) for c in range(20)] for i in range(40)]
    found = facts(rows, "multilabel", classes=20)
    assert found.class_counts == (2,) * 20
    assert choose_loss("softmax", (20,), None, found).loss.name == "CCE"


def test_rare_yes_among_many_decisions_is_unbalanced() -> None:
    rows = [[float((i + c) % 20 == 0 or i == 0) for c in range(19)] for i in range(40)]
    found = facts(rows, "multilabel", classes=19)
    assert found.several and found.share > 0.9
    assert (
        choose_loss_settings(
            choose_loss("sigmoid", (19,), "FOL"), "sigmoid", (19,), labels=found
        ).alpha
        == found.share
    )
    with pytest.raises(DataError, match=r"NNM604.*more than one 1"):
        choose_loss("softmax", (19,), None, found)


def test_distributions() -> None:
    assert facts([[0.3, 0.7], [0.5, 0.5009]], "distribution").sums_to_one
    assert not facts([[0.3, 0.7], [0.5, 0.502]], "distribution").sums_to_one
    assert not facts([[-0.3, 1.3]]).sums_to_one
    assert not facts([[1.0], [1.0]]).sums_to_one


def test_class_numbers_have_the_moments_of_one_hot_rows() -> None:
    numbers = [0, 2, 2, 1, 2, 0]
    rows = [[float(c == n) for c in range(3)] for n in numbers]
    found, expected = facts(numbers, "classes", "int32", 3), facts(rows, "onehot", classes=3)
    assert found.class_counts == expected.class_counts == (2, 1, 3)
    assert found.mean == pytest.approx(expected.mean)
    assert found.std == pytest.approx(expected.std)
    assert found.deviation == pytest.approx(expected.deviation)
    assert (found.minimum, found.maximum, found.whole, found.binary) == (0, 2, True, False)
    assert facts([0, 1, 1], "classes", "int32", 2).binary


def test_negative_class_numbers_are_counted_apart() -> None:
    found = facts([[0, -1], [1, -100]], "classes", "int32", 3)
    assert (found.negative, found.class_counts, found.share) == (0.5, (1, 1, 0), 0.5)
    assert (found.minimum, found.maximum) == (-100, 1)
    assert facts([-1, -1], "classes", "int32", 2).class_counts == (0, 0)


def test_numbers_beyond_the_declared_classes_show() -> None:
    found = facts([0, 5], "classes", "int32", 3)
    assert (found.classes, found.maximum, found.class_counts[5]) == (6, 5, 1)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_signs(dtype: DataType) -> None:
    assert facts([-1, 1, 1], dtype=dtype).signs
    assert not facts([-1, 0, 1], dtype=dtype).signs
    assert not facts([-1, 2, 1], dtype=dtype).signs


def test_whole_numbers() -> None:
    assert facts([3.0, -2.0]).whole
    assert facts([3, -2], dtype="int32").whole
    assert not facts([3.0, 0.5]).whole


def test_two_groups_of_labels_have_no_outliers() -> None:
    groups = [side * (0.6 + 0.3 * (n % 10) / 10) for n in range(200) for side in (-1, 1)]
    assert not facts(groups).outliers
    assert not facts(groups[: len(groups) - 40] + [0.9] * 20).outliers


def test_normal_and_uniform_labels_have_no_outliers() -> None:
    assert not facts(normal(2000)).outliers
    assert not facts([float(i) for i in range(100)]).outliers
    # In units of each column, however different they are.
    wide = [[value, 1000 * value, 7.0] for value in normal(500)]
    assert not facts(wide).outliers


def test_one_far_value_makes_heavy_tails() -> None:
    assert facts([*normal(300), 30.0]).outliers
    wide = [
        [value, 0.001 * other] for value, other in zip(normal(300), normal(300)[::-1], strict=True)
    ]
    assert not facts(wide).outliers
    assert facts([*wide, [0.0, 0.5]]).outliers


def test_a_share_of_far_values_without_heavy_tails() -> None:
    values = [float(i % 10) for i in range(900)] + [20.0] * 100
    found = facts(values)
    assert found.median_deviation == 3
    mean = sum(values) / 1000
    square = sum((v - mean) ** 2 for v in values) / 1000
    assert sum((v - mean) ** 4 for v in values) / 1000 / square**2 < 6  # by the second test alone
    assert found.outliers


def test_a_long_tail_is_told_from_a_few_wrong_values() -> None:
    prices = [math.exp(value) for value in normal(500)]
    assert facts(prices).outliers and facts(prices).skewed
    counts = [math.floor(price) for price in prices]
    assert facts([float(count) for count in counts]).skewed
    assert not facts([*[value + 9 for value in normal(300)], 900.0]).skewed
    assert not facts([value**3 for value in normal(500)]).skewed  # on both sides of 0
    assert not facts(normal(500)).skewed


def test_constant_and_mostly_equal_labels_have_none() -> None:
    assert not facts([4.0] * 10).outliers
    assert facts([4.0] * 10).std == 0
    assert not facts([0.0] * 60 + [float(i) for i in range(40)]).outliers


def test_only_measurements_have_outliers() -> None:
    rows = [[float(i % 20 == c) for c in range(20)] for i in range(100)]
    assert not facts(rows, "onehot", classes=20).outliers


def test_masked_positions_do_not_count() -> None:
    mask = [[1, 1, 0], [1, 0, 0]]
    found = facts([[2, 1, 0], [2, 0, 0]], "classes", "int32", 3, mask)
    assert (found.class_counts, found.shape) == ((0, 1, 2), ())
    found = facts([[[1.0, 5.0]] * 3, [[3.0, 5.0]] * 3], mask=[[1, 0, 0], [1, 0, 0]])
    assert (found.shape, found.minimum, found.mean) == ((2,), 1, 3.5)
    field = Field((3,), "int32", sequence="words", kind="classes", classes=2)
    assert measure_labels(HostArray.of([[0, 1, 1]], "int32"), field).shape == ()


def test_nothing_valid_is_not_an_error() -> None:
    found = facts([[1.0, 2.0]], mask=[[0, 0]])
    assert (found.maximum, found.share, found.outliers) == (0, 0, False)


@pytest.mark.parametrize(
    ("activation", "scores", "outputs", "labels", "loss"),
    [
        ("softmax", 3, [0, 1, 2, 0], None, "SCE"),
        ("softmax", 2, [[0, 1], [1, 0], [1, 0]], None, "CCE"),
        ("softmax", 2, [[0.2, 0.8], [0.9, 0.1]], None, "KLD"),
        ("softmax", 2, [[0, 1]] + [[1, 0]] * 19, None, "CCE"),
        ("sigmoid", 1, [[0], [1], [1]], None, "BCE"),
        ("sigmoid", 1, [[0]] + [[1]] * 19, None, "BCE"),
        ("sigmoid", 3, [[0, 1, 1], [1, 0, 0]], None, "BCE"),
        ("linear", 2, [0, 1, 0], ["no", "yes"], "SCE"),
        ("linear", 1, [[-1.0], [1.0], [1.0]], None, "HIL"),
        ("linear", 1, [[value] for value in (*normal(200), 50.0)], None, "HUL"),
        ("linear", 1, [[1.5], [2.5], [4.0]], None, "MSE"),
    ],
)
def test_datasets_and_the_losses_that_they_ask_for(
    activation: Any, scores: int, outputs: Any, labels: Any, loss: str
) -> None:
    if isinstance(outputs[0], int):
        outputs = HostArray.of(outputs, "int32")
    data = Dataset(
        [[float(i)] for i in range(len(outputs))], outputs, split=(1, 0, 0), labels=labels
    )
    values = data.arrays("training")[1]["model"]
    found = measure_labels(values, data.outputs["model"])
    assert choose_loss(activation, (scores,), None, found).loss.name == loss
