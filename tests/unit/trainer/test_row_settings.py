"""Settings that follow from the rows and the network: weight decay of linear models."""

from __future__ import annotations

from random import Random

import pytest

from webnnm import Dataset, NNModel

INPUT = "prices:input shape=[1]; prices:output shape=[1]; prices:layers"
LINEAR = f"{INPUT} matmul(w), add(b);"
HIDDEN = f"{INPUT} matmul(w, shape=[8]), add(b), relu(), matmul(w), add(b);"


@pytest.fixture
def prices() -> Dataset:
    """Twenty prices by area, in units of their own."""
    chance = Random(0)
    areas = [[chance.uniform(30, 150)] for _ in range(20)]
    targets = [[2.5 * area + 40 + chance.gauss(0, 10)] for (area,) in areas]
    return Dataset(areas, targets, split=(1, 0, 0))


async def test_a_linear_model_of_a_few_rows_reaches_targets_in_their_own_units(
    prices: Dataset,
) -> None:
    model = await NNModel.create(source=LINEAR, dataset=prices, backend="numpy", seed=0)
    history = await model.train()
    assert history.settings["weight_decay"] == 0.025
    assert history.chosen["weight_decay"] == "default for a linear model of 20 rows"
    assert (await model.test("training", baselines=False)).r2 > 0.8


async def test_only_the_default_of_linear_models_is_lower(prices: Dataset) -> None:
    model = await NNModel.create(source=HIDDEN, dataset=prices, backend="numpy")
    assert (await model.train(epochs=1)).settings["weight_decay"] == 0.25
    linear = await NNModel.create(source=LINEAR, dataset=prices, backend="numpy")
    history = await linear.train(epochs=1, weight_decay=0.1)
    assert history.settings["weight_decay"] == 0.1


async def test_a_default_that_no_row_decides_has_no_reason() -> None:
    row = Dataset([[1.0, 2.0]], [3.0], split=(1, 0, 0))
    text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
    model = await NNModel.create(source=text, dataset=row, backend="numpy", review=False)
    history = await model.train(epochs=1)
    assert not [reason for reason in history.chosen.values() if reason.endswith("for ")]
