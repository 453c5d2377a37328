"""Tables with missing cells, with many categories, and with rows that belong together."""

from __future__ import annotations

import math
from typing import Any

import pytest

from webnnm import DataError, NNModel, TableDataset, read_csv
from webnnm.data.split import PARTS
from webnnm.data.tables.encoding import OneHotEncoder, from_dict, to_dict

ALL: dict[str, Any] = {"split": (1, 0, 0)}
GAPS = {
    "city": ["Ulm", "Bonn", "", "Bonn"],
    "area": [30.0, "", 60.0, 90.0],
    "dear": ["no", "no", "yes", "yes"],
}


def test_an_indicator_tells_which_cells_were_missing() -> None:
    data = TableDataset(GAPS, missing="indicator", **ALL)
    assert data.inputs["model"].features == (
        *("city=Bonn", "city=Ulm", "city missing"),
        *("area", "area missing"),
    )
    rows = data.arrays("training")[0]["model"].tolist()
    assert rows[1] == [1, 0, 0, 60, 1]
    assert rows[2] == [*map(pytest.approx, (2 / 3, 1 / 3)), 1, 60, 0]
    assert data.encode([["Ulm", None]]).tolist() == [[0, 1, 0, 60, 1]]


def test_there_is_no_indicator_where_no_training_row_lacks_a_cell() -> None:
    data = TableDataset(GAPS, missing="indicator", split=([0, 3], [], [1, 2]))
    assert data.inputs["model"].features == ("city=Bonn", "city=Ulm", "area")
    assert data.arrays("testing")[0]["model"].tolist() == [[1, 0, 60], [0.5, 0.5, 60]]


def test_numbers_are_scaled_but_not_their_indicators() -> None:
    data = TableDataset(GAPS, missing="indicator", standardize=True, **ALL)
    fitted = data.standardization["model"]
    assert fitted.mean == (0, 0, 0, 60, 0)
    assert fitted.std[3] == pytest.approx(math.sqrt(450))
    assert fitted.std[4] == 1


def test_rare_words_share_a_feature_with_those_never_seen() -> None:
    words = ["a", "b", "c", "a", "b", "d"]
    data = TableDataset({"w": words, "y": [0, 1] * 3}, max_categories=2, **ALL)
    assert data.inputs["model"].features == ("w=a", "w=b", "w other")
    assert data.encode([["d"], ["b"], ["never"]]).tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 1]]


def test_a_column_with_few_words_keeps_them_all() -> None:
    data = TableDataset({"w": ["a", "b"] * 3, "y": [0, 1] * 3}, max_categories=2, **ALL)
    assert data.inputs["model"].features == ("w=a", "w=b")


def test_of_equally_frequent_words_the_order_of_the_rows_does_not_decide() -> None:
    words = ["d", "c", "b", "a"]
    encoders = [OneHotEncoder.fit("w", some, "zeros", 2) for some in (words, words[::-1])]
    assert encoders[0] == encoders[1]
    assert encoders[0].categories == ("a", "b")


def test_too_many_words_are_refused_with_the_option_that_takes_them() -> None:
    words = [f"w{number}" for number in range(1001)]
    with pytest.raises(DataError) as caught:
        TableDataset({"w": words, "y": [0, 1, 0] * 333 + [0, 1]}, **ALL)
    assert "max_categories=" in caught.value.hint


@pytest.mark.parametrize("missing", ["mean", "indicator"])
def test_encoders_are_read_as_they_are_written(missing: Any) -> None:
    dates = ["2020-01-01", "", "2020-02-01", "2020-03-01"]
    data = TableDataset({"when": dates, **GAPS}, missing=missing, max_categories=1, **ALL)
    assert [from_dict(to_dict(encoder)) for encoder in data.encoders] == list(data.encoders)


async def test_a_snapshot_predicts_rows_with_gaps_as_the_model_does() -> None:
    data = TableDataset(GAPS, missing="indicator", standardize=True, max_categories=1, **ALL)
    text = "m:input shape=[5]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    rows = [["Ulm", 45], [None, None], ["Rome", "nan"]]
    async with await NNModel.create(source=text, dataset=data, log=lambda line: None) as model:
        await model.train(epochs=3, progress="off")
        expected = (await model.predict(rows)).tolist()
        saved = await model.save()
    async with await NNModel.load(saved, log=lambda line: None) as loaded:
        actual = (await loaded.predict(rows)).tolist()
    assert actual == [pytest.approx(row, rel=1e-5) for row in expected]


# Rows that belong together.


def test_the_rows_of_a_group_are_in_one_subset() -> None:
    who = [f"p{number // 3}" for number in range(30)]
    table = {"who": who, "x": [*range(30)], "y": [0, 1] * 15}
    data = TableDataset(table, groups="who", split=(0.6, 0.2, 0.2))
    assert data.inputs["model"].features == ("x",)
    subsets = [
        {who[row] for row in data.rows(part)} for part in ("training", "validation", "testing")
    ]
    assert sum(map(len, subsets)) == len(set().union(*subsets)) == 10
    assert [*map(len, subsets)] == [6, 2, 2]
    other = TableDataset(table, groups="who", split=(0.6, 0.2, 0.2), seed=1)
    assert data.rows("testing") != other.rows("testing")


def test_the_last_rows_by_date_are_tested() -> None:
    days = ["3.1.2024", "1.1.2024", "31.12.2023", "2.2.2024"]
    data = TableDataset(
        {"day": days, "x": [1, 2, 3, 4], "y": [0, 1, 0, 1]}, order_by="day", split=(0.5, 0, 0.5)
    )
    assert (data.rows("training"), data.rows("testing")) == ([1, 2], [0, 3])
    assert data.inputs["model"].features == ("x",)


@pytest.mark.parametrize(
    ("split", "sizes"), [((0.5, 0, 0.5), [6, 0, 4]), ((0.1, 0.4, 0.5), [3, 3, 4])]
)
def test_rows_of_one_day_are_not_divided(split: Any, sizes: list[int]) -> None:
    days = [3, 1, 2, 1, 2, 3, 1, 2, 3, 4]
    data = TableDataset({"day": days, "x": days, "y": [0, 1] * 5}, order_by="day", split=split)
    parts = [{days[row] for row in data.rows(part)} for part in PARTS]
    assert [len(data.rows(part)) for part in PARTS] == sizes
    assert sum(map(len, parts)) == 4


def test_a_division_by_too_few_days_is_refused() -> None:
    table = {"day": [1, 1, 1, 1], "x": [1, 2, 3, 4], "y": [0, 1, 0, 1]}
    with pytest.raises(DataError, match="none is left for testing") as caught:
        TableDataset(table, order_by="day")
    assert caught.value.code == "NNM705"


@pytest.mark.parametrize("limit", ["a", 1.5, 0, -1, True])
def test_the_number_of_categories_is_an_integer_from_1(limit: Any) -> None:
    with pytest.raises(DataError, match="max_categories is") as caught:
        TableDataset({"w": ["a", "b"] * 3, "y": [0, 1] * 3}, max_categories=limit, **ALL)
    assert caught.value.code == "NNM704"


def test_features_of_the_same_name_are_refused() -> None:
    table = {"age": [1, "", 3, 4], "age missing": [0, 1, 0, 0], "y": [0, 1, 0, 1]}
    with pytest.raises(DataError, match='two features would be called "age missing"'):
        TableDataset(table, missing="indicator", **ALL)
    TableDataset(table, missing="mean", **ALL)


def test_cells_of_new_rows_are_numbered_as_in_their_file() -> None:
    data = TableDataset({"a": [1, 2], "w": ["x", "z"], "y": [0, 1]}, unknown="error", **ALL)
    for text, words in (
        ("a,w\n1,x\n# two\n,z\n", r"row 3 \(line 4\), column a is empty"),
        ("a,w\n1,x\n1,\n", "row 3, column w is empty"),
        ("a,w\n1,x\n1,b\n", 'row 3, column w is "b"'),
    ):
        with pytest.raises(DataError, match=words):
            data.encode(read_csv(text))
    table = {"a": ["", 2, 3, 4], "w": [*"xxxz"], "y": [0, 1, 0, 1]}
    with pytest.raises(DataError, match='row 3, column w is "z"'):
        TableDataset(table, missing="drop", unknown="error", split=([0, 1], [], [2]))


def test_dropped_rows_do_not_shift_the_division() -> None:
    table = {"day": [5, 4, 3, 2, 1, 0], "x": [1, "", 3, 4, 5, 6], "y": [0, 1, 0, 1, 1, 0]}
    data = TableDataset(table, order_by="day", missing="drop", split=(3, 0, 2))
    assert [data.kept[row] for row in data.rows("training")] == [3, 4, 5]
    assert [data.kept[row] for row in data.rows("testing")] == [0, 2]


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"groups": "g", "order_by": "t"}, "NNM704", "groups and order_by at once"),
        ({"groups": "g", "split": ([0], [], [1])}, "NNM704", "not lists of rows"),
        ({"groups": "one"}, "NNM705", "column one has 1 groups: none is left for testing"),
        ({"groups": "holes"}, "NNM713", "row 1, column holes is empty"),
        ({"order_by": "g"}, "NNM713", "column g, which orders the rows, holds words"),
        ({"order_by": "gap"}, "NNM713", "row 2, column gap is empty"),
        ({"order_by": "none"}, "NNM710", 'no column "none"'),
    ],
)
def test_divisions_that_are_impossible_are_refused(
    options: dict[str, Any], code: str, words: str
) -> None:
    table = {
        "g": ["a", "b", "a", "b"],
        "t": [1, 2, 3, 4],
        "one": ["a"] * 4,
        "holes": ["a", "", "b", "b"],
        "gap": [1, 2, "", 4],
        "x": [1, 2, 3, 4],
        "y": [0, 1, 0, 1],
    }
    with pytest.raises(DataError) as caught:
        TableDataset(table, features=["x"], **options)
    assert caught.value.code == code
    assert words in caught.value.message
