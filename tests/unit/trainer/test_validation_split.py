"""Some of the training rows can be for validation, as long as a training goes on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.training.trained import create
from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset

np = pytest.importorskip("numpy")

TEXT = "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"


def data(rows: int = 100, **settings: Any) -> Dataset:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(rows, 2)).astype("float32")
    return Dataset(x, (x[:, 0] > 0.5).astype("int32"), **settings)


def test_held_back_rows_are_of_all_classes_and_no_longer_trained() -> None:
    whole = data()
    part = whole.held_back(0.2, seed=1)
    kept, held = part.rows("training"), part.rows("validation")
    assert sorted([*kept, *held]) == sorted(whole.rows("training"))
    assert len(held) == 14
    assert part.rows("testing") == whole.rows("testing")
    counts = [[*whole.arrays("full")[1]["model"].rows(held).values()].count(c) for c in (0, 1)]
    assert min(counts) >= 3
    assert whole.size("validation") == 0


async def test_a_training_validates_and_the_dataset_is_as_before() -> None:
    rows = data()
    model = await create(TEXT, rows)
    history = await model.train(epochs=3, validation_split=0.2)
    assert all(record.val_loss is not None for record in history.epochs)
    assert model.state.binding().dataset is rows
    assert all(finding.id != "E607" for finding in history.findings)
    model.close()


@pytest.mark.alike
async def test_a_resumed_training_holds_the_same_rows_back() -> None:
    rows = data()
    settings: dict[str, Any] = {"epochs": 6, "validation_split": 0.25, "progress": "off"}
    whole, begun = await create(TEXT, rows), await create(TEXT, rows)
    course = (await whole.train(settings)).epochs
    await begun.train(settings, on_epoch=lambda record: record.epoch < 3)
    again = await type(begun).load(await begun.save(), dataset=rows, backend="numpy", log=print)
    rest = (await again.train(resume=True, on_epoch=None)).epochs
    assert [r.val_loss for r in rest] == [r.val_loss for r in course[3:]]
    assert again.state.parameters.value("w1").data == whole.state.parameters.value("w1").data
    for model in (whole, begun, again):
        model.close()


@pytest.mark.alike
async def test_many_rows_are_divided_by_themselves() -> None:
    model = await create(TEXT, data(2100, split=(1, 0, 0), batch_size=500))
    history = await model.train(epochs=1)
    assert history.settings["validation_split"] == 0.1
    assert history.epochs[0].val_loss is not None
    history = await model.train(epochs=1, validation_split=0)
    assert history.epochs[0].val_loss is None
    model.close()


async def test_a_dataset_with_validation_rows_is_not_divided() -> None:
    model = await create(TEXT, data(split=(0.6, 0.2, 0.2)))
    with pytest.raises(DataError, match=r"NNM704.*has validation rows"):
        model.train(validation_split=0.2)
    model.close()
