"""Of very many rows a share is examined, drawn by the seed, and the review says so."""

from __future__ import annotations

from random import Random
from typing import Any

from webnnm import Dataset, review
from webnnm.data.preparation.row_sample import sample_rows

SOURCE = "m:input shape=[2]; m:output shape=[]; m:layers matmul(w, shape=[2]), " + (
    "reduceSum(axes=[-1]);"
)


def numbers(size: int, seed: int = 0) -> Dataset:
    draw = Random(1)
    x = [[draw.gauss(0, 1), draw.gauss(0, 1)] for _ in range(size)]
    return Dataset(x, [row[0] for row in x], seed=seed, split=(0.5, 0.25, 0.25))


def test_few_rows_are_all_examined() -> None:
    found = sample_rows(numbers(100))
    assert {name: len(some) for name, some in found.items()} == {
        "training": 50,
        "validation": 25,
        "testing": 25,
        "full": 100,
    }
    assert review(SOURCE, numbers(100)).examined == ""


def test_a_share_of_many_rows_is_drawn_by_the_seed() -> None:
    data = numbers(80_000)
    found = sample_rows(data)
    for subset in ("training", "validation", "testing"):
        share = len(data.rows(subset)) / 16
        assert len({*found[subset]}) == share
        assert {*found[subset]} <= {*data.rows(subset)}
    assert sorted({*found["training"], *found["validation"], *found["testing"]}) == found["full"]
    assert sample_rows(data) == found
    assert sample_rows(numbers(80_000, seed=1)) != found
    told = review(SOURCE, data)
    assert told.examined == "examined 5,000 of 80,000 rows, drawn by seed 0"
    assert str(told).endswith(told.examined)
    assert told.to_dict()["examined"] == told.examined


def test_rows_without_a_label_are_not_examined() -> None:
    classes: list[Any] = [-1, 0, 1, 1] * 10
    data = Dataset([[float(k)] for k in range(40)], classes, kinds={"model": "classes"})
    found = sample_rows(data, labelled=classes)
    assert len(found["full"]) == 30
    assert all(classes[row] >= 0 for row in found["full"])
