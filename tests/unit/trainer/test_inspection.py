"""`NNModel.inspect`: what some rows make of a model, before, during and after a training."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from webnnm import DataError, Dataset, EpochRecord, NNModel, StreamDataset, inspect_model
from webnnm.data.field import Field

SOURCE = """
m:input shape=[2]; m:output shape=[2];
m:layers matmul(w, shape=[3]), add(b), tanh(), dropout(0.5), matmul(u), softmax();
"""
ROWS = [[0.5, -1.0], [1.0, 0.25], [-0.5, 0.75], [0.1, 0.2], [-1.0, -0.3], [0.9, -0.6]]
CLASSES = [0, 1, 0, 1, 0, 1]


async def model_of(dataset: Any = None, **settings: Any) -> NNModel:
    dataset = dataset or Dataset(ROWS, CLASSES, split=(1, 0, 0))
    return await NNModel.create(
        source=SOURCE, dataset=dataset, backend="numpy", seed=3, log=lambda _: None, **settings
    )


async def test_activations_are_those_of_predictions_and_gradients_those_of_the_loss() -> None:
    model = await model_of()
    found = await inspect_model(model)
    assert found.rows == 6
    assert list(found.activations) == [layer.label for layer in model.state.network.layers]
    last = found.activations[model.state.network.layers[-1].label]
    assert last.shape == (6, 2)
    predicted = (await model.predict(ROWS)).tolist()
    assert last.tolist() == [pytest.approx(row) for row in predicted]
    # Dropout lets everything through, as when a model predicts.
    by_name = {label.rstrip("0123456789"): each for label, each in found.activations.items()}
    assert by_name["dropout"].tolist() == by_name["tanh"].tolist()
    assert {*found.gradients} == {"w1", "b1", "u1"} == {*found.weights}
    before = {name: list(array.values()) for name, array in found.weights.items()}
    for name, gradient in found.gradients.items():
        assert gradient.shape == found.weights[name].shape
        for place, analytic in enumerate(gradient.values()):
            losses: list[float] = []
            for change in (-1e-2, 1e-2):
                moved = [*before[name]]
                moved[place] += change
                model.state.parameters.set(name, moved)
                losses.append((await inspect_model(model)).loss)
            model.state.parameters.set(name, before[name])
            assert (losses[1] - losses[0]) / 2e-2 == pytest.approx(analytic, abs=1e-4)


async def test_a_training_can_be_looked_at_epoch_by_epoch() -> None:
    model = await model_of()
    seen: dict[int, Any] = {}

    async def look(record: EpochRecord) -> None:
        seen[record.epoch] = await inspect_model(model, rows=4)

    await model.train(
        epochs=3, on_epoch=look, restore_best=False, schedule="constant", progress="off"
    )
    assert [*seen] == [1, 2, 3]
    weights = [found.weights["w1"].tolist() for found in seen.values()]
    assert weights[0] != weights[1] != weights[2]
    assert weights[2] == model.state.parameters.value("w1").tolist()
    assert all(found.rows == 4 for found in seen.values())


async def test_nothing_stays_on_the_device() -> None:
    model = await model_of()
    await model.predict(ROWS)
    before = model.memory()
    await inspect_model(model)
    assert model.memory() == before


async def test_the_first_rows_of_a_stream_are_taken() -> None:
    async def source(subset: str, epoch: int) -> AsyncIterator[Any]:
        for row, label in zip(ROWS, CLASSES, strict=True):
            yield {"x": row}, {"y": label}

    stream = StreamDataset(
        source,
        rows={"training": 6},
        inputs={"x": Field((2,), "float32")},
        outputs={"y": Field((), "int32", kind="classes", classes=2)},
    )
    model = await model_of(stream)
    found = await inspect_model(model, rows=2)
    predicted = (await model.predict(ROWS[:2])).tolist()
    last = found.activations[model.state.network.layers[-1].label]
    assert last.tolist() == [pytest.approx(row) for row in predicted]


async def test_what_cannot_be_looked_at_is_told() -> None:
    model = await model_of()
    cases: list[tuple[dict[str, Any], str]] = [
        ({"rows": 0}, "NNM704"),
        ({"subset": "testing"}, "NNM705"),
    ]
    for given, code in cases:
        with pytest.raises(DataError) as error:
            await inspect_model(model, **given)
        assert error.value.code == code
    training = model.train(epochs=50, progress="off", seeds=0)
    with pytest.raises(DataError) as error:
        await inspect_model(model)
    assert error.value.code == "NNM712"
    await training.stop()
    without = await NNModel.create(source=SOURCE, backend="numpy", log=lambda _: None)
    with pytest.raises(DataError) as error:
        await inspect_model(without)
    assert error.value.code == "NNM714"
