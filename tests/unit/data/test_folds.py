"""Folds: every row is tested once, classes in proportion, scaling fitted anew."""

from __future__ import annotations

from collections import Counter

import pytest

from webnnm.core.errors import DataError
from webnnm.data import Dataset, IrisDataset
from webnnm.data.split import fold_rows, group_by_class


@pytest.mark.parametrize("rows", [5, 17, 150])
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("seed", [0, 1, 9])
def test_folds_are_disjoint_equal_and_in_proportion(rows: int, k: int, seed: int) -> None:
    classes = [row % 4 if row % 3 else 0 for row in range(rows)]
    folds = fold_rows(rows, k, classes=classes, seed=seed)
    assert sorted(row for fold in folds for row in fold) == list(range(rows))
    assert all(fold == sorted(fold) for fold in folds)
    sizes = [len(fold) for fold in folds]
    assert max(sizes) - min(sizes) <= 1
    for number in set(classes):
        found = [sum(classes[row] == number for row in fold) for fold in folds]
        assert max(found) - min(found) <= 1


def test_folds_depend_on_the_seed_alone() -> None:
    splits = [fold_rows(40, 4, seed=seed) for seed in range(6)]
    assert fold_rows(40, 4, seed=3) == splits[3]
    assert len({str(split) for split in splits}) == 6


@pytest.mark.parametrize("k", [1, 0, -2, 7, 2.0])
def test_impossible_numbers_of_folds_are_refused(k: int) -> None:
    with pytest.raises(DataError, match="folds for 6 rows") as caught:
        fold_rows(6, k)
    assert (caught.value.code, caught.value.hint) == ("NNM704", "2 … 6 folds")


def test_each_row_may_be_a_fold() -> None:
    assert sorted(fold_rows(3, 3)) == [[0], [1], [2]]


def test_rows_by_class_are_in_the_order_of_the_classes() -> None:
    assert group_by_class(4, [2, 0, 2, 1]) == [[1], [3], [0, 2]]
    assert group_by_class(2, None) == [[0, 1]]


async def test_folds_of_iris() -> None:
    iris = await IrisDataset.create(standardize=True)
    raw = await IrisDataset.create()
    folds = list(iris.folds(5))
    assert [fold.name for fold in folds] == [f"iris, fold {n} of 5" for n in range(1, 6)]
    tested = Counter(row for fold in folds for row in fold.rows("testing"))
    assert tested == Counter(range(150))
    for fold in folds:
        assert (fold.size("training"), fold.size("validation"), fold.size("testing")) == (
            120,
            0,
            30,
        )
        assert not {*fold.rows("training")} & {*fold.rows("testing")}
        assert fold.statistics("testing").outputs["model"].class_counts == (10, 10, 10)
        # Just what a dataset of these rows would be.
        same = await IrisDataset.create(
            standardize=True, split=(fold.rows("training"), [], fold.rows("testing"))
        )
        assert fold.standardization == same.standardization != iris.standardization
        assert fold.arrays("full")[0]["model"].data == same.arrays("full")[0]["model"].data
        assert fold.method == "explicit"
        assert fold.labels() == iris.labels()
    # What is not scaled is shared, and the dataset itself has not changed.
    assert next(raw.folds(2))._inputs["model"] is raw._inputs["model"]
    assert (iris.size("training"), iris.method) == (105, "stratified")


async def test_folds_of_a_subset_leave_the_others_alone() -> None:
    iris = await IrisDataset.create()
    folds = list(iris.folds(3, subset="training"))
    assert sorted(row for fold in folds for row in fold.rows("testing")) == iris.rows("training")
    for fold in folds:
        assert fold.statistics("training").outputs["model"].class_counts in (
            (23, 23, 24),
            (23, 24, 23),
            (24, 23, 23),
        )
        assert not {*iris.rows("testing")} & {*fold.rows("training"), *fold.rows("testing")}


async def test_another_seed_deals_other_rows() -> None:
    iris = await IrisDataset.create(seed=4)
    assert next(iris.folds(5)).rows("testing") == next(iris.folds(5, seed=4)).rows("testing")
    assert next(iris.folds(5)).rows("testing") != next(iris.folds(5, seed=5)).rows("testing")


def test_folds_without_classes_and_folds_that_shall_be_random() -> None:
    data = Dataset([[float(n)] for n in range(10)], [n + 0.5 for n in range(10)])
    assert [fold.rows("testing") for fold in data.folds(2)] == fold_rows(10, 2)
    labelled = Dataset([[0.0]] * 10, [0, 1] * 5, method="random")
    assert [fold.rows("testing") for fold in labelled.folds(2)] == fold_rows(10, 2)


def test_mistakes_are_told_at_once() -> None:
    data = Dataset([[1.0], [2.0]], [0.5, 1.5], split=(1, 0, 0))
    for call in (lambda: data.folds(3), lambda: data.folds(2, subset="tests")):
        with pytest.raises(DataError):
            call()


def test_folds_of_renamed_fields_scale_their_targets_too() -> None:
    data = Dataset(
        {"x": [[1.0], [3.0], [5.0], [7.0]]},
        {"y": [10.0, 30.0, 50.0, 70.0]},
        split=(1, 0, 0),
        standardize=True,
        standardize_targets=True,
    ).map(to_model={"x": "a", "y": "b"})
    fold = next(data.folds(2))
    training = fold.rows("training")
    mean = sum(2.0 * row + 1 for row in training) / 2
    assert fold.standardization["a"].mean == (mean,)
    assert fold.target_standardization["b"].mean == (10 * mean,)
    assert fold.decode("b", [0.0]) == [10 * mean]
    assert fold.arrays("training")[1]["b"].tolist() == [-1, 1]


def test_folds_have_cursors_of_their_own() -> None:
    data = Dataset([[1.0], [2.0], [3.0], [4.0]], [1.5, 2.5, 3.5, 4.5], split=(1, 0, 0))
    data.prepareBatches("training")
    fold = next(data.folds(2))
    batch = fold.getNextBatch("training")
    assert batch is not None
    assert sorted(batch.indices) == fold.rows("training")
