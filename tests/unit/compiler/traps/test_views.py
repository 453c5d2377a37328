"""Views of views become views of what lies there, so that no memory is written that is read."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.compiler.rewriting import names, out_of_traps
from tests.unit.ops.cases import np
from webnnm.backends.reference import evaluate
from webnnm.compiler.traps import views
from webnnm.compiler.traps.trap import is_operator
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, OperatorNode
from webnnm.graph.transforms.rewrite import inline_composites
from webnnm.ops.bitwise import bitwise_and


def check(graph: Graph, feeds: dict[str, Any]) -> Graph:
    fitted = out_of_traps(graph, views.TRAPS)
    expected, found = (evaluate(g, feeds) for g in (graph, fitted))
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)
    return fitted


def views_of_views(graph: Graph) -> int:
    def is_view(node: Any) -> bool:
        return isinstance(node, OperatorNode) and node.operator.name in views.VIEWS

    nodes = [node for node in graph.nodes() if isinstance(node, OperatorNode) and is_view(node)]
    return sum(is_view(node.operands[0].node) for node in nodes if node.operands[0])


def test_a_reshape_of_a_reshape_shows_the_same_in_one() -> None:
    b = GraphBuilder()
    t = b.abs(b.input("x", "int32", [2, 3]))
    h = b.reshape(t, new_shape=[3, 2])
    largest = b.max(b.reshape(h, new_shape=[6]), 2)
    graph = b.build({"y": h - b.reshape(largest, new_shape=[3, 2])})
    assert views_of_views(graph) == 1
    fitted = check(graph, {"x": [[1, 2, 3], [4, 5, 6]]})
    assert views_of_views(fitted) == 0
    assert sorted(names(fitted)) == ["abs", "max", "reshape", "reshape", "reshape", "sub"]


def test_a_reshape_back_goes() -> None:
    b = GraphBuilder()
    t = b.input("x", "int32", [2, 3]) + 1
    back = b.reshape(b.identity(b.reshape(t, new_shape=[6])), new_shape=[2, 3])
    assert names(check(b.build({"y": back * 2}), {"x": [[1, 2, 3], [4, 5, 6]]})) == ["add", "mul"]


def test_a_single_reshape_stays() -> None:
    b = GraphBuilder()
    x = b.abs(b.input("x", "int32", [2, 3]))
    graph = b.build({"y": b.reshape(x, new_shape=[6]) * 2})
    assert out_of_traps(graph, views.TRAPS) is graph


def test_integers_behind_a_reshape_of_a_result_in_place_are_copied() -> None:
    b = GraphBuilder()
    t = b.input("x", "int32", [2, 3]) + 1
    less = b.reshape(t, new_shape=[6]) - 3
    graph = b.build({"y": b.max(t, b.reshape(less, new_shape=[2, 3]))})
    fitted = check(graph, {"x": [[1, 2, 3], [4, 5, 6]]})
    assert names(fitted) == ["add", "reshape", "concat", "sub", "reshape", "max"]
    assert out_of_traps(fitted, views.TRAPS) is fitted


def test_floats_and_numbers_alone_are_not_copied() -> None:
    b = GraphBuilder()
    x, n = b.input("x", "float32", [2, 3]) + 1, b.input("n", "int32", [1]) + 1
    outputs = {"y": b.reshape(x, new_shape=[6]) - 3, "z": b.reshape(n, new_shape=[]) - 3}
    graph = b.build(outputs)
    assert out_of_traps(graph, views.TRAPS) is graph


def test_compositions_on_reshaped_integers_have_no_views_of_views() -> None:
    b = GraphBuilder()
    x, z = b.input("x", "int32", [4, 3, 1, 1, 2]), b.input("z", "int32", [2, 1, 1])
    rows = b.reshape(b.expand(z, new_shape=[4, 3, 2, 1, 2]), new_shape=[24, 2])
    same = b.reshape(b.expand(x, new_shape=[4, 3, 2, 1, 2]), new_shape=[24, 2])
    found = bitwise_and.decompose(
        b, b.reshape(rows, new_shape=[48]), b.reshape(same, new_shape=[48])
    )
    graph = b.build({"y": found})
    assert views_of_views(graph) > 0
    feeds = {"x": np.arange(24).reshape(4, 3, 1, 1, 2) * 1234567, "z": [[[5]], [[-3]]]}
    assert views_of_views(check(graph, feeds)) == 0


def test_a_transposed_constant_is_copied_before_it_is_reshaped() -> None:
    b = GraphBuilder()
    weights = b.reshape(b.constant(range(30), "int32"), new_shape=[5, 2, 3])
    turned = b.transpose(weights, permutation=[1, 0, 2])
    unknown = b.transpose(b.input("x", "int32", [5, 2, 3]), permutation=[1, 0, 2])
    rows = {"y": turned, "z": unknown}
    graph = b.build({name: b.reshape(x, new_shape=[10, 3]) for name, x in rows.items()})
    fitted = check(graph, {"x": np.arange(30).reshape(5, 2, 3)})
    assert names(fitted).count("concat") == 1
    assert out_of_traps(fitted, views.TRAPS) is fitted


@pytest.mark.parametrize("between", [False, True])
def test_transposes_that_undo_each_other_go(between: bool) -> None:
    b = GraphBuilder()
    h = b.reshape(b.max(b.input("x", "int32", [2, 3]), 0), new_shape=[3, 2])
    there = b.transpose(h, permutation=[1, 0])
    back = b.transpose(b.identity(there) if between else there, permutation=[1, 0])
    doubled = b.reshape(b.reshape(back, new_shape=[6]) * 2, new_shape=[3, 2])
    fitted = check(b.build({"y": h - doubled}), {"x": [[1, 2, 3], [4, 5, 6]]})
    assert "transpose" not in names(fitted)
    assert views_of_views(fitted) == 0


def test_a_transpose_of_a_transpose_becomes_one() -> None:
    b = GraphBuilder()
    x = b.input("x", "int32", [2, 3, 4])
    twice = b.transpose(b.transpose(x, permutation=[2, 0, 1]), permutation=[1, 0, 2])
    fitted = check(b.build({"y": twice}), {"x": np.arange(24).reshape(2, 3, 4)})
    assert names(fitted) == ["transpose"]


@pytest.mark.parametrize("name", sorted(views.SHARED_MEMORY - views.IN_PLACE))
def test_integers_behind_a_reshape_of_several_steps_are_copied(name: str) -> None:
    b = GraphBuilder()
    x = b.input("x", "int32", [3, 4])
    rows, one = b.constant([[0, 2, 1, 1]], "int32"), b.constant([[7, 8, 9, 6]], "int32")
    t = {
        "argMax": lambda: b.arg_max(x, axis=0, keep_dimensions=True),
        "argMin": lambda: b.arg_min(x, axis=0, keep_dimensions=True),
        "gatherElements": lambda: b.gather_elements(x, rows, axis=0),
        "scatterElements": lambda: b.scatter_elements(x, rows, one, axis=0),
        "scatterND": lambda: b.scatter_nd(x, b.constant([[1]], "int32"), one),
    }[name]()
    count = t.shape[0] * t.shape[1]
    less = b.reshape(b.reshape(t, new_shape=[count]) - 3, new_shape=t.shape)
    fitted = check(b.build({"y": b.max(t, less)}), {"x": np.arange(12).reshape(3, 4)})
    assert names(fitted).count("concat") == 1
    assert out_of_traps(fitted, views.TRAPS) is fitted


@pytest.mark.parametrize("dtype", ["int32", "int64", "int8", "uint8", "uint32"])
def test_orders_of_orders_have_no_views_of_views(dtype: Any) -> None:
    b = GraphBuilder()
    x = b.input("x", dtype, [3])
    down = b.sort(b.sort(x, descending=True), descending=True)
    best = b.top_k(down, k=3)[0]
    graph = b.build({"y": down, "z": b.argsort(best, descending=True)})
    fitted = check(graph_of_primitives(graph), {"x": np.asarray([3, 1, 2], dtype)})
    assert views_of_views(fitted) == 0
    nodes = [node for node in fitted.nodes() if is_operator(node, "transpose")]
    assert not any(is_operator(o.node, "transpose") for n in nodes for o in n.operands if o)


def graph_of_primitives(graph: Graph) -> Graph:
    """Return a graph with all composites written out."""
    return inline_composites(graph, lambda _: True)
