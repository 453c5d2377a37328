"""The rewrites around Chromium's traps in arithmetic and logic keep what is computed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.backends.rewriting import names, out_of_traps
from tests.unit.ops.cases import np
from webnnm.backends.reference import evaluate
from webnnm.backends.traps import logic, numbers
from webnnm.backends.traps.trap import is_operator
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Node, Operand
from webnnm.graph.rewrite import Replacement, rewrite

RANGE = np.asarray([-(2**31), -7, -3, -2, -1, 0, 1, 2, 3, 5, 253, 65537, 2**31 - 1], np.int32)


def power(exponent: Any, *, constant: bool) -> tuple[Graph, dict[str, Any]]:
    b = GraphBuilder()
    feeds: dict[str, Any] = {"x": RANGE.reshape(-1, 1)}
    z: Operand
    if constant:
        z = b.constant(exponent, "int32")
    else:
        z = b.input("z", "int32", np.shape(exponent))
        feeds["z"] = np.asarray(exponent, np.int32)
    return b.build({"y": b.pow(b.input("x", "int32", [len(RANGE), 1]), z)}), feeds


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("exponent", [[0, 1, 2, 5, 31], [33, 4, 2**31 - 1], [-1, -2, 3, -3], 5])
def test_integer_powers_wrap_around(exponent: Any, constant: bool) -> None:
    graph, feeds = power(exponent, constant=constant)
    fitted = guarded(graph, "pow")
    assert "pow" not in names(fitted)
    listed = np.atleast_1d(exponent).tolist()
    expected = [
        [0 if n < 0 and abs(x) != 1 else pow(x, abs(n), 2**32) for n in listed]
        for x in RANGE.tolist()
    ]
    wrapped = np.asarray([[(v + 2**31) % 2**32 - 2**31 for v in row] for row in expected])
    assert fitted.outputs["y"].type == graph.outputs["y"].type
    np.testing.assert_array_equal(evaluate(fitted, feeds)["y"], wrapped)


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64"])
def test_powers_of_unsigned_integers_wrap_around(dtype: Any) -> None:
    b = GraphBuilder()
    graph = b.build({"y": b.pow(b.input("x", dtype, [3]), b.input("z", dtype, [3]))})
    feeds = {"x": np.asarray([253, 2, 0], dtype), "z": np.asarray([5, 255, 0], dtype)}
    size = 2 ** (8 * feeds["x"].itemsize)
    found = evaluate(guarded(graph, "pow"), feeds)["y"].tolist()
    assert found == [pow(253, 5, size), pow(2, 255, size), 1]


def guarded(graph: Graph, name: str) -> Graph:
    """Return a graph after the guard of one operator."""
    (trap,) = (trap for trap in numbers.GUARDS if name in trap.operators)

    def rule(b: GraphBuilder, node: Node) -> Replacement | None:
        return trap.rule(b, node) if is_operator(node, name) else None

    return rewrite(graph, rule)


@pytest.mark.parametrize(("dtype", "limit"), [("float32", 1e-6), ("float16", 2e-3)])
def test_softplus_of_large_numbers_takes_no_exponential_of_them(dtype: Any, limit: float) -> None:
    b = GraphBuilder()
    values = np.asarray([-2000, -90, -5, 0, 9.99, 10.01, 19.9, 20.1, 88, 90, 2000], dtype)
    graph = b.build({"y": b.softplus(b.input("x", dtype, values.shape))})
    fitted = guarded(graph, "softplus")
    assert names(fitted) == ["min", "softplus", "sub", "max", "add"]
    expected, found = (evaluate(g, {"x": values})["y"] for g in (graph, fitted))
    np.testing.assert_allclose(found, expected, rtol=limit)


def test_logical_results_are_reshaped_before_they_move() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2, 2])
    both = b.concat([b.is_na_n(x), b.equal(x, x), b.cast(x, type="uint8")], axis=0)
    chosen = b.where(b.is_na_n(x), 0.0, x)
    graph = b.build({"y": both, "z": chosen})
    fitted = out_of_traps(graph, logic.TRAPS)
    assert names(fitted).count("reshape") == 2
    feeds = {"x": [[1, float("nan")], [2, 3]]}
    for name, value in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(evaluate(fitted, feeds)[name], value)
    assert out_of_traps(fitted, logic.TRAPS) is fitted


def test_logical_results_are_dequantised_by_their_parts() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [4])
    scale, zero = b.constant([0.5, 2.0]), b.constant([1, 3], "uint8")
    y = b.dequantize_linear(b.reshape(b.is_na_n(x), new_shape=[2, 2]), scale, zero)
    graph = b.build({"y": y, "z": b.dequantize_linear(b.cast(x, type="uint8"), scale, zero)})
    fitted = out_of_traps(graph, logic.TRAPS)
    assert names(fitted).count("dequantizeLinear") == 1
    feeds = {"x": [1, float("nan"), 2, 3]}
    for name, value in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(evaluate(fitted, feeds)[name], value)
