"""What a training says of itself at its end: in the log, the history and a review of it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from webnnm import Dataset, NNModel, review
from webnnm.core.finding import Finding
from webnnm.evaluation.history import History

pytest.importorskip("numpy")

TEXT = """
model:input shape=[2]; model:output shape=[2];
model:layers matmul(w, shape=[8]{init}), add(b), {activation}(), matmul(w), add(b), softmax();
"""


def rings(rows: int = 120) -> Dataset:
    """Return points inside and outside of a circle."""
    x = [[(k * 7919 % 200) / 100 - 1, (k * 104729 % 200) / 100 - 1] for k in range(rows)]
    y = [int(a * a + b * b > 0.6) for a, b in x]
    return Dataset(x, y, split=(0.5, 0.2, 0.3), batch_size=5)


async def train(
    log: list[str], *, init: str = "", activation: str = "relu", **settings: Any
) -> tuple[NNModel, History]:
    """Return a trained model, its log and its history."""
    text = TEXT.format(init=f", init={init}" if init else "", activation=activation)
    model = await NNModel.create(
        source=text, dataset=rings(), backend="numpy", log=log.append, seed=1
    )
    given = {"epochs": 12, "seeds": 0, "progress": None, **settings}
    return model, await model.train(given)


def ids(found: list[Finding]) -> set[str]:
    """Return the ids of findings."""
    return {finding.id for finding in found}


@pytest.mark.alike
async def test_layers_that_died_are_named() -> None:
    log: list[str] = []
    model, history = await train(log, optimizer="sgdm", lr=5.0, gradient_clipping="off")
    (died,) = [finding for finding in history.findings if finding.id == "E908"]
    assert died.nodes == ("relu1",) and died.places and died.fix["lr"] < 5
    assert any("E908" in line for line in log)
    model.close()


@pytest.mark.alike
async def test_saturated_layers_are_named() -> None:
    model, history = await train([], init="normal(40)", activation="tanh", lr=1e-3)
    (flat,) = [finding for finding in history.findings if finding.id == "E909"]
    assert flat.nodes == ("tanh1",)
    model.close()


@pytest.mark.alike
async def test_a_loss_that_does_not_move_is_noted_on_the_way_and_once() -> None:
    log: list[str] = []
    model, history = await train(log, optimizer="adam", lr=1e-8)
    noted = [k for k, line in enumerate(log) if "E901" in line]
    assert len(noted) == 1 and any("epoch 12" in line for line in log[noted[0] :])
    assert "E901" in ids(history.findings)
    model.close()


@pytest.mark.alike
async def test_what_is_measured_tells_of_layers_weights_and_predictions() -> None:
    model, history = await train([], optimizer="adam", epochs=40)
    found = history.outcome
    assert found is not None and found["rows"] == 60 and found["subset"] == "validation"
    assert set(found["dead"]) == {"relu1"} and set(found["gradients"]) == {"w1", "w2"}
    assert all(way > 0 for way in found["moved"].values())
    for part, rows in (("outputs", 60), ("held_out", 24)):
        told = found[part]["model"]
        assert sum(told["support"]) == sum(told["predicted"]) == rows
    again = await model.test("validation")
    right = sum(found["held_out"]["model"]["hits"])
    assert right / 24 == pytest.approx(again.accuracy)
    model.close()


@pytest.mark.alike
async def test_a_review_of_a_history_tells_all_that_was_found() -> None:
    model, history = await train([], optimizer="sgdm", lr=5.0, gradient_clipping="off")
    found = model.review(history)
    assert {"E305", "E908"} <= ids(found)
    assert ids(list(history.findings)) <= ids(found)
    read = History.from_dict(history.to_dict())
    assert ids(model.review(read)) == ids(found)
    assert ids(list(review(model, history=read).findings)) == ids(found)
    assert "E908" not in ids(model.review(history, silence=("E908",)))
    model.close()


@pytest.mark.alike
async def test_findings_on_trainings_can_be_silenced() -> None:
    settings = {"optimizer": "sgdm", "lr": 5.0, "gradient_clipping": "off"}
    model, history = await train([], silence=("E908", "E912"), **settings)
    assert not ids(history.findings) & {"E908", "E912"}
    model.close()


async def test_device_memory_is_as_before() -> None:
    model, _ = await train([], epochs=2)
    before = str(model.memory())
    await model.train(epochs=2, seeds=0, progress=None)
    assert str(model.memory()) == before
    model.close()


async def test_logarithms_that_are_learnt_are_judged_as_logarithms() -> None:
    rows = [[n / 40] for n in range(120)]
    prices = [[math.exp(12 * x + (40 if n == 7 else 0))] for n, (x,) in enumerate(rows)]
    options: Any = {"standardize": True, "standardize_targets": True, "target_scale": "log1p"}
    text = "m:input shape=[1]; m:output shape=[1]; m:loss MSE; m:layers matmul(w), add(b);"
    async with await NNModel.create(
        source=text, dataset=Dataset(rows, prices, **options), backend="numpy", log=[].append
    ) as model:
        history = await model.train(epochs=60, progress=None)
        assert history.outcome is not None
        (learnt,) = history.outcome["outputs"].values()
        assert learnt["reshaped"] and learnt["r2"] > 0.5
        assert (await model.test("training")).r2 < 0.1
