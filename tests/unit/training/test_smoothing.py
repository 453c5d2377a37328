"""Label smoothing: which losses take it, and what happens to the others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.training.trained import PLAIN, classes, create, regression, values
from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset

np = pytest.importorskip("numpy")

TWO = """
a:input shape=[4]; a:output shape=[3]; a:layers matmul(w), softmax();
c:output shape=[1]; c:loss MSE; c:layers matmul(w, node=a);
"""


@pytest.mark.parametrize("loss", ["MSE", "MAE", "HUL"])
async def test_label_smoothing_is_for_classes(loss: str) -> None:
    text = f"m:input shape=[3]; m:output shape=[2]; m:loss {loss}; m:layers matmul(w);"
    model = await create(text, regression(8))
    with pytest.raises(DataError, match=rf'smoothing is 0.1, but output "m" .* {loss}') as caught:
        await model.train(PLAIN, epochs=1, label_smoothing=0.1)
    assert caught.value.code == "NNM704"
    assert "CCE" in caught.value.hint and loss not in caught.value.hint
    await model.train(PLAIN, epochs=1)
    model.close()


async def test_label_smoothing_of_signs_is_refused() -> None:
    text = "m:input shape=[1]; m:output shape=[1]; m:loss HIL; m:layers matmul(w);"
    data = Dataset([[1.0], [2.0]], [[1.0], [-1.0]], split=(1, 0, 0), batch_size=2)
    model = await create(text, data)
    with pytest.raises(DataError, match="HIL"):
        await model.train(PLAIN, epochs=1, label_smoothing=0.1)
    model.close()


async def test_measurements_beside_classes_stay_as_they_are() -> None:
    rows = [[float(k), 1.0, -1.0, 0.5] for k in range(6)]
    hot = np.eye(3)[np.arange(6) % 3].tolist()
    moved: dict[float, Any] = {}
    for smoothing in (0.0, 0.2):
        data = Dataset(
            {"a": rows}, {"a": hot, "c": [[k] for k in range(6)]}, split=(1, 0, 0), batch_size=6
        )
        model = await create(TWO, data)
        await model.train({**PLAIN, "loss_weights": "off"}, epochs=1, label_smoothing=smoothing)
        moved[smoothing] = values(model)
        model.close()
    assert not np.allclose(moved[0.0]["w1"], moved[0.2]["w1"])
    assert np.allclose(moved[0.0]["w2"], moved[0.2]["w2"])


async def test_classes_are_smoothed() -> None:
    text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    model = await create(text, classes(9))
    history = await model.train(PLAIN, epochs=1, label_smoothing=0.1)
    assert history.loss_settings["m"]["smoothing"] == 0.1
    model.close()
