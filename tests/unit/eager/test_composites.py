"""Operators from functions of arrays: the results, gradients and layers of those of a builder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.training.trained import PLAIN, create, values
from webnnm import GraphBuilder, NNModel, composite, grad, gradients, ops, vmap, xp
from webnnm.backends.reference import evaluate
from webnnm.core.errors import ModelError, WebNNMError
from webnnm.data.dataset import Dataset
from webnnm.ops.declare.tensors import OperatorError

ROWS = [[(7 * row * (column + 2) % 11) / 5 - 1 for column in range(3)] for row in range(12)]
TARGETS = [[a * b, a - 3 * c] for a, b, c in ROWS]
TEXT = "m:input shape=[3]; m:output shape=[2]; m:loss MSE; m:layers matmul(w), {}, add(b);"


@pytest.fixture(autouse=True)
def no_new_operators() -> Iterator[None]:
    """Take away what a test registered."""
    before = set(ops.registry())
    yield
    for name in set(ops.registry()) - before:
        ops.unregister(name)


async def open_model(text: str) -> NNModel:
    return await NNModel.create(source=text, backend="numpy", log=lambda _: None)


def far(found: Any, wanted: Any) -> float:
    return float(xp.max(xp.abs(xp.asarray(found) - xp.asarray(wanted))))


def test_results_and_gradients_follow() -> None:
    @composite(arrays=True)
    def soft_gate(x: xp.Array, gate: xp.Array, *, beta: float = 1.0) -> xp.Array:
        """x · σ(β·gate)."""
        return x / (1.0 + xp.exp(-beta * gate))

    assert (soft_gate.name, soft_gate.summary) == ("softGate", "x · σ(β·gate)")
    b = GraphBuilder()
    x, gate = b.input("x", "float32", [2, 3]), b.input("gate", "float32", [3])
    y = b.soft_gate(x, gate, beta=2)
    wanted = x * b.sigmoid(gate * 2)
    pairs = zip(
        [y, *gradients(y.reduce_sum(), [x, gate])],
        [wanted, *gradients(wanted.reduce_sum(), [x, gate])],
        strict=True,
    )
    outputs = {
        f"{k}{side}": o for k, pair in enumerate(pairs) for side, o in zip("ab", pair, strict=True)
    }
    found = evaluate(b.build(outputs), {"x": ROWS[1:3], "gate": ROWS[4]})
    for k in range(3):
        assert far(found[f"{k}a"], found[f"{k}b"]) < 1e-6


async def test_a_layer_trains_as_that_of_a_builder() -> None:
    """With parameters of its own; shapes and roles are derived as ever."""
    rules: Any = {"parameters": {"scale": ("ones", lambda x, options: x[-1:])}}

    @composite("scaledByArrays", arrays=True, **rules)
    def by_arrays(x: xp.Array, scale: xp.Array, *, power: int = 2) -> xp.Array:
        mean = xp.mean(x**power, axis=-1, keepdims=True)
        return x * scale / xp.sqrt(mean + 0.1)

    @composite("scaledByBuilder", **rules)
    def by_builder(b: Any, x: Any, scale: Any, *, power: int = 2) -> Any:
        mean = b.reduce_mean(b.pow(x, float(power)), axes=[x.rank - 1], keep_dimensions=True)
        return x * scale / b.sqrt(mean + 0.1)

    found: list[Any] = []
    for name in ("scaledByArrays", "scaledByBuilder"):
        model = await create(TEXT.format(f"{name}(s)"), Dataset(ROWS, TARGETS, split=(1, 0, 0)))
        await model.train({**PLAIN, "epochs": 3, "lr": 0.05})
        found.append(values(model))
        model.close()
    assert found[0].keys() == found[1].keys() == {"w1", "s1", "b1"}
    assert max(far(found[0][n], found[1][n]) for n in found[0]) <= 1e-6


async def test_batches_of_models_with_such_a_layer() -> None:
    @composite(arrays=True)
    def cube(x: xp.Array) -> xp.Array:
        return x**3

    async with await open_model(TEXT.format("cube()")) as model:
        params, x = model.param_arrays(), xp.asarray(ROWS)
        together = model.apply(params, x)
        alone = vmap(lambda row: model.apply(params, row[None, :])[0, :])(x)
        assert far(together, alone) < 1e-5
        slope = grad(lambda v: xp.sum(model.apply(params, v)))(x)
        plain = grad(lambda v: xp.sum((v @ params["w1"]) ** 3))(x)
        assert far(slope, plain) < 1e-4


def test_signatures_and_declarations_are_read_as_ever() -> None:
    @composite("both", arrays=True, results=("sum", "bias"), types="any")
    def of_two(x: xp.Array, b: xp.Array | None = None) -> tuple[xp.Array, xp.Array]:
        return (x if b is None else x + b), x * 2

    @composite("joined", arrays=True)
    def concatenate(*xs: xp.Array) -> xp.Array:
        return xp.concat(xs, axis=-1)

    @composite("negative", arrays=True, result="uint8")
    def negative(x: xp.Array) -> xp.Array:
        return x < xp.asarray(0.0)

    b = GraphBuilder()
    x = b.input("x", "float32", [2, 3])
    assert [str(o.type) for o in b.both(x)] == ["float32[2, 3]"] * 2
    assert str(b.both(x, b=x)[0].type) == "float32[2, 3]"
    assert str(b.joined([x, x, x]).type) == "float32[2, 9]"
    found = evaluate(b.build({"y": b.negative(x)}), {"x": [[-1, 0, 1], [2, -2, 0]]})
    assert found["y"].tolist() == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize(
    ("function", "code", "message"),
    [
        (lambda x: x if x[0, 0] > 0 else -x, "NNM721", "the value of a traced array"),
        (lambda x: x @ x, "NNM720", "have no matrix product"),
        (lambda x: 1.0, "NNM303", "returned 1.0, which is not an array"),
    ],
)
async def test_errors_name_the_line_of_the_function(function: Any, code: str, message: str) -> None:
    composite("wrong", arrays=True)(function)
    b = GraphBuilder()
    place = r'"wrong" \(test_composites.py, line \d+\)'
    with pytest.raises(OperatorError, match=rf"{code}: .*{place}.*{message}"):
        b.wrong(b.input("x", "float32", [2, 3]))
    with pytest.raises(ModelError, match=rf"{code} line 1, column \d+: .*{place}"):
        await open_model(TEXT.replace("(w)", "(w, shape=[2])").format("wrong()"))


def test_names_are_checked_as_ever() -> None:
    with pytest.raises(WebNNMError, match="NNM206"):
        composite("relu", arrays=True)(lambda x: x)
    with pytest.raises(WebNNMError, match="NNM303"):
        composite("options", arrays=True)(lambda **options: options)
