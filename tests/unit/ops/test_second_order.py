"""Gradients of gradients against central differences of the first gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.ops.cases import CASES, Case, build, np
from tests.unit.ops.gradient import check_direction, check_gradients, functional
from tests.work import seeds
from webnnm import GraphBuilder, gradients
from webnnm.backends.reference import evaluate
from webnnm.graph.node import Operand

SHAPE = (3, 4)

FUNCTIONS: dict[str, Callable[[GraphBuilder, Operand], Operand]] = {
    "cube": lambda b, x: x * x * x,
    "pow": lambda b, x: b.pow(x + 4.0, 2.5),
    "tanh": lambda b, x: b.tanh(x),
    "sigmoid": lambda b, x: b.sigmoid(x),
    "exp of sin": lambda b, x: b.exp(b.sin(x)),
    "log": lambda b, x: b.log(x * x + 1),
    "quotient": lambda b, x: x / (x * x + 2),
    "reciprocal": lambda b, x: b.reciprocal(x + 5.0),
    "sqrt": lambda b, x: b.sqrt(x + 5.0),
    "erf": lambda b, x: b.erf(x),
    "softmax": lambda b, x: b.softmax(x, axis=1),
    "log softmax": lambda b, x: b.log_softmax(x, axis=0),
    "matmul chain": lambda b, x: b.matmul(b.matmul(x, b.transpose(x)), x),
    "gemm": lambda b, x: b.gemm(x, x, c=b.reduce_sum(x * x), alpha=0.5, beta=2.0, b_transpose=True),
    "log sum exp": lambda b, x: b.reduce_log_sum_exp(x, axes=[1]),
    "norm": lambda b, x: b.reduce_l2(x, axes=[1]),
    "product": lambda b, x: b.reduce_product(x, axes=[1]),
    "variance": lambda b, x: b.reduce_variance(x, axes=[0]),
    "where": lambda b, x: b.where(b.greater(x, 0.0), x * x, x * x * x),
    "max": lambda b, x: b.max(x * x, x),
    "reduce max": lambda b, x: b.reduce_max(x * x, axes=[1]),
    "gather": lambda b, x: b.gather(x * x, b.constant([0, 2, 2, -1], "int32"), axis=1),
    "slice": lambda b, x: b.slice(x * x, starts=[0, 1], sizes=[3, 3], strides=[2, 2]),
    "concat": lambda b, x: b.concat([x * x, x], axis=0),
    "broadcast": lambda b, x: x * b.reduce_mean(x, axes=[0]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("seed", seeds(range(2)))
def test_second_gradient_is_the_difference_of_the_first(name: str, seed: int) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", SHAPE)
    (first,) = gradients(functional(b, [FUNCTIONS[name](b, x)], seed), [x])
    rng = np.random.default_rng(seed)
    at = rng.permutation(np.linspace(-1.9, 1.7, 12)).reshape(SHAPE)
    check_gradients(functional(b, [first], seed + 10), [x], {"x": at}, seed)


@pytest.mark.alike
@pytest.mark.parametrize("case", [c for c in CASES if build(c).differentiable], ids=str)
def test_second_gradient_of_every_operator(case: Case) -> None:
    built = build(case)
    # Squared, so that operators that are linear have a second gradient too.
    squares = [y * y for y in built.float_results]
    first = gradients(functional(built.builder, squares, 0), built.float_operands)
    loss = functional(built.builder, first, 1)
    check_direction(loss, built.float_operands, built.feeds)


def test_second_gradient_of_a_cube_is_six_x() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [4])
    for cube in (x * x * x, b.pow(x, 3.0)):
        (first,) = gradients(b.reduce_sum(cube), [x])
        (second,) = gradients(b.reduce_sum(first), [x])
        (third,) = gradients(b.reduce_sum(second), [x])
        (fourth,) = gradients(b.reduce_sum(third), [x])
        outputs = {"1": first, "2": second, "3": third, "4": fourth}
        found = evaluate(b.build(outputs), {"x": [-2, 0, 1, 3]})
        assert found["1"].tolist() == [12, 0, 3, 27]
        assert found["2"].tolist() == [-12, 0, 6, 18]
        assert found["3"].tolist() == [6, 6, 6, 6]
        assert found["4"].tolist() == [0, 0, 0, 0]


def test_mixed_second_gradients_agree() -> None:
    b = GraphBuilder()
    x, z = b.input("x", "float32", []), b.input("z", "float32", [])
    y = b.sin(x * z) * x
    dx, dz = gradients(y, [x, z])
    feeds: dict[str, Any] = {"x": 0.7, "z": -1.3}
    (dxz,), (dzx,) = gradients(dx, [z]), gradients(dz, [x])
    found = evaluate(b.build({"a": dxz, "b": dzx}), feeds, wide=True)
    assert found["a"] == pytest.approx(found["b"], rel=1e-12)
