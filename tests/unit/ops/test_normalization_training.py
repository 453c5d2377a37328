"""Batch normalisation in training: statistics of the valid rows, running ones beside them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.graph.texts import model as text_of
from tests.unit.graph.texts import network
from tests.unit.ops.cases import np
from tests.unit.ops.gradient import check_gradients, functional
from tests.work import seeds
from webnnm import Dataset, NNModel
from webnnm.backends.reference import evaluate
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import Lowered, lower_network

ROWS, BATCH = 10, 4
ON_INPUT = """
m:input shape=[4]; m:output shape=[3]; m:loss CCE;
m:layers batchNorm(momentum=0.8), matmul(w), add(b), softmax();
"""
INSIDE = """
m:input shape=[4]; m:output shape=[3]; m:loss CCE;
m:layers matmul(w, shape=[5]), batchNorm(scale=g, bias=c), relu(), matmul(w), add(b), softmax();
"""


def data(seed: int = 0) -> Dataset:
    draw = np.random.default_rng(seed)
    x = draw.uniform(-1, 3, (ROWS, 4)).astype("float32")
    y = np.eye(3, dtype="float32")[draw.integers(0, 3, ROWS)]
    return Dataset(x, y, split=(1, 0, 0), batch_size=BATCH)


async def create(text: str) -> NNModel:
    return await NNModel.create(
        source=text, dataset=data(), backend="numpy", log=lambda _: None, seed=1
    )


def value(model: NNModel, name: str) -> Any:
    return next(np.asarray(p.value, "float64") for p in model.params() if p.name == name)


# One step.


def step(layer: str, rows: Any, shape: str = "shape=[3]") -> tuple[Lowered, GraphBuilder]:
    """Lower a layer as in training, with a mask of so many rows."""
    b = GraphBuilder()
    mask = None if rows is None else b.constant(rows, "float32")
    text = text_of(layer, input=shape, output=shape)
    batch = 2 if rows is None else len(rows)
    lowered = lower_network(
        network(text), batch=batch, sequence={"steps": 3}, builder=b, training=True, rows=mask
    )
    return lowered, b


def outcome(layer: str, rows: Any, x: Any, shape: str = "shape=[3]") -> dict[str, Any]:
    lowered, b = step(layer, rows, shape)
    names = {name: operand.shape for name, operand in lowered.parameters.items()}
    feeds = {f"param/{name}": np.linspace(1, 2, s[0]) for name, s in names.items()} | {"m": x}
    return evaluate(b.build({**lowered.outputs, **lowered.updates}), feeds, wide=True)


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        ("shape=[3]", (3,)),
        ("shape={height:2, channels:3, width:4}", (2, 3, 4)),
        ("shape=[3] sequence=steps", (3, 3)),
    ],
)
def test_rows_that_do_not_count_have_no_part(shape: str, sizes: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).uniform(-1, 1, (3, *sizes))
    x[2] = 1e3
    layer = "batchNorm(scale=g, bias=b)"
    whole, masked = outcome(layer, None, x[:2], shape), outcome(layer, [1, 1, 0], x, shape)
    assert whole.keys() == masked.keys() == {"m", "param/mean1", "param/variance1"}
    for name, expected in whole.items():
        np.testing.assert_allclose(masked[name][: len(expected)], expected, rtol=1e-9)


def test_statistics_are_over_everything_but_the_channels() -> None:
    x = np.random.default_rng(0).uniform(-1, 1, (2, 3, 5, 4))
    shape = "shape={height:5, channels:4} sequence=steps"
    found = outcome("batchNorm(momentum=0.75)", None, x, shape)
    start = np.linspace(1, 2, 4)
    mean, variance = x.mean(axis=(0, 1, 2)), x.var(axis=(0, 1, 2))
    np.testing.assert_allclose(found["m"], (x - mean) / np.sqrt(variance + 1e-5), atol=1e-6)
    np.testing.assert_allclose(found["param/mean1"], 0.75 * start + 0.25 * mean)
    unbiased = x.var(axis=(0, 1, 2), ddof=1)
    np.testing.assert_allclose(found["param/variance1"], 0.75 * start + 0.25 * unbiased)


@pytest.mark.parametrize("rows", [None, [1, 0, 1, 1]])
@pytest.mark.parametrize("seed", seeds(range(3)))
def test_gradient_goes_through_the_statistics(rows: Any, seed: int) -> None:
    lowered, b = step("batchNorm(scale=g, bias=b)", rows)
    rng = np.random.default_rng(seed)
    y = lowered.outputs["m"]
    if rows is not None:
        y = y * b.constant([[float(row)] for row in rows])
    learning = [lowered.inputs["m"], lowered.parameters["g1"], lowered.parameters["b1"]]
    feeds = {x.node.name: rng.uniform(-1, 1, x.shape) for x in learning}  # type: ignore[attr-defined]
    states = {"param/mean1": np.zeros(3), "param/variance1": np.ones(3)}
    check_gradients(functional(b, [y], seed), learning, feeds | states, seed)


@pytest.mark.parametrize("more", ["", ", dataType=float16"])
def test_states_stay_float32_beside_halves(more: str) -> None:
    half = "float16 shape=[3]"
    text = text_of(f"batchNorm(scale=g{more})", input=half, output=half)
    lowered = lower_network(network(text), batch=2, training=True)
    assert lowered.outputs["m"].dtype == "float16"
    assert {update.dtype for update in lowered.updates.values()} == {"float32"}
    assert {p.dtype for p in lowered.parameters.values()} == {"float32"}
    assert lower_network(network(text)).outputs["m"].dtype == "float16"


# Whole trainings.


async def test_running_statistics_move_as_written_out() -> None:
    model = await create(ON_INPUT)
    await model.train(epochs=2, shuffle=False, restore_best=False)
    x = model.state.binding().arrays("training")[0]["m"]
    rows = np.asarray(x.tolist())
    mean, variance = np.zeros(4), np.ones(4)
    for _ in range(2):
        for start in range(0, ROWS, BATCH):  # the last batch has two rows and two to be ignored
            batch = rows[start : start + BATCH]
            mean = 0.8 * mean + 0.2 * batch.mean(axis=0)
            variance = 0.8 * variance + 0.2 * batch.var(axis=0, ddof=1)
    np.testing.assert_allclose(value(model, "mean1"), mean, rtol=1e-5)
    np.testing.assert_allclose(value(model, "variance1"), variance, rtol=1e-5)


async def test_prediction_uses_the_running_statistics() -> None:
    model = await create(ON_INPUT)
    await model.train(epochs=3)
    x = np.random.default_rng(5).uniform(-1, 3, (7, 4))
    unit = (x - value(model, "mean1")) / np.sqrt(value(model, "variance1") + 1e-5)
    e = np.exp(unit @ value(model, "w1") + value(model, "b1"))
    expected = e / e.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(await model.predict(x), expected, atol=1e-5)


async def test_the_best_snapshot_has_the_statistics_of_its_epoch() -> None:
    settings: Any = {"optimizer": "sgdm", "lr": 2.0, "schedule": "constant", "seeds": 0}
    model = await create(INSIDE)
    history = await model.train(epochs=12, **settings)
    best = history.best_epoch
    assert 1 <= best < 12, "the rate is to be so large that the last epoch is not the best"
    twin = await create(INSIDE)
    await twin.train(epochs=best, restore_best=False, **settings)
    for name in ("mean1", "variance1", "g1", "w2"):
        assert value(model, name).tolist() == value(twin, name).tolist()


async def test_training_repeats_bit_by_bit() -> None:
    found = []
    for _ in range(2):
        model = await create(INSIDE)
        history = await model.train(epochs=4)
        found.append((history.losses, value(model, "mean1").tolist()))
    assert found[0] == found[1]
