"""Columns are told by their cells: numbers, categories, texts, nothing, and what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import DataError, TableDataset, describe_table, read_csv, suggest_model


def describe(cells: list[Any]) -> Any:
    (found,) = describe_table({"c": cells})
    return found


def test_numbers_have_bounds_and_missing_cells() -> None:
    found = describe(["1.5", "", "?", "-3", "2e2"])
    assert (found.content, found.low, found.high, found.missing) == ("number", -3, 200, 2)
    assert str(found) == "c: number, -3 … 200, 2 missing"
    assert not found.problem


def test_words_that_repeat_are_categories_and_others_texts() -> None:
    found = describe(["red", "blue", "red", "red", ""])
    assert (found.content, found.missing) == ("category", 1)
    assert found.values == (("red", 3), ("blue", 1))
    assert describe([f"name {k}" for k in range(10)]).content == "text"
    assert describe([f"street {k % 60}" for k in range(600)]).content == "text"
    assert describe([True, False, False, True]).content == "number"


@pytest.mark.parametrize(
    ("cells", "content", "problem"),
    [
        (["1", "2", "3", "x"], "text", 'row 3, column c is "x", not a number'),
        (["1/5/2024", "2/5/2024"], "text", 'is "1/5/2024" day/month or month/day?'),
        (["1,234", "2,345"], "text", "1,234 may be 1234 or 1.234"),
        (["1", "2", "1e999"], "text", "not finite in float32"),
        (["", "", ""], "empty", "column c has no value in any row"),
        (["?", "n/a"], "empty", "column c has no value in any row"),
    ],
)
def test_what_is_wrong_with_a_column_is_told(cells: list[str], content: str, problem: str) -> None:
    found = describe(cells)
    assert found.content == content
    assert problem in found.problem
    assert problem in str(found)


def test_places_are_those_of_the_file() -> None:
    table = read_csv("age,kind\n# a comment\n31,a\nold,b\n45,a\n50,b\n", header=True)
    assert 'row 3 (line 4), column age is "old"' in describe_table(table)[0].problem


def test_no_table_is_refused() -> None:
    with pytest.raises(DataError, match="NNM702"):
        describe_table(5)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b\n1,2\n", ("a", "b")),
        ("a;b\n1,5;2,5\n", ("a", "b")),
        ("a\tb\tc\n1\t2\t3\n", ("a", "b", "c")),
        ("a|b\n1|2\n", ("a", "b")),
        ('"a;x",b\n"1;1;1",2\n', ("a;x", "b")),
        ("# one; two\na,b\n1,2\n", ("a", "b")),
        ("only\n1\n", ("only",)),
        ("", ()),
    ],
)
def test_what_separates_cells_is_found(text: str, names: tuple[str, ...]) -> None:
    assert read_csv(text, delimiter="auto", header=True).names == names


def test_rows_of_unequal_length_are_told_with_their_line() -> None:
    with pytest.raises(DataError, match=r"row 3, column c is missing: the row has 2 cells"):
        read_csv("a;b;c\n1;2;3\n4;5\n", delimiter="auto")


def suggest(rows: int, label: list[Any], **options: Any) -> str:
    table = {"x": [float(k) for k in range(rows)], "colour": ["red", "blue"] * (rows // 2)}
    return suggest_model(TableDataset({**table, "label": label}, split=(1, 0, 0), **options))


def test_the_model_suits_the_target_and_grows_with_the_rows() -> None:
    classes = suggest(40, ["a", "b", "c", "a"] * 10)
    assert "input shape=[3]" in classes
    assert "output shape=[3]" in classes
    assert "dense(shape=[8], activation=relu),\n  dense(shape=[3], activation=softmax)" in classes
    numbers = suggest(40, ["a", "b"] * 20, sparse=True)
    assert "output shape=[2]" in numbers
    quantity = suggest(400, [k / 7 for k in range(400)])
    assert "dense(shape=[64], activation=relu),\n  matmul(w),\n  add(b);" in quantity
    assert suggest(2000, [k / 7 for k in range(2000)]).count("activation=relu") == 2


@pytest.mark.alike
async def test_a_suggested_model_learns() -> None:
    pytest.importorskip("numpy")
    from webnnm import NNModel

    table = {"x": [k % 10 for k in range(60)], "y": ["low", "high"] * 30}
    table["kind"] = ["a" if x < 5 else "b" for x in table["x"]]
    data = TableDataset(table, standardize=["x"])
    model = await NNModel.create(
        source=suggest_model(data), dataset=data, backend="numpy", log=lambda _: None
    )
    await model.train(epochs=60, progress="off")
    assert (await model.test()).accuracy > 0.9
    model.close()


def test_suggestions_are_for_rows_of_numbers() -> None:
    from webnnm import Dataset

    with pytest.raises(DataError, match=r"NNM702.*\[2, 2\]"):
        suggest_model(Dataset([[[1.0, 2.0], [3.0, 4.0]]], [[1.0]], split=(1, 0, 0)))
