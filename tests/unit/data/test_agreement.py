"""How well the nearest rows predict targets, which decides weight decay."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from webnnm.core.arrays import HostArray
from webnnm.data.dataset import Dataset
from webnnm.data.preparation.agreement import Agreement, measure_agreement


def make_rows(rows: int, features: int = 3, seed: int = 0) -> list[list[float]]:
    draw = Random(seed)
    return [[draw.gauss(0, 1) for _ in range(features)] for _ in range(rows)]


def measure(inputs: Any, outputs: Any, **options: Any) -> Agreement | None:
    return measure_agreement(Dataset(inputs, outputs, split=(1, 0, 0), **options))


@pytest.mark.parametrize("flips", [0.0, 0.1, 0.3])
def test_wrong_labels_disagree_with_their_neighbours(flips: float) -> None:
    rows, draw = make_rows(900, 2), Random(1)
    labels = [int(x > 0) ^ (draw.random() < flips) for x, _ in rows]
    agreement = measure(rows, labels)
    assert agreement is not None and agreement.classes and agreement.features == 2
    # Five neighbours, each wrong by itself, outvote the right label now and then.
    assert flips - 0.08 < agreement.unexplained < 1.6 * flips + 0.06


@pytest.mark.parametrize(("noise", "least", "most"), [(0.0, 0.0, 0.1), (1.0, 0.4, 0.8)])
def test_the_mean_of_neighbours_explains_what_is_not_noise(
    noise: float, least: float, most: float
) -> None:
    rows, draw = make_rows(600, 2), Random(2)
    targets = [x + y + noise * 2**0.5 * draw.gauss(0, 1) for x, y in rows]
    for kept in (targets, [[target, -target] for target in targets]):
        agreement = measure(rows, kept)
        assert agreement is not None and not agreement.classes
        assert least <= agreement.unexplained <= most
    assert str(agreement).startswith("the nearest neighbours explain ")


def test_columns_count_in_units_of_their_deviation() -> None:
    rows = make_rows(300, 2)
    labels = [int(x > 0) for x, _ in rows]
    agreement = measure([[x, 1e6 * y] for x, y in rows], labels)
    assert agreement == measure(rows, labels)


def test_wide_rows_are_compared_by_some_of_their_columns() -> None:
    rows = make_rows(400, 700)
    agreement = measure(rows, [int(row[0] > 0) for row in rows])
    assert agreement is not None and agreement.features == 700


def test_constant_targets_and_columns_are_no_trouble() -> None:
    assert measure([[1.0]] * 60, [2.5] * 60) == Agreement(1, 0.0, classes=False)


def test_nothing_is_said_of_other_data() -> None:
    rows = make_rows(60)
    labels = [int(row[0] > 0) for row in rows]
    assert measure(rows[:49], labels[:49]) is None
    tokens = HostArray.of([[k, 2 * k] for k in range(60)], "int32")
    assert measure({"a": rows, "b": tokens}, labels) is None
    assert measure([row[: 1 + k % 3] for k, row in enumerate(rows)], labels, length="max") is None
    assert measure(rows, {"a": labels, "b": [row[1] for row in rows]}) is not None
    assert measure(rows, {"a": [row[0] for row in rows], "b": [row[1] for row in rows]}) is None
