"""How an output is measured follows from what it is trained for."""

from __future__ import annotations

import pytest

from tests.unit.training.trained import PLAIN, create
from webnnm.data.dataset import Dataset

np = pytest.importorskip("numpy")


@pytest.mark.parametrize("width", [1, 2])
async def test_labels_of_signs_are_told_by_accuracy(width: int) -> None:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(40, 2)).astype("float32")
    y = np.sign(x[:, :width] + 0.01).astype("float32")
    text = f"m:input shape=[2]; m:output shape=[{width}]; m:layers matmul(w), add(b);"
    model = await create(text, Dataset(x, y, split=(0.5, 0.25, 0.25)))
    history = await model.train({**PLAIN, "lr": 0.1, "epochs": 30})
    assert history.loss_settings["m"]["loss"] == "HIL"
    result = await model.test()
    assert result.accuracy > 0.8
    assert history.epochs[-1].val_metrics.keys() == {"accuracy"}
    if width == 1:
        assert result.outputs["m"].labels == ("-1", "1")
    model.close()
