"""The training step against a training written out in NumPy, and what it refuses (spec E.9)."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm.core.errors import DataError, ModelError
from webnnm.data.dataset import Dataset
from webnnm.model.nnmodel import NNModel
from webnnm.training.schedules import Schedule

np = pytest.importorskip("numpy")

MLP = """
m:input shape=[4]; m:output shape=[3]; m:loss CCE;
m:layers matmul(w, shape=[5]), add(b), relu(), matmul(w), add(b), softmax();
"""
ROWS = 10


def data(batch_size: int = 4) -> Dataset:
    draw = np.random.default_rng(0)
    x = draw.uniform(-1, 1, (ROWS, 4)).astype("float32")
    y = np.eye(3, dtype="float32")[draw.integers(0, 3, ROWS)]
    return Dataset(x.tolist(), y.tolist(), split=(1, 0, 0), batch_size=batch_size)


async def model(text: str = MLP, dataset: Dataset | None = None, **settings: Any) -> NNModel:
    return await NNModel.create(
        source=text, dataset=dataset or data(), backend="numpy", log=lambda _: None, **settings
    )


def values(trained: NNModel) -> dict[str, Any]:
    return {p.name: np.array(p.value) for p in trained.params()}


class Written:
    """The same model and training, written out in float64."""

    def __init__(self, start: dict[str, Any]) -> None:
        self.p = {name: value.astype("float64") for name, value in start.items()}
        self.v = {name: np.zeros_like(value) for name, value in self.p.items()}

    def step(self, x: Any, y: Any, rate: float, decay: float) -> float:
        p, n = self.p, len(x)
        hidden = np.maximum(x @ p["w1"] + p["b1"], 0)
        z = hidden @ p["w2"] + p["b2"]
        e = np.exp(z - z.max(axis=1, keepdims=True))
        prob = e / e.sum(axis=1, keepdims=True)
        dz = (prob - y) / n
        dh = (dz @ p["w2"].T) * (hidden > 0)
        slopes = {
            "w2": hidden.T @ dz,
            "b2": dz.sum(axis=0),
            "w1": x.T @ dh,
            "b1": dh.sum(axis=0),
        }
        for name, g in slopes.items():
            g = g + (decay if g.ndim >= 2 else 0) * p[name]
            self.v[name] = 0.9 * self.v[name] + g
            p[name] = p[name] - rate * self.v[name]
        return float(-(y * np.log(prob)).sum())


@pytest.mark.parametrize("batch", [1, 3, 4, 5, 10, 16], ids=lambda n: f"batch {n}")
@pytest.mark.parametrize("epochs", [1, 3, 4])
async def test_training_equals_the_one_written_out(batch: int, epochs: int) -> None:
    """Short last batches, one batch per epoch, odd and even numbers of steps."""
    dataset = data(batch)
    trained = await model(dataset=dataset, seed=5)
    written = Written(values(trained))
    history = await trained.train(
        seeds=0, epochs=epochs, optimizer="sgdm", lr=0.1, weight_decay=0.01, restore_best=False
    )
    inputs, targets = dataset.arrays("training")
    x, y = (np.array(next(iter(a.values())).tolist()) for a in (inputs, targets))
    steps = -(-ROWS // batch)
    schedule = Schedule(kind="cosine", rate=0.1, epochs=epochs, batches=steps)
    losses, t = [], 0
    for epoch in range(1, epochs + 1):
        order, total = dataset.order("training", epoch, True, 5), 0.0
        for first in range(0, ROWS, batch):
            t += 1
            rows = order[first : first + batch]
            total += written.step(x[rows], y[rows], schedule.at(t), 0.01)
        losses.append(total / ROWS)
    assert history.losses == pytest.approx(losses, rel=1e-5)
    for name, value in values(trained).items():
        assert np.allclose(value, written.p[name], atol=1e-5), name
    assert trained.step == t
    trained.close()


async def test_frozen_parameters_stay_and_have_no_state() -> None:
    text = """
    m:input shape=[4]; m:output shape=[3];
    m:layers matmul(w, shape=[5], trainable=false), add(b, lrm=0), relu(), matmul(w), softmax();
    """
    trained = await model(text)
    before = values(trained)
    tensors = trained.memory().tensors
    seen: list[int] = []
    await trained.train(
        seeds=0,
        epochs=2,
        optimizer="sgdm",
        lr=0.1,
        on_epoch=lambda _: seen.append(trained.memory().tensors),
    )
    after = values(trained)
    assert (before["w1"] == after["w1"]).all()
    assert (before["b1"] == after["b1"]).all()
    assert not (before["w2"] == after["w2"]).all()
    # One parameter learns: itself in the other buffer, two moments, the best; cursor, totals twice;
    # data, target, order, table; what a chunk began with.
    assert seen == [tensors + 1 + 2 + 1 + 4 + 4 + 4] * 2


async def test_multipliers_scale_the_steps() -> None:
    text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w{}), softmax();"
    moved = {}
    for lrm in ("", ", lrm=0.5"):
        trained = await model(text.format(lrm), data(ROWS))
        before = values(trained)["w1"]
        await trained.train(
            seeds=0,
            epochs=1,
            optimizer="sgdm",
            lr=0.1,
            weight_decay=0,
            schedule="constant",
            restore_best=False,
        )
        moved[lrm] = values(trained)["w1"] - before
    assert np.allclose(moved[", lrm=0.5"], moved[""] / 2, atol=1e-7)


async def test_decay_is_for_weights_unless_said_otherwise() -> None:
    text = """
    m:input shape=[4]; m:output shape=[3]; q:param b shape=[3] init=ones decay={};
    m:layers matmul(w), add(b), softmax();
    """
    found = {}
    for decay in ("auto", "true", "false"):
        trained = await model(text.format(decay), data(ROWS))
        await trained.train(
            seeds=0,
            epochs=1,
            optimizer="sgdm",
            lr=0.1,
            weight_decay=0.5,
            schedule="constant",
            restore_best=False,
        )
        found[decay] = values(trained)["b"]
    assert (found["auto"] == found["false"]).all()
    assert np.allclose(found["false"] - found["true"], 0.1 * 0.5, atol=1e-6)


@pytest.mark.parametrize(
    "layers",
    [
        "tanh(), matmul([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]])",
        "matmul(w, trainable=false)",
        "matmul(w, lrm=0)",
    ],
)
async def test_nothing_to_train(layers: str) -> None:
    trained = await model(f"m:input shape=[4]; m:output shape=[3]; m:layers {layers};")
    with pytest.raises(DataError) as caught:
        await trained.train(seeds=0, epochs=1)
    assert caught.value.code == "NNM605"


@pytest.mark.parametrize("cut", ["sign()", "floor()", "greater(0), cast(float32)"])
async def test_parameter_without_a_path(cut: str) -> None:
    text = f"m:input shape=[4]; m:output shape=[3];\nm:layers matmul(w), {cut}, add(b);"
    trained = await model(text)
    with pytest.raises(ModelError) as caught:
        await trained.train(seeds=0, epochs=1)
    error = caught.value
    assert (error.code, error.line, error.column) == (
        "NNM606",
        2,
        text.split("\n")[1].index("w)") + 1,
    )
    assert '"w1"' in error.message


async def test_shared_parameter_gets_the_sum_of_its_gradients() -> None:
    text = """
    m:input shape=[2]; m:output shape=[2]; m:loss MSE; q:param p shape=[2, 2] init=constant(0.5);
    m:layers matmul(p), matmul(p);
    """
    trained = await model(text, Dataset([[1.0, 2.0]], [[0.0, 1.5]], split=(1, 0, 0)))
    await trained.train(
        seeds=0,
        epochs=1,
        optimizer="sgdm",
        lr=0.1,
        weight_decay=0,
        schedule="constant",
        restore_best=False,
    )
    x, p = np.array([[1.0, 2.0]]), np.full((2, 2), 0.5)
    hidden = x @ p
    slope = (hidden @ p - [[0.0, 1.5]]) * 2 / 2
    g = hidden.T @ slope + x.T @ (slope @ p.T)
    assert np.allclose(values(trained)["p"], p - 0.1 * g, atol=1e-6)
