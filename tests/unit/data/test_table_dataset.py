"""Tables as datasets: options and cells that cannot be taken are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import DataError, NNModel, TableDataset

# Options and cells that are refused by name.


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"split": 0.8}, "split is 0.8"),
        ({"split": "abc"}, "split is 'abc'"),
        ({"split": None}, "split is None"),
        ({"split": [[0.5], [], []]}, "training is [0.5]"),
        ({"split": ["ab", [], []]}, "training is "),
        ({"split": [float("nan"), 0, 1]}, "a part that is negative or not finite"),
        ({"split": [float("inf"), 0, 0]}, "a part that is negative or not finite"),
        ({"standardize": [0]}, "standardize is [0]"),
        ({"standardize": 3.5}, "standardize is 3.5"),
        ({"standardize": None}, "standardize is None"),
        ({"seed": [1]}, "seed is [1]"),
        ({"seed": "x"}, "seed is 'x'"),
        ({"features": 2.5}, "features is 2.5"),
        ({"features": [None]}, "features is [None]"),
        ({"categorical": [[]]}, "categorical is [[]]"),
        ({"kinds": {}}, "a TableDataset determines kinds itself"),
        ({"labels": ["a"]}, "a TableDataset determines labels itself"),
        ({"names": 2.5}, "names is 2.5"),
    ],
)
def test_options_are_checked_when_the_dataset_is_made(options: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError) as caught:
        TableDataset({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]}, **options)
    assert caught.value.code == "NNM704"
    assert words in caught.value.message and caught.value.hint


def test_half_a_character_is_refused_where_it_is_read() -> None:
    """No snapshot could hold it."""
    with pytest.raises(DataError, match="row 1, column b has an unpaired surrogate") as caught:
        TableDataset({"a": [1.0, 2.0], "b": ["x", "y\ud800"]})
    assert caught.value.code == "NNM713"
    with pytest.raises(DataError, match="the name of column 0 has an unpaired surrogate"):
        TableDataset({"a\udfff": [1.0, 2.0], "b": ["x", "y"]})


def test_numbers_beyond_all_floats_are_told_with_their_place() -> None:
    with pytest.raises(DataError, match="row 1, column a is"):
        TableDataset({"a": [1, 10**400], "b": ["x", "y"]})


async def test_a_column_of_texts_that_only_training_knows_is_a_finding() -> None:
    moods = ["good", "bad"] * 10
    table = {"sentence": [f"sentence {k}" for k in range(20)], "mood": moods}
    source = "m:input shape=[14]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
    dataset = TableDataset(table)
    model = await NNModel.create(source=source, dataset=dataset, log=lambda _: None)
    (found,) = [finding for finding in model.review() if finding.id == "E613"]
    assert "sentence (100% of the rows)" in found.message
    dataset = TableDataset({**table, "sentence": moods})
    source = source.replace("14", "2")
    model = await NNModel.create(source=source, dataset=dataset, log=lambda _: None)
    assert not [finding for finding in model.review() if finding.id == "E613"]


def test_standardisation_leaves_a_table_of_words_alone() -> None:
    """So it does with columns of 0 and 1 beside them."""
    words: dict[str, Any] = {"a": ["x", "y", "z"] * 10, "y": ["u", "v", "v"] * 10}
    for table in (words, {**words, "b": [0, 1] * 15}):
        data = TableDataset(table, label="y", standardize=True)
        assert set(data.arrays("full")[0]["model"].values()) == {0.0, 1.0}
        assert not data.standardization
