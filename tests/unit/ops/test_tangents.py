"""Forward-mode differentiation of every operator against differences along the tangent."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.ops.cases import CASES, Case, build, np
from tests.unit.ops.gradient import LIMIT, error, measure
from webnnm import GraphBuilder, gradients
from webnnm.backends.reference import computable, evaluate
from webnnm.core.errors import WebNNMError
from webnnm.graph.node import ConstantNode, Graph
from webnnm.graph.transforms.tangents import tangents


def find_left_over(graph: Graph) -> list[bytes]:
    """Return which of the gradients that tangents do not depend on are in a graph all the same."""
    digests = [node.digest for node in graph.nodes() if isinstance(node, ConstantNode)]
    return [digest for digest in digests if digest.startswith(b"gradient ")]


@pytest.mark.alike  # a rule of algebra over kernels that other tests compare
@pytest.mark.parametrize("case", [c for c in CASES if build(c).differentiable], ids=str)
def test_tangent_is_the_measured_one(case: Case) -> None:
    built = build(case)
    b, xs, ys = built.builder, built.float_operands, built.float_results
    names = [x.node.name for x in xs]  # type: ignore[attr-defined]
    rng = np.random.default_rng(1)
    vs = [b.input(f"v{i}", x.dtype, x.shape) for i, x in enumerate(xs)]
    along = {f"v{i}": rng.uniform(-1, 1, x.shape) for i, x in enumerate(xs)}
    graph = b.build({f"t{i}": t for i, t in enumerate(tangents(ys, xs, vs))})
    assert not find_left_over(graph)
    found = evaluate(graph, {**built.feeds, **along}, wide=True)
    weights = [rng.uniform(-1, 1, y.shape) for y in ys]
    forward = computable(b.build({f"y{i}": y for i, y in enumerate(ys)}))

    def at(t: Any) -> float:
        moved = {n: built.feeds[n] + t[0] * v for n, v in zip(names, along.values(), strict=True)}
        values = evaluate(forward, {**built.feeds, **moved}, wide=True)
        return sum(float(np.sum(w * values[f"y{i}"])) for i, w in enumerate(weights))

    slope = sum(float(np.sum(w * found[f"t{i}"])) for i, w in enumerate(weights))
    (numeric, _) = measure(at, np.zeros(1))
    assert error(np.asarray([slope]), numeric) <= LIMIT


def test_tangent_of_the_tangent_is_the_second_derivative() -> None:
    b = GraphBuilder()
    x, v = b.input("x", "float32", [3]), b.input("v", "float32", [3])
    (first,) = tangents([b.sin(x) * x], [x], [v])
    (second,) = tangents([first], [x], [v])
    (reverse,) = gradients(b.reduce_sum(first), [x])
    at, along = np.asarray([-1.0, 0.5, 2.0]), np.asarray([1.0, 2.0, -1.0])
    found = evaluate(b.build({"s": second, "r": reverse}), {"x": at, "v": along}, wide=True)
    expected = 2 * np.cos(at) - at * np.sin(at)
    np.testing.assert_allclose(found["s"], expected * along**2, rtol=1e-12)
    np.testing.assert_allclose(found["r"], expected * along, rtol=1e-12)


def test_tangent_of_what_does_not_move_is_zero() -> None:
    b = GraphBuilder()
    x, w = b.input("x", "float32", [3]), b.input("w", "float16", [2])
    v = b.input("v", "float32", [3])
    ys = [b.exp(w), b.floor(x), x, b.input("z", "float32", [])]
    found = evaluate(
        b.build({str(i): t for i, t in enumerate(tangents(ys, [x], [v]))}), {"v": [1, 2, 3]}
    )
    assert [found[str(i)].tolist() for i in range(4)] == [[0, 0], [0, 0, 0], [1, 2, 3], 0]
    assert found["0"].dtype.name == "float16"
    assert tangents([], [x], [v]) == []


def test_tangent_goes_straight_through_quantisation() -> None:
    b = GraphBuilder()
    x, v = b.input("x", "float32", [3]), b.input("v", "float32", [3])
    scale, zero = b.constant([0.5]), b.constant([0], "int8")
    y = b.dequantize_linear(b.quantize_linear(x, scale, zero), scale, zero)
    (t,) = tangents([y], [x], [v])
    found = evaluate(b.build({"t": t}), {"x": [-100, 0.3, 10], "v": [1, 2, 3]})
    assert found["t"].tolist() == [0, 2, 3]


def test_tangents_that_do_not_fit_are_refused() -> None:
    b = GraphBuilder()
    x, n = b.input("x", "float32", [3]), b.input("n", "int32", [3])
    y = x * 2
    with pytest.raises(WebNNMError, match=r"NNM702: 0 tangents for 1 tensors"):
        tangents([y], [x], [])
    with pytest.raises(WebNNMError, match=r"NNM702: the tangent is float32\[\], .* float32\[3\]"):
        tangents([y], [x], [b.constant(1.0)])
    with pytest.raises(WebNNMError, match=r"NNM501: int32 tensors have no tangent"):
        tangents([n + n], [x], [x])
    with pytest.raises(WebNNMError, match=r"NNM501: int32 tensors have no tangent"):
        tangents([y], [n], [n])
