"""Models on a backend that is given to them: it is used as it is, shared, and left open."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from webnnm import BackendError, DataError, Dataset, NNModel, join_models, split_model
from webnnm.backends.base import Binding, DeviceTensor, Executable
from webnnm.backends.reference import ReferenceBackend

np = pytest.importorskip("numpy")

SOURCE = """m:input shape=[3]; m:output shape=[2]; m:layers matmul(w, shape=[4]), head();
    head:layers relu(), matmul(v), softmax();"""
ROWS = [[1.0, 2.0, 3.0]]


class Counting(ReferenceBackend):
    """Counts dispatches; where it is `slow`, others take a turn before what it makes arrives."""

    dispatches = 0
    slow = False

    async def compile(self, *args: Any, **options: Any) -> Executable:
        """Compile a graph."""
        made = await super().compile(*args, **options)
        if self.slow:
            await asyncio.sleep(0)
        return made

    async def tensor(self, *args: Any) -> DeviceTensor:
        """Return a new tensor."""
        made = await super().tensor(*args)
        if self.slow:
            await asyncio.sleep(0)
        return made

    def dispatch(self, executable: Executable, inputs: Binding, outputs: Binding) -> None:
        """Run a graph at once."""
        self.dispatches += 1
        super().dispatch(executable, inputs, outputs)


@pytest.fixture
def given() -> Iterator[Counting]:
    backend = Counting()
    yield backend
    assert not backend.memory().tensors, "models are closed, and nothing is left"
    assert not backend.memory().graphs
    backend.close()


def quiet(_: str) -> None:
    pass


def data() -> Dataset:
    return Dataset([[0.5] * 3, [0.1] * 3] * 8, [[0.0, 1.0], [1.0, 0.0]] * 8)


async def create(backend: Any, **settings: Any) -> NNModel:
    return await NNModel.create(source=SOURCE, backend=backend, log=quiet, **settings)


async def test_a_given_backend_computes_what_its_own_does(given: Counting) -> None:
    async with await create(given, dataset=data()) as model, await create("numpy") as own:
        assert model.backend is given
        assert own.backend is not given
        before = given.dispatches
        assert (await model.predict(ROWS) == await own.predict(ROWS)).all()
        assert given.dispatches == before + 1
        history = await model.train(epochs=3, seeds=0, batch_size=16)
        assert given.dispatches >= before + 4
        assert history.losses == (await _train()).losses
        assert model.memory().kinds["parameters"] == own.memory().kinds["parameters"]


async def _train() -> Any:
    async with await create("numpy", dataset=data()) as model:
        return await model.train(epochs=3, seeds=0, batch_size=16)


async def test_models_on_one_backend_hold_what_is_theirs(given: Counting) -> None:
    first, second = await create(given, seed=1), await create(given, seed=2)
    expected = await second.predict(ROWS)
    context = await first.create_context(4)
    context.set_data([ROWS[0]] * 4)
    await first.run(context)
    assert first.memory().tensors + second.memory().tensors == given.memory().tensors
    first.close()
    first.close()
    assert (await second.predict(ROWS) == expected).all()
    assert second.memory().tensors == given.memory().tensors
    for use in (first.predict(ROWS), first.run(context), first.compile()):
        with pytest.raises(BackendError, match="NNM709: the model was closed"):
            await use
    second.close()


async def test_a_training_of_a_model_that_is_closed_ends_with_it(given: Counting) -> None:
    model = await create(given, dataset=data())
    training = model.train(epochs=1000, seeds=0)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    model.close()
    with pytest.raises(BackendError, match="the model was closed"):
        await training


@pytest.mark.parametrize("turns", [1, 2, 3])
async def test_what_arrives_after_the_close_is_freed(given: Counting, turns: int) -> None:
    model = await create(given)
    given.slow = True
    predicting = asyncio.ensure_future(model.predict(ROWS))
    for _ in range(turns):
        await asyncio.sleep(0)
    model.close()
    with pytest.raises(BackendError, match="the model was closed"):
        await predicting
    assert given.memory().tensors == given.memory().graphs == 0


async def test_a_creation_that_fails_leaves_the_backend_open(given: Counting) -> None:
    def fail(_: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(DataError, match="NNM702"):
        await create(given, dataset=Dataset([[0.5] * 5] * 8, [[0.0, 1.0]] * 8))
    with pytest.raises(ZeroDivisionError):
        await NNModel.create(source=SOURCE, backend=given, log=fail)
    (await create(given)).close()


async def test_parts_and_snapshots_are_on_the_backend_of_the_model(given: Counting) -> None:
    async with await create(given) as model:
        expected = await model.predict(ROWS)
        async with await NNModel.load(await model.save(), backend=given, log=quiet) as loaded:
            assert (await loaded.predict(ROWS) == expected).all()
        trunk, head = await split_model(model, "head")
        whole = await join_models(trunk, head)
        assert trunk.backend is head.backend is whole.backend is given
        assert (await whole.predict(ROWS) == expected).all()
        for part in (trunk, head, whole):
            part.close()


async def test_parts_go_to_the_backend_that_they_are_given(given: Counting) -> None:
    async with await create("numpy", device="cpu") as model:
        for part in await split_model(model, "head", backend=given):
            assert part.backend is given
            part.close()
        for part in await split_model(model, "head"):
            assert part.backend not in (given, model.backend)
            part.close()
    async with await create(given) as model:
        for part in await split_model(model, "head", backend="numpy"):
            assert part.backend is not given
            part.close()


async def test_a_model_does_not_open_anew_what_it_was_given(given: Counting) -> None:
    async with await create(given) as model:
        with pytest.raises(DataError) as caught:
            await model.reopen()
        assert caught.value.code == "NNM704"
        assert "open a new one" in caught.value.hint
        await model.predict(ROWS)


@pytest.mark.parametrize("setting", ["device", "powerPreference"])
async def test_how_to_open_a_backend_is_not_said_of_an_open_one(
    given: Counting, setting: str
) -> None:
    more: dict[str, Any] = {setting: "gpu"}
    with pytest.raises(DataError, match="selects a backend to open") as caught:
        await create(given, **more)
    assert caught.value.code == "NNM703"
    (await create(given, optimize_for="edge")).close()


async def test_a_backend_may_be_closed_before_its_models() -> None:
    backend = Counting()
    model = await create(backend)
    backend.close()
    with pytest.raises(BackendError, match="NNM709: the backend was closed"):
        await model.predict(ROWS)
    model.close()
