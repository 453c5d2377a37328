"""Compiled predictions: parameters as constants, until they change; memory by purpose."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from webnnm import Dataset, NNModel

np = pytest.importorskip("numpy")

SOURCE = """
m:input shape=[3]; m:output shape=[2];
m:layers matmul(w, shape=[5]), add(b), tanh(), matmul(w), add(b), softmax();
"""
ROW = [[0.5, -1.0, 2.0]]


async def create() -> NNModel:
    draw = np.random.default_rng(1)
    x = draw.normal(size=(20, 3))
    y = np.eye(2)[(x[:, 0] > 0).astype(int)]
    data = Dataset(x.tolist(), y.tolist(), split=(1, 0, 0))
    return await NNModel.create(source=SOURCE, dataset=data, backend="numpy", log=lambda _: None)


def inputs_of_graphs(model: NNModel) -> list[set[str]]:
    """Note the inputs of every graph that is dispatched from now on."""
    seen: list[set[str]] = []
    dispatch = model.backend.dispatch

    def note_call(executable: Any, inputs: Any, outputs: Any) -> None:
        seen.append(set(executable.inputs))
        dispatch(executable, inputs, outputs)

    model.backend.dispatch = note_call  # type: ignore[method-assign]
    return seen


async def test_parameters_are_constants_of_a_compiled_graph(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A clock that goes on by a second whenever it is looked at.
    monkeypatch.setattr("time.perf_counter", itertools.count().__next__)
    model = await create()
    expected = (await model.predict(ROW)).tolist()
    logged: list[str] = []
    model.state.log = logged.append
    found = await model.compile()
    assert (found.batch_size, found.constants) == (1, 4 * (3 * 5 + 5 + 5 * 2 + 2))
    assert found.build > 0 and found.first > 0 and found.steady > 0
    assert logged == [str(found)]
    seen = inputs_of_graphs(model)
    assert (await model.predict(ROW)).tolist() == expected
    assert seen == [{"m"}]


async def test_other_batch_sizes_keep_their_own_graph() -> None:
    model = await create()
    await model.compile(batch_size=5)
    seen = inputs_of_graphs(model)
    three, five = await model.predict(ROW * 3), await model.predict(ROW * 5)
    assert three.tolist() == five.tolist()[:3]
    assert [len(inputs) for inputs in seen] == [5, 1]


@pytest.mark.parametrize("how", ["train", "set", "initialise"])
async def test_a_change_of_parameters_is_seen(how: str) -> None:
    model = await create()
    await model.compile()
    before = (await model.predict(ROW)).tolist()
    if how == "train":
        await model.train(epochs=3, seeds=0)
    elif how == "set":
        await model.load_params({"b2": [3.0, -3.0]}, only="b2")
    else:
        await model.state.parameters.initialise(99)
    after = (await model.predict(ROW)).tolist()
    assert after != before
    other = await create()
    await other.load_params(model)
    assert (await other.predict(ROW)).tolist() == after


async def test_compiling_again_leaves_nothing_of_the_first() -> None:
    model = await create()
    await model.compile()
    once = model.memory()
    await model.compile()
    assert model.memory() == once


async def test_a_context_can_be_compiled() -> None:
    model = await create()
    context = await model.create_context(2)
    context.set_data(ROW * 2)
    await model.run(context)
    expected = (await context.output()).tolist()
    await context.compile()
    assert context.compiled
    await model.run(context)
    assert (await context.output()).tolist() == expected
    await model.train(epochs=2, seeds=0)
    assert not context.compiled
    await model.run(context)
    assert (await context.output()).tolist() != expected


async def test_memory_is_reported_by_purpose() -> None:
    model = await create()
    parameters = 4 * model.state.parameters.count
    assert model.memory().kinds == {"parameters": parameters}
    await model.predict(ROW)
    assert model.memory().kinds == {"parameters": parameters, "inference": 4 * (3 + 2)}
    during: list[dict[str, int]] = []
    await model.train(
        epochs=2,
        batch_size=5,
        seeds=0,
        on_epoch=lambda _: during.append(dict(model.memory().kinds)),
    )
    (kinds,) = {tuple(sorted(found.items())) for found in during}
    found = dict(kinds)
    assert found["parameters"] == parameters
    assert found["training data"] >= 4 * 20 * (3 + 2)
    assert found["training state"] > 3 * parameters, "the other bank, the spare one, the best"
    assert model.memory().kinds == {"parameters": parameters, "inference": 4 * (3 + 2)}
    assert f"parameters {parameters:,}" in str(model.memory())
