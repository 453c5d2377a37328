"""A forgotten `await`: named where the result is used, and where a call is dropped."""

from __future__ import annotations

import asyncio
import inspect
import sys
from typing import Any

import pytest

from webnnm import (
    CSVDataset,
    DataError,
    Dataset,
    IrisDataset,
    NNModel,
    backend,
    describe_table,
    join_models,
    review,
    xp,
)
from webnnm.core.awaiting import Call, NotAwaitedError, is_asynchronous, require_await

SOURCE = "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w), softmax();"


def dataset() -> Dataset:
    return Dataset([[0.0, 1.0], [1.0, 0.0]] * 8, [[1.0, 0.0], [0.0, 1.0]] * 8)


async def create(**settings: Any) -> NNModel:
    given = {"backend": "numpy", "log": lambda _: None, "dataset": dataset(), **settings}
    return await NNModel.create(source=SOURCE, **given)


USES: list[Any] = [
    (lambda model: model.predict([[1, 2]]).classes, "(await model.predict(…)).classes"),
    (lambda model: model.test().accuracy, "(await model.test(…)).accuracy"),
    (lambda model: model.predict([[1, 2]])[0], "await model.predict(…)"),
    (lambda model: [*model.predict([[1, 2]])], "await model.predict(…)"),
    (lambda model: model.predict([[1, 2]]) + 1, "await model.predict(…)"),
    (lambda model: model.create_context(1).set_data, "(await model.create_context(…)).set_data"),
    (lambda _: NNModel.load("x").summary(), "(await NNModel.load(…)).summary"),
    (lambda _: NNModel.create(source=SOURCE).train, "(await NNModel.create(…)).train"),
    (lambda _: IrisDataset.create().labels, "(await IrisDataset.create(…)).labels"),
    (lambda model: model.set_dataset(IrisDataset.create()), "await IrisDataset.create(…)"),
    (lambda _: review(NNModel.create(source=SOURCE)), "review(await NNModel.create(…))"),
    (lambda _: xp.asarray(backend("numpy")), "await backend(…)"),
]


@pytest.mark.parametrize(("use", "remedy"), USES, ids=[remedy for _, remedy in USES])
async def test_a_use_names_the_call(use: Any, remedy: str) -> None:
    model = await create()
    with pytest.raises(DataError, match="was not awaited") as raised:
        use(model)
    assert raised.value.code == "NNM712"
    assert f"{remedy}`" in raised.value.hint
    model.close()


async def test_a_source_of_parameters_has_to_be_awaited() -> None:
    model = await create()
    with pytest.raises(DataError, match="was not awaited") as raised:
        await model.load_params(NNModel.load("x"))
    assert "await model.load_params(await NNModel.load(…))" in raised.value.hint


async def test_arguments_are_awaited_first() -> None:
    model = await create()
    for call, remedy in (
        (lambda: create(dataset=IrisDataset.create()), "dataset=await IrisDataset.create(…)"),
        (lambda: create(backend=backend("numpy")), "await backend(…)"),
        (lambda: join_models(model, NNModel.create(source=SOURCE)), "await NNModel.create(…)"),
        (lambda: model.predict(IrisDataset.create()), "await IrisDataset.create(…)"),
        (lambda: model.run(model.create_context(1)), "await model.create_context(…)"),
    ):
        with pytest.raises(DataError, match="was not awaited") as raised:
            await call()
        assert remedy in raised.value.hint
    model.close()


async def test_a_coroutine_of_the_user_is_an_argument_to_be_awaited() -> None:
    async def load() -> Dataset:
        return dataset()

    with pytest.raises(NotAwaitedError, match=r"dataset is .*load\(…\), which was not awaited"):
        await create(dataset=load())


async def test_models_are_entered_after_they_were_awaited() -> None:
    with pytest.raises(NotAwaitedError, match="cannot be entered") as raised:
        async with NNModel.create(source=SOURCE):  # pyrefly: ignore[bad-context-manager]
            pass
    assert "async with await NNModel.create(…) as …" in raised.value.hint


async def test_a_training_has_no_history_yet() -> None:
    model = await create()
    training = model.train(epochs=1, seeds=0, progress="off")
    for name in ("losses", "best_loss", "epochs", "stopped"):
        with pytest.raises(NotAwaitedError, match=f'train.* has no "{name}" yet') as raised:
            getattr(training, name)
        assert f"(await model.train(…)).{name}" in raised.value.hint
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        training.nothing  # noqa: B018
    assert repr(training) == "<model.train(…), to be awaited>"
    assert len((await training).losses) == 1
    model.close()


@pytest.mark.skipif(sys.platform == "emscripten", reason="objects go later there")
def test_a_call_that_is_dropped_warns() -> None:
    async def save() -> None: ...

    with pytest.warns(RuntimeWarning, match=r"NNM712: save\(…\) was not awaited, so nothing was"):
        require_await(save)()


async def test_a_call_is_a_coroutine() -> None:
    @require_await
    async def double(x: int) -> int:
        await asyncio.sleep(0)
        return 2 * x

    assert await double(1) == 2
    assert await asyncio.create_task(double(2)) == 4
    assert await asyncio.gather(double(3), double(4)) == [6, 8]
    assert await asyncio.wait_for(double(5), 60) == 10
    call = double(6)
    assert isinstance(call, Call)
    assert inspect.isawaitable(call)
    assert repr(call) == "<double(…), to be awaited>"
    assert not hasattr(call, "__array_interface__")
    call.close()
    assert is_asynchronous(double)
    assert is_asynchronous(NNModel.predict)
    assert not is_asynchronous(NNModel.summary)


def test_a_table_that_was_not_awaited_is_told() -> None:
    with pytest.raises(NotAwaitedError, match=r"the table is CSVDataset\.create\(…\)"):
        describe_table(CSVDataset.create(text="a,b\n1,2\n"))
