"""Iris: the figures of the set, its splits, other tables of the same columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from webnnm.core.errors import DataError
from webnnm.data import Field, IrisDataset
from webnnm.data.examples.iris import FEATURES, parse

HEADER = ",".join([*FEATURES, "species"])


async def test_it_is_the_set_of_fisher() -> None:
    iris = await IrisDataset.create()
    assert iris.name == "iris"
    assert iris.inputs == {"model": Field((4,), "float32", features=FEATURES)}
    assert iris.outputs == {"model": Field((3,), "float32", kind="onehot", classes=3)}
    assert iris.labels("model") == ["setosa", "versicolor", "virginica"]
    found = iris.statistics("full")
    # Means and population standard deviations by NumPy of scikit-learn's load_iris().
    assert found.inputs["model"].mean == pytest.approx(
        (5.843333333, 3.057333333, 3.758, 1.199333333), rel=1e-7
    )
    assert found.inputs["model"].std == pytest.approx(
        (0.82530129, 0.43441097, 1.75940407, 0.75969263), rel=1e-7
    )
    assert found.inputs["model"].min == pytest.approx((4.3, 2.0, 1.0, 0.1))
    assert found.inputs["model"].max == pytest.approx((7.9, 4.4, 6.9, 2.5))
    assert found.outputs["model"].class_counts == (50, 50, 50)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (0, [5.1, 3.5, 1.4, 0.2]),
        (34, [4.9, 3.1, 1.5, 0.2]),  # the copy of the UCI repository has 0.1 here
        (37, [4.9, 3.6, 1.4, 0.1]),  # and 3.1, 1.5 here
        (149, [5.9, 3.0, 5.1, 1.8]),
    ],
)
async def test_the_values_are_the_corrected_ones(row: int, expected: list[float]) -> None:
    inputs, outputs = (await IrisDataset.create()).sample(row)
    assert inputs["model"].tolist() == pytest.approx(expected)
    assert outputs["model"].tolist() == [float(row // 50 == number) for number in range(3)]


@pytest.mark.parametrize(
    ("split", "expected"),
    [((0.7, 0, 0.3), (35, 0, 15)), ((0.7, 0.15, 0.15), (35, 8, 7))],
)
@pytest.mark.parametrize("seed", [0, 1, 77])
async def test_splits(split: tuple[float, ...], expected: tuple[int, ...], seed: int) -> None:
    iris = await IrisDataset.create(split=split, seed=seed)
    assert iris.method == "stratified"
    for subset, size in zip(("training", "validation", "testing"), expected, strict=True):
        assert [sum(row // 50 == c for row in iris.rows(subset)) for c in range(3)] == [size] * 3


async def test_batches_of_an_epoch() -> None:
    iris = await IrisDataset.create()
    assert (iris.batch_size, iris.num_batches("training")) == (20, 6)
    assert [batch.valid_count for batch in iris.batches("training")] == [20] * 5 + [5]


async def test_the_sequential_split_is_there_on_request() -> None:
    iris = await IrisDataset.create(method="sequential")
    assert iris.rows("training") == list(range(105))
    assert iris.statistics("training").outputs["model"].class_counts == (50, 50, 5)


async def test_other_data_from_a_file_or_text(tmp_path: Path) -> None:
    text = f"{HEADER}\n1,2,3,4,virginica\n5,6,7,8,setosa\n"
    path = tmp_path / "flowers.csv"
    path.write_text(text)
    for iris in (
        await IrisDataset.create(path, split=(1, 0, 0)),
        await IrisDataset.create(str(path), split=(1, 0, 0)),
        await IrisDataset.create(text=text, split=(1, 0, 0)),
    ):
        assert iris.arrays("full")[0]["model"].tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
        assert iris.decode("model", iris.arrays("full")[1]["model"]) == ["virginica", "setosa"]


def test_tables_may_have_comments_blank_lines_and_another_order() -> None:
    text = (
        "# flowers\r\n\r\nspecies, petal_width,petal_length,sepal_width,sepal_length,note\r\n"
        'versicolor, 4,3,2,"1",x\r\n'
    )
    assert parse(text) == ([[1, 2, 3, 4]], [1])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "row 1 does not name the column sepal_length"),
        ("sepal_length,sepal_width,petal_length,petal_width\n", "does not name the column species"),
        (f"{HEADER}\n1,2,3,4,rose", 'row 2, column species is "rose"'),
        (f"{HEADER}\n1,2,3,4,setosa\n1,two,3,4,setosa", 'row 3, column sepal_width is "two"'),
        (f"{HEADER}\n1,2,3", "row 2, column petal_width is missing"),
        (f"{HEADER}\n1,2,3,4", "row 2, column species is missing"),
    ],
)
def test_other_tables_are_refused_with_the_place(text: str, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        parse(text)
    assert caught.value.code == "NNM713"
