"""Trained models take datasets whose numbers mean what those of the training meant."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import DataError, Dataset, LabeledTextDataset, NNModel, TableDataset

TEXT = "m:input shape=[2]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"
NUMBER = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
ROWS = [[float(n), float(n * n % 7)] for n in range(30)]
WORDS = [("low", "mid", "top")[n % 3] for n in range(30)]


async def train(text: str, dataset: Any, log: list[str]) -> NNModel:
    """Return a model that was trained on a dataset for a moment."""
    model = await NNModel.create(
        source=text, dataset=dataset, backend="numpy", review=False, log=log.append
    )
    await model.train(epochs=1, progress="off")
    log.clear()
    return model


async def bind_again(text: str, dataset: Any, other: Any) -> list[str]:
    """Return what is logged where a model, and its snapshot, take another dataset."""
    log: list[str] = []
    async with await train(text, dataset, log) as model:
        snapshot = await model.save()
        model.set_dataset(other)
        lines = [*log]
    log.clear()
    async with await NNModel.load(
        snapshot, dataset=other, backend="numpy", review=False, log=log.append
    ):
        assert [line for line in log if "parameters" not in line] == lines
    return lines


@pytest.mark.parametrize("words", [["mid", "top"], ["top", "mid", "low"], ["low", "top"]])
async def test_classes_keep_their_places(words: list[str]) -> None:
    rows = [(row, word) for row, word in zip(ROWS, WORDS, strict=True) if word in words]
    other = Dataset(*zip(*rows, strict=True), labels=words)
    with pytest.raises(DataError, match=r"NNM706: .*the model was trained with") as caught:
        await bind_again(TEXT, Dataset(ROWS, WORDS), other)
    assert caught.value.hint == "the order of the training is low, mid, top"


async def test_fewer_rows_with_the_classes_of_the_training_are_taken() -> None:
    rows = [row for row, word in zip(ROWS, WORDS, strict=True) if word != "low"]
    words = [word for word in WORDS if word != "low"]
    other = Dataset(rows, words, labels=["low", "mid", "top"])
    assert await bind_again(TEXT, Dataset(ROWS, WORDS), other) == []


async def test_entirely_other_classes_are_taken_with_a_word() -> None:
    other = Dataset(ROWS, [f"new {word}" for word in WORDS])
    (line,) = await bind_again(TEXT, Dataset(ROWS, WORDS), other)
    assert line == '"m": new low, new mid, new top take the places of low, mid, top'


async def test_columns_and_categories_keep_their_places() -> None:
    table = {"a": [*range(10)], "b": [n % 3 for n in range(10)], "y": [10.0 * n for n in range(10)]}
    swapped = {name: table[name] for name in ("b", "a", "y")}
    with pytest.raises(DataError, match='NNM710: "m": feature 0 of the dataset is "b"'):
        await bind_again(NUMBER, TableDataset(table), TableDataset(swapped))
    assert await bind_again(NUMBER, TableDataset(table), TableDataset(swapped, ["a", "b"])) == []
    answers = [float(n) for n in range(10)]
    before = TableDataset({"c": ["x", "y"] * 5, "y": answers})
    after = TableDataset({"c": ["y", "z"] * 5, "y": answers})
    with pytest.raises(DataError, match='"c=y", but the model was trained with "c=x"'):
        await bind_again(NUMBER, before, after)


async def test_texts_keep_the_tokens_of_the_training() -> None:
    text = (
        "m:input int32 shape=[] sequence=true; m:output shape=[2];"
        "m:layers bincount(size=9), matmul(w, shape=[2]), softmax();"
    )
    first, second = (
        LabeledTextDataset({"text": texts, "label": ["p", "n"] * 4}, tokens="words", length=2)
        for texts in (["good film", "bad film"] * 4, ["fine book", "poor book"] * 4)
    )
    with pytest.raises(DataError, match=r"NNM702: .*other tokens") as caught:
        await bind_again(text, first, second)
    assert "tokens=" in caught.value.hint


async def test_standardised_numbers_stay_so() -> None:
    far = [[1000 + 10 * a, b] for a, b in ROWS]
    scaled, raw = Dataset(far, WORDS, standardize=True), Dataset(far, WORDS)
    with pytest.raises(DataError, match=r"NNM704: input .* was standardised") as caught:
        await bind_again(TEXT, scaled, raw)
    assert caught.value.hint == "standardize=True"
    (line,) = await bind_again(TEXT, raw, scaled)
    assert "is standardised, and was not" in line
    moved = Dataset([[a + 200, b] for a, b in far], WORDS, standardize=True)
    (line,) = await bind_again(TEXT, scaled, moved)
    assert "other means and deviations" in line
    assert await bind_again(TEXT, scaled, Dataset(far, WORDS, standardize=True)) == []
    prices = [1e6 + 1e3 * n for n in range(30)]
    with pytest.raises(DataError, match="NNM704: output") as caught:
        await bind_again(
            NUMBER, Dataset(ROWS, prices, standardize_targets=True), Dataset(ROWS, prices)
        )
    assert caught.value.hint == "standardize_targets=True"
