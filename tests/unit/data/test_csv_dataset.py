"""Tables as datasets: labels, categories, missing cells, where a table is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from webnnm.core.errors import DataError
from webnnm.data.tables.csv_dataset import CSVDataset
from webnnm.data.tables.table_dataset import TableDataset

PETS = """name,weight,coat,kind
# of the neighbours
Kitty,4.5,short,cat
Rex,30,short,dog
Minka,3.5,long,cat
Bello,12,curly,dog
"""

ALL = (1, 0, 0)


async def pets(**options: Any) -> CSVDataset:
    given = {"features": ["weight", "coat"], "split": ALL} | options
    return await CSVDataset.create(text=PETS, **given)


def full(data: TableDataset) -> tuple[Any, Any]:
    inputs, outputs = data.arrays("full")
    return inputs["model"].tolist(), outputs["model"].tolist()


async def test_numbers_categories_and_classes() -> None:
    data = await pets()
    assert data.inputs["model"].features == ("weight", "coat=curly", "coat=long", "coat=short")
    assert (data.outputs["model"].kind, data.labels()) == ("onehot", ["cat", "dog"])
    assert full(data) == (
        [[4.5, 0, 0, 1], [30, 0, 0, 1], [3.5, 0, 1, 0], [12, 1, 0, 0]],
        [[1, 0], [0, 1], [1, 0], [0, 1]],
    )
    assert (data.name, data.batch_size, data.method) == ("csv", 20, "stratified")


async def test_class_numbers_if_asked_for() -> None:
    data = await pets(sparse=True)
    field = data.outputs["model"]
    assert (field.kind, field.dtype, field.classes) == ("classes", "int32", 2)
    assert full(data)[1] == [0, 1, 0, 1]
    assert data.decode("model", [1, 0]) == ["dog", "cat"]


async def test_features_are_all_other_columns_by_default_and_the_label_the_last() -> None:
    data = await CSVDataset.create(text="a,b,c\n1,2,x\n3,4,y", split=ALL)
    assert (data.inputs["model"].features, data.labels()) == (("a", "b"), ["x", "y"])
    data = await CSVDataset.create(text="a,b,c\n1,2,7.5\n3,4,8.5", label="a", split=ALL)
    assert (data.inputs["model"].features, data.labels()) == (("b", "c"), ["1", "3"])
    data = await CSVDataset.create(text="5,2,x\n6,4,y", features=[1, 0], label=-1, split=ALL)
    assert data.inputs["model"].features == ("column_2", "column_1")
    assert full(data)[0] == [[2, 5], [4, 6]]


@pytest.mark.parametrize(
    ("labels", "options", "classes"),
    [
        (["0", "2", "10", "2"], {}, ["0", "2", "10"]),
        (["b", "a", "b", "B"], {}, ["B", "a", "b"]),
        (["1", "x", "1", "2"], {}, ["1", "2", "x"]),
        (["01", "1", "2", "+2"], {}, ["1", "2"]),
        (["1.0", "2.5", "1", "2"], {"task": "classification"}, ["1", "2", "2.5"]),
        (["1.5", "2.5", "1", "2"], {}, None),
        (["1.0", "2.0", "1.0", "2.0"], {}, None),  # written as measurements
        (["1", "2", "1", "2"], {"task": "regression"}, None),
        (["0", "1", "1", "0"], {"task": "regression"}, None),
        ([str(n) for n in range(20)], {}, [str(n) for n in range(20)]),
        ([str(n) for n in range(21)], {}, None),
        ([str(n) for n in range(21)], {"task": "classification"}, [str(n) for n in range(21)]),
        ([f"r{n}" for n in range(30)], {}, sorted(f"r{n}" for n in range(30))),
    ],
)
async def test_what_labels_are(
    labels: list[str], options: dict[str, Any], classes: list[str] | None
) -> None:
    text = "x,y\n" + "".join(f"{row},{label}\n" for row, label in enumerate(labels))
    data = await CSVDataset.create(text=text, split=ALL, **options)
    assert data.labels() == classes
    if classes is None:
        assert data.outputs["model"].kind == "continuous"
        assert full(data)[1] == list(map(float, labels))


async def test_words_among_many_numbers_are_mistakes_of_a_label_too() -> None:
    text = "x,y\n" + "".join(f"{n},{n}.5\n" for n in range(30)) + "30,many\n"
    with pytest.raises(DataError, match='row 32, column y is "many", not a number') as caught:
        await CSVDataset.create(text=text)
    assert caught.value.code == "NNM713"


@pytest.mark.parametrize(
    ("text", "options", "code", "words"),
    [
        ("", {}, "NNM713", "the table is empty"),
        ("a,b\n", {"header": True}, "NNM705", "the table has no rows"),
        ("a;b\n1;2\n", {"delimiter": ","}, "NNM713", 'only, "column_1": no features'),
        ("a,b\n1,2\n3\n", {}, "NNM713", "row 3, column b is missing"),
        ("a,b\n1,2\n3,4\ntwo,2\n", {}, "NNM713", 'row 4, column a is "two"'),
        ("a,b\n1,2\n,4\n", {}, "NNM713", "row 3, column a is empty; missing cells: 1 of a, in 2"),
        ("a,b\n1,2\n5,\nNaN,4\n", {}, "NNM713", "row 3, column b is empty; .* 1 of a, 1 of b"),
        ("a,b\n1,x\nInfinity,y\n2,x", {}, "NNM707", 'row 3, column a is "Infinity"'),
        ("a,b\n1,x\n2,x\n", {}, "NNM706", "column b has the same label in all rows"),
        ("a,b\n1,x\n2,\n", {"missing": "mean"}, "NNM706", "the same label"),
        ("a,b\n1,\n,x\n", {"missing": "drop"}, "NNM705", "all 2 have a missing cell"),
        ("a,b\n1,2\n", {"label": "c"}, "NNM710", 'no column "c"'),
        ("a,b\n1,2\n", {"features": ["a", "b"]}, "NNM704", 'column "b" is used twice'),
        ("a,b,c\n1,2,3\n", {"features": ["a", 0]}, "NNM704", 'column "a" is used twice'),
        ("a,b\n1,2\n", {"features": []}, "NNM713", 'no features, only the label "b"'),
        ("a,b\n1,x\n", {"task": "regression"}, "NNM713", 'row 2, column b is "x"'),
        ("a,b\n1,2\n", {"task": "regresion"}, "NNM704", 'task="regresion"'),
        ("a,b\n1,2\n", {"missing": "median"}, "NNM704", 'missing="median"'),
        ("a,b\n1,2.5\n", {"batchsize": 3}, "", "batchsize"),
    ],
)
async def test_what_is_wrong_is_named(
    text: str, options: dict[str, Any], code: str, words: str
) -> None:
    with pytest.raises(DataError if code else TypeError, match=words) as caught:
        await CSVDataset.create(text=text, **options)
    if code:
        assert caught.value.code == code  # type: ignore[union-attr]


async def test_delimiter_and_decimal_commas_are_found() -> None:
    data = await CSVDataset.create(text="a;b\n1;2,5\n3;4,5", split=ALL)
    assert data.labels() is None
    assert full(data) == ([[1], [3]], [2.5, 4.5])


GAPS = "x,c,y\n1,a,1.5\n,a,2.5\n3,,3.5\n5,b,\n6,b,4.5\n"


async def test_rows_with_missing_cells_are_dropped_and_reported() -> None:
    data = await CSVDataset.create(text=GAPS, missing="drop", split=ALL)
    assert full(data) == ([[1, 1, 0], [6, 0, 1]], [1.5, 4.5])
    assert (data.report.rows, data.report.dropped) == (5, 3)
    assert [(found.name, found.missing) for found in data.report.columns] == [
        ("x", 1),
        ("c", 1),
        ("y", 1),
    ]
    assert str(data.report) == (
        "5 rows, 3 of them dropped\nx: numbers, 1 missing\n"
        "c: categories, 2 values, 1 missing\ny: target, 1 missing"
    )


async def test_missing_cells_take_the_mean_of_training_rows() -> None:
    # Row 3 (of 0 …) has no label and goes; training are rows 0, 1 and 3 of those that are left.
    data = await CSVDataset.create(text=GAPS, missing="mean", split=([0, 1, 3], [], [2]))
    inputs, outputs = full(data)
    assert inputs[:2] + inputs[3:] == [[1, 1, 0], [3.5, 1, 0], [6, 0, 1]]
    assert inputs[2] == pytest.approx([3, 2 / 3, 1 / 3])
    assert outputs == [1.5, 2.5, 3.5, 4.5]
    assert [encoder.fill for encoder in data.encoders] == [3.5, pytest.approx((2 / 3, 1 / 3))]
    assert data.report.dropped == 1


async def test_a_column_without_values_in_training_cannot_be_filled() -> None:
    text = "x,c,y\n,a,1\n2,,2\n3,b,1\n"
    for split, column in ((([0], [], [1, 2]), "x"), (([1], [], [0, 2]), "c")):
        with pytest.raises(DataError, match=f"column {column} has no value in any training row"):
            await CSVDataset.create(text=text, missing="mean", split=split)


async def test_categories_are_those_of_training_rows() -> None:
    text = "c,y\nred,0\nblue,1\ngreen,0\n"
    data = await CSVDataset.create(text=text, split=([0, 1], [], [2]))
    assert data.inputs["model"].features == ("c=blue", "c=red")
    assert data.arrays("testing")[0]["model"].tolist() == [[0, 0]]
    assert data.report.columns[0].unknown == 1
    assert "1 unknown in training" in str(data.report)
    with pytest.raises(DataError, match='row 4, column c is "green"') as caught:
        await CSVDataset.create(text=text, split=([0, 1], [], [2]), unknown="error")
    assert caught.value.code == "NNM706"


async def test_classes_are_those_of_the_whole_table() -> None:
    data = await CSVDataset.create(text="x,y\n1,a\n2,b\n3,c\n", split=([0, 1], [], [2]))
    assert data.labels() == ["a", "b", "c"]


async def test_numbers_are_categories_if_asked_for() -> None:
    text = "zip,y\n10115,a\n20095,b\n"
    data = await CSVDataset.create(text=text, categorical=["zip"], split=ALL)
    assert data.inputs["model"].features == ("zip=10115", "zip=20095")


async def test_the_same_seed_gives_the_same_rows_and_classes_stay_in_proportion() -> None:
    text = "x,y\n" + "".join(f"{n},{'abc'[n % 3]}\n" for n in range(60))
    first, again, other = [
        await CSVDataset.create(text=text, seed=seed, split=(0.7, 0.15, 0.15)) for seed in (5, 5, 6)
    ]
    assert first.rows("testing") == again.rows("testing") != other.rows("testing")
    for data in (first, other):
        assert data.statistics("training").outputs["model"].class_counts == (14, 14, 14)
        assert data.statistics("testing").outputs["model"].class_counts == (3, 3, 3)


async def test_it_is_standardised_by_training_rows() -> None:
    data = await CSVDataset.create(
        text="x,c,y\n1,a,1.5\n3,b,2.5\n7,a,3.5", standardize=["x"], split=([0, 1], [], [2])
    )
    assert full(data)[0] == [[-1, 1, 0], [1, 0, 1], [5, 1, 0]]
    assert data.standardization["model"].mean == (2.0, 0.0, 0.0)


async def test_new_rows_are_encoded_as_those_of_training() -> None:
    data = await pets()
    assert data.encode([[5, "long"], ["6.5", "bald"]]).tolist() == [[5, 0, 1, 0], [6.5, 0, 0, 0]]
    table = {"coat": ["short"], "weight": [1], "age": [3]}
    assert data.encode(table).tolist() == [[1, 0, 0, 1]]
    assert data.encode([]).shape == (0, 4)


@pytest.mark.parametrize(
    ("rows", "code", "words"),
    [
        ([[5]], "NNM702", r"row 0 is \[5\]"),
        ([5, 6], "NNM702", "row 0 is 5"),
        ({"weight": [5]}, "NNM710", 'no column "coat"'),
        ([[None, "long"]], "NNM713", "row 0, column weight is empty"),
        ([["heavy", "long"]], "NNM713", 'row 0, column weight is "heavy"'),
        ([[5, "long"], [5, None]], "NNM713", "row 1, column coat is empty"),
    ],
)
async def test_new_rows_that_do_not_fit_are_refused(rows: Any, code: str, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        (await pets()).encode(rows)
    assert caught.value.code == code


async def test_what_was_filled_in_training_is_filled_in_new_rows() -> None:
    data = await CSVDataset.create(text=GAPS, missing="mean", split=ALL)
    assert data.encode([[None, None]]).tolist()[0] == pytest.approx([10 / 3, 0.5 + 1 / 6, 1 / 3])


async def test_files_and_urls(tmp_path: Path) -> None:
    path = tmp_path / "pets.csv"
    path.write_text("\ufeff" + PETS, encoding="utf-8")
    for place in ({"path": path}, {"url": str(path)}):
        data = await CSVDataset.create(**place, split=ALL, features=["weight"])  # type: ignore[arg-type]
        assert (data.name, data.size("full")) == ("pets", 4)


@pytest.mark.parametrize("places", [{}, {"text": "1,2", "path": "a.csv"}])
async def test_exactly_one_place(places: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="of url, path and text") as caught:
        await CSVDataset.create(**places)
    assert caught.value.code == "NNM715"


def test_columns_of_a_frame() -> None:
    data = TableDataset(
        {"weight": [4.5, 30.0], "wild": [True, False], "kind": ["cat", "dog"]}, split=ALL
    )
    assert full(data) == ([[4.5, 1], [30, 0]], [[1, 0], [0, 1]])
    truth = TableDataset({"x": [1, 2], "y": [True, False]}, split=ALL)
    assert truth.labels() == ["False", "True"]


async def test_folds_fill_missing_cells_by_their_own_training_rows() -> None:
    text = "x,y\n,0.5\n" + "".join(f"{n},{n}.5\n" for n in range(1, 6))
    data = await CSVDataset.create(text=text, missing="mean", split=ALL)
    assert full(data)[0][0] == [3]
    for fold in data.folds(3):
        assert isinstance(fold, CSVDataset)
        known = [row for row in fold.rows("training") if row]  # row r has x = r
        filled = fold.arrays("full")[0]["model"].tolist()[0]
        assert filled == pytest.approx([sum(known) / len(known)])
        assert fold.encoders[0].fill == pytest.approx(filled[0])
    assert full(data)[0][0] == [3]
