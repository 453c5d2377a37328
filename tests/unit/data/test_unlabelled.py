"""Rows without a label: they count in no loss and no metric, and words are labels."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from webnnm import DataError, Dataset, NNModel

DRAW = Random(5)
X = [[DRAW.gauss(0, 1) for _ in range(3)] for _ in range(60)]
Y = [int(row[0] > 0) for row in X]
GAPS = [-1 if n % 5 == 0 else y for n, y in enumerate(Y)]
KEPT = [n for n in range(60) if GAPS[n] >= 0]
PARTS = [[*range(40)], [*range(40, 50)], [*range(50, 60)]]
NAMES = ["no", "yes"]
SOURCE = "m:input shape=[3]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"


def whole() -> Dataset:
    return Dataset(X, GAPS, labels=NAMES, split=PARTS, batch_size=60)


def without() -> Dataset:
    parts = [[KEPT.index(row) for row in part if row in KEPT] for part in PARTS]
    rows = [X[row] for row in KEPT], [Y[row] for row in KEPT]
    return Dataset(*rows, labels=NAMES, split=parts, batch_size=60)


def in_words() -> Dataset:
    words = [None if y < 0 else NAMES[y] for y in GAPS]
    return Dataset(X, words, split=PARTS, batch_size=60)


async def course(dataset: Dataset, backend: str) -> list[Any]:
    """Train and test a model; return all losses and counts."""
    settings: dict[str, Any] = {"backend": backend, "log": lambda _: None, "seed": 1}
    async with await NNModel.create(source=SOURCE, dataset=dataset, **settings) as model:
        history = await model.train(epochs=3, optimizer="adam", lr=0.1, progress="off")
        result = await model.test()
    losses = [loss for epoch in history.epochs for loss in (epoch.loss, epoch.val_loss)]
    return [*losses, result.loss, result.accuracy, *map(float, sum(result.counts, ()))]


@pytest.mark.parametrize("backend", ["numpy", "onnxruntime", "jax"])
async def test_rows_without_a_label_do_not_count(backend: str) -> None:
    pytest.importorskip(backend)
    expected = await course(without(), backend)
    assert await course(whole(), backend) == pytest.approx(expected, rel=1e-5)
    assert await course(in_words(), backend) == pytest.approx(expected, rel=1e-5)


def test_words_are_classes() -> None:
    data = Dataset([[1.0], [2.0], [3.0]], ["b", "a", "b"], split=(1, 0, 0))
    assert (data.labels(), data.arrays("full")[1]["model"].tolist()) == (["a", "b"], [1, 0, 1])
    data = Dataset([[1.0], [2.0]], ["b", ""], labels=["c", "b"], split=(1, 0, 0))
    assert data.arrays("full")[1]["model"].tolist() == [1, -1]
    data = Dataset({"x": [[1.0], [2.0]]}, {"k": ["b", "a"], "n": [1.5, 2.5]}, split=(1, 0, 0))
    assert (data.labels("k"), data.labels("n")) == (["a", "b"], None)
    with pytest.raises(DataError, match='NNM706: output "model": row 1 is "d"'):
        Dataset([[1.0], [2.0]], ["b", "d"], labels=["c", "b"])


def test_words_of_numpy_are_classes() -> None:
    np = pytest.importorskip("numpy")
    data = Dataset(np.zeros((3, 1)), np.array(["b", "a", "b"]), split=(1, 0, 0))
    assert data.labels() == ["a", "b"]
    data = Dataset(np.zeros((2, 1)), np.array(["b", None], dtype=object), split=(1, 0, 0))
    assert data.arrays("full")[1]["model"].tolist() == [0, -1]
