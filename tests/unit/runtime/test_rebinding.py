"""Trained models take datasets whose numbers mean what those of the training meant."""

from __future__ import annotations

import math
from typing import Any

import pytest

from webnnm import DataError, Dataset, LabeledTextDataset, NNModel, SeriesDataset, TableDataset

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
    with pytest.raises(DataError, match=r"NNM706: .* when the model was trained") as caught:
        await bind_again(TEXT, Dataset(ROWS, WORDS), other)
    assert "order of the training: low, mid, top" in caught.value.hint


async def test_fewer_rows_with_the_classes_of_the_training_are_taken() -> None:
    rows = [row for row, word in zip(ROWS, WORDS, strict=True) if word != "low"]
    words = [word for word in WORDS if word != "low"]
    other = Dataset(rows, words, labels=["low", "mid", "top"])
    assert await bind_again(TEXT, Dataset(ROWS, WORDS), other) == []


async def test_new_names_of_classes_are_logged() -> None:
    other = Dataset(ROWS, [f"new {word}" for word in WORDS])
    (line,) = await bind_again(TEXT, Dataset(ROWS, WORDS), other)
    assert line == '"m": class new low, new mid, new top in place of low, mid, top'
    renamed = Dataset(ROWS, [word.replace("top", "up") for word in WORDS])
    (line,) = await bind_again(TEXT, Dataset(ROWS, WORDS), renamed)
    assert line == '"m": class up in place of top'


async def test_columns_and_categories_keep_their_places() -> None:
    table = {"a": [*range(10)], "b": [n % 3 for n in range(10)], "y": [10.0 * n for n in range(10)]}
    swapped = {name: table[name] for name in ("b", "a", "y")}
    with pytest.raises(
        DataError, match='NNM710: "m": feature 0 of the dataset is "b", which was feature 1'
    ):
        await bind_again(NUMBER, TableDataset(table), TableDataset(swapped))
    assert await bind_again(NUMBER, TableDataset(table), TableDataset(swapped, ["a", "b"])) == []
    answers = [float(n) for n in range(10)]
    before = TableDataset({"c": ["x", "y"] * 5, "y": answers})
    after = TableDataset({"c": ["y", "z"] * 5, "y": answers})
    with pytest.raises(DataError, match='0 of the dataset is "c=y", which was feature 1'):
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


async def test_a_table_is_prepared_as_that_of_the_training() -> None:
    table = {
        "size": [20.0, 50.0, 80.0, 110.0] * 6,
        "kind": ["old", "new", "new", "fine"] * 6,
        "price": ["low", "mid", "top", "top"] * 6,
    }
    data = TableDataset(table, standardize=True)
    text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"
    log: list[str] = []
    async with await train(text, data, log) as model:
        await model.train(epochs=60, progress="off")
        expected = (await model.predict({"size": [50.0], "kind": ["new"]})).tolist()
        snapshot = await model.save()
    log.clear()
    part = {
        "price": ["top", "mid", None],
        "kind": ["fine", "new", "new"],
        "size": [110.0, 50.0, 80.0],
    }
    async with await NNModel.load(snapshot, backend="numpy", log=log.append) as model:
        rows = model.prepare_dataset(part)
        assert log[-1] == "1 row without price is left out"
        model.set_dataset(rows)
        assert rows.size("testing") == 2
        assert (await model.test()).outputs["m"].accuracy == 1
        assert (await model.predict({"size": [50.0], "kind": ["new"]})).tolist() == expected
        # What is learnt further, and saved, still knows columns, words and classes.
        model.set_dataset(model.prepare_dataset(table, split=(0.8, 0, 0.2)))
        await model.train(epochs=1, progress="off")
        again = await model.save()
        for options in ({"missing": "fill"}, {"label": "cost"}):
            with pytest.raises(DataError, match=r"NNM704|NNM710"):
                model.prepare_dataset(part, **options)
        with pytest.raises(DataError, match="NNM706"):
            model.prepare_dataset({**part, "price": ["top", "dear", "mid"]})
    async with await NNModel.load(again, backend="numpy", log=log.append) as model:
        prediction = await model.predict({"kind": ["new"], "size": [50.0]})
        assert prediction.labels == ("low", "mid", "top") and prediction.classes == ["mid"]
        assert model.prepare_dataset(part).size() == 2


async def test_a_table_of_a_series_is_prepared_as_that_of_the_training() -> None:
    sales = [float(n % 5) for n in range(60)]
    data = SeriesDataset(sales, window=5)
    text = "m:input shape=[5, 1]; m:output shape=[1]; m:layers reshape([5]), matmul(w), add(b);"
    async with await train(text, data, []) as model:
        rows = model.prepare_dataset(sales[:40])
        model.set_dataset(rows)
        assert rows.size("testing") > 0 and math.isfinite((await model.test()).loss)
