"""Suggested networks for pictures: they fit the dataset, and their reviews have nothing to say."""

from __future__ import annotations

import random
from typing import Any

import pytest

from webnnm import Dataset, ImageDataset, NNModel, suggest_image_model
from webnnm.core.errors import DataError

ALL: dict[str, Any] = {"split": (0.8, 0, 0.2)}


def pictures(shape: tuple[int, ...], labels: Any, **options: Any) -> ImageDataset:
    """Return pictures, every second one of which is brighter."""
    draw, size = random.Random(0), len(labels)
    pixels = bytearray()
    for row in range(size):
        low = 120 * (row % 2)
        count = 1
        for side in shape:
            count *= side
        pixels += bytes(draw.randrange(low, low + 100) for _ in range(count))
    return ImageDataset(bytes(pixels), labels, shape=shape, **ALL, **options)


@pytest.mark.parametrize(
    ("shape", "stages"), [((8, 8), 1), ((12, 20, 3), 1), ((16, 16, 1), 2), ((33, 32, 3), 3)]
)
async def test_networks_learn_by_defaults(shape: Any, stages: int) -> None:
    data = pictures(shape, ["dark", "bright"] * 20)
    text = suggest_image_model(data, "seen")
    assert text.count("patterns(filters") == stages
    assert "seen:output shape=[2];" in text and "softmax" in text
    async with await NNModel.create(source=text, dataset=data, log=lambda _: None) as model:
        await model.train(epochs=25, progress="off")
        assert (await model.test()).accuracy == 1


def test_outputs_follow_the_labels() -> None:
    labels = [[0, 1, 1], [1, 0, 1]] * 10
    several = suggest_image_model(pictures((8, 8), labels, kinds={"model": "multilabel"}))
    assert "output shape=[3];" in several and "sigmoid()" in several
    quantity = suggest_image_model(pictures((8, 8), [0.5, 1.5] * 10))
    assert "output shape=[1];" in quantity and quantity.count("add(b2);") == 1


def test_other_datasets_are_refused() -> None:
    with pytest.raises(DataError, match="NNM702: dataset has inputs and outputs"):
        suggest_image_model(Dataset([[1.0], [2.0]], [0.5, 1.5], split=(1, 0, 0)))
