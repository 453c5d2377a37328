"""The reverse walk: accumulation, cuts, seeds, errors, size."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import GraphBuilder, WebNNMError, gradients
from webnnm.core.errors import Span
from webnnm.graph.node import Operand, OperatorNode, dependencies
from webnnm.graph.transforms.autodiff import backward


def values(feeds: dict[str, Any], **outputs: Operand) -> dict[str, Any]:
    """Return the outputs as nested lists, computed by the reference backend."""
    pytest.importorskip("numpy")
    from webnnm.backends.reference import evaluate

    (first, *_) = outputs.values()
    found = evaluate(first.builder.build(outputs), feeds)
    return {name: value.tolist() for name, value in found.items()}


def test_gradients_accumulate_over_all_uses() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2])
    skip = b.relu(x * 2) + x
    (dx,) = gradients(b.reduce_sum(skip * x + skip), [x])
    # (3x)·x + 3x and x·x + x: 6x + 3 where x > 0, else 2x + 1.
    assert values({"x": [2, -3]}, dx=dx) == {"dx": [15, -5]}


def test_both_operands_may_be_the_same() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2, 2])
    (dx,) = gradients(b.reduce_sum(b.matmul(x, x)), [x])
    assert values({"x": [[1, 2], [3, 4]]}, dx=dx) == {"dx": [[7, 11], [9, 13]]}


def of_steps(rows: int) -> tuple[Operand, Operand]:
    """Return the last of three states s ← tanh(s·w + x) of so many rows, and w."""
    b = GraphBuilder()
    state, w = b.input("s", "float32", [rows, 4]), b.input("w", "float32", [4, 4])
    for step in range(3):
        state = b.tanh(b.matmul(state, w) + b.input(f"x{step}", "float32", [rows, 4]))
    return state, w


def test_a_matrix_used_in_every_step_receives_one_product() -> None:
    np = pytest.importorskip("numpy")
    state, w = of_steps(1)
    (dw,) = gradients(state.reduce_sum(), [w])
    nodes = [n for n in dependencies([dw]) if isinstance(n, OperatorNode)]
    products = [n.types[0].shape for n in nodes if n.operator.name == "matmul"]
    assert products == [(1, 4), (1, 4), (1, 4), (1, 4), (1, 4), (4, 4)]
    draw = np.random.default_rng(5)
    feeds = {name: draw.normal(size=[1, 4]) for name in ("s", "x0", "x1", "x2")}
    matrix = draw.normal(size=[4, 4])

    def total(changed: Any) -> float:
        s = feeds["s"]
        for step in range(3):
            s = np.tanh(s @ changed + feeds[f"x{step}"])
        return s.sum()

    expected = np.zeros([4, 4])
    for place in np.ndindex(4, 4):
        apart = np.zeros([4, 4])
        apart[place] = 1e-6
        expected[place] = (total(matrix + apart) - total(matrix - apart)) / 2e-6
    found = values({**feeds, "w": matrix}, dw=dw)["dw"]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_products_of_many_rows_are_added_up() -> None:
    state, w = of_steps(9)
    (dw,) = gradients(state.reduce_sum(), [w])
    names = [n.operator.name for n in dependencies([dw]) if isinstance(n, OperatorNode)]
    assert "concat" not in names


def test_operand_may_be_given_twice() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [])
    first, second = gradients(x * x, [x, x])
    assert first == second


def test_inner_values_have_gradients_too() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [])
    middle = x * 3
    dm, dx, dy = gradients(y := middle * middle, [middle, x, y])
    assert values({"x": 2}, dm=dm, dx=dx, dy=dy) == {"dm": 12, "dx": 36, "dy": 1}


def test_constants_have_gradients_too() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2])
    c = b.constant([3.0, 4.0])
    (dc,) = gradients(b.reduce_sum(x * c), [c])
    assert values({"x": [5, 6]}, dc=dc) == {"dc": [5, 6]}


def test_operand_that_is_not_reached_has_gradient_zero() -> None:
    b = GraphBuilder()
    x, other = b.input("x", "float32", [2]), b.input("other", "float16", [2, 3])
    dx, d_other = gradients(b.reduce_sum(x), [x, other])
    assert d_other.type == other.type
    assert values({"x": [1, 2]}, dx=dx, other=d_other) == {"dx": [1, 1], "other": [[0] * 3] * 2}


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3), (2, 1), (4, 2, 3), (4, 1, 1)])
def test_broadcast_operand_receives_the_sum_in_its_own_shape(shape: tuple[int, ...]) -> None:
    np = pytest.importorskip("numpy")
    b = GraphBuilder()
    x, wide = b.input("x", "float32", shape), b.input("wide", "float32", [4, 2, 3])
    (dx,) = gradients(b.reduce_sum(x * wide), [x])
    assert dx.shape == shape
    at = np.arange(24.0).reshape(4, 2, 3)
    axes = tuple(k for k, n in enumerate((1,) * (3 - len(shape)) + shape) if n == 1)
    expected = at.sum(axis=axes, keepdims=True).reshape(shape)
    assert values({"x": np.zeros(shape), "wide": at}, dx=dx) == {"dx": expected.tolist()}


def test_seed_is_the_gradient_that_arrives() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [3])
    (dx,) = gradients(x * x, [x], seed=b.constant([1.0, 10.0, 100.0]))
    assert values({"x": [1, 2, 3]}, dx=dx) == {"dx": [2, 40, 600]}
    seed = b.input("seed", "float32", [3])
    assert gradients(x, [x], seed=seed) == [seed]


@pytest.mark.parametrize(
    ("shape", "dtype"), [((), "float32"), ((3, 1), "float32"), ((3,), "float16")]
)
def test_seed_of_another_type_is_refused(shape: Any, dtype: Any) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [3])
    with pytest.raises(WebNNMError, match=r"the seed is .* but the result float32") as caught:
        gradients(x * x, [x], seed=b.input("seed", dtype, shape))
    assert caught.value.code == "NNM702"


def test_result_that_is_not_a_scalar_needs_a_seed() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [1, 2])
    with pytest.raises(WebNNMError) as caught:
        gradients(x * x, [x])
    assert str(caught.value) == "NNM702: [1, 2] is not a scalar\nhint: sum it or give a seed"


def test_integers_have_no_gradient() -> None:
    b = GraphBuilder()
    x = b.input("x", "int32", [])
    with pytest.raises(WebNNMError) as caught:
        gradients(x * x, [x])
    assert (caught.value.code, caught.value.message) == ("NNM501", "int32 results have no gradient")


def test_paths_through_integers_are_cut() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2])
    whole = b.cast(x, type="int32")
    back = b.cast(whole * whole, type="float32")
    dx, d_whole = gradients(b.reduce_sum(back + x), [x, whole])
    assert d_whole.dtype == "int32"
    found = values({"x": [3, 4]}, dx=dx, whole=d_whole)
    assert found == {"dx": [1, 1], "whole": [0, 0]}


def test_only_what_leads_to_the_operands_is_differentiated() -> None:
    b = GraphBuilder()
    x, w = b.input("x", "float32", [2, 2]), b.input("w", "float32", [2, 2])
    y = b.reduce_sum(b.matmul(b.exp(b.sin(x)), w))
    before = set(map(id, dependencies([y])))
    (dw,) = gradients(y, [w])
    new = [n for n in dependencies([dw]) if id(n) not in before]
    names = {n.operator.name for n in new if isinstance(n, OperatorNode)}
    assert not names & {"sin", "cos", "exp"}


def test_gradient_nodes_carry_the_place_of_their_node() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2])
    with b.place("hidden", Span(3, 7)):
        y = b.tanh(x)
    (dx,) = gradients(b.reduce_sum(y), [x])
    assert (dx.node.label, dx.node.span) == ("gradient of hidden", Span(3, 7))
    assert b.sin(x).node.label == ""


@pytest.mark.parametrize("length", [5000])
def test_long_chains_need_neither_recursion_nor_quadratic_work(length: int) -> None:
    b = GraphBuilder()
    x = y = b.input("x", "float32", [])
    for _ in range(length):
        y = y * 1.0009765625
    forward = len(dependencies([y]))
    (dx,) = gradients(y, [x])
    assert len(dependencies([dx])) <= 2 * forward


def test_shared_values_are_walked_once() -> None:
    b = GraphBuilder()
    x = y = b.input("x", "float32", [])
    for _ in range(60):  # 2^60 paths
        y = y + y
    (dx,) = gradients(y, [x])
    assert len(dependencies([dx])) < 300
    assert values({"x": 1}, dx=dx) == {"dx": 2.0**60}


def test_backward_follows_differentiable_paths_only() -> None:
    b = GraphBuilder()
    names = ("used", "cut", "masked", "unused", "whole")
    xs = {name: b.input(name, "float32", []) for name in names}
    cut = b.floor(xs["cut"]) + b.sign(xs["cut"])
    mask = b.greater(xs["masked"], 0.0)
    whole = b.cast(b.cast(xs["whole"], type="int32"), type="float32")
    y = b.where(mask, xs["used"] * 2, cut) + whole
    found = dict(zip(names, backward(y, list(xs.values())), strict=True))
    assert [name for name, gradient in found.items() if gradient is not None] == ["used"]


def test_backward_sees_parallel_paths() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2])
    assert backward(b.reduce_sum(b.floor(x) + x), [x]) != [None]
    joined = b.concat([b.floor(x), b.ceil(x)], axis=0)
    assert backward(b.reduce_sum(joined), [x]) == [None]
