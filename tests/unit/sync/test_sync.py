"""The names without await: the same results, in scripts and where a loop is running."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any

import pytest

import webnnm
from webnnm import DataError, Dataset, History, NNModel, grad, jit, scan, sync, vmap, xp
from webnnm.eager.errors import TracedValueError

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.skipif(
    sys.platform == "emscripten", reason="a page has no threads; tests/browser/test_start_up.py"
)

SOURCE = """
m:input shape=[3]; m:output shape=[2];
m:layers matmul(w, shape=[6]), tanh(), matmul(v), softmax();
"""
SETTINGS: dict[str, Any] = {"epochs": 4, "batch_size": 4, "seeds": 0, "progress": "off"}


def data() -> Dataset:
    draw = np.random.default_rng(0)
    return Dataset(draw.normal(size=(20, 3)), np.eye(2)[draw.integers(2, size=20)])


def create(**settings: Any) -> Any:
    given = {"backend": "numpy", "log": lambda _: None, "dataset": data(), **settings}
    return sync.NNModel.create(source=SOURCE, **given)


def test_it_gives_what_awaiting_gives() -> None:
    with create() as model:
        history = model.train(SETTINGS)
        assert isinstance(history, History)
        assert model.predict([[1, 2, 3]]).shape == (1, 2)
        file = model.save()
        assert model.outputs() == ["m"]

    async def awaited() -> list[float]:
        given = {"backend": "numpy", "log": lambda _: None, "dataset": data()}
        return (await (await NNModel.create(source=SOURCE, **given)).train(SETTINGS)).losses

    assert history.losses == asyncio.run(awaited())
    again = sync.NNModel.load(file, backend="numpy", log=lambda _: None)
    assert again.load_params(model.state.parameters.values())
    assert repr(again) == "<NNModel model: 30 parameters, 30 trainable>"
    again.close()


async def test_it_works_where_a_loop_is_running() -> None:
    model = create()
    assert model.train(SETTINGS).stopped == "epochs"
    model.close()


def test_models_are_arguments_and_parts_of_results() -> None:
    model, other = create(), create()
    assert other.load_params(model) == [p.name for p in model.params()]
    other.seed = 2
    assert other.__wrapped__.seed == 2
    context = model.create_context(2)
    context.randomize()
    model.run(context)
    assert context.output().shape == (2, 2)


def test_arrays_are_arrays() -> None:
    text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w, init=constant(1));"
    with sync.NNModel.create(source=text, backend="numpy", log=lambda _: None) as model:
        found = model.apply(model.param_arrays(), xp.ones((3, 2)))
        assert float(xp.sum(found)) == 6


def test_models_are_functions_under_jit_and_vmap() -> None:
    with create() as model:
        params, x = model.param_arrays(), xp.ones((4, 3))
        expected = model.apply(params, x)
        functions = (
            lambda x: jit(model.apply)(params, x),
            jit(lambda x: model.apply(model.param_arrays(), x)),
            sync.jit(lambda x: model.apply(params, x)),
            vmap(lambda row: model.apply(params, row[None])[0]),
        )
        for function in functions:
            assert float(xp.max(xp.abs(function(x) - expected))) < 1e-6
        slopes = jit(grad(lambda p: xp.sum(model.apply(p, x) ** 2)))(params)
        assert slopes.keys() == params.keys()
        carried = scan(lambda c, row: (c + model.apply(params, row[None])[0], c), xp.zeros(2), x)
        assert carried[0].tolist() == pytest.approx(xp.sum(expected, axis=0).tolist())
        with pytest.raises(TracedValueError, match="predict needs values") as raised:
            jit(lambda x: model.predict(x))(x)
        assert "model.apply(params, x)" in raised.value.hint


def test_names_are_those_of_the_package() -> None:
    assert dir(sync) == dir(webnnm)
    assert sync.__version__ == webnnm.__version__
    assert sync.DataError is DataError
    assert dir(sync.charts) == dir(webnnm.charts)
    with create() as model:
        assert {"train", "predict", "save"} <= {*dir(model)}
        assert isinstance(model, sync.NNModel)
        assert not isinstance(data(), sync.NNModel)


def test_errors_are_those_of_the_call() -> None:
    with pytest.raises(DataError, match="NNM703"):
        create().train(20)


def test_an_interrupt_cancels_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Ctrl-C comes while a script waits, the training ends at a step that is known."""
    model = create()
    main = threading.main_thread()
    reached = threading.Event()

    def interrupt(record: Any) -> None:
        if record.epoch == 3 and not reached.is_set():
            reached.set()
            import signal

            signal.pthread_kill(main.ident, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        model.train({**SETTINGS, "epochs": 10**6}, on_epoch=interrupt)
    assert model.step == model.state.checkpoint.step >= 3 * 4
    assert model.train(resume=True, epochs=10**6, on_epoch=lambda _: False).stopped == "callback"


@pytest.mark.parametrize("begun", [False, True])
def test_an_interrupt_before_the_waiting_ends_the_call(
    begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C may come before the work is queued, or after that and before the script waits."""
    model = create()
    epochs: list[int] = []
    loop, _ = sync._loop()
    queue = loop.call_soon_threadsafe

    def interrupted(function: Any) -> None:
        monkeypatch.undo()
        if begun:
            queue(function)
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "call_soon_threadsafe", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.train(
            {**SETTINGS, "epochs": 10**6}, on_epoch=lambda record: epochs.append(record.epoch)
        )
    assert model.train(SETTINGS).stopped == "epochs", "nobody else trains the model"
    assert len(epochs) < 10**6


def test_a_callback_cannot_wait_for_what_waits_for_it() -> None:
    model = create()
    with pytest.raises(DataError, match="NNM712"):
        model.train(SETTINGS, on_epoch=lambda _: model.save())

    async def save(_: Any) -> None:
        assert await model.__wrapped__.save()

    assert model.train(SETTINGS, on_epoch=save).stopped == "epochs"
