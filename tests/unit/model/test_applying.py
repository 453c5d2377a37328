"""Models as functions: the numbers of predictions and trainings, under jit, grad and vmap."""

from __future__ import annotations

from typing import Any

import pytest

import webnnm
from tests.unit.formats.onnx_models import constant, graph, info, model, node
from tests.unit.training.trained import PLAIN, create
from webnnm import NNModel, grad, jit, optimizer, random, schedule, value_and_grad, vmap, xp
from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset
from webnnm.formats.onnx.writer import serialize

NORMALISED = """
m:input shape=[3]; m:output shape=[2]; m:loss MSE;
m:layers matmul(w, shape=[4]), batchNorm(s, t), tanh(), matmul(w, lrm=0.5), add(b);
"""
DROPPED = "m:input shape=[400]; m:output shape=[400]; m:layers dropout(0.25), dropout(0.5);"
SEVERAL = """
words:input int32 shape=[] sequence=true;
words:layers embedding(w, size=7, shape=[3]), reduceMean(axes=[sequence]);
plain:input shape=[3];
sum:output shape=[3]; sum:layers add([words, plain]);
twice:output shape=[3]; twice:layers mul([sum, 2]);
"""
ROWS = [[(7 * row * (column + 2) % 11) / 5 - 1 for column in range(3)] for row in range(12)]
TARGETS = [[a * b, a - 3 * c] for a, b, c in ROWS]


def far(found: xp.Array, wanted: Any) -> float:
    return float(xp.max(xp.abs(found - xp.asarray(wanted))))


async def open_model(text: str, **settings: Any) -> NNModel:
    return await NNModel.create(source=text, backend="numpy", log=lambda _: None, **settings)


async def test_a_model_is_a_function_of_arrays() -> None:
    async with await open_model(NORMALISED) as net:
        params, x = net.param_arrays(), xp.asarray(ROWS)
        wanted = await net.predict(ROWS, raw=True)
        assert far(net.apply(params, x), wanted) <= 1e-6
        assert far(jit(net.apply)(params, {"m": x}), wanted) <= 1e-6
        alone = vmap(lambda row: net.apply(params, row[None, :])[0, :])
        assert far(alone(x), wanted) <= 1e-6
        other = {**params, "b1": params["b1"] + 1}
        assert far(net.apply(other, x), wanted) == pytest.approx(1, abs=1e-5)


@pytest.mark.alike
async def test_a_loop_by_hand_takes_the_steps_of_a_training() -> None:
    """So are the running statistics."""
    net = await create(NORMALISED, Dataset(ROWS, TARGETS, split=(1, 0, 0)))
    params = net.param_arrays()
    learning = net.param_arrays(trainable=True)
    assert params.keys() - learning.keys() == {"s1", "t1"}  # running mean and variance
    rates = {name: 0.5 if name == "w2" else 1 for name in learning}
    rate = schedule("constant", lr=0.02, epochs=3, batches=3)
    adam = optimizer("adam", lr=rate, weight_decay=0.1, multipliers=rates)

    @jit
    def step(params: Any, learning: Any, state: Any, x: xp.Array, y: xp.Array) -> Any:
        def loss(learning: Any) -> Any:
            found, updates = net.apply({**params, **learning}, x, training=True)
            return xp.mean((found - y) ** 2), updates

        (value, updates), gradients = value_and_grad(loss, has_aux=True)(learning)
        return {**params, **updates}, *adam.update(gradients, state, learning), value

    x, y = xp.asarray(ROWS), xp.asarray(TARGETS)
    state = adam.init(learning)
    for at in [0, 4, 8] * 3:
        params, learning, state, _ = step(params, learning, state, x[at : at + 4], y[at : at + 4])
    settings = {**PLAIN, "optimizer": "adam", "momentum_factor": None, "weight_decay": 0.1}
    await net.train({**settings, "epochs": 3, "batch_size": 4, "lr": 0.02})
    for parameter in net.params():
        found = {**params, **learning}[parameter.name]
        assert far(found, parameter.value) <= 1e-6, parameter.name
    await net.load_params({**params, **learning})
    assert far(net.apply(net.param_arrays(), x), await net.predict(ROWS, raw=True)) <= 1e-6
    net.close()


async def test_dropout_draws_from_the_key() -> None:
    async with await open_model(DROPPED) as net:
        x, key = xp.ones((5, 400)), random.key(3)
        assert net.apply({}, x).tolist() == x.tolist()
        found, updates = net.apply({}, x, training=True, key=key)
        assert updates == {}
        share = float(xp.mean(xp.astype(found != 0, xp.float32)))
        assert share == pytest.approx(0.375, abs=0.04)
        assert far(xp.max(found), 1 / 0.375) < 1e-5
        again = jit(lambda key: net.apply({}, x, training=True, key=key)[0])
        assert again(key).tolist() == found.tolist()
        assert again(random.key(4)).tolist() != found.tolist()
        with pytest.raises(DataError, match="NNM714: layers that draw random numbers need a key"):
            net.apply({}, x, training=True)


async def test_several_inputs_and_outputs_have_names() -> None:
    async with await open_model(SEVERAL, sequence_length=2) as net:
        params, plain = net.param_arrays(), xp.zeros((2, 3))
        for words in ([[1, 2], [3, 4]], [[1, 2, 3], [4, 5, 6]]):
            found = net.apply(params, {"words": xp.asarray(words), "plain": plain})
            table = params["w1"]
            wanted = [xp.mean(table[xp.asarray(row), :], axis=0).tolist() for row in words]
            assert far(found["sum"], wanted) < 1e-6
            assert far(found["twice"], (xp.asarray(wanted) * 2).tolist()) < 1e-6
        assert net.apply(params, xp.asarray([[1]]), plain[:1, :])["sum"].shape == (1, 3)


async def test_wrong_calls_say_what_is_wrong() -> None:
    async with await open_model(NORMALISED) as net:
        params, x = net.param_arrays(), xp.asarray(ROWS)
        with pytest.raises(DataError, match='NNM710: params has no "w1"'):
            net.apply({}, x)
        with pytest.raises(DataError, match="NNM710: 2 arrays for the inputs m"):
            net.apply(params, x, x)
        with pytest.raises(DataError, match="NNM710: the inputs are m; check m, n"):
            net.apply(params, {"n": x})
        with pytest.raises(DataError, match=r'"m" is float32\[3\], the model takes 2 dimensions'):
            net.apply(params, x[0, :])
        with pytest.raises(DataError, match=r'"m" is float32\[12, 2\], .* float32\[12, 3\]'):
            net.apply(params, x[:, :2])
        with pytest.raises(DataError, match=r'"m" is int32\[12, 3\]'):
            net.apply(params, xp.astype(x, xp.int32))
        with pytest.raises(DataError, match=r'"b1" is float32\[1\], the model takes float32\[2\]'):
            net.apply({**params, "b1": xp.ones(1)}, x)


async def test_a_model_of_onnx_is_a_function_of_its_weights() -> None:
    weights = [[1.0, 2.0], [3.0, 4.0]]
    nodes = [node("h = MatMul(x, w)"), node("y = Tanh(h)")]
    held = model(graph(nodes, [info("x", "batch", 2)], ["y"], constant("w", weights, "float32")))
    async with await webnnm.load_onnx(serialize(held), {"batch": 2}, backend="numpy") as net:
        params = net.param_arrays()
        for rows in ([[0.1, 0.2], [0.3, -0.4]], [[0.5, 0.6]]):
            x = xp.asarray(rows)
            if len(rows) == 2:
                wanted = (await net.predict({"x": rows}))["y"]
                assert far(jit(net.apply)(params, x), wanted) <= 1e-6
            slopes = grad(lambda p, x=x: xp.sum(net.apply(p, x)))(params)["w"]
            y = xp.tanh(x @ params["w"])
            assert far(slopes, (x.T @ (1 - y * y)).tolist()) < 1e-6
        with pytest.raises(DataError, match='NNM710: params has no "w"'):
            net.apply({}, x)


@pytest.mark.parametrize("ids", [[[0, -1]], [[7, 0]]])
async def test_ids_without_a_row_in_the_table_are_refused(ids: list[list[int]]) -> None:
    async with await open_model(SEVERAL) as net:
        params, plain = net.param_arrays(), xp.asarray([[1.0, 2.0, 3.0]])
        with pytest.raises(DataError, match=r'NNM702: input "words": row 0.*has 7 rows'):
            net.apply(params, {"words": xp.asarray(ids), "plain": plain})
