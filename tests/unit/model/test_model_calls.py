"""Calls of a model that are wrong say which keyword is meant, and leave nothing open."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from webnnm import DataError, Dataset, Finding, NNModel, review
from webnnm.backends.base import Backend
from webnnm.backends.reference import ReferenceBackend

np = pytest.importorskip("numpy")

SOURCE = "m:input shape=[3]; m:output shape=[2]; m:layers matmul(w), softmax();"
QUIET: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}


def data(width: int = 3) -> Dataset:
    return Dataset([[0.5] * width] * 8, [[0.0, 1.0]] * 8)


async def create(**settings: Any) -> NNModel:
    return await NNModel.create(source=SOURCE, **{**QUIET, **settings})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda _: NNModel.create(SOURCE), ("NNModel.create", "source=")),
        (lambda _: create(deviceType="npu"), ('no setting "deviceType"', 'device="npu"')),
        (lambda _: create(device_type="npu"), ('no setting "device_type"', 'device="npu"')),
        (lambda _: NNModel.load(b"", source=SOURCE), ('no "source"', "load_params")),
        (lambda _: NNModel.load(b"", path="m.nnm"), ('no "path"', "load_params")),
        (lambda model: model.train(20), ("NNModel.train", "20", "epochs=20")),
        (lambda model: model.train("adam"), ("NNModel.train", "adam", "epochs=20")),
        (lambda model: model.review(20), ("NNModel.review", "epochs=20")),
        (lambda model: review(model, None, 20), ("review", "20", "epochs=20")),
    ],
)
async def test_what_is_given_without_its_name_is_told(
    call: Callable[[NNModel], Any], words: tuple[str, ...]
) -> None:
    model = await create(dataset=data())
    with pytest.raises(DataError) as caught:
        found = call(model)
        if isinstance(found, Awaitable):
            await found
    assert caught.value.code == "NNM703"
    for word in words:
        assert word in str(caught.value)
    assert (await model.train(epochs=1, seeds=0)).stopped == "epochs"


@pytest.fixture
def backends(monkeypatch: pytest.MonkeyPatch) -> tuple[list[Backend], list[Backend]]:
    """The backends that were opened, and those that were closed."""
    opened: list[Backend] = []
    closed: list[Backend] = []
    begin, close = ReferenceBackend.__init__, ReferenceBackend.close

    def begun(self: ReferenceBackend) -> None:
        opened.append(self)
        begin(self)

    def end(self: ReferenceBackend) -> None:
        closed.append(self)
        close(self)

    monkeypatch.setattr(ReferenceBackend, "__init__", begun)
    monkeypatch.setattr(ReferenceBackend, "close", end)
    return opened, closed


async def test_a_creation_that_fails_closes_its_backend(
    backends: tuple[list[Backend], list[Backend]], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = await (await create()).save()
    opened, closed = backends
    opened.clear()

    async def refuse(*_: Any) -> None:
        raise MemoryError

    def fail(_: str) -> None:
        raise ZeroDivisionError

    for _ in range(5):
        with pytest.raises(DataError, match="NNM702"):
            await create(dataset=data(5))
    with pytest.raises(DataError, match="NNM702"):
        await NNModel.load(file, dataset=data(5), **QUIET)
    with pytest.raises(ZeroDivisionError):
        await create(log=fail)
    with pytest.raises(ZeroDivisionError):
        await NNModel.load(file, backend="numpy", log=fail)
    with monkeypatch.context() as patch:
        patch.setattr(ReferenceBackend, "fill", refuse)
        with pytest.raises(MemoryError):
            await create()
    assert len(opened) == 9
    assert opened == closed


async def test_a_model_is_reviewed_without_a_dataset() -> None:
    model = await create()
    found = model.review(epochs=5)
    assert all(isinstance(one, Finding) for one in found)
    assert found == list(review(model, epochs=5).findings)
    model.set_dataset(data())
    history = await model.train(epochs=1, seeds=0)
    assert all(isinstance(one, Finding) for one in history.findings)


async def test_a_model_shows_itself_as_a_table() -> None:
    model = await create(dataset=data())
    assert "<th>matmul1</th><td>float32[2]</td><td>w1 [3, 2]</td><td>6</td>" in model._repr_html_()
    assert repr(model) == "<NNModel model: 6 parameters, 6 trainable>"
    await model.train(epochs=1, seeds=0)
    shown = (await model.test("training"))._repr_html_()
    assert "<th>samples</th>" in shown
    assert "actual \\ predicted" in shown


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
async def test_results_and_data_can_be_copied_but_not_models(duplicate: Callable[..., Any]) -> None:
    examples, rows = data(), [[0.5, 1.0, 2.0]]
    model = await create(dataset=examples)
    prediction = await model.predict(rows)
    assert duplicate(prediction).tolist() == prediction.tolist()
    again = duplicate(examples)
    assert again.size("full") == 8 and again.arrays("full")[0].keys() == {"model"}
    result = await model.test()
    assert str(duplicate(result)) == str(result)
    with pytest.raises(DataError, match="copied or pickled") as caught:
        duplicate(model)
    assert "await NNModel.load(await model.save())" in caught.value.hint
    other = await NNModel.load(await model.save(), **QUIET)
    assert (await other.predict(rows)).tolist() == prediction.tolist()


async def test_what_moved_is_neither_read_nor_set_on_a_model() -> None:
    async with await NNModel.create(source=SOURCE, backend="numpy", log=lambda _: None) as model:
        with pytest.raises(AttributeError, match=r"use model\.state\.batch_size"):
            model.batch_size  # noqa: B018
        with pytest.raises(AttributeError, match=r"use model\.state\.batch_size"):
            model.batch_size = 3
