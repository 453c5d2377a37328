"""Training on streams: as on the same rows in memory, block by block, errors, memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from webnnm import DataError, Dataset, NNModel, StreamDataset
from webnnm.backends.budget import Budget

np = pytest.importorskip("numpy")

SOURCE = """
m:input shape=[3]; m:output shape=[2]; m:loss MSE;
m:layers matmul(w, shape=[5]), add(b), tanh(), matmul(w), add(b);
"""
WORDS = """
m:input shape=[2] sequence=words; m:output shape=[3]; m:loss CCE;
m:layers lstm(k, r, hiddenSize=4), matmul(w, shape=[3]), softmax();
"""
SETTINGS: dict[str, Any] = {"epochs": 3, "seeds": 0, "shuffle": False, "optimizer": "adam"}


def rows(count: int) -> list[tuple[Any, Any]]:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(count, 3)).astype("float32")
    y = np.sin(x[:, :2] * 2)
    return list(zip(x.tolist(), y.tolist(), strict=True))


def make_ragged(count: int) -> list[tuple[Any, Any]]:
    draw = np.random.default_rng(0)
    lengths = draw.integers(1, 6, count)
    x = [draw.normal(size=(n, 2)).astype("float32").tolist() for n in lengths]
    return list(zip(x, np.eye(3)[draw.integers(0, 3, count)].tolist(), strict=True))


async def stream_of(training: list[Any], validation: list[Any] = (), **settings: Any) -> Any:  # type: ignore[assignment]
    """Return a stream of these rows; how many were asked for is in its list `asked`."""
    asked: list[tuple[str, int]] = []

    async def source(subset: str, epoch: int) -> AsyncIterator[Any]:
        asked.append((subset, epoch))
        for row in training if subset == "training" else validation:
            await asyncio.sleep(0)
            yield row

    sizes = {"training": len(training), "validation": len(validation)}
    stream = await StreamDataset.create(source, rows=sizes, **settings)
    stream.asked = asked  # type: ignore[attr-defined]
    return stream


def memory_of(training: list[Any], validation: list[Any] = (), **settings: Any) -> Dataset:  # type: ignore[assignment]
    every = [*training, *validation]
    parts = (range(len(training)), range(len(training), len(every)), ())
    inputs, outputs = [x for x, _ in every], [y for _, y in every]
    return Dataset(inputs, outputs, split=[list(part) for part in parts], **settings)


async def create(dataset: Any, source: str = SOURCE) -> NNModel:
    return await NNModel.create(source=source, dataset=dataset, backend="numpy", log=lambda _: None)


def values(model: NNModel) -> dict[str, Any]:
    return {p.name: p.value.tolist() for p in model.params()}


@pytest.mark.parametrize(
    ("count", "batch", "steps"),
    [(40, 5, 2), (41, 5, 2), (41, 5, 3), (3, 5, 2), (10, 5, 2), (11, 1, 4), (40, 5, 100)],
)
async def test_streams_train_as_rows_in_memory(count: int, batch: int, steps: int) -> None:
    """Whole and short blocks, whole and short batches, one block alone."""
    given, held_out = rows(count), rows(7)
    held = await create(memory_of(given, held_out))
    expected = await held.train(**SETTINGS, batch_size=batch)
    stream = await stream_of(given, held_out)
    model = await create(stream)
    model.backend.budget = Budget(block_steps=steps)
    history = await model.train(**SETTINGS, batch_size=batch)
    # Another graph may add in another order: equal to float32.
    assert history.losses == pytest.approx(expected.losses, rel=1e-5)
    vals = [record.val_loss for record in expected.epochs]
    assert [record.val_loss for record in history.epochs] == pytest.approx(vals, rel=1e-5)
    for name, array in values(held).items():
        np.testing.assert_allclose(values(model)[name], array, rtol=1e-4, atol=1e-6)
    assert history.best_epoch == expected.best_epoch
    assert model.step == held.step == 3 * -(-count // batch)
    epochs = [epoch for subset, epoch in stream.asked if subset == "training"]
    assert epochs[-3:] == [1, 2, 3]


@pytest.mark.alike
async def test_padded_sequences_of_a_stream() -> None:
    given = make_ragged(17)
    held = await create(memory_of(given, length=5), WORDS)
    expected = await held.train(**SETTINGS, batch_size=4)
    model = await create(await stream_of(given, length=5), WORDS)
    model.backend.budget = Budget(block_steps=2)
    history = await model.train(**SETTINGS, batch_size=4)
    assert history.losses == pytest.approx(expected.losses, rel=1e-5)
    for name, array in values(held).items():
        np.testing.assert_allclose(values(model)[name], array, rtol=1e-4, atol=1e-6)


async def test_next_block_is_fetched_while_the_present_one_is_trained() -> None:
    given = rows(24)
    events: list[str] = []

    async def source(subset: str, epoch: int) -> AsyncIterator[Any]:
        for k, row in enumerate(given):
            if k % 8 == 0:
                events.append(f"block {k // 8}")
            await asyncio.sleep(0)
            yield row

    model = await create(await StreamDataset.create(source, rows={"training": 24}))
    model.backend.budget = Budget(block_steps=2, call_steps=1)
    run_steps = model.backend.run_steps

    async def note_call(*arguments: Any) -> Any:
        events.append("step")
        for _ in range(50):  # a device that takes its time
            await asyncio.sleep(0)
        return await run_steps(*arguments)

    model.backend.run_steps = note_call  # type: ignore[method-assign]
    events.clear()
    await model.train(**SETTINGS | {"epochs": 1}, batch_size=4)
    started = events[events.index("step") :]
    # The second block is begun before the second step of the first one, and so on.
    assert started.index("block 1") == 1
    assert started.index("block 2") < started.index("step", started.index("block 1") + 3)


@pytest.mark.alike
async def test_memory_on_the_device_does_not_grow_with_the_stream() -> None:
    peaks: list[int] = []
    for count in (700, 1400):
        model = await create(await stream_of(rows(count)))
        run_steps = model.backend.run_steps

        async def measure(*arguments: Any, model: NNModel = model, run: Any = run_steps) -> Any:
            peaks.append(model.memory().bytes)
            return await run(*arguments)

        model.backend.run_steps = measure  # type: ignore[method-assign]
        await model.train(**SETTINGS | {"epochs": 1}, batch_size=4)
    assert len(set(peaks)) == 1


class SourceError(Exception):
    pass


@pytest.mark.parametrize("bad", [1, 9, 23])
async def test_errors_of_the_source_reach_the_user(bad: int) -> None:
    """The parameters are those of the last step, and nothing is left on the device."""
    given = rows(24)

    def source(subset: str, epoch: int) -> Iterator[Any]:
        for k, row in enumerate(given):
            if epoch == 2 and k == bad:
                raise SourceError(f"row {k} cannot be read")
            yield row

    model = await create(await StreamDataset.create(source, rows={"training": 24}))
    model.backend.budget = Budget(block_steps=2)
    before = model.memory()
    training = model.train(**SETTINGS, batch_size=4)
    with pytest.raises(SourceError, match=f"row {bad} cannot"):
        await training
    assert (training.history.stopped, len(training.history.epochs)) == ("error", 1)
    assert model.memory() == before
    # Six steps of the first epoch, and those of the blocks that were whole.
    assert model.step == 6 + 2 * (bad // 8)
    reached: dict[str, Any] = {}
    other = await create(memory_of(given))

    def stop(record: Any) -> bool | None:
        return False if other.step == model.step else None

    await other.train(**SETTINGS, batch_size=4, on_batch=stop, restore_best=False)
    reached = values(other)
    for name, array in values(model).items():
        np.testing.assert_allclose(array, reached[name], rtol=1e-4, atol=1e-6)
    assert (await model.predict([[1, 2, 3]])).shape == (1, 2)


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (lambda rows: rows[:-1], "NNM702", "ended after 23 rows"),
        (lambda rows: [*rows, rows[0]], "NNM702", "more rows than the 24"),
        (lambda rows: [*rows[:-1], ([1, 2], rows[0][1])], "NNM702", "m"),
        (lambda rows: [*rows[:-1], ([1, 2, float("nan")], rows[0][1])], "NNM707", ""),
    ],
    ids=["fewer", "more", "width", "nan"],
)
async def test_streams_that_change(change: Any, code: str, words: str) -> None:
    given = rows(24)

    def source(subset: str, epoch: int) -> Iterator[Any]:
        yield from change(given) if epoch == 2 else given

    model = await create(await StreamDataset.create(source, rows={"training": 24}))
    model.backend.budget = Budget(block_steps=2)
    before = model.memory()
    with pytest.raises(DataError) as caught:
        await model.train(**SETTINGS, batch_size=4)
    assert caught.value.code == code
    assert words in str(caught.value)
    assert model.memory() == before


@pytest.mark.parametrize("way", ["stop", "callback", "cancel"])
async def test_a_source_is_closed_when_a_training_ends_early(way: str) -> None:
    given = rows(40)
    still_open = 0
    fetching = asyncio.Event()

    async def source(subset: str, epoch: int) -> AsyncIterator[Any]:
        nonlocal still_open
        still_open += 1
        try:
            for k, row in enumerate(given):
                if epoch and k == 10:
                    fetching.set()
                # The second block is slow: it is being fetched when the training ends.
                for _ in range(100 if fetching.is_set() else 1):
                    await asyncio.sleep(0)
                yield row
        finally:
            still_open -= 1

    model = await create(await StreamDataset.create(source, rows={"training": 40}))
    model.backend.budget = Budget(block_steps=2, call_steps=1)
    before = model.memory()
    ends = way == "callback"
    settings = SETTINGS | {"on_batch": lambda record: False if ends else None}
    training = model.train(**settings, batch_size=4)
    if way == "callback":
        assert (await training).stopped == "callback"
    elif way == "stop":
        await fetching.wait()
        assert (await training.stop()).stopped == "stop"
    else:
        await fetching.wait()
        training._task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await training
    assert still_open == 0
    assert model.memory() == before


@pytest.mark.alike
async def test_nothing_is_left_behind() -> None:
    model = await create(await stream_of(rows(50), rows(6)))
    await model.train(**SETTINGS, batch_size=4)
    before = model.memory()
    await model.train(**SETTINGS, batch_size=4)
    await model.test("validation")
    assert model.memory() == before
