"""Operators stretch their operands themselves: the same numbers, fewer operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from webnnm import GraphBuilder, gradients
from webnnm.backends.reference import evaluate
from webnnm.compiler.passes.broadcasts import remove_broadcasts
from webnnm.graph.node import Graph, Operand, OperatorNode

np = pytest.importorskip("numpy")

Make = Callable[[GraphBuilder, Operand, Operand], Operand]


def names(graph: Graph) -> list[str]:
    return [n.operator.name for n in graph.nodes() if isinstance(n, OperatorNode)]


def make_graph(make: Make, x: list[int], y: list[int]) -> Graph:
    b = GraphBuilder()
    return b.build({"z": make(b, b.input("x", "float32", x), b.input("y", "float32", y))})


def same(graph: Graph) -> Graph:
    draw = np.random.default_rng(0)
    values = {n: draw.uniform(0.5, 2, o.shape).astype(o.dtype) for n, o in graph.inputs.items()}
    found = remove_broadcasts(graph)
    before, after = evaluate(graph, values), evaluate(found, values)
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array, strict=True)
    return found


@pytest.mark.parametrize(
    ("make", "x", "left"),
    [
        (lambda b, x, y: b.expand(x, new_shape=[3, 4]) * y, [4], ["mul"]),
        (lambda b, x, y: y - b.expand(x, new_shape=[3, 4]), [1, 4], ["sub"]),
        (lambda b, x, y: b.expand(b.reshape(x, new_shape=[1]), new_shape=[3, 4]) + y, [], ["add"]),
        (lambda b, x, y: b.neg(b.expand(x, new_shape=[3, 4])) * y, [3, 1], ["neg", "mul"]),
        (lambda b, x, y: b.where(b.greater(y, 1), b.expand(x, new_shape=[3, 4]), y), [], None),
    ],
)
def test_what_is_stretched_anyway_is_not_stretched_before(
    make: Make, x: list[int], left: list[str] | None
) -> None:
    found = names(same(make_graph(make, x, [3, 4])))
    assert "expand" not in found and "reshape" not in found
    assert left is None or found == left


@pytest.mark.parametrize(
    ("make", "x", "y"),
    [
        # Nothing else brings the shape.
        (lambda b, x, y: b.expand(x, new_shape=[3, 4]) * y, [4], [4]),
        (lambda b, x, y: b.expand(x, new_shape=[3, 4]) * b.expand(y, new_shape=[3, 4]), [1], [4]),
        # Not a broadcast: the size 1 is behind.
        (lambda b, x, y: b.reshape(x, new_shape=[3, 1]) * y, [3], [3, 4]),
        # A slope that is larger than the operand is another operator.
        (lambda b, x, y: b.prelu(b.expand(x, new_shape=[3, 4]), y), [4], [3, 4]),
        (lambda b, x, y: b.matmul(b.expand(x, new_shape=[3, 4]), y), [1, 4], [4, 2]),
    ],
)
def test_what_is_needed_stays(make: Make, x: list[int], y: list[int]) -> None:
    graph = make_graph(make, x, y)
    kept = names(same(graph))
    assert {"expand", "reshape"} & set(kept)


def test_gradients_of_reductions_get_shorter() -> None:
    b = GraphBuilder()
    x, m = b.input("x", "float32", [5, 3]), b.input("m", "float32", [5])
    loss = b.reduce_sum(b.reduce_sum(b.neg(b.mul(x, x)), axes=[1]) * m)
    (dx,) = gradients(loss, [x])
    graph = b.build({"loss": loss, "dx": dx})
    assert "expand" in names(graph)
    found: Any = same(graph)
    assert "expand" not in names(found)
    assert len(names(found)) < len(names(graph))


def test_a_graph_without_it_comes_back_as_it_is() -> None:
    graph = make_graph(lambda _, x, y: x * y, [4], [3, 4])
    assert remove_broadcasts(graph) is graph


def test_a_number_that_is_stretched_and_reshaped_is_stretched_once() -> None:
    def stretch(b: GraphBuilder, x: Operand, y: Operand) -> Operand:
        wide = b.expand(b.reduce_sum(y), new_shape=[4])
        column = b.expand(b.reshape(wide, new_shape=[4, 1]), new_shape=[4, 3])
        return x * -column

    found = same(make_graph(stretch, [4, 3], [2]))
    assert names(found) == ["reduceSum", "neg", "mul"]
