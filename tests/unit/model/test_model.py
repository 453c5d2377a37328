"""The model on NumPy: creation, inference, training, testing (spec parts E and H)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from webnnm import DataError, Dataset, IrisDataset, ModelError, NNModel, view
from webnnm.core.errors import BackendError
from webnnm.runtime.inference.prediction import MAX_GRAPHS

np = pytest.importorskip("numpy")

IRIS = """
model:name iris; model:loss categoricalCrossEntropy;
model:input shape=[4]; model:output shape=[3];
model:layers dense(shape=[3], activation=relu), dense(shape=[3], activation=softmax);
dense:layers matmul(w), add(b), activation();
"""
SQUARES = """
model:input int32 shape=[5]; model:output float32 shape=[5];
model:layers add(1, dataType=float16), pow(2);
"""


def quiet(_: str) -> None:
    """Take a line of the log and keep it to oneself."""


async def create(source: str = IRIS, **settings: Any) -> NNModel:
    return await NNModel.create(source=source, backend="numpy", **{"log": quiet, **settings})


async def iris(**settings: Any) -> NNModel:
    dataset = await IrisDataset.create(standardize=True, **settings.pop("data", {}))
    return await create(dataset=dataset, **settings)


def values(model: NNModel) -> dict[str, Any]:
    return {p.name: p.value.tolist() for p in model.params()}


async def catch_error(code: str, awaitable: Any) -> str:
    with pytest.raises((DataError, ModelError, BackendError)) as caught:
        await awaitable
    assert caught.value.code == code
    return str(caught.value)


# Creation.


@pytest.mark.parametrize(
    "places",
    [{}, {"source": IRIS, "url": "x"}, {"source": IRIS, "path": "x"}, {"url": "x", "path": "y"}],
)
async def test_exactly_one_place_of_the_text(places: dict[str, str]) -> None:
    await catch_error("NNM715", NNModel.create(**places, log=quiet))


async def test_the_name_of_a_file_is_no_text() -> None:
    error = await catch_error("NNM715", NNModel.create(source="models/iris.nnm", log=quiet))
    assert 'hint: path="models/iris.nnm"' in error


async def test_text_from_a_file(tmp_path: Any) -> None:
    path = tmp_path / "model.nnm"
    path.write_text(IRIS, encoding="utf-8")
    model = await NNModel.create(path=path, log=quiet)
    assert model.source == IRIS
    await catch_error("NNM715", NNModel.create(path=tmp_path / "nothing.nnm", log=quiet))


async def test_settings_as_a_dict_and_in_camel_case() -> None:
    model = await NNModel.create(
        {"source": IRIS, "batchSize": 7, "powerPreference": "low-power"}, backend="numpy", log=quiet
    )
    assert model.name == "iris"
    await catch_error("NNM703", create(batchSize=7, batch_size=7))
    assert '"seed"' in await catch_error("NNM703", create(sed=7))


async def test_unknown_backend() -> None:
    text = await catch_error("NNM709", NNModel.create(source=IRIS, backend="nmpy", log=quiet))
    assert '"numpy"' in text


async def test_warnings_are_logged_or_with_strict_raised() -> None:
    said: list[str] = []
    text = IRIS + "unused:layers tanh();"
    model = await create(text, log=said.append)
    assert any(line.startswith("warning NNM001") for line in said)
    assert [warning.code for warning in model.warnings] == ["NNM001"]
    await catch_error("NNM001", create(text, strict=True))
    await create(strict=True)


async def test_what_the_model_says_of_itself() -> None:
    said: list[str] = []
    model = await create(log=said.append)
    assert (model.inputs(), model.outputs()) == (["model"], ["model"])
    found = [(p.name, p.shape, p.dtype, p.trainable) for p in model.params()]
    assert found == [
        ("w1", (4, 3), "float32", True),
        ("b1", (3,), "float32", True),
        ("w2", (3, 3), "float32", True),
        ("b2", (3,), "float32", True),
    ]
    assert [p.init.split("(")[0] for p in model.params()] == ["uniform", "constant"] * 2
    assert any("27 parameters" in line and "NumPy" in line for line in said)
    summary = model.summary()
    assert "matmul1" in summary and "27 parameters, 27 trainable" in summary
    assert (await create(model.serialize())).summary() == summary


def test_view() -> None:
    assert view([[0.5, 1], [2, 3.25]]) == "[2, 2] 0.500, 1.000, 2.000, 3.250"
    assert view(np.arange(20, dtype="int32"), 3) == "[20] 0, 1, 2, …"


async def test_start_values_depend_on_the_seed_alone() -> None:
    first, second, other = await create(), await create(), await create(seed=1)
    assert values(first) == values(second)
    assert values(first)["w1"] != values(other)["w1"]
    assert values(await create(seed=-5)) == values(first)


async def test_model_without_parameters() -> None:
    model = await create(SQUARES)
    assert model.params() == []


async def test_closing_frees_everything() -> None:
    async with await iris() as model:
        await model.predict([[1, 2, 3, 4]])
        assert model.memory().tensors
    usage = model.memory()
    assert (usage.graphs, usage.tensors, usage.bytes) == (0, 0, 0)
    with pytest.raises(BackendError):
        await model.predict([[1, 2, 3, 4]])


# Inference.


async def test_the_example_of_the_specification() -> None:
    model = await create(SQUARES)
    context = await model.create_context()
    context.set_data([1, 2, 3, 4, 5])
    assert await model.run(context) is context
    assert (await context.output()).tolist() == [[4, 9, 16, 25, 36]]


@pytest.mark.parametrize("rows", [1, 2, 63, 64, 65, 150])
@pytest.mark.parametrize("batch_size", [None, 1, 7, 500])
async def test_predict_any_number_of_rows(rows: int, batch_size: int | None) -> None:
    model = await create(SQUARES)
    data = np.arange(rows * 5, dtype="int32").reshape(rows, 5) % 40
    found = await model.predict(data, batch_size=batch_size)
    assert (np.asarray(found) == (data + 1.0) ** 2).all()


async def test_predict_keeps_graphs_for_the_next_time() -> None:
    model = await create()
    await model.predict([[1, 2, 3, 4]] * 9, batch_size=4)
    once = model.memory()
    await model.predict([[1, 2, 3, 4]] * 6, batch_size=4)
    assert model.memory() == once
    for size in range(1, 30):
        await model.predict([[1, 2, 3, 4]] * 50, batch_size=size)
    assert model.memory().graphs == MAX_GRAPHS * once.graphs


async def test_predict_of_several_inputs_and_outputs() -> None:
    model = await create("""
        a:input shape=[2]; b:input shape=[2]; c:output shape=[2]; d:output shape=[];
        c:layers add([a, b]); d:layers reduceSum(node=c);
    """)
    found = await model.predict({"a": [[1, 2], [3, 4]], "b": [[10, 20], [30, 40]]})
    assert {k: v.tolist() for k, v in found.items()} == {"c": [[11, 22], [33, 44]], "d": [33, 77]}


# Training and testing.


@pytest.mark.alike
async def test_losses_fall_and_the_test_tells_the_classes() -> None:
    model = await iris()
    history = await model.train(epochs=60, lr=0.02)
    assert history.losses[-1] < 0.5 * history.losses[0]
    result = await model.test()
    assert (result.samples, result.subset) == (45, "testing")
    assert result.accuracy > 0.85
    assert sum(map(sum, result.outputs["model"].counts)) == 45
    assert result.outputs["model"].labels == ("setosa", "versicolor", "virginica")
    assert (await model.test("training")).samples == 105


@pytest.mark.alike
async def test_inference_uses_the_trained_parameters() -> None:
    model = await iris()
    context = await model.create_context()
    context.set_data([1, -1, 0.5, 2])
    await model.run(context)
    before = (await context.output()).tolist()
    await model.train(epochs=5)
    await model.run(context)
    after = (await context.output()).tolist()
    assert after != before
    p = {name: np.array(value) for name, value in values(model).items()}
    hidden = np.maximum(np.array([1, -1, 0.5, 2]) @ p["w1"] + p["b1"], 0)
    e = np.exp(hidden @ p["w2"] + p["b2"])
    assert after[0] == pytest.approx((e / e.sum()).tolist(), abs=1e-5)


@pytest.mark.alike
async def test_equal_seeds_give_equal_histories() -> None:
    first, second = [await (await iris()).train(epochs=6) for _ in range(2)]
    other = await (await iris(seed=1)).train(epochs=6)
    assert first.losses == second.losses
    assert first.losses != other.losses


async def test_seed_of_the_training_decides_on_the_order() -> None:
    first = await (await iris()).train(epochs=3, seed=1, seeds=0)
    second = await (await iris()).train(epochs=3, seed=2, seeds=0)
    still = [await (await iris()).train(epochs=3, seed=n, shuffle=False, seeds=0) for n in (1, 2)]
    assert first.losses != second.losses
    assert still[0].losses == still[1].losses


@pytest.mark.alike
async def test_a_second_training_with_another_optimizer_really_uses_it() -> None:
    once = await iris()
    await once.train(epochs=4, restore_best=False)
    middle = values(once)
    again = await once.train(epochs=4, optimizer="sgdm", lr=0.05, restore_best=False)
    fresh = await iris()
    for name, value in middle.items():
        fresh.state.parameters.set(name, value)
    expected = await fresh.train(epochs=4, optimizer="sgdm", lr=0.05, restore_best=False)
    assert again.losses == expected.losses
    assert values(once) == values(fresh)
    assert (again.settings["optimizer"], again.settings["lr"]) == ("sgdm", 0.05)


@pytest.mark.alike
async def test_nothing_is_left_by_a_training_and_none_created_by_steps() -> None:
    model = await iris(data={"split": (0.6, 0.2, 0.2)})
    before = model.memory()
    during: list[Any] = []
    await model.train(epochs=6, on_epoch=lambda _: during.append(model.memory()))
    await model.test()
    assert model.memory() == before
    # The evaluator joins with the first validation, which comes before the first report.
    assert len(set(during)) == 1


@pytest.mark.alike
async def test_validation_decides_on_the_best_epoch() -> None:
    model = await iris(data={"split": (0.6, 0.2, 0.2)})
    history = await model.train(epochs=30, lr=0.02)
    found = [record.val_loss for record in history.epochs]
    assert history.best_loss == min(found)
    assert history.best_epoch == found.index(min(found)) + 1
    result = await model.test("validation")
    assert result.loss == pytest.approx(history.best_loss, rel=1e-5)


async def test_validation_now_and_then() -> None:
    model = await iris(data={"split": (0.6, 0.2, 0.2)})
    history = await model.train(epochs=5, validate_every=2)
    assert [record.val_loss is None for record in history.epochs] == [True, False] * 2 + [True]
    # Training losses are not measured by the same yardstick as validation losses.
    assert history.best_epoch in (2, 4)


async def test_restore_best() -> None:
    """At a rate this large the last epoch is not the best one."""
    losses = {}
    for restore in (True, False):
        model = await iris()
        history = await model.train(
            epochs=12,
            optimizer="sgdm",
            lr=0.5,
            schedule="constant",
            restore_best=restore,
            batch_size=105,
        )
        losses[restore] = (await model.test("training")).loss
    assert losses[True] <= losses[False] * (1 + 1e-6)
    assert history.best_epoch >= 1


async def test_patience() -> None:
    model = await create(
        """
        m:input shape=[2]; m:output shape=[1]; m:loss MSE; m:layers matmul(w, init=zeros), add(b);
    """,
        dataset=Dataset([[0.0, 0.0]] * 4, [[0.0]] * 4, split=(1, 0, 0)),
    )
    history = await model.train(epochs=50, patience=3)
    assert history.stopped == "patience"
    assert (history.best_epoch, len(history.epochs)) == (1, 4)


async def test_callback_stops() -> None:
    model = await iris()
    seen: list[int] = []

    def on_epoch(record: Any) -> bool | None:
        seen.append(record.epoch)
        return False if record.epoch == 3 else None

    history = await model.train(epochs=50, on_epoch=on_epoch)
    assert seen == [1, 2, 3]
    assert history.stopped == "callback"


async def test_stop() -> None:
    model = await iris()
    training = model.train(epochs=100_000)
    for _ in range(20):
        await asyncio.sleep(0)
    history = await training.stop()
    assert history.stopped == "stop"
    assert len(history.epochs) < 100_000
    assert (await model.test()).samples == 45


@pytest.mark.alike
async def test_pause_and_resume() -> None:
    model = await iris()
    seen: list[int] = []
    training = model.train(epochs=30, on_epoch=lambda record: seen.append(record.epoch))
    training.pause()
    for _ in range(50):
        await asyncio.sleep(0)
    held = list(seen)
    for _ in range(50):
        await asyncio.sleep(0)
    assert seen == held and len(held) < 30
    training.resume()
    history = await training
    assert len(history.epochs) == 30
    other = await (await iris()).train(epochs=30)
    assert history.losses == other.losses


@pytest.mark.alike
async def test_one_training_at_a_time() -> None:
    model = await iris()
    first = model.train(epochs=50)
    with pytest.raises(DataError, match="NNM712"):
        model.train(epochs=1)
    await catch_error("NNM712", model.test())
    assert len((await first).epochs) == 50
    await model.test()


class Stumble(Exception):
    """What a careless callback raises."""


@pytest.mark.parametrize("epoch", [1, 2, 5])
async def test_an_error_leaves_the_model_usable(epoch: int) -> None:
    model = await iris()
    start, before = values(model), model.memory()

    def on_epoch(record: Any) -> None:
        if record.epoch == epoch:
            raise Stumble

    training = model.train(epochs=9, on_epoch=on_epoch)
    with pytest.raises(Stumble):
        await training
    assert training.history.stopped == "error"
    assert model.memory() == before
    assert values(model) != start
    await model.test()
    await model.train(epochs=1)
    assert model.memory() == before


async def test_cancelled_training_leaves_the_model_usable() -> None:
    model = await iris()
    before = model.memory()

    async def caller() -> None:
        await model.train(epochs=100_000)

    task = asyncio.ensure_future(caller())
    for _ in range(10):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for _ in range(10):
        await asyncio.sleep(0)
    await model.test()
    assert model.memory() == before


async def test_divergence() -> None:
    model = await create(
        """
        m:input shape=[2]; m:output shape=[1]; m:loss MSE; m:layers matmul(w), exp();
    """,
        dataset=Dataset([[1.0, 50.0]] * 4, [[0.5]] * 4, split=(1, 0, 0)),
    )
    before = model.memory()
    text = await catch_error("NNM708", model.train(epochs=50, optimizer="sgdm", lr=1e6))
    assert "epoch" in text and "lower lr" in text
    assert model.memory() == before


async def test_no_dataset() -> None:
    model = await create()
    with pytest.raises(DataError) as caught:
        model.train()
    assert caught.value.code == "NNM714"
    await catch_error("NNM714", model.test())
    model.set_dataset(await IrisDataset.create())
    await model.test()


async def test_dataset_that_does_not_fit() -> None:
    four = Dataset([[1.0, 2.0]] * 4, [[0.0, 1.0, 0.0]] * 4)
    await catch_error("NNM702", create(dataset=four))


@pytest.mark.parametrize("subset", ["validation", "tasting"])
async def test_subsets_without_rows(subset: str) -> None:
    await catch_error("NNM705", (await iris()).test(subset))


async def test_hyperparameters_as_a_dict() -> None:
    model = await iris()
    history = await model.train({"epochs": 2, "batchSize": 50}, optimizer="SGDM")
    assert (len(history.epochs), history.settings["batch_size"]) == (2, 50)
    assert history.settings["optimizer"] == "sgdm"
    with pytest.raises(DataError) as caught:
        model.train(epoch=3)
    assert caught.value.code == "NNM703"


async def test_history_is_json() -> None:
    model = await iris()
    history = await model.train(epochs=3, on_epoch=lambda _: None)
    text = json.dumps(history.to_dict(), allow_nan=False)
    found = json.loads(text)
    assert [record["loss"] for record in found["epochs"]] == history.losses
    assert found["stopped"] == "epochs"
    assert found["best_epoch"] == history.best_epoch
    assert found["backend"] == "numpy"
    assert "3 epochs on numpy" in str(history)


async def test_history_of_no_epoch_is_json_too() -> None:
    model = await iris()
    training = model.train(epochs=3)
    history = await training.stop()
    json.dumps(history.to_dict(), allow_nan=False)


@pytest.mark.alike
async def test_log_of_a_long_training_is_short() -> None:
    said: list[str] = []
    model = await iris(log=said.append)
    await model.train(epochs=100)
    epochs = [line.split("/")[0] for line in said if line.startswith("epoch")]
    assert epochs == ["epoch 1", "epoch 50", "epoch 100"]


@pytest.mark.alike
async def test_steps_are_counted_over_trainings() -> None:
    model = await iris()
    await model.train(epochs=2, batch_size=50)
    await model.train(epochs=1, batch_size=105)
    assert model.step == 7


@pytest.mark.parametrize(
    "setting",
    [
        *({"seed": "x"}, {"seed": 1.5}, {"batch_size": 0}, {"batch_size": "20"}),
        *({"files": 7}, {"log": 7}),
    ],
)
async def test_settings_of_a_wrong_type_are_refused_by_name(setting: dict[str, Any]) -> None:
    text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w);"
    settings: Any = {"source": text, "backend": "numpy", "log": lambda _: None, **setting}
    with pytest.raises(DataError) as caught:
        await NNModel.create(**settings)
    assert caught.value.code == "NNM704" and next(iter(setting)) in caught.value.message
    assert caught.value.hint
