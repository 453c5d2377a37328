"""A cross-validation trains a model for each fold, and leaves its own as it is."""

from __future__ import annotations

import pytest

from tests.unit.training.trained import classes, create
from webnnm import cross_validate
from webnnm.core.errors import DataError

pytest.importorskip("numpy")

TEXT = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"


async def test_every_row_is_tested_once_and_the_model_is_left_alone() -> None:
    rows = classes(30)
    model = await create(TEXT, rows)
    before = model.state.parameters.value("w1").data
    found = await cross_validate(model, 3, epochs=2)
    assert [result.samples for result in found.results] == [10, 10, 10]
    assert model.state.parameters.value("w1").data == before
    assert not model.state.trained
    accuracy = found.score("accuracy")
    assert accuracy.mean == pytest.approx(sum(accuracy.values) / 3)
    deviation = sum((v - accuracy.mean) ** 2 for v in accuracy.values) / 2
    assert accuracy.error == pytest.approx((deviation / 3) ** 0.5)
    assert str(found).startswith("3 folds\nloss")
    assert found.to_dict()["scores"]["accuracy"]["mean"] == accuracy.mean
    again = await cross_validate(model, 3, epochs=2)
    assert again.score("loss").values == found.score("loss").values
    model.close()


async def test_folds_have_rows() -> None:
    model = await create(TEXT, classes(30))
    with pytest.raises(DataError, match=r"NNM704.*1 folds"):
        await cross_validate(model, 1)
    model.close()
