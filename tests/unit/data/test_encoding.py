"""Encoders: categories, classes, unknown and missing words, records."""

from __future__ import annotations

import json
import math
from array import array

import pytest

from webnnm.core.errors import DataError
from webnnm.data.tables.column_reading import Column
from webnnm.data.tables.encoding import (
    LabelEncoder,
    NumberEncoder,
    OneHotEncoder,
    from_dict,
    sort_categories,
    to_dict,
)


def words(*cells: str | None) -> Column:
    return Column("colour", None, cells, [row for row, cell in enumerate(cells) if cell is None])


def rows(columns: list[array[float]]) -> list[list[float]]:
    return [list(row) for row in zip(*columns, strict=True)]


def test_one_hot() -> None:
    encoder = OneHotEncoder.fit("colour", ["red", "blue", "red"])
    assert encoder.categories == ("blue", "red")
    assert rows(encoder.encode(words("red", "blue"))) == [[0, 1], [1, 0]]


def test_an_unknown_word_gives_zeros_or_an_error() -> None:
    assert rows(OneHotEncoder("colour", ("blue", "red")).encode(words("green"))) == [[0, 0]]
    strict = OneHotEncoder.fit("colour", ["purple", "red"], unknown="error")
    with pytest.raises(DataError, match='row 1, column colour is "purpel"') as caught:
        strict.encode(words("red", "purpel"))
    assert (caught.value.code, caught.value.hint) == ("NNM706", 'did you mean "purple"?')
    with pytest.raises(DataError) as caught:
        strict.encode(words("x"))
    assert caught.value.hint == "known: purple, red"


def test_another_treatment_of_unknown_words_is_refused() -> None:
    with pytest.raises(DataError) as caught:
        OneHotEncoder.fit("colour", ["red"], unknown="ignore")  # type: ignore[arg-type]
    assert caught.value.code == "NNM704"


def test_missing_words_are_filled_if_that_was_fitted() -> None:
    encoder = OneHotEncoder("colour", ("blue", "red"))
    with pytest.raises(DataError, match="row 1, column colour is empty") as caught:
        encoder.encode(words("red", None))
    assert caught.value.code == "NNM713"
    filled = encoder.with_fill([0.25, 0.75])
    assert rows(filled.encode(words("red", None))) == [[0, 1], [0.25, 0.75]]


def test_missing_numbers_are_filled_if_that_was_fitted() -> None:
    column = Column("age", array("d", [1, math.nan]), (), [1])
    with pytest.raises(DataError, match="row 1, column age is empty") as caught:
        NumberEncoder("age").encode(column)
    assert caught.value.code == "NNM713"
    assert list(NumberEncoder("age").with_fill([0.0]).encode(column)[0]) == [1, 0]
    assert list(NumberEncoder("age", 7.5).encode(column)[0]) == [1, 7.5]


def test_too_many_words_are_not_categories() -> None:
    many = [f"row {number}" for number in range(1001)]
    assert len(OneHotEncoder.fit("id", many[:1000]).categories) == 1000
    with pytest.raises(DataError, match="column id has 1001 different words") as caught:
        OneHotEncoder.fit("id", many)
    assert caught.value.code == "NNM713"
    with pytest.raises(DataError, match="column id has 1001 different labels") as caught:
        LabelEncoder.fit("id", many)
    assert caught.value.code == "NNM706"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["b", "a", "B", "b"], ("B", "a", "b")),
        (["é", "z", "名"], ("z", "é", "名")),
        (["10", "9", "-1"], ("-1", "9", "10")),
        (["10", "9", "x"], ("10", "9", "x")),
        (["10", "9", "nan"], ("10", "9", "nan")),
        (["2.5", "10"], ("2.5", "10")),
    ],
)
def test_words_are_sorted_as_numbers_or_by_code_point(
    given: list[str], expected: tuple[str, ...]
) -> None:
    assert sort_categories(given) == expected


def test_labels() -> None:
    encoder = LabelEncoder.fit("species", ["virginica", "setosa", "versicolor", "setosa"])
    assert encoder.classes == ("setosa", "versicolor", "virginica")
    assert encoder.encode(["virginica", "setosa"]) == [2, 0]
    assert encoder.decode([2, 0]) == ["virginica", "setosa"]


def test_an_unknown_label_is_an_error() -> None:
    encoder = LabelEncoder("species", ("setosa", "virginica"))
    with pytest.raises(DataError, match='row 1, column species is "virginca"') as caught:
        encoder.encode(["setosa", "virginca"])
    assert (caught.value.code, caught.value.hint) == ("NNM706", 'did you mean "virginica"?')
    for number in (-1, 2):
        with pytest.raises(DataError, match=f"class {number} of 0 … 1") as caught:
            encoder.decode([number])
        assert caught.value.code == "NNM706"


def test_a_hint_lists_some_of_many_labels() -> None:
    encoder = LabelEncoder("digit", tuple(map(str, range(10))))
    with pytest.raises(DataError) as caught:
        encoder.encode(["twelve"])
    assert caught.value.hint == "known: 0, 1, 2, 3, 4, 5, 6, 7 … (10 in all)"


def test_one_label_is_refused() -> None:
    with pytest.raises(DataError, match='column y has the same label in all rows, "a"') as caught:
        LabelEncoder.fit("y", ["a", "a"])
    assert caught.value.code == "NNM706"


@pytest.mark.parametrize(
    "encoder",
    [
        NumberEncoder("age"),
        NumberEncoder("age", 0.0),
        OneHotEncoder("colour", ("blue", "red"), "error", (0.5, 0.5)),
        OneHotEncoder("colour", ()),
        LabelEncoder("species", ("setosa", "virginica")),
    ],
)
def test_encoders_are_kept_as_json(encoder: NumberEncoder | OneHotEncoder | LabelEncoder) -> None:
    assert from_dict(json.loads(json.dumps(to_dict(encoder)))) == encoder
