"""Training on JAX: as on the reference backend, begun on one and continued on the other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.backends.cloud import EPOCHS, MODELS, RUNS, create, dataset, train
from webnnm.core.errors import DataError
from webnnm.model.nnmodel import NNModel

pytest.importorskip("jax", reason="the JAX backend needs JAX")
np = pytest.importorskip("numpy")

NEAR = 1e-4


def values(model: NNModel) -> dict[str, Any]:
    return {p.name: np.array(p.value) for p in model.params()}


def near(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert a.keys() == b.keys()
    for name, value in a.items():
        np.testing.assert_allclose(value, b[name], rtol=NEAR, atol=NEAR, err_msg=name)


@pytest.mark.parametrize(("name", "optimizer"), RUNS)
async def test_losses_and_parameters_are_those_of_the_reference(name: str, optimizer: str) -> None:
    """Dropout draws the same masks, for its generator is a part of the graph."""
    found, ends = [], []
    for backend in ("jax", "numpy"):
        model = await create(name, backend)
        found.append(await train(model, optimizer))
        ends.append(values(model))
        model.close()
    np.testing.assert_allclose(found[0], found[1], rtol=NEAR, atol=NEAR)
    assert found[0][0][-1] < found[0][0][0]
    near(*ends)


async def test_everything_at_once() -> None:
    """Scouting, clipping, scaling, accumulation, patience, the best epoch, the test."""
    settings: dict[str, Any] = {
        "seeds": 8,
        "epochs": 6,
        "restore_best": True,
        "gradient_clipping": "global",
        "gradient_scaling": "on",
        "accumulate": 2,
    }
    found = []
    for backend in ("jax", "numpy"):
        model = await create("mlp", backend)
        history = await model.train(optimizer="adam", **settings)
        tested = await model.test("validation")
        found.append((history.losses, [tested.loss], history.best_epoch, history.scouting))
        model.close()
    (losses, test, *chosen), (expected, tested, *wanted) = found
    assert chosen[0] == wanted[0]
    assert chosen[1]["best"] == wanted[1]["best"]
    np.testing.assert_allclose(losses, expected, rtol=NEAR, atol=NEAR)
    np.testing.assert_allclose(test, tested, rtol=NEAR, atol=NEAR)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("first", ["jax", "numpy"])
async def test_a_model_goes_on_where_another_backend_stopped(name: str, first: str) -> None:
    """Saved after some epochs, loaded on the other backend: as if it had never changed."""
    second = "numpy" if first == "jax" else "jax"
    model = await create(name, first)
    await train(model)
    half = await model.save()
    there, here = values(model), await train(model)
    ends = values(model)
    model.close()
    loaded = await NNModel.load(half, backend=second, seed=5, log=lambda _: None)
    fresh = await create(name, second)
    assert all((value == there[name]).all() for name, value in values(loaded).items()), "to the bit"
    assert await fresh.load_params(half)
    fresh.step = loaded.step
    assert fresh.step == EPOCHS * 3
    continued = await train(fresh)
    np.testing.assert_allclose(continued, here, rtol=NEAR, atol=NEAR)
    near(values(fresh), ends)
    fresh.close()
    loaded.close()


@pytest.mark.parametrize("first", ["jax", "numpy"])
async def test_a_training_that_was_stopped_goes_on_elsewhere(first: str) -> None:
    """With its optimizer's moments, its schedule and its dropout, as if it had never moved."""
    settings: dict[str, Any] = {"epochs": 6, "optimizer": "adam"}
    model = await create("mlp", first)
    whole, _ = await train(model, **settings)
    ends = values(model)
    model.close()
    model = await create("mlp", first)
    begun, _ = await train(model, **settings, on_epoch=lambda record: record.epoch < 3)
    half = await model.save()
    model.close()
    second = "numpy" if first == "jax" else "jax"
    given: dict[str, Any] = {"dataset": dataset(MODELS["mlp"][1]), "seed": 5}
    moved = await NNModel.load(half, backend=second, log=lambda _: None, **given)
    rest = (await moved.train(resume=True)).losses
    np.testing.assert_allclose([*begun, *rest], whole, rtol=NEAR, atol=NEAR)
    near(values(moved), ends)
    moved.close()


async def test_predictions_are_those_of_the_reference() -> None:
    rows = [[0.1 * k - 0.5 for k in range(12)], [0.3] * 12, [-1.0] * 12]
    found = []
    for backend in ("jax", "numpy"):
        model = await create("mlp", backend)
        several = [await model.predict(rows, size) for size in (2, 3)]
        await model.compile(3)  # the parameters are constants now
        found.append([*several, await model.predict(rows)])
        model.close()
    for measured, expected in zip(*found, strict=True):
        np.testing.assert_allclose(measured, expected, rtol=1e-5, atol=1e-6)


async def test_every_batch_can_be_listened_to() -> None:
    model = await create("mlp", "jax")
    seen: list[float] = []
    await train(model, on_batch=lambda record: seen.append(record.loss))
    assert len(seen) == EPOCHS * 3
    model.close()


async def test_a_training_leaves_nothing() -> None:
    model = await create("cnn", "jax")
    before = model.memory()
    await train(model)
    await model.test("validation")
    assert model.memory() == before
    model.close()


async def test_a_training_that_diverges_names_the_layer() -> None:
    model = await create("mlp", "jax")
    with pytest.raises(DataError, match="not finite in epoch") as caught:
        await train(model, lr=1e30, gradient_clipping="off", gradient_scaling="off")
    assert caught.value.code == "NNM708"
    model.close()
