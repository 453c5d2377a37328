"""Graphs of one example written for batches: programs, gradients, and composites of users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.work import examples
from webnnm import GraphBuilder, gradients, ops
from webnnm.backends.reference import evaluate
from webnnm.core.errors import DataError
from webnnm.graph.node import Graph, Operand, OperatorNode
from webnnm.graph.transforms.batching import vectorize_graph
from webnnm.graph.transforms.tangents import tangents
from webnnm.ops.declare.composite import declare_composite

np = pytest.importorskip("numpy")

SIZE = 3


def over_batches(graph: Graph, feeds: Mapping[str, Any], mapped: set[str]) -> dict[str, Any]:
    """Return the outputs of a graph for feeds of which some are batches."""
    b = GraphBuilder()
    inputs = {
        name: b.input(name, x.dtype, (*(SIZE,) * (name in mapped), *x.shape))
        for name, x in graph.inputs.items()
    }
    found = vectorize_graph(b, graph, inputs, mapped, SIZE)
    return evaluate(b.build({name: y for name, (y, _) in found.items()}), feeds, wide=True)


def check(graph: Graph, feeds: Mapping[str, Any], mapped: set[str]) -> None:
    """Compare a graph over batches with the loop over examples."""
    together = over_batches(graph, feeds, mapped)
    for number in range(SIZE):
        own = {name: x[number] if name in mapped else x for name, x in feeds.items()}
        for name, value in evaluate(graph, own, wide=True).items():
            np.testing.assert_allclose(together[name][number], value, rtol=1e-8, atol=1e-8)


SHAPE = (3, 4)
"""Of every value of a program."""


def convolve(b: GraphBuilder, x: Operand, w: Operand) -> Operand:
    image = b.reshape(x, new_shape=(1, 1, *SHAPE))
    kernel = b.reshape(b.slice(w, starts=(0, 1), sizes=(3, 3)), new_shape=(1, 1, 3, 3))
    return b.reshape(b.conv2d(image, kernel, padding=(1, 1, 1, 1)), new_shape=SHAPE)


def pool(b: GraphBuilder, x: Operand, w: Operand) -> Operand:
    image = b.reshape(x + w, new_shape=(1, 1, *SHAPE))
    window: dict[str, Any] = {"window_dimensions": (3, 3), "padding": (1, 1, 1, 1)}
    return b.reshape(b.max_pool2d(image, **window), new_shape=SHAPE)


def replace_rows(b: GraphBuilder, x: Operand, w: Operand) -> Operand:
    rows = b.reshape(b.arg_max(w, axis=1), new_shape=(3, 1))
    return b.scatter_nd(x, rows, w)


STEPS: list[Callable[[GraphBuilder, Operand, Operand], Operand]] = [
    convolve,
    pool,
    replace_rows,
    lambda b, x, w: b.tanh(x),
    lambda b, x, w: b.gelu(x) + w,
    lambda b, x, w: x * b.sigmoid(w),
    lambda b, x, w: b.where(b.greater(x, w), x, w * w),
    lambda b, x, w: b.matmul(b.gemm(x, w, c=1.0, alpha=0.125, b_transpose=True), x),
    lambda b, x, w: b.matmul(x, b.matmul(b.transpose(w), w)) * 0.125,
    lambda b, x, w: b.softmax(x, axis=1) - b.log_softmax(w, axis=0),
    lambda b, x, w: b.layer_normalization(x, scale=b.reduce_sum(w, axes=[0])),
    lambda b, x, w: x / (1 + b.reduce_l2(x, axes=[0], keep_dimensions=True)),
    lambda b, x, w: b.expand(b.reduce_log_sum_exp(x), new_shape=SHAPE) * w,
    lambda b, x, w: b.cumulative_sum(b.reverse(x, axes=[0]), axis=0) * 0.5,
    lambda b, x, w: b.slice(b.concat([x, w], axis=1), starts=(0, 3), sizes=SHAPE),
    lambda b, x, w: b.concat(b.split(x, 2, axis=1)[::-1], axis=1) - b.triangular(w),
    lambda b, x, w: b.slice(b.pad(x, [1, 0], [0, 2], mode="edge"), starts=(0, 2), sizes=SHAPE),
    lambda b, x, w: b.gather(x, b.arg_max(w, axis=1)),
    lambda b, x, w: b.gather(x, b.arg_min(w, axis=0), axis=1),
    lambda b, x, w: b.gather_elements(x, b.cast(b.abs(w) * 2.0, type="int32"), axis=1),
    lambda b, x, w: b.reduce_product(b.clamp(x, min_value=-1), axes=[0]) + w,
]


programs = given(
    chosen=st.lists(st.sampled_from(STEPS), min_size=1, max_size=4),
    mapped=st.sampled_from([{"x"}, {"w"}, {"x", "w"}]),
    seed=st.integers(0, 9),
)


def program(chosen: list[Any]) -> tuple[GraphBuilder, Operand]:
    """Return the builder and the result of some steps."""
    b = GraphBuilder()
    y, w = b.input("x", "float32", SHAPE) * 1.5, b.input("w", "float32", SHAPE)
    for step in chosen:
        y = step(b, y, w)
    return b, y + w + b.inputs["x"]


def draw_feeds(mapped: set[str], seed: int) -> dict[str, Any]:
    """Return feeds of which some are batches."""
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(-1, 1, (*(SIZE,) * (name in mapped), *SHAPE)) for name in ("x", "w")}


@pytest.mark.alike  # rules of shapes over kernels that other tests compare
@settings(max_examples=examples(60))
@programs
def test_batches_of_gradients_and_tangents(chosen: list[Any], mapped: set[str], seed: int) -> None:
    b, y = program(chosen)
    x, w = b.inputs.values()
    dx, dw = gradients(b.reduce_sum(y * y), [x, w])
    (moved,) = tangents([y], [x], [w])
    outputs = {"y": y, "dx": dx * y, "dw": dw * y, "moved": moved * y}
    check(b.build(outputs), draw_feeds(mapped, seed), mapped)


@pytest.mark.alike
@settings(max_examples=examples(60))
@programs
def test_gradients_of_batches(chosen: list[Any], mapped: set[str], seed: int) -> None:
    b, y = program(chosen)
    names = list(b.inputs)
    own = gradients(b.reduce_sum(y * y), list(b.inputs.values()))
    feeds = draw_feeds(mapped, seed)
    graph = b.build({name: g * 1 + 0 * y for name, g in zip(names, own, strict=True)})
    expected = over_batches(graph, feeds, mapped)
    graph, b = b.build({"y": y}), GraphBuilder()
    batches = {name: b.input(name, "float32", x.shape) for name, x in feeds.items()}
    ((y, _),) = vectorize_graph(b, graph, batches, mapped, SIZE).values()
    found = gradients(b.reduce_sum(y * y), list(batches.values()))
    values = evaluate(b.build(dict(zip(names, found, strict=True))), feeds, wide=True)
    for name, value in expected.items():
        # What all examples share receives a gradient from each of them.
        total = value if name in mapped else value.sum(axis=0)
        np.testing.assert_allclose(values[name], total, rtol=1e-8, atol=1e-8)


def test_matrix_that_all_share_is_multiplied_once() -> None:
    inner = GraphBuilder()
    x, w = inner.input("x", "float32", [2, 3]), inner.input("w", "float32", [4, 3])
    graph = inner.build({"y": inner.gemm(x, w, b_transpose=True)})
    b = GraphBuilder()
    batches = {"x": b.input("x", "float32", [5, 2, 3]), "w": b.input("w", "float32", [4, 3])}
    ((y, _),) = vectorize_graph(b, graph, batches, {"x"}, 5).values()
    assert y.shape == (5, 2, 4)
    nodes = [node for node in b.nodes if isinstance(node, OperatorNode)]
    (product,) = [node for node in nodes if node.operator.name == "matmul"]
    assert product.types[0].shape == (10, 4)


def test_what_depends_on_no_batch_is_none() -> None:
    b = GraphBuilder()
    x, w = b.input("x", "float32", [2]), b.input("w", "float32", [2])
    graph = b.build({"both": x * w, "shared": b.exp(w), "constant": b.constant([1.0, 2.0])})
    b = GraphBuilder()
    given = {"x": b.input("x", "float32", [5, 2]), "w": b.input("w", "float32", [2])}
    found = vectorize_graph(b, graph, given, {"x"}, 5)
    assert {name: (y.shape, is_batch) for name, (y, is_batch) in found.items()} == {
        "both": ((5, 2), True),
        "shared": ((2,), False),
        "constant": ((2,), False),
    }
    assert found["shared"][0] == b.exp(given["w"])


def test_given_operands_have_the_types_of_the_inputs() -> None:
    b = GraphBuilder()
    graph = b.build({"y": b.exp(b.input("x", "float32", [2]))})
    b = GraphBuilder()
    x = b.input("x", "float32", [5, 2])
    with pytest.raises(DataError, match=r'"x" is float32\[5, 2\], not float32\[4, 2\]'):
        vectorize_graph(b, graph, {"x": x}, {"x"}, 4)
    with pytest.raises(DataError, match=r'"x" is float32\[5, 2\], not float32\[2\]'):
        vectorize_graph(b, graph, {"x": x}, (), 5)


def test_batches_of_batches() -> None:
    b = GraphBuilder()
    x, w = b.input("x", "float32", [4, 3]), b.input("w", "float32", [3, 2])
    graph = b.build({"y": b.softmax(b.matmul(x, w), axis=1)})
    b = GraphBuilder()
    given = {"x": b.input("x", "float32", [5, 4, 3]), "w": b.input("w", "float32", [3, 2])}
    ((y, _),) = vectorize_graph(b, graph, given, {"x"}, 5).values()
    values = {"x": np.linspace(-1, 1, 60).reshape(5, 4, 3)}
    values["w"] = np.linspace(-2, 2, 18).reshape(SIZE, 3, 2)
    check(b.build({"y": y}), values, {"w"})


CELL = ((2, 3), (8, 3), (8, 2), (2, 2), (2, 2))
"""Shapes of the operands of an lstmCell."""


def test_labels_and_places_stay() -> None:
    b = GraphBuilder()
    with b.place("layer 1"):
        y = b.lstm_cell(*(b.input(str(n), "float32", s) for n, s in enumerate(CELL)))[0]
    graph = b.build({"y": y, "z": b.exp(y)})
    b = GraphBuilder()
    given = {str(n): b.input(str(n), "float32", (2, *s)) for n, s in enumerate(CELL)}
    with b.place("outer"):
        vectorize_graph(b, graph, given, given.keys(), 2)
    *decomposed, last = [node.label for node in b.nodes if isinstance(node, OperatorNode)]
    assert {*decomposed} == {"layer 1"}
    assert last == "outer"


def test_operator_without_a_rule_is_applied_to_each_example() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2, 3])
    lonely = replace(ops.registry()["cumulativeSum"], batch=None)
    graph = b.build({"y": b.apply(lonely, [x], {"axis": 1})})
    feeds = {"x": np.arange(6.0 * SIZE).reshape(SIZE, 2, 3)}
    check(graph, feeds, {"x"})


def test_gradient_of_its_own_stays_with_a_composite() -> None:
    clipped = declare_composite(
        "clipped", gradient=lambda b, g, y, x, w: [b.tanh(g) * w, b.tanh(g)]
    )(lambda b, x, w: b.where(b.greater(x, 0.0), x, x * 0.25) * w)
    inner = GraphBuilder()
    x, w = inner.input("x", "float32", [2]), inner.input("w", "float32", [2])
    graph = inner.build({"y": inner.apply(clipped, [x, w], {})})
    b = GraphBuilder()
    given = {"x": b.input("x", "float32", [SIZE, 2]), "w": b.input("w", "float32", [2])}
    ((y, _),) = vectorize_graph(b, graph, given, {"x"}, SIZE).values()
    dx, dw = gradients(b.reduce_sum(y * y), list(given.values()))
    feeds = {"x": np.linspace(-1, 1, 2 * SIZE).reshape(SIZE, 2), "w": np.asarray([2.0, 3.0])}
    found = evaluate(b.build({"y": y, "dx": dx, "dw": dw}), feeds, wide=True)
    expected = np.where(feeds["x"] > 0, feeds["x"], feeds["x"] * 0.25) * feeds["w"]
    np.testing.assert_allclose(found["y"], expected, rtol=1e-12)
    np.testing.assert_allclose(found["dx"], np.tanh(2 * expected) * feeds["w"], rtol=1e-12)
    np.testing.assert_allclose(found["dw"], np.tanh(2 * expected).sum(axis=0), rtol=1e-12)


def test_gradient_goes_straight_through_quantised_batches() -> None:
    inner = GraphBuilder()
    x = inner.input("x", "float32", [2, 4])
    scale = inner.constant([[0.5, 0.25]])
    zero = inner.constant([[1, -1]], "int8")
    y = inner.dequantize_linear(inner.quantize_linear(x, scale, zero), scale, zero)
    b = GraphBuilder()
    batch = b.input("x", "float32", [SIZE, 2, 4])
    graph = inner.build({"y": y})
    ((y, _),) = vectorize_graph(b, graph, {"x": batch}, {"x"}, SIZE).values()
    (dx,) = gradients(b.reduce_sum(y * 3), [batch])
    feeds = {"x": np.linspace(-40, 90, 8 * SIZE).reshape(SIZE, 2, 4)}
    found = evaluate(b.build({"dx": dx}), feeds, wide=True)["dx"]
    steps = np.asarray([0.5, 0.5, 0.25, 0.25])
    shifted = np.round(feeds["x"] / steps) + np.asarray([1, 1, -1, -1])
    np.testing.assert_allclose(found, 3.0 * ((shifted >= -128) & (shifted <= 127)))
    check(graph, feeds, {"x"})


def test_batch_that_is_a_constant() -> None:
    inner = GraphBuilder()
    x = inner.input("x", "float32", [2, 3])
    graph = inner.build({"y": inner.gather_nd(x, inner.constant([[1, 2], [0, 0]], "int32"))})
    b = GraphBuilder()
    batch = b.constant(range(12), "float32", (2, 2, 3))
    ((y, is_batch),) = vectorize_graph(b, graph, {"x": batch}, {"x"}, 2).values()
    assert is_batch
    assert evaluate(b.build({"y": y}), {})["y"].tolist() == [[5, 0], [11, 6]]
