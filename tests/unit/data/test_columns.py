"""Columns: what a table may be, what is a number, a word, a missing cell."""

from __future__ import annotations

import math
from array import array
from pathlib import Path
from typing import Any

import pytest

from webnnm.core.errors import DataError
from webnnm.data.tables.column_reading import Column, read_column
from webnnm.data.tables.columns import MISSING, Table, as_number, as_table
from webnnm.data.tables.number_format import NumberFormat


class Series:
    """What pandas and its kin have."""

    def __init__(self, values: list[Any], method: str = "tolist") -> None:
        self.values = values
        setattr(self, method, lambda: list(values))


class Frame:
    """A frame that gives columns by their keys."""

    def __init__(self, columns: dict[Any, Any]) -> None:
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, key: Any) -> Any:
        return self._columns[key]


class ArrowTable(Frame):
    """Arrow calls the arrays columns, and the names something else."""

    def __init__(self, columns: dict[Any, Any]) -> None:
        super().__init__(columns)
        self.column_names = list(columns)
        self.columns = list(columns.values())


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2], "b": ("x", "y")},
        {"a": array("i", [1, 2]), "b": iter("xy")},
        Frame({"a": Series([1, 2]), "b": Series(["x", "y"], "to_list")}),
        ArrowTable({"a": Series([1, 2], "to_pylist"), "b": Series(["x", "y"])}),
        Table(("a", "b"), ([1, 2], ["x", "y"])),
    ],
)
def test_what_has_columns_is_a_table(value: Any) -> None:
    table = as_table(value)
    assert (table.names, table.row_count) == (("a", "b"), 2)
    assert [list(cells) for cells in table.columns] == [[1, 2], ["x", "y"]]
    assert table.place(1, 1) == "row 1, column b"


def test_names_that_are_not_text_become_text() -> None:
    assert as_table(Frame({0: [1], 1: [2]})).names == ("0", "1")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([[1, 2]], "list is not a table"),
        ("rows.csv", "await CSVDataset.create"),
        (Path("rows.csv"), "await CSVDataset.create"),
        ({"a": [1, 2], "b": [1]}, 'column "b" has 1 rows, column "a" 2'),
        ({"a": [[1, 2]]}, 'column "a" holds lists'),
        (Frame({1: [1], "1": [2]}), 'two columns are called "1"'),
        ({"a": 1.5}, 'column "a" is 1.5'),
        ({"a": "xyz"}, "column \"a\" is 'xyz'"),
    ],
)
def test_what_is_not_a_table_is_refused(value: Any, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        as_table(value)
    assert caught.value.code == "NNM702"


def test_columns_are_found_by_name_or_position() -> None:
    table = Table(("width", "height"), ([], []))
    assert [table.index(column) for column in ("height", 0, -1)] == [1, 0, 1]
    for column in ("heigth", 2, -3):
        with pytest.raises(DataError) as caught:
            table.index(column)
        assert caught.value.code == "NNM710"
    with pytest.raises(DataError) as caught:
        table.index("heigth")
    assert caught.value.hint == 'did you mean "height"?'


def read(cells: list[Any], numeric: bool | None = None) -> Column:
    return read_column(Table(("x",), (cells,), first_row=2), 0, numeric)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "-2.5", " 3e2 ", ".5"], [1, -2.5, 300, 0.5]),
        ([1, 2.5, True], [1, 2.5, 1]),
        (["1", "01"], [1, 1]),
        (["1,5", "2,5"], [1.5, 2.5]),
        ([1, "2"], [1, 2]),
    ],
)
def test_numbers(cells: list[Any], expected: list[float]) -> None:
    column = read(cells)
    assert column.numbers is not None
    assert (list(column.numbers), column.words, column.missing) == (expected, (), [])


@pytest.mark.parametrize("like", [NumberFormat(","), None])
def test_the_word_is_blamed_and_not_the_numbers_beside_it(like: NumberFormat | None) -> None:
    table = Table(("area",), (["50,5", "abc", "x"],), first_row=2)
    with pytest.raises(DataError, match='row 3, column area is "abc", not a number') as caught:
        read_column(table, 0, True, like)
    assert "decimal point" not in caught.value.hint
    points = Table(("area",), (["50.5", "abc"],), first_row=2)
    with pytest.raises(DataError, match='row 3, column area is "abc", not a number'):
        read_column(points, 0, True, like)


@pytest.mark.parametrize("empty", ["", "  ", "NA", "nan", "NULL", "None", "?", None, math.nan])
def test_missing_numbers(empty: Any) -> None:
    column = read(["1", empty, "2"])
    assert column.numbers is not None
    assert column.missing == [1]
    assert math.isnan(column.numbers[1])


@pytest.mark.parametrize("word", sorted(MISSING - {""}))
def test_a_word_among_words_is_a_word(word: str) -> None:
    assert read(["red", word, ""]).words == ["red", word, None]


@pytest.mark.parametrize("empty", [None, math.nan, "", " "])
def test_missing_words(empty: Any) -> None:
    column = read(["red", empty, "blue"])
    assert (column.words, column.missing, column.numbers) == (["red", None, "blue"], [1], None)


@pytest.mark.parametrize(
    "cells",
    [
        ["a", "1", "b", "2"],  # half of them are not a majority
        ["1_000", "2_000"],
        ["007", "12"],
        ["1.2.3", "1.2.4"],
        ["0x10", "ten"],
        ["", ""],
    ],
)
def test_words(cells: list[str]) -> None:
    column = read(cells)
    assert column.numbers is None
    assert len(column.words) == len(cells)


def test_dates_are_read_as_days() -> None:
    column = read(["1970-01-03", "1970-01-02 18:00", ""])
    assert list(column.numbers or ())[:2] == [2.0, 1.75]
    assert column.missing == [2]
    assert read(["2024-01-02"], numeric=False).words == ["2024-01-02"]


@pytest.mark.parametrize("cells", [["2024-01-02T10:30", "1"], ["2024-01-02"] * 20 + ["1.1"]])
def test_what_is_not_a_date_among_dates_is_a_mistake(cells: list[str]) -> None:
    with pytest.raises(DataError, match=rf'NNM713: .* is "{cells[-1]}", not a date'):
        read(cells)


def test_dates_of_arrays_are_not_nanoseconds() -> None:
    np = pytest.importorskip("numpy")
    for unit in ("D", "ns"):
        days = np.array(["1970-01-02", "1970-01-03"], f"datetime64[{unit}]")
        assert list(read_column(as_table({"day": days}), 0).numbers or ()) == [1.0, 2.0]


def test_numbers_are_taken_as_words_where_asked_for() -> None:
    assert read(["1", "02", ""], numeric=False).words == ["1", "02", None]


@pytest.mark.parametrize(
    ("cells", "numeric", "words", "hint"),
    [
        (["1", "two", "3"], None, 'row 3, column x is "two", not a number', "categorical"),
        (["1.5", "2,5", "3"], None, "2,5 and 1.5 do not have the same decimal mark", "one way"),
        (["a", "b"], True, 'row 2, column x is "a"', "categorical"),
        (["1", "2", "1_000"], None, 'row 4, column x is "1_000"', "categorical"),
    ],
)
def test_a_word_among_numbers_is_a_mistake(
    cells: list[str], numeric: bool | None, words: str, hint: str
) -> None:
    with pytest.raises(DataError, match=words) as caught:
        read(cells, numeric)
    assert caught.value.code == "NNM713"
    assert hint in caught.value.hint


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e39", math.inf, -1e39])
def test_numbers_beyond_float32_are_refused(cell: Any) -> None:
    with pytest.raises(DataError, match="row 3, column x is") as caught:
        read(["1", cell, "2"])
    assert caught.value.code == "NNM707"


def test_rows_of_a_column() -> None:
    numbers = read(["1", "", "3", ""]).take([0, 2, 3])
    assert numbers.numbers is not None
    assert list(numbers.numbers)[:2] == [1, 3]
    assert numbers.missing == [2]
    words = read(["a", "", "c"]).take([1, 2])
    assert (words.words, words.missing, words.get_words([0, 1])) == ([None, "c"], [0], ["c"])


@pytest.mark.parametrize(
    ("cell", "number"), [("1", 1.0), ("x", None), ("1_0", None), (None, math.nan), ([], None)]
)
def test_as_number(cell: Any, number: float | None) -> None:
    assert as_number(cell) == pytest.approx(number, nan_ok=True)
