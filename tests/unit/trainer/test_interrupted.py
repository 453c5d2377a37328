"""A training that is interrupted leaves a step that is known, frees its tensors and can go on."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.trainer.budgets import USUAL, exactly
from webnnm import ContextLost, DataError, Dataset, History, NNModel
from webnnm.backends.base import Backend
from webnnm.backends.budget import Budget

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.skipif(
    sys.platform == "emscripten", reason="minutes in a page; tests/browser/test_interrupted.py"
)

SOURCE = """
m:input shape=[3]; m:output shape=[2]; m:loss MSE;
m:layers matmul(w, shape=[6]), add(b), tanh(), dropout(0.2), matmul(w), add(b);
"""
SETTINGS: dict[str, Any] = {
    "epochs": 6,
    "batch_size": 5,
    "seeds": 2,
    "progress": "off",
    "optimizer": "adam",
    "lr": 0.05,
}
VALIDATED, SEVERAL = (20, 10, 0), (30, 0, 0)
"""Subsets with which the host looks at each epoch, and with which a call has several."""


def rows(split: tuple[int, int, int] = VALIDATED) -> Dataset:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(30, 3))
    y = np.sin(x[:, :2]) + 0.1 * draw.normal(size=(30, 2))
    return Dataset(x.tolist(), y.tolist(), split=split)


async def create(data: Dataset, budget: Budget = USUAL, **settings: Any) -> NNModel:
    given = {"backend": "numpy", "log": lambda _: None, **settings}
    model = await NNModel.create(source=SOURCE, dataset=data, **given)
    model.backend.budget = budget
    return model


async def load(data: Dataset, file: bytes, budget: Budget = USUAL) -> NNModel:
    model = await NNModel.load(file, dataset=data, backend="numpy", log=lambda _: None)
    model.backend.budget = budget
    return model


def values(model: NNModel) -> dict[str, Any]:
    return {p.name: p.value.tolist() for p in model.params()}


async def on_device(model: NNModel) -> dict[str, Any]:
    """Return the parameters that are computed with."""
    names = list(model.state.parameters.tensors)
    found = await model.backend.read(*model.state.parameters.tensors.values())
    return {name: array.tolist() for name, array in zip(names, found, strict=True)}


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def course(data: Dataset, **settings: Any) -> tuple[History, dict[str, Any], int]:
    """Return what a training is that nothing interrupts."""
    model = await create(data)
    history = await model.train({**SETTINGS, **settings})
    return history, values(model), model.step


def same_end(whole: History, end: History) -> None:
    later = whole.epochs[end.resumed_after :]
    for name in ("epoch", "loss", "val_loss", "lr", "grad_norm"):
        assert [getattr(r, name) for r in end.epochs] == [getattr(r, name) for r in later], name
    assert (end.best_epoch, end.best_loss) == (whole.best_epoch, whole.best_loss)


async def length(data: Dataset, budget: Budget) -> int:
    """Return how many turns of the scheduler a training takes."""
    model = await create(data, budget)
    training = asyncio.ensure_future(model.train(SETTINGS))
    count = 0
    while not training.done():
        await asyncio.sleep(0)
        count += 1
    return count


@pytest.mark.parametrize(
    ("split", "steps_per_call"),
    [(VALIDATED, 3), (SEVERAL, 12)],
    ids=["epoch by epoch", "several epochs"],
)
async def test_cancelled_at_any_moment_it_stands_at_a_known_step_and_goes_on(
    split: tuple[int, int, int], steps_per_call: int
) -> None:
    """A hundred moments for each way of training, two hundred in all.

    Where several moments leave the same behind, one of them goes on for all.
    """
    # Steps let others in after each dispatch, so that a moment may lie between any two of them.
    budget = exactly(steps_per_call, yield_steps=1)
    data = rows(split)
    whole, weights, steps = await course(data)
    most = await length(data, budget)
    draw = random.Random(8)
    stood: set[int] = set()
    gone_on: list[tuple[Any, ...]] = []
    for moment in (draw.randrange(1, most) for _ in range(100)):
        model = await create(data, budget)
        before = model.memory()
        training = model.train(SETTINGS)
        await turns(moment)
        cancelled = asyncio.ensure_future(training)
        await turns(1)
        cancelled.cancel()
        await asyncio.wait([cancelled])
        if not cancelled.cancelled():
            continue
        stood.add(model.step)
        assert model.memory() == before, moment
        assert await on_device(model) == values(model), moment
        standing = model.state.checkpoint
        if standing is None:  # before the first step
            assert model.step == 0
            continue
        epoch = -(-split[0] // SETTINGS["batch_size"])
        assert model.step == standing.step == standing.epoch * epoch + standing.batch
        taken = standing.best if standing.restored else standing.parameters
        assert {name: array.tolist() for name, array in taken.items()} == values(model)
        left = (standing.step, standing.epoch, standing.batch, standing.restored, values(model))
        if left in gone_on:
            continue
        gone_on.append(left)
        again = await load(data, await model.save(), budget)
        end = await again.train(resume=True)
        same_end(whole, end)
        assert values(again) == weights, moment
        assert again.step == steps
    assert len(stood) > (10 if split == VALIDATED else 2), "the moments lie all over the training"


@pytest.mark.parametrize("batch", range(1, 5))
async def test_a_callback_that_fails_leaves_the_last_step(batch: int) -> None:
    """Also behind the last batch of an epoch, before its validation."""

    def stumble(record: Any) -> None:
        if (record.epoch, record.batch) == (3, batch):
            raise ZeroDivisionError

    data = rows()
    whole, weights, _ = await course(data)
    model = await create(data)
    with pytest.raises(ZeroDivisionError):
        await model.train(SETTINGS, on_batch=stumble)
    assert model.step == 8 + batch
    again = await load(data, await model.save())
    same_end(whole, await again.train(resume=True))
    assert values(again) == weights


async def test_a_display_that_fails_within_a_crossing_leaves_the_end_of_its_epoch() -> None:
    data = rows(SEVERAL)
    whole, weights, _ = await course(data)

    def stumble(event: dict[str, Any]) -> None:
        if event["event"] == "epoch":
            raise ZeroDivisionError

    model = await create(data, exactly(4 * 6))
    with pytest.raises(ZeroDivisionError):
        await model.train({**SETTINGS, "progress": stumble})
    assert model.step == 6
    again = await load(data, await model.save())
    end = await again.train(resume=True, progress="off")
    assert end.resumed_after == 1
    same_end(whole, end)
    assert values(again) == weights


async def test_several_epochs_of_a_crossing_begin_in_the_midst_of_one() -> None:
    """The best epoch, and the one where it is stopped, are counted from where the epochs begin."""
    data = rows(SEVERAL)
    settings: dict[str, Any] = {"lr": 0.5, "patience": 3}  # so rough that the best one comes early
    whole, weights, steps = await course(data, **settings)
    assert whole.stopped == "patience"
    part = await create(data)
    until: Callable[[Any], bool] = lambda r: (r.epoch, r.batch) != (2, 2)  # noqa: E731
    await part.train({**SETTINGS, **settings}, on_batch=until)
    again = await load(data, await part.save(), exactly(1000))
    end = await again.train(resume=True)
    same_end(whole, end)
    assert (values(again), again.step) == (weights, steps)


async def test_a_second_cancellation_waits_as_the_first_one() -> None:
    model = await create(rows())
    before = model.memory()
    training = asyncio.ensure_future(model.train(SETTINGS))
    while not model.step:
        await asyncio.sleep(0)
    for _ in range(3):
        training.cancel()
        await asyncio.sleep(0)
    await asyncio.wait([training])
    assert training.cancelled()
    assert model.memory() == before
    assert await on_device(model) == values(model)


async def test_a_training_cancelled_before_its_first_turn_leaves_the_model_free() -> None:
    model = await create(rows())
    task = model.train(SETTINGS)._task
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert (await model.train({**SETTINGS, "epochs": 1})).stopped == "epochs"


def lose_after(backend: Backend, dispatches: int) -> None:
    """Let the device be gone after so many dispatches of steps."""
    run_steps, read = backend.run_steps, backend.read
    left = [dispatches]

    async def lose(executable: Any, banks: Any, first: int, count: int, *more: Any) -> Any:
        left[0] -= count
        if left[0] < 0:
            raise ContextLost("the device is gone", step=first)
        return await run_steps(executable, banks, first, count, *more)

    async def lost(*tensors: Any) -> Any:
        if left[0] < 0:
            raise ContextLost("the device is gone")
        return await read(*tensors)

    backend.run_steps = lose  # type: ignore[method-assign]
    backend.read = lost  # type: ignore[method-assign]


@pytest.mark.parametrize("dispatches", [0, 3, 17, 22])
async def test_a_lost_device_leaves_what_the_host_knows(dispatches: int) -> None:
    data = rows()
    whole, weights, _ = await course(data)
    saved: list[int] = []
    model = await create(data, exactly(3))
    before = model.memory()

    async def keep(record: Any) -> None:
        if record.epoch == 3:
            await model.save()
            saved.append(model.step)

    lose_after(model.backend, dispatches)
    with pytest.raises(ContextLost, match="NNM716") as caught:
        await model.train(SETTINGS, on_epoch=keep)
    file = await model.save()  # what the host has takes no device
    step = saved[-1] if saved else 0
    assert model.step == step
    assert f"step {step}" in caught.value.hint
    assert model.memory() == before
    await model.reopen()
    assert await on_device(model) == values(model)
    assert model.memory() == before
    again = await load(data, file)
    assert values(again) == values(model)
    assert (await model.train(resume=True, on_epoch=None)).losses == whole.losses[step // 4 :]
    end = await again.train(resume=True)
    assert end.resumed_after == step // 4
    same_end(whole, end)
    assert values(again) == weights


async def test_models_train_side_by_side_and_one_that_fails_harms_none() -> None:
    data = rows()
    whole, weights, _ = await course(data)
    models = [await create(data) for _ in range(4)]
    before = [model.memory() for model in models]

    def stumble(record: Any) -> None:
        if record.epoch == 4:
            raise ZeroDivisionError

    found = await asyncio.gather(
        *(model.train(SETTINGS) for model in models[:3]),
        models[3].train(SETTINGS, on_epoch=stumble),
        return_exceptions=True,
    )
    assert isinstance(found[3], ZeroDivisionError)
    for history, model in zip(found[:3], models, strict=False):
        assert history.losses == whole.losses
        assert values(model) == weights
    assert [model.memory() for model in models] == before
    assert models[3].step == 16
    same_end(whole, await models[3].train(resume=True, on_epoch=None))
    assert values(models[3]) == weights


async def test_a_tensor_too_large_ends_the_training_alone() -> None:
    model = await create(rows())
    before, weights = model.memory(), values(model)
    tensor = model.backend.tensor

    async def refuse(type: Any, data: Any = None) -> Any:
        if len(type.shape) == 2 and type.shape[0] == 20:  # the training rows
            raise MemoryError("too large")
        return await tensor(type, data)

    model.backend.tensor = refuse  # type: ignore[method-assign]
    with pytest.raises(MemoryError):
        await model.train({**SETTINGS, "seeds": 0})
    model.backend.tensor = tensor  # type: ignore[method-assign]
    assert (model.memory(), values(model), model.step) == (before, weights, 0)
    assert (await model.train(SETTINGS)).stopped == "epochs"


# A training that nobody awaits.


async def test_nobody_scores_a_model_whose_training_is_not_awaited() -> None:
    data = rows((20, 5, 5))
    model, other = await create(data), await create(data)
    lines: list[str] = []
    model.state.log = lines.append
    context = await model.create_context(1)
    context.set_data([[1, 2, 3]])
    training = model.train(SETTINGS)
    for attempt in (
        model.test,
        model.scout,
        context.run,
        lambda: model.run(context),
        lambda: model.predict([[1, 2, 3]]),
        lambda: model.compile(1),
        lambda: model.load_params(b""),
        lambda: model.load_params(other),
        lambda: other.load_params(model),
    ):
        with pytest.raises(DataError) as caught:
            await attempt()
        assert caught.value.code == "NNM712", attempt
        assert "await model.train" in caught.value.hint
    await training
    assert (await model.test()).samples == 5
    await model.predict([[1, 2, 3]])


async def test_a_training_that_nobody_awaits_and_that_ends_early_is_told() -> None:
    lines: list[str] = []
    model = await create(rows(), log=lines.append)
    training = model.train({**SETTINGS, "epochs": 10_000})
    await turns(50)
    training._task.cancel()
    await asyncio.wait([training._task])
    assert any("which was never awaited" in line for line in lines)


async def test_setters_are_refused_while_a_training_runs() -> None:
    data = rows()
    model, other = await create(data), await create(data)
    training = model.train(SETTINGS)
    await turns(3)
    one = np.zeros((3, 6))
    attempts: list[Callable[[], Any]] = [
        lambda: model.set_dataset(data),
        lambda: setattr(model.state, "batch_size", 3),
        lambda: setattr(model, "seed", 3),
        lambda: setattr(model.state, "sequence", {}),
        lambda: model.state.parameters.set("w1", one),
        lambda: model.train(SETTINGS),
    ]
    for attempt in attempts:
        with pytest.raises(DataError) as caught:
            attempt()
        assert caught.value.code == "NNM712"
        assert caught.value.hint
    history = await training
    assert history.losses == (await course(data))[0].losses
    model.set_dataset(data)
    model.state.batch_size = 3
    assert await model.load_params(other)


async def test_a_training_without_an_event_loop_says_what_to_do() -> None:
    model = await create(rows())
    with pytest.raises(DataError, match="event loop"):
        await asyncio.to_thread(model.train, SETTINGS)
