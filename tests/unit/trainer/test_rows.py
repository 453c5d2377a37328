"""What rows a training sees: augmented ones, class numbers, padded positions, short batches."""

from __future__ import annotations

import math
from typing import Any

import pytest

from webnnm import Dataset, NNModel
from webnnm.data.preparation.epoch_arrays import epoch_arrays

np = pytest.importorskip("numpy")

LINE = "m:input shape=[2]; m:output shape=[1]; m:loss MSE; m:layers matmul(w), add(b);"
CLASSES = "m:input shape=[2]; m:output shape=[3]; {loss}m:layers matmul(w), add(b), softmax();"
TAGS = """
m:input shape=[2] sequence=words; m:output shape=[3] sequence=words; {loss}
m:layers attend(q, k, v), matmul(w), softmax();
"""
STILL: dict[str, Any] = {
    "seeds": 0,
    "optimizer": "sgdm",
    "lr": 1e-30,
    "weight_decay": 0,
    "gradient_clipping": "off",
    "regularization": "off",
}
"""Settings that leave the parameters as they are: losses tell of the rows."""
LEARNS: dict[str, Any] = STILL | {"lr": 0.1}


def numbers(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).normal(size=shape).astype("float32")


async def create(source: str, data: Any, **settings: Any) -> NNModel:
    given = {"dataset": data, "backend": "numpy", "log": lambda _: None, **settings}
    return await NNModel.create(source=source, **given)


def values(model: NNModel) -> dict[str, Any]:
    return {p.name: p.value.tolist() for p in model.params()}


async def losses(source: str, data: Any, **settings: Any) -> tuple[list[float], dict[str, Any]]:
    """Return the losses of a training, and the parameters at its end."""
    model = await create(source, data)
    history = await model.train(**LEARNS | {"epochs": 3} | settings)
    return history.losses, values(model)


# Augmentation.


def noisy(inputs: Any, outputs: Any, stream: Any, epoch: int) -> Any:
    """Shift every number of the inputs by another one."""
    x = inputs["m"]
    shifts = stream.uniform(2 * len(x))
    shifted = [value + shift for value, shift in zip(x.values(), shifts, strict=True)]
    return {"m": np.reshape(shifted, (len(x), 2)).tolist()}, outputs


def line(**settings: Any) -> Dataset:
    given = {"split": (14, 6, 0), "method": "sequential", "batch_size": 4, **settings}
    return Dataset({"m": numbers(20, 2).tolist()}, {"m": numbers(20, 1).tolist()}, **given)


@pytest.mark.alike
@pytest.mark.parametrize("shuffle", [True, False])
async def test_every_epoch_has_other_rows_and_validation_its_own(shuffle: bool) -> None:
    data = line().augment(noisy)
    model = await create(LINE, data)
    w, b = (np.array(p.value) for p in model.params())
    history = await model.train(epochs=4, shuffle=shuffle, **STILL)
    expected: list[float] = []
    for epoch in range(1, 5):
        inputs, outputs = epoch_arrays(data, epoch, shuffle, model.seed)
        x, y = np.array(inputs["m"].tolist()), np.array(outputs["m"].tolist())
        expected.append(float(((x @ w + b - y) ** 2).mean()))
    assert history.losses == pytest.approx(expected, rel=1e-5)
    assert len(set(history.losses)) == 4
    assert len({record.val_loss for record in history.epochs}) == 1
    plain = await (await create(LINE, line())).train(epochs=1, **STILL)
    assert history.epochs[0].val_loss == plain.epochs[0].val_loss


async def test_augmentation_that_changes_nothing_changes_nothing() -> None:
    same = line().augment(lambda inputs, outputs, stream, epoch: (inputs, outputs))
    assert await losses(LINE, same) == await losses(LINE, line())


async def test_augmented_trainings_repeat_to_the_bit() -> None:
    one, two = [await losses(LINE, line().augment(noisy), seed=3) for _ in range(2)]
    assert one == two
    assert one != await losses(LINE, line().augment(noisy), seed=4)


# Class numbers.


async def test_class_numbers_train_as_one_hot_rows() -> None:
    classes = [0, 1, 2] * 5
    x = numbers(15, 2).tolist()
    sparse = Dataset(x, classes, kinds={"model": "classes"}, split=(1, 0, 0))
    onehot = Dataset(x, np.eye(3)[classes].tolist(), split=(1, 0, 0))
    with_numbers = await losses(CLASSES.format(loss="m:loss SCE; "), sparse)
    with_rows = await losses(CLASSES.format(loss="m:loss CCE; "), onehot)
    assert with_numbers[0] == pytest.approx(with_rows[0], rel=1e-6)
    for name, array in with_rows[1].items():
        np.testing.assert_allclose(with_numbers[1][name], array, rtol=1e-5, atol=1e-6)
    model = await create(CLASSES.format(loss=""), sparse)
    assert (await model.train(epochs=1, **STILL)).loss_settings["m"]["loss"] == "SCE"


def tags() -> tuple[list[Any], list[list[int]]]:
    """Return sequences of different lengths with a class at every position."""
    lengths = [3, 1, 4, 2, 5, 2, 3]
    draw = np.random.default_rng(0)
    x = [draw.normal(size=(n, 2)).astype("float32").tolist() for n in lengths]
    return x, [draw.integers(0, 3, n).tolist() for n in lengths]


@pytest.mark.parametrize(("loss", "hot"), [("m:loss SCE;", False), ("m:loss CCE;", True), ("", 0)])
async def test_padded_positions_do_not_count(loss: str, hot: bool) -> None:
    x, y = tags()
    given = [np.eye(3)[row].tolist() for row in y] if hot else y
    kinds: Any = {} if hot else {"kinds": {"model": "classes"}}
    data = Dataset(x, given, length="max", split=(1, 0, 0), batch_size=3, **kinds)
    model = await create(TAGS.format(loss=loss), data)
    parts = await model.predict(x)
    chances = np.concatenate([p[range(len(r)), r] for p, r in zip(parts, y, strict=True)])
    history = await model.train(epochs=1, **STILL)
    assert history.losses[0] == pytest.approx(float(-np.log(chances).mean()), rel=1e-5)
    result = await model.test("training")
    assert result.loss == pytest.approx(history.losses[0], rel=1e-5)
    right = np.concatenate([p.argmax(1) == r for p, r in zip(parts, y, strict=True)])
    assert result.accuracy == pytest.approx(right.mean())


async def test_positions_without_a_class_do_not_count() -> None:
    """−1 within a row that is full: as a mask of its own for the labels."""
    x = numbers(2, 3, 2).tolist()
    y = [[0, -1, 2], [1, 1, -1]]
    data = Dataset(x, y, length="max", split=(1, 0, 0), kinds={"model": "classes"})
    model = await create(TAGS.format(loss="m:loss SCE;"), data)
    shares = await model.predict(x)
    chances = [shares[i, j, y[i][j]] for i in range(2) for j in range(3) if y[i][j] >= 0]
    history = await model.train(epochs=1, **STILL)
    assert history.losses[0] == pytest.approx(-sum(map(math.log, chances)) / 4, rel=1e-5)


# Short batches.

NORMED = """
m:input shape=[2]; m:output shape=[1]; m:loss MSE;
m:layers matmul(w, shape=[4]), batchNorm(), tanh(), matmul(w), add(b);
"""


@pytest.mark.parametrize("source", [LINE, NORMED])
@pytest.mark.parametrize("clipping", ["off", "global", "agc"])
async def test_short_batches_are_as_batches_of_their_size(source: str, clipping: str) -> None:
    data = Dataset(numbers(5, 2).tolist(), numbers(5, 1).tolist(), split=(1, 0, 0))
    found = [
        await losses(source, data, batch_size=size, gradient_clipping=clipping, epochs=4)
        for size in (5, 6, 20)
    ]
    for some in found[1:]:
        assert some[0] == pytest.approx(found[0][0], rel=1e-5)
        for name, array in found[0][1].items():
            np.testing.assert_allclose(some[1][name], array, rtol=1e-4, atol=1e-6, err_msg=name)


async def test_short_batches_of_padded_sequences() -> None:
    x, y = tags()
    given: dict[str, Any] = {"split": (1, 0, 0), "kinds": {"model": "classes"}}
    source = TAGS.format(loss="m:loss SCE;")
    exact = await losses(source, Dataset(x, y, length="max", **given), batch_size=7)
    wide = await losses(source, Dataset(x, y, length=9, **given), batch_size=16)
    assert wide[0] == pytest.approx(exact[0], rel=1e-5)
    for name, array in exact[1].items():
        np.testing.assert_allclose(wide[1][name], array, rtol=1e-4, atol=1e-6, err_msg=name)


async def test_loss_of_an_epoch_is_the_mean_over_rows() -> None:
    """A short batch counts by its rows, not as a whole one."""
    data = line()
    model = await create(LINE, data)
    before = (await model.test("training")).loss
    for size in (4, 5, 13, 14, 20):
        history = await model.train(epochs=1, batch_size=size, **STILL)
        assert history.losses[0] == pytest.approx(before, rel=1e-5)
