"""Functions as losses: in the step, in validation, in snapshots; their errors."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.training.trained import PLAIN, create, values
from webnnm import NNModel, review, xp
from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset
from webnnm.eager.errors import ArrayTypeError, ArrayValueError, TracedValueError

TEXT = """
m:input shape=[3]; m:output shape=[2]; m:loss MSE;
m:layers matmul(w, shape=[4]), add(b), tanh(), matmul(w), add(b);
"""
BOTH = TEXT + "second:output shape=[2]; second:loss MSE; second:layers add([m, 1]);"
CLASSES = """
m:input shape=[3]; m:output shape=[2]; m:loss CCE; m:layers matmul(w), add(b), softmax();
"""
ROWS = [[(7 * row * (column + 2) % 11) / 5 - 1 for column in range(3)] for row in range(14)]
TARGETS = [[a * b, a - 3 * c] for a, b, c in ROWS]
SETTINGS = {**PLAIN, "epochs": 3, "batch_size": 4, "lr": 0.05}


def data(**settings: Any) -> Dataset:
    return Dataset(ROWS, TARGETS, split=(0.7, 0.3, 0), **settings)


def squares(y: xp.Array, t: xp.Array) -> xp.Array:
    return xp.mean((y - t) ** 2, axis=-1)


def weigh(y: xp.Array, t: xp.Array, weights: xp.Array) -> xp.Array:
    return xp.sum(squares(y, t) * weights) / xp.sum(weights)


async def train(text: str, dataset: Dataset, **settings: Any) -> tuple[Any, Any]:
    async with await create(text, dataset) as model:
        history = await model.train({**SETTINGS, **settings})
        return history, values(model)


def far(one: Any, other: Any) -> float:
    return max(float(abs(one[name] - other[name]).max()) for name in one)


@pytest.mark.parametrize("loss", [squares, weigh])
async def test_a_function_trains_as_the_loss_that_it_computes(loss: Any) -> None:
    """In batches that are short as well; the epochs' losses are the same, too."""
    history, wanted = await train(TEXT, data())
    own, found = await train(TEXT, data(), loss=loss)
    assert far(found, wanted) <= 1e-6
    assert [e.val_loss for e in own.epochs] == pytest.approx([e.val_loss for e in history.epochs])
    assert [e.loss for e in own.epochs] == pytest.approx([e.loss for e in history.epochs])
    assert own.loss_settings["m"]["loss"] == f"{loss.__name__}()"


@pytest.mark.parametrize("loss", [squares, weigh])
async def test_rows_and_classes_have_their_weights(loss: Any) -> None:
    weights = [1 + row % 3 for row in range(len(ROWS))]
    dataset = data(sample_weight=weights)
    _, wanted = await train(TEXT, dataset)
    _, found = await train(TEXT, dataset, loss=squares)
    assert far(found, wanted) <= 1e-6
    _, plain = await train(TEXT, data(), loss=loss)
    _, found = await train(TEXT, dataset, loss=loss)
    assert far(found, plain) > 1e-4


@pytest.mark.parametrize("loss", [squares, weigh])
async def test_padded_positions_do_not_count(loss: Any) -> None:
    """Each position is a row, and the last batch is short."""
    lengths = [2, 5, 3, 1, 4]
    x = [[ROWS[(k + n) % 14] for k in range(n)] for n in lengths]
    y = [[TARGETS[(k + n) % 14] for k in range(n)] for n in lengths]
    dataset = Dataset(x, y, split=(1, 0, 0), length=5)
    text = TEXT.replace("shape=[3]", "shape=[3] sequence=true")
    history, wanted = await train(text, dataset, batch_size=2)
    own, found = await train(text, dataset, batch_size=2, loss=loss)
    assert far(found, wanted) <= 1e-6
    assert [e.loss for e in own.epochs] == pytest.approx([e.loss for e in history.epochs])


async def test_seeds_are_searched_and_steps_exported_with_the_function() -> None:
    _, wanted = await train(TEXT, data(), seeds=3)
    _, found = await train(TEXT, data(), seeds=3, loss=squares)
    assert far(found, wanted) <= 1e-6
    async with await create(TEXT, data()) as model:
        steps = [
            await model.export(None, "train", 4, format="stablehlo", loss=loss, optimizer="sgdm")
            for loss in (squares, lambda y, t: xp.sum(xp.tanh(y - t) ** 2, axis=-1))
        ]
    assert [step.count("stablehlo.tanh") for step in steps] == [1, 2]


async def test_outputs_have_losses_of_their_own() -> None:
    dataset = Dataset({"m": ROWS}, {"m": TARGETS, "second": TARGETS}, split=(1, 0, 0))
    _, wanted = await train(BOTH, dataset, loss_weights="off")
    for loss in ({"second": squares}, {"m": weigh, "second": squares}):
        _, found = await train(BOTH, dataset, loss_weights="off", loss=loss)
        assert far(found, wanted) <= 1e-6
    with pytest.raises(DataError, match="NNM704: the model has 2 outputs, but one loss"):
        await train(BOTH, dataset, loss=squares)
    with pytest.raises(DataError, match='NNM710: loss: no output "n"'):
        await train(BOTH, dataset, loss={"n": squares})


async def test_targets_are_those_of_the_loss_of_the_text() -> None:
    """Class numbers come as one-hot rows to a softmax; validation reports its accuracy."""

    def likelihood(p: xp.Array, t: xp.Array) -> xp.Array:
        return -xp.sum(t * xp.log(xp.clip(p, 1e-7, 1.0)), axis=-1)

    dataset = Dataset(ROWS, [row % 2 for row in range(14)], split=(0.7, 0.3, 0))
    history, wanted = await train(CLASSES, dataset)
    own, found = await train(CLASSES, dataset, loss=likelihood)
    assert far(found, wanted) <= 1e-5
    assert own.epochs[-1].val_metrics == history.epochs[-1].val_metrics


async def test_values_from_outside_are_constants_and_jit_and_grad_work() -> None:
    from webnnm import grad, jit

    scale = xp.asarray([2.0, 2.0]) * 0.5
    slope = grad(lambda e: xp.sum(e**2) / 2)  # e itself

    @jit
    def loss(y: xp.Array, t: xp.Array) -> xp.Array:
        return xp.mean(slope(y - t) ** 2 * scale, axis=-1)

    _, wanted = await train(TEXT, data())
    _, found = await train(TEXT, data(), loss=loss)
    assert far(found, wanted) <= 1e-6


async def test_a_snapshot_keeps_the_name_of_the_function() -> None:
    _, wanted = await train(TEXT, data(), loss=squares)
    async with await create(TEXT, data()) as model:
        await model.train({**SETTINGS, "loss": squares, "on_epoch": lambda e: e.epoch < 2})
        kept = await model.save()
    loaded = {"dataset": data(), "backend": "numpy", "log": lambda _: None}
    async with await NNModel.load(kept, **loaded) as model:
        with pytest.raises(DataError, match=r"NNM808: .* with squares\(\), and cannot") as e:
            await model.train(resume=True)
        assert "pass loss=squares" in str(e.value)
    async with await NNModel.load(kept, **loaded) as model:
        await model.train(resume=True, loss=squares)
        assert far(values(model), wanted) <= 1e-6


@pytest.mark.parametrize(
    ("loss", "kind", "message"),
    [
        (
            lambda y, t: xp.mean((y - t) ** 2),
            ArrayValueError,
            r"returned float32\[\], not float32\[4\]",
        ),
        (lambda y, t: (y - t) ** 2, ArrayValueError, r"returned float32\[4, 2\], not float32\[4\]"),
        (lambda y, t, w: (y - t) ** 2, ArrayValueError, r"float32\[4, 2\], not float32\[\]"),
        (lambda y, t: 0.0, ArrayTypeError, "returned 0.0, which is not an array"),
        (lambda y, t: print(end=""), ArrayTypeError, "returned nothing"),
        (lambda y, t: xp.any(y > t, axis=-1), ArrayTypeError, "returned bool, which has no grad"),
        (lambda y, t: float(y[0, 0]), TracedValueError, r"the loss <lambda>\(\) \(test_own.*line"),
        (lambda y, t: y @ t, ArrayValueError, r"the loss <lambda>\(\) \(test_own_losses.py, line"),
    ],
)
async def test_what_is_wrong_with_a_function_is_said(loss: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        await train(TEXT, data(), loss=loss)


async def test_settings_that_a_function_cannot_follow_are_refused() -> None:
    dataset = Dataset(ROWS, [row % 2 for row in range(14)], split=(0.7, 0.3, 0))
    with pytest.raises(DataError, match=r"NNM704: label_smoothing is 0\.1, but the loss squares"):
        await train(CLASSES, dataset, loss=squares, label_smoothing=0.1)
    with pytest.raises(DataError, match="NNM704: loss is 3"):
        await train(CLASSES, dataset, loss=3)


async def test_a_review_does_not_judge_a_function() -> None:
    text = TEXT.replace("m:loss MSE;", "")
    assert "E101" in [found.id for found in review(text, data()).findings]
    assert "E101" not in [found.id for found in review(text, data(), loss=squares).findings]
