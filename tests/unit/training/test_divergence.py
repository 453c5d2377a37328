"""Trainings that diverge, and those that recover (spec E.5, E.10)."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest

from tests.unit.training.trained import PLAIN, create, points, regression, values
from webnnm.backends.budget import Budget
from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset
from webnnm.evaluation.history import History
from webnnm.model.nnmodel import NNModel
from webnnm.training.schedules import Schedule

np = pytest.importorskip("numpy")

LOG = """
m:input shape=[1]; m:output shape=[1]; m:loss MSE; m:layers
  matmul(w, init=ones),
  log();
"""
EXP = """
m:input shape=[1]; m:output shape=[1]; m:loss MSE; m:layers
  matmul(w, init=constant(0.1)),
  exp(),
  sub(1);
"""


ROWS = [(1.0, 0.0), (4.0, -9.0), (2.0, math.log(2)), (3.0, math.log(3))]
"""Rows that log(w·x) fits with w = 1, but for one that pulls w below 0, out of its domain."""


def rows() -> Dataset:
    return points([x for x, _ in ROWS], [y for _, y in ROWS], batch_size=1)


def log_course(lr: float, epochs: int) -> tuple[int, float]:
    """Return after how many steps log diverges, and w then."""
    schedule = Schedule(kind="constant", rate=lr, epochs=epochs, batches=4)
    w = 1.0
    for step in range(4 * epochs):
        x, y = ROWS[step % 4]
        if w * x <= 0:
            return step, w
        w -= schedule.at(step + 1) * 2 * (math.log(w * x) - y) / w
    raise AssertionError


async def diverged(model: NNModel, **settings: Any) -> tuple[DataError, History]:
    training = model.train({**PLAIN, **settings})
    with pytest.raises(DataError) as caught:
        await training
    assert caught.value.code == "NNM708"
    assert training.history.stopped == "error"
    return caught.value, training.history


@pytest.mark.parametrize("chunk", [1, 2, 3, 256])
@pytest.mark.parametrize("lr", [0.02, 0.05, 0.5])
async def test_it_stops_where_it_diverged(lr: float, chunk: int) -> None:
    steps, w = log_course(lr, 3)
    model = await create(LOG, rows())
    model.backend.budget = Budget(call_steps=chunk)
    error, history = await diverged(model, epochs=3, lr=lr)
    rate = Schedule(kind="constant", rate=lr, epochs=3, batches=4).at(steps + 1)
    where = f"epoch {steps // 4 + 1}, batch {steps % 4 + 1}, at learning rate {rate:.3g}"
    assert where in error.message
    assert 'layer "log1" (line 4, column 3)' in error.message
    assert error.hint
    # The parameters are those of the last completed step.
    assert values(model)["w1"].item() == pytest.approx(w, rel=1e-5)
    assert model.step == steps
    assert len(history.epochs) == steps // 4
    finding = next(f for f in history.findings if f.id == "E311")
    assert finding.evidence["layer"] in error.message
    model.close()


@pytest.mark.alike
async def test_exp_that_overflows() -> None:
    """The first layer is still finite, its value is in the message."""
    data = points([1.0, 100.0, 1000.0], [0.0, 0.0, 0.0], batch_size=1)
    model = await create(EXP, data)
    error, _ = await diverged(model, epochs=1, lr=1e-30)
    assert "epoch 1, batch 3" in error.message
    assert 'layer "exp1" (line 4, column 3)' in error.message
    assert "largest value before it is 100" in error.message
    assert math.isfinite(values(model)["w1"].item())
    model.close()


async def test_a_gradient_that_overflows_before_the_loss() -> None:
    """1/√x has a finite value where its slope is beyond float32."""
    text = "m:input shape=[1]; m:output shape=[1]; m:loss MAE;"
    text += "m:layers add(b), sqrt(), reciprocal();"
    data = points([1.0, 1e-30], [0.0, 0.0], batch_size=1)
    model = await create(text, data)
    error, _ = await diverged(model, epochs=1, lr=1e-30)
    assert "batch 2" in error.message
    assert 'gradient of "b1"' in error.message
    assert np.isfinite(values(model)["b1"]).all()
    model.close()


async def test_the_model_works_afterwards() -> None:
    model = await create(LOG, rows())
    before = model.memory()
    await diverged(model, epochs=3, lr=0.5)
    after = model.memory()
    assert (after.tensors, after.bytes) == (before.tensors, before.bytes)
    model.state.parameters.set("w1", [[1.0]])
    history = await model.train(PLAIN, epochs=1, lr=1e-3)
    assert history.stopped == "epochs"
    assert math.isfinite(history.losses[0])
    assert float(np.array(await model.predict([[math.e]])).item()) == pytest.approx(
        1 + math.log(values(model)["w1"].item()), abs=1e-5
    )
    model.close()


async def test_the_best_of_earlier_epochs_is_not_restored() -> None:
    steps, w = log_course(0.05, 3)
    assert 4 < steps < 8
    model = await create(LOG, rows())
    _, history = await diverged(model, epochs=3, lr=0.05, restore_best=True)
    assert history.best_epoch == 1
    assert values(model)["w1"].item() == pytest.approx(w, rel=1e-4)
    model.close()


async def test_a_huge_rate_leaves_finite_parameters() -> None:
    text = "m:input shape=[3]; m:output shape=[2]; m:loss MSE;"
    text += "m:layers matmul(w, shape=[4]), relu(), matmul(w);"
    model = await create(text, regression(12, batch_size=3))
    error, _ = await diverged(model, epochs=30, lr=1e3)
    assert "not finite" in error.message
    assert all(np.isfinite(value).all() for value in values(model).values())
    model.close()


HALF = """
m:input shape=[3]; m:output shape=[2]; m:loss MSE;
m:layers matmul(w, shape=[8]), tanh(), matmul(w), add(b);
"""


@pytest.mark.parametrize("batch", [8, 32], ids=["four batches", "one batch"])
async def test_float16_recovers_from_overflows(batch: int) -> None:
    """The scale halves until gradients fit into float16, then the loss falls.

    Whole epochs are skipped, four of them or the first: without a loss, and never the best ones.
    """
    model = await create(HALF, regression(32, batch_size=batch))
    more = {"gradient_scaling": "on", "compute_type": "float16", "scale": 2.0**20}
    before = (await model.test("training")).loss
    history = await model.train({**PLAIN, **more, "restore_best": True}, epochs=40, lr=0.05)
    skipped = sum(record.overflows for record in history.epochs)
    assert skipped >= 3
    assert history.epochs[-1].scale == 2.0 ** (20 - skipped)
    assert history.epochs[-1].overflows == 0
    losses = [loss for loss in history.losses if not math.isnan(loss)]
    assert len(history.losses) - len(losses) == skipped * batch // 32
    assert losses[-1] < 0.2 * losses[0]
    assert 0 < history.best_loss <= losses[-1]
    assert history.best_epoch > 30
    after = (await model.test("training")).loss
    assert after < 0.2 * before
    # It can be saved and read back, what has no loss too.
    again = History.from_dict(history.to_dict())
    assert again.losses == pytest.approx(history.losses, nan_ok=True)
    assert str(again) == str(history)
    model.close()


@pytest.mark.alike
async def test_float16_goes_on_after_an_overflow_in_between() -> None:
    """S grows too far every ten batches and comes back."""
    model = await create(HALF, regression(32, batch_size=8))
    more = {"gradient_scaling": "on", "compute_type": "float16", "growth_interval": 6}
    history = await model.train({**PLAIN, **more, "scale": 2.0**15}, epochs=40, lr=0.05)
    scales = [record.scale for record in history.epochs]
    assert any(a > b for a, b in pairwise(scales))
    assert any(a < b for a, b in pairwise(scales))
    assert sum(record.overflows for record in history.epochs) >= 5
    assert history.losses[-1] < 0.2 * history.losses[0]
    assert all(np.isfinite(value).all() for value in values(model).values())
    model.close()


async def test_float16_without_scaling_stops() -> None:
    """65504 is the largest number of float16."""
    data = points([1.0, 300.0], [1.0, 1.0], batch_size=1)
    text = "m:input shape=[1]; m:output shape=[1]; m:loss MSE;"
    text += "m:layers matmul(w, init=constant(2)), pow(2), mul(1);"
    model = await create(text, data)
    error, _ = await diverged(model, epochs=1, lr=1e-9, compute_type="float16")
    assert "epoch 1, batch 2" in error.message
    assert "layer " in error.message
    assert values(model)["w1"].item() == pytest.approx(2, rel=1e-3)
    model.close()


@pytest.mark.alike
async def test_no_epoch_without_a_loss_is_the_best() -> None:
    """A validation loss beyond float32 does not win over the finite ones that follow."""
    text = "m:input shape=[1]; m:output shape=[1]; m:loss MSE; m:layers matmul(w, init=ones);"
    data = Dataset([[1.0], [1e20]], [[0.0], [0.0]], split=([0], [1], []), batch_size=1)
    model = await create(text, data)
    history = await model.train(PLAIN, epochs=60, lr=0.5)
    assert math.isinf(history.epochs[0].val_loss)
    assert math.isfinite(history.best_loss)
    assert history.best_epoch > 1
    model.close()
