"""Each pass does what it claims, and graphs compute the same after all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.compiler.passes.graphs import names, random_graph, same
from tests.unit.graph.texts import network
from tests.unit.ops.cases import CASES, Case, build, np
from tests.work import draws
from webnnm import GraphBuilder, gradients
from webnnm.backends.reference import evaluate
from webnnm.compiler.passes.bias import fuse_biases
from webnnm.compiler.passes.choices import expand_choices
from webnnm.compiler.passes.folding import fold_constants
from webnnm.compiler.passes.simplify import simplify
from webnnm.compiler.pipeline import OPTIMISATIONS, Target, run_passes
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.graph.node import Graph, InputNode, Operand

LIMITS = {"preferredInputLayout": "nhwc"}
Make = Callable[[GraphBuilder, Operand], Any]


def everything(graph: Graph) -> Graph:
    return run_passes(graph, Target(LIMITS), OPTIMISATIONS)[0]


@pytest.mark.alike
@pytest.mark.parametrize("case", CASES, ids=str)
def test_operators_and_their_gradients_compute_the_same(case: Case) -> None:
    built = build(case)
    results = {f"y{k}": y for k, y in enumerate(built.results)}
    if built.differentiable:
        total = [y.reduce_sum() for y in built.float_results]
        found = gradients(sum(total[1:], total[0]), built.float_operands)
        results |= {f"g{k}": g for k, g in enumerate(found)}
    same(everything, built.builder.build(results), dict(built.feeds))


@pytest.mark.parametrize("seed", draws(range(100, 200)))
def test_random_graphs_compute_the_same(seed: int) -> None:
    same(everything, random_graph(seed))


def test_a_backend_that_prefers_channels_first_keeps_them() -> None:
    b = GraphBuilder()
    y = b.max_pool2d(b.input("x", "float32", [1, 2, 4, 4]), window_dimensions=(2, 2))
    limits = {"preferredInputLayout": "nchw"}
    found, _ = run_passes(b.build({"y": y}), Target(limits), OPTIMISATIONS)
    assert names(found) == ["maxPool2d"]


def graph_of(make: Make, *shape: int) -> Graph:
    b = GraphBuilder()
    return b.build({"y": make(b, b.input("x", "float32", shape or (2, 3)))})


NOTHING: dict[str, Make] = {
    "x + 0": lambda b, x: x + 0,
    "0 + x": lambda b, x: 0 + x,
    "x − 0": lambda b, x: x - 0,
    "x · 1": lambda b, x: x * 1,
    "1 · x": lambda b, x: 1 * x,
    "x / 1": lambda b, x: x / 1,
    "x to the 1": lambda b, x: b.pow(x, 1.0),
    "x · ones": lambda b, x: x * b.constant([1.0, 1.0, 1.0]),
    "− −x": lambda b, x: b.neg(b.neg(x)),
    "a cast to its own type": lambda b, x: b.cast(x, type="float32"),
    "identity": lambda b, x: b.identity(x),
    "all of a slice": lambda b, x: b.slice(x, starts=[0, 0], sizes=[2, 3]),
    "an empty padding": lambda b, x: b.pad(x, beginning_padding=[0, 0], ending_padding=[0, 0]),
    "one part": lambda b, x: b.concat([x], axis=0),
    "there and back": lambda b, x: b.reshape(b.reshape(x, new_shape=[6]), new_shape=[2, 3]),
    "expand to its own shape": lambda b, x: b.expand(x, new_shape=[2, 3]),
}


@pytest.mark.parametrize("make", NOTHING.values(), ids=NOTHING)
def test_operators_without_effect_go(make: Make) -> None:
    assert names(same(simplify, graph_of(lambda b, x: b.relu(make(b, x))))) == ["relu"]


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_an_addend_that_is_taken_0_times_goes(alpha: float) -> None:
    def product(b: GraphBuilder, x: Operand, beta: float) -> Operand:
        z, addend = b.constant([[1.0, 2.0, 3.0]]), b.input("c", "float32", [2, 1])
        return b.gemm(x, z, c=addend, alpha=alpha, beta=beta, b_transpose=True)

    graph = graph_of(lambda b, x: product(b, x, 0.0))
    found = same(simplify, graph, {"x": np.ones((2, 3)), "c": [[5.0], [7.0]]})
    assert {node.name for node in found.nodes() if isinstance(node, InputNode)} == {"x"}
    whole = graph_of(lambda b, x: product(b, x, 0.5))
    assert simplify(whole) is whole


SOMETHING: dict[str, Make] = {
    "0 − x": lambda b, x: 0 - x,
    "1 / x": lambda b, x: 1 / x,
    "x + 1": lambda b, x: x + 1,
    "x · 0": lambda b, x: x * 0,
    "x stretched": lambda b, x: x + b.constant([[[0.0]], [[0.0]]]),
    "a cast": lambda b, x: b.cast(b.cast(x, type="int32"), type="float32"),
    "a part": lambda b, x: b.slice(x, starts=[0, 1], sizes=[2, 2]),
    "a square transpose": lambda b, x: b.transpose(b.slice(x, starts=[0, 1], sizes=[2, 2])),
    "in another shape": lambda b, x: b.reshape(x, new_shape=[3, 2]),
}


@pytest.mark.parametrize("make", SOMETHING.values(), ids=SOMETHING)
def test_operators_with_an_effect_stay(make: Make) -> None:
    graph = graph_of(make)
    assert simplify(graph) is graph


def test_reshapes_become_one_and_those_of_constants_none() -> None:
    def shaped(b: GraphBuilder, x: Operand) -> Operand:
        twice = b.reshape(b.reshape(x, new_shape=[6, 1]), new_shape=[3, 2])
        return twice + b.reshape(b.constant([1.0, 2.0]), new_shape=[1, 2])

    assert names(same(simplify, graph_of(shaped))) == ["reshape", "add"]


def test_sums_of_sums_become_one_and_signs_are_turned_last() -> None:
    def total(b: GraphBuilder, x: Operand) -> Operand:
        rows = b.reduce_sum(-x, axes=[1])
        return b.reduce_sum(rows * 1, axes=[0])

    found = same(simplify, graph_of(total, 5, 3))
    assert names(found) == ["reduceSum", "neg"]
    large = graph_of(lambda b, x: b.reduce_sum(b.reduce_sum(x, axes=[0])), 80, 80)
    assert simplify(large) is large


CONSTANT = GraphBuilder.constant
FOLDED: dict[str, tuple[Make, list[str]]] = {
    "numbers": (lambda b, x: x * (CONSTANT(b, 1.0) / b.max(CONSTANT(b, 3.0), 1.0)), ["mul"]),
    "vectors": (lambda b, x: x - b.sqrt(CONSTANT(b, [1.0, 2.0, 3.0])) * 2, ["sub"]),
    "not of one shape": (
        lambda b, x: x + (CONSTANT(b, [1.0, 2.0, 3.0]) + CONSTANT(b, [[1.0], [2.0]])),
        ["add", "add"],
    ),
    "no number": (lambda b, x: x * (CONSTANT(b, 0.0) / CONSTANT(b, 0.0)), ["div", "mul"]),
    "too large": (lambda b, x: x * (CONSTANT(b, 3e38) * 10), ["mul", "mul"]),
    "a root of a negative": (lambda b, x: x * b.sqrt(CONSTANT(b, -1.0)), ["sqrt", "mul"]),
    "an unknown": (lambda b, x: x * 2, ["mul"]),
}


@pytest.mark.parametrize(("make", "left"), FOLDED.values(), ids=FOLDED)
def test_arithmetic_on_constants_is_done_beforehand(make: Make, left: list[str]) -> None:
    assert names(same(fold_constants, graph_of(make))) == left


def convolve(b: GraphBuilder, x: Operand, **options: Any) -> Operand:
    nhwc = options.get("input_layout") == "nhwc"
    kernel = [[[[0.5, -1.0], [2.0, 0.25]]] * x.shape[3 if nhwc else 1]] * 3
    return b.conv2d(x, b.constant(kernel), **options)


BIASES: dict[str, Make] = {
    "[3, 1, 1]": lambda b, x: convolve(b, x) + b.constant([[[1.0]], [[2.0]], [[3.0]]]),
    "on the left": lambda b, x: b.constant([[[[1.0]], [[2.0]], [[3.0]]]]) + convolve(b, x),
    "nhwc": lambda b, x: convolve(b, x, input_layout="nhwc") + b.constant([1.0, 2.0, 3.0]),
}


def test_every_convolution_of_a_chain_gets_its_bias() -> None:
    """Although what is built for one bias, a reshape, moves all nodes behind it."""
    b = GraphBuilder()
    b.input("unused", "float32", [1])
    x = b.input("x", "float32", [1, 2, 4, 4])
    b.exp(x)
    for k in range(3):
        w = b.input(f"w{k}", "float32", [2, 2, 1, 1])
        x = b.conv2d(x, w) + b.input(f"b{k}", "float32", [2, 1, 1])
    found = same(fuse_biases, b.build({"y": x}))
    assert names(found) == ["reshape", "conv2d"] * 3


@pytest.mark.parametrize("make", BIASES.values(), ids=BIASES)
def test_a_bias_becomes_part_of_the_convolution(make: Make) -> None:
    found = same(fuse_biases, graph_of(make, 1, 2, 3, 4))
    assert names(found) == ["conv2d"]


NO_BIASES: dict[str, Make] = {
    "one per column": lambda b, x: convolve(b, x) + b.constant([1.0, 2.0, 3.0]),
    "one for all": lambda b, x: convolve(b, x) + 1,
    "a second use": lambda b, x: (
        convolve(b, x) + b.constant([[[1.0]], [[2.0]], [[3.0]]]) * b.reduce_sum(convolve(b, x))
    ),
    "a bias before": lambda b, x: (
        convolve(b, x, bias=b.constant([1.0, 2.0, 3.0])) + b.constant([[[1.0]], [[2.0]], [[3.0]]])
    ),
}


@pytest.mark.parametrize("make", NO_BIASES.values(), ids=NO_BIASES)
def test_other_sums_stay(make: Make) -> None:
    graph = graph_of(make, 1, 2, 4, 4)
    assert fuse_biases(graph) is graph


CLAMPS: dict[str, tuple[Make, list[str]]] = {
    "clamp of relu": (lambda b, x: b.clamp(b.relu(x), min_value=-1.5, max_value=1), ["clamp"]),
    "no clamp of relu": (lambda b, x: b.clamp(b.relu(x), min_value=-1.5), ["relu"]),
    "relu of clamp": (lambda b, x: b.relu(b.clamp(x, min_value=-1, max_value=0.5)), ["clamp"]),
    "relu of relu": (lambda b, x: b.relu(b.relu(x)), ["relu"]),
    "clamp of clamp": (
        lambda b, x: b.clamp(b.clamp(x, min_value=-1, max_value=0.5), min_value=0, max_value=2),
        ["clamp"],
    ),
    "apart": (
        lambda b, x: b.clamp(b.clamp(x, max_value=-0.5), min_value=0.25, max_value=2),
        ["clamp"],
    ),
    "without bounds": (lambda b, x: b.abs(b.clamp(x)), ["abs"]),
    "NaN is not a bound": (
        lambda b, x: b.clamp(b.clamp(x, min_value=float("nan")), max_value=0.5),
        ["clamp"],
    ),
}


@pytest.mark.parametrize(("make", "left"), CLAMPS.values(), ids=CLAMPS)
def test_clamps_of_clamps_become_one(make: Make, left: list[str]) -> None:
    graph = graph_of(make, 7)
    found = simplify(graph)
    assert names(found) == left
    feeds = {"x": np.asarray([-3, -0.75, 0, 0.3, 0.75, 3, np.nan], np.float32)}
    expected, given = (evaluate(g, feeds)["y"] for g in (graph, found))
    np.testing.assert_array_equal(given, expected)


def test_large_choices_are_stretched_and_small_ones_are_not() -> None:
    def choose(b: GraphBuilder, x: Operand) -> Operand:
        return b.where(b.greater(x, 0.5), x, 2.0)

    assert names(same(expand_choices, graph_of(choose, 80, 80))) == [
        "greater",
        "expand",
        "where",
    ]
    small = graph_of(choose, 8, 8)
    assert expand_choices(small) is small


LENET = """
model:input shape={channel:1, height:12, width:12}; model:output shape=[3];
model:layers conv2d(f, filters=2, kernel=3, padding=same, bias=c), relu(), maxPool2d(window=2,
  strides={height:2, width:2}), conv2d(f, filters=4, kernel=3, bias=c), relu(), maxPool2d(window=2,
  strides={height:2, width:2}), flatten(), matmul(w), add(b), softmax();
"""


def test_a_convolutional_network_is_transposed_at_its_edges_alone() -> None:
    lowered = lower_network(network(LENET), batch=2)
    b = lowered.builder
    loss = b.reduce_sum(lowered.outputs["model"] * b.input("t", "float32", [2, 3]))
    xs = list(lowered.parameters.values())
    outputs = {f"g{k}": g for k, g in enumerate(gradients(loss, xs))}
    graph = b.build({**outputs, "y": lowered.outputs["model"]})
    found = same(everything, graph)
    before, after = (names(g).count("transpose") for g in (graph, found))
    # Flatten there and back, both matrices of the product, and for each filter gradient the image
    # that goes into its convolution and the filter that comes out.
    assert (before, after) == (16, 8)
    layouts = {
        n.options["input_layout"]
        for n in found.nodes()
        if "input_layout" in getattr(n, "options", {})
    }
    assert layouts == {"nhwc"}
