"""The running of a training: calls, tables, buffers, several inputs, outputs (spec E.9, E.10)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from webnnm import Dataset, NNModel
from webnnm.backends.base import DeviceTensor
from webnnm.backends.budget import Budget
from webnnm.core.arrays import HostArray
from webnnm.core.errors import ContextLost
from webnnm.training.schedules import Schedule

np = pytest.importorskip("numpy")

LINEAR = """
m:input shape=[1]; m:output shape=[1]; m:loss MSE; m:layers matmul(w, init=zeros), add(b);
"""


def line(rows: int = 40, **settings: Any) -> Dataset:
    """Return points on y = 2x + 1."""
    xs = [[k / rows] for k in range(rows)]
    return Dataset(xs, [[2 * x + 1] for (x,) in xs], **{"split": (1, 0, 0), **settings})


async def create(source: str = LINEAR, dataset: Dataset | None = None) -> NNModel:
    return await NNModel.create(
        source=source, dataset=dataset or line(), backend="numpy", log=lambda _: None
    )


def values(model: NNModel) -> dict[str, Any]:
    return {p.name: p.value.tolist() for p in model.params()}


@pytest.mark.alike
@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 40, 256])
async def test_size_of_a_chunk_does_not_matter(chunk: int) -> None:
    expected = await create()
    history = await expected.train(epochs=3, batch_size=3, optimizer="sgdm")
    model = await create()
    model.backend.budget = Budget(call_steps=chunk)
    assert (await model.train(epochs=3, batch_size=3, optimizer="sgdm")).losses == history.losses
    assert values(model) == values(expected)


@pytest.mark.alike
async def test_a_line_is_learnt() -> None:
    model = await create()
    await model.train(epochs=150, optimizer="sgdm", lr=0.1, weight_decay=0, batch_size=7)
    found = values(model)
    assert found["w1"][0][0] == pytest.approx(2, abs=0.02)
    assert found["b1"][0] == pytest.approx(1, abs=0.02)
    result = await model.test("training")
    assert result.loss < 1e-4
    assert result.r2 > 0.999


async def test_records_of_the_epochs() -> None:
    model = await create()
    history = await model.train(epochs=4, lr=0.01, batch_size=10)
    schedule = Schedule(kind="cosine", rate=0.01, epochs=4, batches=4)
    assert [record.epoch for record in history.epochs] == [1, 2, 3, 4]
    assert [record.lr for record in history.epochs] == [schedule.at(4 * n) for n in (1, 2, 3, 4)]
    assert all(record.losses == {"m": record.loss} for record in history.epochs)
    assert all(record.seconds >= 0 and record.val_loss is None for record in history.epochs)
    assert (history.stopped, history.settings["epochs"]) == ("epochs", 4)


async def test_stop_within_an_epoch_ends_after_the_chunk() -> None:
    model = await create()
    model.backend.budget = Budget(call_steps=2)
    training = model.train(epochs=1000, batch_size=1)
    while model.step < 10:
        await asyncio.sleep(0)
    at = model.step
    await training.stop()
    assert model.step <= at + 2
    assert training.history.stopped == "stop"


async def test_stop_ends_a_paused_training() -> None:
    model = await create()
    training = model.train(epochs=1000)
    training.pause()
    for _ in range(5):
        await asyncio.sleep(0)
    assert (await training.stop()).stopped == "stop"


@pytest.mark.alike
async def test_several_inputs_and_outputs() -> None:
    text = """
    left:input shape=[2]; right:input shape=[3];
    sum:output shape=[2]; class:output shape=[3]; sum:loss MSE;
    sum:layers matmul(w, node=left, shape=[2]), add(shared);
    class:layers matmul(w, node=right), softmax();
    q:param shared shape=[2];
    """
    draw = np.random.default_rng(0)
    data = Dataset(
        {"left": draw.normal(size=(30, 2)).tolist(), "right": draw.normal(size=(30, 3)).tolist()},
        {
            "sum": draw.normal(size=(30, 2)).tolist(),
            "class": np.eye(3)[draw.integers(0, 3, 30)].tolist(),
        },
        split=(1, 0, 0),
    )
    model = await create(text, data)
    history = await model.train(epochs=20, batch_size=7, optimizer="sgdm", lr=0.05)
    first, last = history.epochs[0], history.epochs[-1]
    assert last.losses["sum"] < first.losses["sum"]
    assert last.losses["class"] < first.losses["class"]
    assert last.loss == pytest.approx(sum(last.losses.values()))
    result = await model.test("training")
    assert set(result.outputs) == {"sum", "class"}


@pytest.mark.alike
async def test_training_over_sequences() -> None:
    text = """
    m:input shape=[2] sequence=words; m:output shape=[1];
    m:layers matmul(w, shape=[1]), reduceMean(axes=[words]);
    """
    draw = np.random.default_rng(0)
    x = draw.normal(size=(12, 5, 2))
    model = await create(
        text,
        Dataset(x.tolist(), x.sum(axis=2).mean(axis=1, keepdims=True).tolist(), split=(1, 0, 0)),
    )
    history = await model.train(epochs=200, optimizer="sgdm", lr=0.5, weight_decay=0)
    assert history.losses[-1] < 1e-4
    assert np.allclose(values(model)["w1"], [[1], [1]], atol=0.05)


async def test_float16_inputs_train() -> None:
    model = await create(LINEAR.replace("m:input shape", "m:input float16 shape"))
    history = await model.train(epochs=30, optimizer="sgdm", lr=0.1)
    assert history.losses[-1] < history.losses[0]
    assert {p.dtype for p in model.params()} == {"float32"}


async def test_lost_device_ends_the_training_as_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    model = await create()
    run_steps = model.backend.run_steps

    async def lose(*arguments: Any) -> Any:
        if model.step >= 8:
            raise ContextLost("the device is gone", step=model.step)
        return await run_steps(*arguments)

    read = model.backend.read

    async def lost_too(*tensors: Any) -> Any:
        if model.step >= 8:
            raise ContextLost("the device is gone")
        return await read(*tensors)

    monkeypatch.setattr(model.backend, "run_steps", lose)
    monkeypatch.setattr(model.backend, "read", lost_too)
    training = model.train(epochs=10, batch_size=20)
    with pytest.raises(ContextLost) as caught:
        await training
    assert (caught.value.code, caught.value.step) == ("NNM716", 8)
    assert training.history.stopped == "error"
    assert len(training.history.epochs) == 4


async def test_refused_allocation_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = await create()
    before = model.memory()
    allocate = model.backend.tensor
    left = [6]

    async def refuse(*arguments: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise MemoryError
        return await allocate(*arguments)

    monkeypatch.setattr(model.backend, "tensor", refuse)
    with pytest.raises(MemoryError):
        await model.train(epochs=1)
    assert model.memory() == before


@pytest.mark.parametrize(("rows", "batches"), [(40, 1), (200, 2)])
async def test_the_validation_subset_goes_to_the_device_once(rows: int, batches: int) -> None:
    model = await create(dataset=line(rows, split=(0.5, 0.5, 0)))
    uploads: list[Any] = []
    write = model.backend.write

    def count_calls(tensor: DeviceTensor, data: HostArray) -> None:
        if tensor.type == ("float32", ()):  # the number of rows of a batch
            uploads.append(tensor)
        write(tensor, data)

    model.backend.write = count_calls  # type: ignore[method-assign]
    history = await model.train(epochs=6, batch_size=20, seeds=0, restore_best=False)
    assert len(uploads) == batches
    last = history.epochs[-1].val_loss
    assert last == pytest.approx((await model.test("validation")).loss, rel=1e-6)


async def test_a_validation_subset_that_is_too_large_goes_there_each_time() -> None:
    expected = await (await create(dataset=line(split=(0.5, 0.5, 0)))).train(epochs=3, seeds=0)
    model = await create(dataset=line(split=(0.5, 0.5, 0)))
    model.backend.budget = Budget(resident_bytes=10)
    found = await model.train(epochs=3, seeds=0)
    assert [r.val_loss for r in found.epochs] == [r.val_loss for r in expected.epochs]
