"""The rewrites around Chromium's traps in moving data keep what is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.compiler.legalising import chromium_limits, legalise
from tests.unit.compiler.rewriting import names, out_of_traps
from tests.unit.ops.cases import CASES, build, np
from tests.unit.ops.families import some
from tests.unit.ops.families.movement import cases
from webnnm.backends.reference import evaluate
from webnnm.compiler.traps import movement, ranks
from webnnm.compiler.traps.trap import is_operator
from webnnm.core.errors import BackendError
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Operand
from webnnm.graph.transforms.autodiff import gradients

TRAPS = (*movement.TRAPS, *ranks.TRAPS)
NAMES = frozenset[str]().union(*(trap.operators for trap in TRAPS))


def check(graph: Graph, feeds: dict[str, Any]) -> Graph:
    fitted = out_of_traps(graph, TRAPS)
    expected, found = (evaluate(g, feeds, wide=True) for g in (graph, fitted))
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-12)
    return fitted


@pytest.mark.parametrize("case", [case for case in CASES if case.operator.name in NAMES], ids=str)
def test_samples_compute_the_same(case: Any) -> None:
    built = build(case)
    check(built.builder.build({"y": built.results[0]}), dict(built.feeds))


@pytest.mark.alike
def test_random_cases_compute_the_same() -> None:
    for drawn in some(cases, 200):
        if drawn.name in NAMES:
            built = build(drawn.case)
            check(built.builder.build({"y": built.results[0]}), dict(built.feeds))


def make_graph(make: Callable[[GraphBuilder, Operand], Operand], *shape: int) -> list[str]:
    """Return the operators of what is made of a tensor, out of the traps."""
    b = GraphBuilder()
    y = make(b, b.input("x", "float32", shape))
    feeds = {"x": np.arange(np.prod(shape)).reshape(shape), "i": [[2], [0]], "k": [[0, 1]]}
    used = {name: value for name, value in feeds.items() if name in b.build({"y": y}).inputs}
    return names(check(b.build({"y": y}), used))


def test_padding_with_the_edge_alone_is_gathered() -> None:
    sides = {"beginning_padding": (1, 0), "ending_padding": (0, 2)}
    assert make_graph(lambda b, x: b.pad(x, mode="edge", **sides), 2, 3) == ["gather", "gather"]
    for mode in ("constant", "reflection"):
        assert make_graph(lambda b, x, mode=mode: b.pad(x, mode=mode, **sides), 2, 3) == ["pad"]


def test_constant_indices_of_elements_stay() -> None:
    def constant(b: GraphBuilder, x: Operand) -> Operand:
        return b.gather_elements(x, b.constant([[0, 0, 0]], "int32"))

    def compute(b: GraphBuilder, x: Operand) -> Operand:
        return b.gather_elements(x, b.input("k", "int32", [1, 2]))

    assert make_graph(constant, 2, 3) == ["gatherElements"]
    assert "gatherElements" not in make_graph(compute, 3, 2)


@pytest.mark.parametrize(
    ("indices", "stays"),
    [([[2], [0]], True), ([[2], [2]], False), ([[2], [-1]], False), ([[2], [9]], False)],
)
def test_repeated_indices_are_not_scattered(indices: Any, stays: bool) -> None:
    def slices(b: GraphBuilder, x: Operand) -> Operand:
        return b.scatter_nd(x, b.constant(indices, "int32"), b.constant([[7.0, 8], [9, 6]]))

    def elements(b: GraphBuilder, x: Operand) -> Operand:
        wide = b.constant([indices[0] * 2, indices[1] * 2], "int32")
        return b.scatter_elements(x, wide, b.constant([[7.0, 8], [9, 6]]))

    assert (make_graph(slices, 3, 2) == ["scatterND"]) is stays
    assert (make_graph(elements, 3, 2) == ["scatterElements"]) is stays


def test_a_single_index_that_varies_is_scattered() -> None:
    def one(b: GraphBuilder, x: Operand) -> Operand:
        return b.scatter_nd(x, b.input("k", "int32", [1, 2]), b.constant([7.0]))

    def two(b: GraphBuilder, x: Operand) -> Operand:
        return b.scatter_nd(x, b.input("i", "int32", [2, 1]), b.constant([[7.0, 8], [9, 6]]))

    assert make_graph(one, 3, 2) == ["scatterND"]
    assert "scatterND" not in make_graph(two, 3, 2)


def test_a_single_number_is_scattered_as_a_list() -> None:
    def number(b: GraphBuilder, x: Operand) -> Operand:
        return b.scatter_nd(x, b.constant([1], "int32"), b.constant(7.0))

    assert make_graph(number, 3)[-1] == "scatterND"


@pytest.mark.parametrize(
    ("size", "target", "stays"), [(2, 4, True), (6, 3, True), (9, 5, True), (10, 3, False)]
)
def test_centres_on_a_border(size: int, target: int, stays: bool) -> None:
    found = make_graph(lambda b, x: b.resample2d(x, sizes=[target, 1]), 1, 1, size, 1)
    assert (found == ["resample2d"]) is stays


def test_many_dimensions_are_joined_in_three() -> None:
    shape = (2, 1, 1, 1, 2, 1, 2)
    found = make_graph(lambda b, x: b.concat([x, x], axis=4), *shape)
    assert found == ["reshape", "concat", "reshape"]
    assert make_graph(lambda b, x: b.concat([x, x], axis=4), *shape[1:]) == ["concat"]


def test_many_dimensions_are_reduced_as_rows() -> None:
    shape = (2, 1, 3, 1, 2, 1, 2)
    assert make_graph(lambda b, x: b.reduce_sum(x, axes=[5, 6]), *shape) == [
        "reshape",
        "reshape",
        "reduceSum",
        "reshape",
    ]
    assert "transpose" in make_graph(lambda b, x: b.reduce_mean(x, axes=[0, 3, 4]), *shape)
    assert make_graph(lambda b, x: b.reduce_max(x, axes=[0]), *shape[1:]) == ["reduceMax"]


def test_indices_of_many_dimensions_are_gathered_in_a_row() -> None:
    def gather(rank: int) -> list[str]:
        def make(b: GraphBuilder, x: Operand) -> Operand:
            indices = b.constant([0, 2, 1, -1], "int32", (2, *(1,) * (rank - 2), 2))
            return b.gather(x, indices, axis=1)

        return make_graph(make, 2, 3)

    assert gather(4) == ["gather"]
    # What is constant is reshaped when the graph is built.
    assert gather(5) == ["reshape", "gather", "reshape"]


def test_unsigned_integers_are_scattered_in_a_wider_type() -> None:
    b = GraphBuilder()
    x, updates = b.input("x", "uint32", [3]), b.input("u", "uint32", [1])
    indices = b.constant([[1]], "int32")
    both = (
        b.scatter_nd(x, indices, updates),
        b.scatter_elements(x, b.constant([2], "int32"), updates),
    )
    graph = b.build({"y": both[0], "z": both[1]})
    fitted = check(graph, {"x": np.asarray([1, 2**32 - 1, 3], "uint32"), "u": [2**31 + 1]})
    assert names(fitted).count("cast") == 6 - 2  # both cast the same tensors


def test_a_concat_of_uint64_is_refused_by_name() -> None:
    b = GraphBuilder()
    x = b.input("x", "uint64", [2])
    with pytest.raises(BackendError, match="fails to build it for uint64") as caught:
        out_of_traps(b.build({"y": b.concat([x, x], axis=0)}), ranks.TRAPS)
    assert caught.value.code == "NNM505"


@pytest.mark.parametrize("strides", [(2, 1), (3, 2), (1, 1)])
def test_strides_beyond_the_size_become_slices_of_one_element(strides: Any) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [3, 4])
    graph = b.build({"y": b.slice(x, starts=[1, 0], sizes=[1, 4], strides=strides)})
    fitted = out_of_traps(graph, movement.TRAPS)
    assert (fitted is graph) == (strides[0] == 1)
    (node,) = (node for node in fitted.nodes() if is_operator(node, "slice"))
    sizes = zip(node.options["sizes"], node.options["strides"], strict=True)
    assert all(stride <= size for size, stride in sizes)
    values = np.arange(12, dtype="float32").reshape(3, 4)
    expected, found = (evaluate(g, {"x": values})["y"] for g in (graph, fitted))
    np.testing.assert_array_equal(found, expected)


def test_gradients_and_windows_of_large_strides_have_no_stride_beyond_the_size() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [1, 1, 5, 5])
    pooled = b.max_pool2d(x, window_dimensions=[2, 2], strides=[4, 4], output_shape_rounding="ceil")
    picked = b.slice(x, starts=[0, 0, 4, 4], sizes=[1, 1, 1, 1], strides=[1, 1, 3, 2])
    (slope,) = gradients(b.reduce_sum(pooled) + b.reduce_sum(picked * picked), [x])
    fitted, _ = legalise(b.build({"y": pooled, "g": slope}), chromium_limits())
    for node in fitted.nodes():
        if is_operator(node, "slice"):
            pairs = zip(node.options["sizes"], node.options["strides"], strict=True)
            assert all(stride <= size for size, stride in pairs)
