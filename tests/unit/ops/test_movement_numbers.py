"""Indices that repeat or lie out of range, mixed images, mirrored borders: results, gradients."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.ops.cases import np
from webnnm import GraphBuilder, gradients
from webnnm.backends.reference import evaluate
from webnnm.graph.node import Operand, OperatorNode


def result(y: Operand, **feeds: Any) -> list[Any]:
    return evaluate(y.builder.build({"y": y}), feeds)["y"].tolist()


def differentiate(y: Operand, weights: Any, *xs: Operand, **feeds: Any) -> list[list[Any]]:
    """Return the gradients of Σ weights · y."""
    b = y.builder
    dxs = gradients(b.reduce_sum(y * b.constant(np.asarray(weights, "float32"))), xs)
    found = evaluate(b.build({str(i): dx for i, dx in enumerate(dxs)}), feeds)
    return [found[str(i)].tolist() for i in range(len(xs))]


@pytest.mark.parametrize("constant", [True, False])
def test_the_last_update_wins_and_alone_has_a_gradient(constant: bool) -> None:
    b = GraphBuilder()
    places = [[1], [3], [-3], [9]]
    index = b.constant(places, "int32") if constant else b.input("i", "int32", [4, 1])
    feeds: dict[str, Any] = {"x": [1, 2, 3, 4], "u": [10, 20, 30, 40]}
    feeds |= {} if constant else {"i": places}
    x, u = b.input("x", "float32", [4]), b.input("u", "float32", [4])
    y = b.scatter_nd(x, index, u)
    assert result(y, **feeds) == [1, 30, 3, 40]
    assert differentiate(y, [1, 2, 3, 4], x, u, **feeds) == [[1, 0, 3, 0], [0, 0, 2, 4]]


def test_the_last_update_of_a_line_wins_and_alone_has_a_gradient() -> None:
    b = GraphBuilder()
    x, u = b.input("x", "float32", [2, 3]), b.input("u", "float32", [2, 4])
    index = b.constant([[0, 2, 0, 1], [1, 1, -2, 5]], "int64")
    feeds = {"x": [[1, 2, 3], [4, 5, 6]], "u": [[10, 20, 30, 40], [50, 60, 70, 80]]}
    y = b.scatter_elements(x, index, u, axis=1)
    assert result(y, **feeds) == [[30, 40, 20], [4, 70, 80]]
    dx, du = differentiate(y, [[1, 2, 3], [4, 5, 6]], x, u, **feeds)
    assert dx == [[0, 0, 0], [4, 0, 0]]
    assert du == [[0, 3, 1, 2], [0, 0, 5, 6]]


@pytest.mark.parametrize(("dtype", "far"), [("int64", 2**40), ("int64", 2**32), ("uint32", 2**31)])
def test_indices_far_out_of_range_point_to_the_end(dtype: Any, far: int) -> None:
    b = GraphBuilder()
    x = b.constant([1.0, 2.0, 3.0])
    cell = b.constant([[far]], dtype)
    line = b.constant([far], dtype)
    for y in (b.gather_nd(x, cell), b.gather_elements(x, line), b.gather(x, line)):
        assert result(y) == [3]
        node = y.node
        assert isinstance(node, OperatorNode)
        if node.operator.decompose is not None:
            assert result(node.operator.decompose(b, *node.operands, **node.options)) == [3]


@pytest.mark.parametrize(
    ("indices", "operator"), [([2, 0], "scatterND"), ([2, 2], "matmul"), ([0, -3], "matmul")]
)
def test_gradient_of_gather_is_scattered_where_no_index_repeats(
    indices: list[int], operator: str
) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [3, 2])
    (dx,) = gradients(b.reduce_sum(b.gather(x, b.constant(indices, "int32"))), [x])
    nodes = b.build({"dx": dx}).nodes()
    names = {node.operator.name for node in nodes if isinstance(node, OperatorNode)}
    assert names & {"scatterND", "matmul"} == {operator}


def test_gradients_of_mirrored_borders_add_up() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [3])
    for mode, expected in (
        ("edge", [1 + 2 + 3, 4, 5 + 6]),
        ("reflection", [3, 2 + 4 + 6, 1 + 5]),
        ("symmetric", [2 + 3, 1 + 4, 5 + 6]),
        ("constant", [3, 4, 5]),
    ):
        y = b.pad(x, beginning_padding=[2], ending_padding=[1], mode=mode)
        (dx,) = differentiate(y, range(1, 7), x, x=[0, 0, 0])
        assert dx == expected, mode


def test_integers_are_mixed_and_rounded() -> None:
    b = GraphBuilder()
    x = b.constant([[[[0, 10, 255]]]], "uint8")
    y = b.resample2d(x, sizes=[1, 6], mode="linear")
    assert y.dtype == "uint8"
    assert result(y) == [[[[0, 2, 8, 71, 194, 255]]]]


def test_infinite_neighbours_do_not_reach_a_cell_that_has_no_share_of_them() -> None:
    b = GraphBuilder()
    x = b.constant([[[[1.0, np.inf, 3.0, 4.0, 5.0]]]])
    y = b.resample2d(x, sizes=[1, 10], mode="linear")
    assert result(y)[0][0][0] == [1, *[np.inf] * 4, 3.25, 3.75, 4.25, 4.75, 5]


def test_scales_and_sizes_agree() -> None:
    b = GraphBuilder()
    x = b.constant(np.arange(20, dtype="float32").reshape(1, 1, 4, 5))
    for mode in ("nearest-neighbor", "linear"):
        by_scale = b.resample2d(x, scales=[1.5, 0.5], mode=mode)
        by_size = b.resample2d(x, sizes=[6, 2], mode=mode)
        assert result(by_scale) == result(by_size)


def test_numbers_beyond_the_exact_range_of_floats() -> None:
    b = GraphBuilder()
    y = b.identity(b.fill_sequence("int64", [3], start=2**60, delta=1))
    assert result(y) == [2**60, 2**60 + 1, 2**60 + 2]
