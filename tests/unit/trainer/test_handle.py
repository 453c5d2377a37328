"""The handle of a training: iteration, pause, stop, callbacks; what repeats to the bit."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from typing import Any

import pytest

from webnnm import DataError, Dataset, History, NNModel
from webnnm.training.optimizers import OPTIMIZERS

np = pytest.importorskip("numpy")

SOURCE = """
m:input shape=[3]; m:output shape=[2]; m:loss MSE;
m:layers matmul(w, shape=[6]), add(b), tanh(), dropout(0.2), matmul(w), add(b);
"""
PLAIN = SOURCE.replace("dropout(0.2), ", "")
QUICK: dict[str, Any] = {"seeds": 0, "batch_size": 5}


def data(**settings: Any) -> Dataset:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(30, 3))
    y = np.sin(x[:, :2]) + 0.1 * draw.normal(size=(30, 2))
    return Dataset(x.tolist(), y.tolist(), **{"split": (20, 10, 0), **settings})


async def create(source: str = SOURCE, **settings: Any) -> NNModel:
    given = {"dataset": data(), "backend": "numpy", "log": lambda _: None, **settings}
    return await NNModel.create(source=source, **given)


def values(model: NNModel) -> dict[str, Any]:
    return {p.name: p.value.tolist() for p in model.params()}


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


# Iteration.


async def test_iteration_gives_every_epoch_as_it_ends() -> None:
    model = await create()
    training = model.train(epochs=5, **QUICK)
    seen: list[int] = []
    async for record in training:
        seen.append(record.epoch)
        assert training.history.epochs[record.epoch - 1] is record
        assert model.step >= 4 * record.epoch
    assert seen == [1, 2, 3, 4, 5]
    assert (await training).stopped == "epochs"


async def test_iteration_after_the_end_and_twice() -> None:
    training = (await create()).train(epochs=3, **QUICK)
    await training
    for _ in range(2):
        assert [record.epoch async for record in training] == [1, 2, 3]


async def test_leaving_the_iteration_does_not_end_the_training() -> None:
    training = (await create()).train(epochs=4, **QUICK)
    async for record in training:
        assert record.epoch == 1
        break
    assert len((await training).epochs) == 4


async def test_iteration_raises_what_the_training_raises() -> None:
    model = await create()
    training = model.train(epochs=50, lr=1e30, optimizer="sgdm", gradient_clipping="off", **QUICK)
    with pytest.raises(DataError) as caught:
        async for _ in training:
            pass
    assert caught.value.code == "NNM708"
    assert training.history.stopped == "error"


async def test_stop_while_iterating() -> None:
    training = (await create()).train(epochs=1000, **QUICK)
    async for record in training:
        if record.epoch == 2:
            await training.stop()
    assert training.history.stopped == "stop"
    assert 2 <= len(training.history.epochs) <= 4


# Pause, resume, stop.


async def test_pause_holds_and_resume_goes_on() -> None:
    expected = await create()
    history = await expected.train(epochs=6, **QUICK)
    model = await create()
    training = model.train(epochs=6, **QUICK)
    async for record in training:
        if record.epoch == 2:
            break
    training.pause()
    await training.checkpoint()  # which it tells between two crossings, where it is held as well
    at = model.step
    await turns(100)
    assert model.step == at < 24
    training.resume()
    # A pause changes when, not what.
    assert (await training).losses == history.losses
    assert values(model) == values(expected)


async def test_pause_before_the_first_step() -> None:
    model = await create()
    training = model.train(epochs=2, **QUICK)
    training.pause()
    await turns(100)
    assert model.step == 0
    training.resume()
    assert len((await training).epochs) == 2


@pytest.mark.alike
async def test_stop_keeps_the_best_parameters() -> None:
    model = await create(PLAIN)
    training = model.train(epochs=1000, optimizer="sgdm", lr=0.5, weight_decay=0, **QUICK)
    async for record in training:
        if record.epoch == 30:
            break
    history = await training.stop()
    assert history.stopped == "stop"
    best = history.best
    assert best is not None
    assert (await model.test("validation")).loss == pytest.approx(best.val_loss, rel=1e-5)


async def test_stop_after_the_end_and_twice() -> None:
    training = (await create()).train(epochs=2, **QUICK)
    history = await training
    assert await training.stop() is history
    assert await training.stop() is history
    assert history.stopped == "epochs"


async def test_a_second_training_waits_for_the_first() -> None:
    model = await create()
    first = model.train(epochs=100, **QUICK)
    await turns(5)
    with pytest.raises(DataError) as caught:
        model.train(epochs=1, **QUICK)
    assert caught.value.code == "NNM712"
    await first.stop()
    assert (await model.train(epochs=1, **QUICK)).stopped == "epochs"


# Callbacks and progress.


async def test_callbacks_get_every_epoch_and_batch() -> None:
    epochs: list[int] = []
    batches: list[tuple[int, int]] = []
    rates: list[float] = []

    def on_batch(record: Any) -> None:
        batches.append((record.epoch, record.batch))
        rates.append(record.lr)
        assert record.loss > 0

    history = await (await create()).train(
        epochs=3, on_epoch=lambda record: epochs.append(record.epoch), on_batch=on_batch, **QUICK
    )
    assert epochs == [1, 2, 3]
    assert batches == [(epoch, batch) for epoch in (1, 2, 3) for batch in (1, 2, 3, 4)]
    assert rates[3::4] == [record.lr for record in history.epochs]


async def test_watching_batches_changes_nothing() -> None:
    models = [await create() for _ in range(2)]
    one = await models[0].train(epochs=3, **QUICK)
    two = await models[1].train(epochs=3, on_batch=lambda record: None, **QUICK)
    assert one.losses == two.losses
    assert values(models[0]) == values(models[1])


@pytest.mark.parametrize(("batch", "steps"), [(1, 1), (3, 3), (4, 4), (6, 6)])
async def test_on_batch_stops_after_this_batch(batch: int, steps: int) -> None:
    model = await create()
    seen = 0

    def on_batch(record: Any) -> bool:
        nonlocal seen
        seen += 1
        return seen < batch

    history = await model.train(epochs=3, on_batch=on_batch, **QUICK)
    assert history.stopped == "callback"
    assert model.step == steps


@pytest.mark.parametrize("name", ["on_epoch", "on_batch"])
async def test_errors_of_callbacks_reach_the_user(name: str) -> None:
    model = await create()
    before = model.memory()

    def fail(record: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await model.train(epochs=3, **{name: fail}, **QUICK)
    assert model.memory() == before
    assert (await model.train(epochs=1, **QUICK)).stopped == "epochs"


async def test_progress_tells_a_callable() -> None:
    events: list[dict[str, Any]] = []
    history = await (await create()).train(epochs=3, progress=events.append, **QUICK)
    assert json.loads(json.dumps(events, allow_nan=False)) == events
    kinds = [event["event"] for event in events]
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    last = [event for event in events if event["event"] == "epoch"][-1]
    assert (last["epoch"], last["loss"]) == (3, history.losses[-1])
    assert events[-1]["stopped"] == "epochs"


# What a history is written as.


async def test_history_as_json_and_as_a_table() -> None:
    history = await (await create()).train(epochs=3, on_epoch=lambda record: None, seeds=2)
    found = json.loads(json.dumps(history.to_dict(), allow_nan=False))
    assert [record["loss"] for record in found["epochs"]] == history.losses
    assert found["scouting"] is not None
    assert History.from_dict(found).to_dict() == history.to_dict()
    table = list(csv.DictReader(io.StringIO(history.to_csv())))
    assert [float(row["val_loss"]) for row in table] == [r.val_loss for r in history.epochs]
    assert len(table) == 3


# What repeats.

TIMES = ("seconds", "phases")


def drop_times(value: Any) -> Any:
    """Return a history without the times in it."""
    if isinstance(value, dict):
        return {k: drop_times(v) for k, v in value.items() if k not in TIMES}
    return [drop_times(item) for item in value] if isinstance(value, list) else value


@pytest.mark.alike
@pytest.mark.parametrize("optimizer", sorted({o.name for o in OPTIMIZERS.values()}))
async def test_one_seed_gives_one_training_to_the_bit(optimizer: str) -> None:
    """With starts, shuffling, dropout, validation, clipping and scaling."""
    runs: list[Any] = []
    for seed in (1, 1, 2):
        model = await create(seed=seed)
        history = await model.train(
            epochs=4,
            seeds=3,
            batch_size=6,
            optimizer=optimizer,
            gradient_clipping="global",
            gradient_scaling="on",
        )
        runs.append((drop_times(history.to_dict()), values(model)))
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


@pytest.mark.alike
async def test_trainings_before_leave_no_trace_in_a_training() -> None:
    """What a model did before does not matter, but for its parameters."""
    fresh, used = await create(), await create()
    await used.train(epochs=2, **QUICK)
    await used.predict([[1, 2, 3]])
    await used.test("validation")
    await used.load_params(fresh)
    one = await fresh.train(epochs=3, **QUICK)
    two = await used.train(epochs=3, **QUICK)
    assert (one.losses, values(fresh)) == (two.losses, values(used))


# Nothing of these depends on how long a training is, see below.
ENDLESS: dict[str, Any] = {
    "seeds": 0,
    "batch_size": 20,
    "optimizer": "sgdm",
    "momentum_factor": 0,
    "lr": 0.05,
    "schedule": "constant",
    "shuffle": False,
    "gradient_clipping": "off",
    "restore_best": False,
}


async def in_parts(*parts: int, source: str = PLAIN, **settings: Any) -> tuple[Any, Any]:
    model = await create(source)
    losses: list[float] = []
    for epochs in parts:
        losses += (await model.train(epochs=epochs, **ENDLESS | settings)).losses
    return losses, values(model)


@pytest.mark.alike
async def test_ten_epochs_are_five_twice_where_nothing_depends_on_the_length() -> None:
    whole = await in_parts(10)
    assert await in_parts(5, 5) == whole
    assert await in_parts(3, 7) == whole


@pytest.mark.alike
@pytest.mark.parametrize(
    "settings",
    [
        {"schedule": "cosine"},
        {"schedule": "linear"},
        {"schedule": "step"},
        {"schedule": "onecycle"},
        {"batch_size": 5},  # the first epoch warms up, and every training has one
        {"momentum_factor": 0.9},
        {"optimizer": "adam", "momentum_factor": None},
        {"optimizer": "rlion", "momentum_factor": None},
        {"shuffle": True},  # an epoch is shuffled by its number in the training
        {"gradient_clipping": "global", "lr": 2.0},  # statistics begin anew
        {"source": SOURCE},  # so do the random numbers of dropout
    ],
    ids=repr,
)
async def test_ten_epochs_are_not_five_twice_otherwise(settings: Any) -> None:
    settings = dict(settings)
    if settings.get("momentum_factor", 0) is None:
        del settings["momentum_factor"]
    whole, halves = await in_parts(10, **settings), await in_parts(5, 5, **settings)
    assert whole != halves
    if "schedule" not in settings:
        assert halves[0][:5] == whole[0][:5]
