"""Several inputs and outputs end to end: sequences of unequal lengths and images, two tasks."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import DataError, Dataset, NNModel

np = pytest.importorskip("numpy")

SOURCE = """
words:input  shape=[3] sequence=time;
image:input  shape=[1, 6, 6];
kind:output  shape=[3];
size:output  shape=[1];
size:loss    MSE;
said:layers  {recurrent};
seen:layers  conv2d(f, filters=4, kernel=3, strides=2), relu(), flatten(),
             matmul(w, shape=[4]);
trunk:layers concat([told, shown]), matmul(w, shape=[8]), add(b), tanh();
kind:layers  said(node=words, name=told), seen(node=image, name=shown), trunk(name=both),
             matmul(w), add(b), softmax();
size:layers  matmul(w, node=both), add(b);
"""
LSTM = SOURCE.format(recurrent="lstm(k, r, hiddenSize=4)")
ATTEND = SOURCE.format(recurrent="matmul(w, shape=[4]), attend(q, k, v), reduceMean(axes=[time])")
MODELS = {"lstm": LSTM, "attend": ATTEND}
ROWS = 36


def rows(scale: float = 1.0) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return rows whose class is in the sequence and whose size is in sequence and image."""
    draw = np.random.default_rng(0)
    kinds = [k % 3 for k in range(ROWS)]
    words = [draw.normal(size=(int(draw.integers(1, 6)), 3)) / 2 + 2 * np.eye(3)[k] for k in kinds]
    image = draw.normal(size=(ROWS, 1, 6, 6))
    size = image.mean(axis=(1, 2, 3)) + np.array([w.mean() for w in words])
    return (
        {"words": [w.tolist() for w in words], "image": image.tolist()},
        {"kind": np.eye(3)[kinds].tolist(), "size": (scale * size[:, None]).tolist()},
    )


def data(scale: float = 1.0, **settings: Any) -> Dataset:
    inputs, outputs = rows(scale)
    given = {"split": (24, 6, 6), "batch_size": 7, "method": "random", "length": {"words": "max"}}
    given |= settings
    return Dataset(inputs, outputs, **given)


async def create(source: str = LSTM, **settings: Any) -> NNModel:
    given = {"dataset": data(), "backend": "numpy", "log": lambda _: None, **settings}
    return await NNModel.create(source=source, **given)


@pytest.mark.alike
@pytest.mark.parametrize("name", MODELS)
async def test_both_tasks_are_learnt(name: str) -> None:
    model = await create(MODELS[name])
    history = await model.train(epochs=60, lr=0.02, seeds=3, restore_best=False)
    first, last = history.epochs[0], history.epochs[-1]
    for task in ("kind", "size"):
        assert last.losses[task] < 0.6 * first.losses[task]
        assert set(last.losses) == set(last.val_losses) == {"kind", "size"}
    assert last.loss == pytest.approx(sum(last.losses.values()))
    assert set(last.val_metrics) == {"kind accuracy", "size r2"}
    result = await model.test("training")
    assert result.outputs["kind"].accuracy > 0.8
    assert result.outputs["size"].r2 > 0.5
    assert set(history.loss_settings) == {"kind", "size"}
    assert all(isinstance(task["s"], float) for task in history.loss_settings.values())


@pytest.mark.alike
async def test_columns_of_both_tasks() -> None:
    history = await (await create()).train(epochs=2, seeds=0)
    header = history.to_csv().splitlines()[0].split(",")
    names = ("loss:kind", "loss:size", "val_loss:kind", "val_loss:size", "val_kind accuracy")
    assert set(names) <= set(header)
    (kind, size) = history.to_dict()["epochs"][-1]["val_losses"]
    assert (kind, size) == ("kind", "size")


@pytest.mark.desktop
async def test_uncertainty_learns_the_weights() -> None:
    """The task with the smaller loss gets the larger weight e^(−s)/2, towards s = ln L (E.8)."""
    model = await create(dataset=data(scale=3.0))
    history = await model.train(epochs=60, seeds=0, lr=0.02, restore_best=False)
    s = {name: task["s"] for name, task in history.loss_settings.items()}
    last = history.epochs[-1].losses
    assert (s["kind"] < s["size"]) == (last["kind"] < last["size"])
    assert s["kind"] != 0 != s["size"]
    assert history.settings["loss_weights"] == "uncertainty"
    assert not [p.name for p in model.params() if "task" in p.name]


@pytest.mark.alike
async def test_loss_weights_by_output() -> None:
    settings: dict[str, Any] = {"epochs": 2, "seeds": 0, "optimizer": "sgdm", "lr": 0.01}

    async def parameters(**more: Any) -> dict[str, Any]:
        model = await create()
        await model.train(**settings, gradient_clipping="off", regularization="off", **more)
        return {p.name: p.value.tolist() for p in model.params()}

    plain = await parameters(loss_weights="off")
    assert await parameters(loss_weights={"kind": 1, "size": 1}) == plain
    assert await parameters(loss_weights={"kind": 1}) == plain  # missing ones are 1
    assert await parameters(loss_weights={"size": 3}) != plain
    assert await parameters(loss_weights="auto") != plain
    with pytest.raises(DataError, match='no output "sze"') as caught:
        await parameters(loss_weights={"sze": 1})
    assert caught.value.code == "NNM710"


async def test_an_output_without_targets_is_not_trained() -> None:
    inputs, outputs = rows()
    settings: dict[str, Any] = {"split": (24, 6, 6), "method": "random", "length": {"words": "max"}}
    kinds = Dataset(inputs, {"kind": outputs["kind"]}, **settings)
    async with await create(seed=1) as model:
        with pytest.raises(DataError, match='NNM701: the dataset has no output "size"'):
            model.set_dataset(kinds)
        kinds.without_targets = {"kind", "size"}
        with pytest.raises(DataError, match="NNM701: dataset has no targets for"):
            model.set_dataset(kinds)
        kinds.without_targets = {"size"}
        model.set_dataset(kinds)
        before = {p.name: p.value.tolist() for p in model.params()}
        history = await model.train(epochs=4, lr=0.01, progress="off")
        assert history.epochs[-1].losses.keys() == {"kind"}
        after = {p.name: p.value.tolist() for p in model.params()}
        changed = {name for name in before if after[name] != before[name]}
        assert before.keys() - changed == {"w4", "b3"}  # those of "size"
        assert (await model.test()).losses.keys() == {"kind"}
        assert (await model.predict(inputs)).keys() == {"kind", "size"}


@pytest.mark.alike
async def test_weighted_losses_decide_on_the_best_epoch() -> None:
    model = await create()
    weights = {"kind": 2.0, "size": 0.5}
    history = await model.train(epochs=12, seeds=0, loss_weights=weights, lr=0.02)
    criteria = [2 * r.val_losses["kind"] + 0.5 * r.val_losses["size"] for r in history.epochs]
    assert history.best_epoch == 1 + criteria.index(min(criteria))
    assert history.best_loss == pytest.approx(min(criteria))


@pytest.mark.alike
async def test_patience_and_the_best_epoch_restored() -> None:
    model = await create()
    kept: dict[int, Any] = {}
    history = await model.train(epochs=200, seeds=0, lr=0.3, patience=4, optimizer="sgdm")
    best = history.best
    assert best is not None
    assert history.stopped == "patience"
    assert len(history.epochs) == history.best_epoch + 4
    result = await model.test("validation")
    for name, loss in best.val_losses.items():
        kept[name] = result.losses[name]
        assert result.losses[name] == pytest.approx(loss, rel=1e-5)
    last = await create()
    again = await last.train(
        epochs=200, seeds=0, lr=0.3, patience=4, optimizer="sgdm", restore_best=False
    )
    assert again.losses == history.losses
    assert (await last.test("validation")).losses != pytest.approx(kept)


@pytest.mark.desktop
async def test_uncertainty_beats_equal_weights() -> None:
    """A loss that is much larger drowns the other task, unless weights are learnt."""

    async def accuracy(weights: str) -> float:
        model = await create(dataset=data(scale=10.0))
        settings: dict[str, Any] = {"optimizer": "sgdm", "lr": 0.01, "restore_best": False}
        await model.train(epochs=60, seeds=0, loss_weights=weights, **settings)
        return (await model.test("training")).outputs["kind"].accuracy

    assert await accuracy("auto") > await accuracy("off") + 0.2


@pytest.mark.alike
async def test_predictions_of_dicts() -> None:
    model = await create()
    await model.train(epochs=2, seeds=0)
    inputs, _ = rows()
    found = await model.predict(inputs, batch_size=5)
    assert {name: values.shape for name, values in found.items()} == {
        "kind": (ROWS, 3),
        "size": (ROWS, 1),
    }
    for row in (0, 7, ROWS - 1):
        one = {name: [values[row]] for name, values in inputs.items()}
        alone = await (await twin(model)).predict(one)
        for name in found:
            np.testing.assert_allclose(found[name][row], alone[name][0], rtol=1e-5, atol=1e-6)


async def twin(model: NNModel) -> NNModel:
    """Return a model with the same parameters, which knows nothing of the data."""
    other = await create(model.source, dataset=None, sequence_length=1)
    await other.load_params(model)
    return other


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ({"words": [[[1, 2, 3]]]}, "NNM702", 'input "image" has no data'),
        ({"wrds": [[[1, 2, 3]]]}, "NNM710", 'did you mean "words"'),
        ({"words": [[[1, 2, 3]]], "image": np.zeros((2, 1, 6, 6))}, "NNM702", "2 rows, but others"),
        ({"words": [], "image": []}, "NNM702", "has no rows"),
        ({"words": [[], [[1, 2, 3]]], "image": np.zeros((2, 36))}, "NNM711", "row 0"),
    ],
    ids=["missing", "unknown", "rows", "none", "empty"],
)
async def test_dicts_that_do_not_fit(given: Any, code: str, words: str) -> None:
    model = await create()
    inputs, _ = rows()
    await model.predict(inputs)  # what a call before gave is not taken in its place
    with pytest.raises(DataError) as caught:
        await model.predict(given)
    assert caught.value.code == code
    assert words in str(caught.value)
