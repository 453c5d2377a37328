"""Plans of every operator, and of its gradients, are accepted by every conforming WebNN."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.unit.backends.strict_webnn import MLContext, assemble
from tests.unit.backends.webnn_tables import support_limits
from tests.unit.compiler.conforming import IMPLEMENTATIONS, find_target, plan_conforming
from tests.unit.ops.cases import CASES, Case, build
from webnnm import gradients
from webnnm.backends.reference import evaluate
from webnnm.compiler.pipeline import Target, compile_plan, run_passes
from webnnm.core.dtypes import DataType
from webnnm.core.errors import BackendError
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Operand

np = pytest.importorskip("numpy")

OTHER_TYPES: tuple[DataType, ...] = (
    *("float16", "int32", "uint32", "int64", "uint64", "int8", "uint8", "int4", "uint4"),
)


def graphs_of(case: Case, dtype: DataType) -> Iterator[Graph]:
    """Return the graph of an operator, and that of the gradients of all its results."""
    built = build(case, default=dtype)
    b = built.builder
    yield b.build({f"y{i}": y for i, y in enumerate(built.results)})
    if built.differentiable:
        slopes = [
            gradients(y, built.float_operands, b.input(f"g{i}", y.dtype, y.shape))
            for i, y in enumerate(built.float_results)
        ]
        flat = [slope for some in slopes for slope in some]
        yield b.build({f"d{i}": slope for i, slope in enumerate(flat)})


def check_accepted(graph: Graph, name: str) -> None:
    """Check that an implementation accepts the plan of a graph, or that we refuse it first."""
    plan = plan_conforming(graph, name)
    if isinstance(plan, BackendError):
        assert plan.code in ("NNM405", "NNM505")
        assert plan.hint
        assert name == "least", "everything can be computed where everything is supported"


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_operators_and_gradients_are_accepted(case: Case, name: str) -> None:
    for graph in graphs_of(case, "float32"):
        check_accepted(graph, name)


@pytest.mark.desktop
@pytest.mark.parametrize("name", IMPLEMENTATIONS)
@pytest.mark.parametrize("dtype", OTHER_TYPES)
def test_other_types_are_accepted(dtype: DataType, name: str) -> None:
    for case in CASES:
        if case.allows(dtype):
            for graph in graphs_of(case, dtype):
                check_accepted(graph, name)


@pytest.mark.parametrize("case", [case for case in CASES if not case.sample.dtypes], ids=str)
def test_floats_are_computed_by_the_least_implementation(case: Case) -> None:
    target = find_target("least")
    for graph in graphs_of(case, "float32"):
        if all(y.dtype in target.limits["output"]["dataTypes"] for y in graph.outputs.values()):
            compile_plan(graph, target)


def check_same_numbers(make: Callable[[GraphBuilder], Operand], name: str) -> list[str]:
    """Check that rewrites for an implementation change no result; return the calls it accepts."""
    b = GraphBuilder()
    graph, target = b.build({"y": make(b)}), find_target(name)
    plan = compile_plan(graph, target).plan
    assemble(MLContext(target.limits), plan)
    draw = np.random.default_rng(0)
    feeds = {
        x: np.asarray(draw.uniform(0.1, 3.9, operand.shape), operand.dtype)
        for x, operand in graph.inputs.items()
    }
    results = [evaluate(g, feeds)["y"] for g in (graph, run_passes(graph, target)[0])]
    np.testing.assert_allclose(*results, rtol=1e-5)
    return [call["op"] for call in plan.content["operators"]]


def test_ranks_that_are_too_low_are_raised() -> None:
    def normalise(b: GraphBuilder) -> Operand:
        mean, variance = b.input("m", "float32", [3]), b.input("v", "float32", [3])
        return b.batch_normalization(b.input("x", "float32", [2, 3]), mean, variance)

    def pick(b: GraphBuilder) -> Operand:
        return b.gather(b.input("x", "float32", [4]), b.input("i", "int32", []))

    assert check_same_numbers(normalise, "wide") == ["batchNormalization"]
    assert "reshape" in check_same_numbers(normalise, "least")
    assert check_same_numbers(pick, "wide") == ["reshape", "gather", "reshape"]


def test_a_single_update_is_a_list_of_one_where_there_are_no_numbers() -> None:
    def replace(b: GraphBuilder) -> Operand:
        x, update = b.input("x", "float32", [4]), b.input("u", "float32", [])
        return b.scatter_nd(x, b.constant([2], "int32"), update)

    assert check_same_numbers(replace, "wide") == ["scatterND"]
    limits = support_limits()
    limits["scatterND"]["updates"]["rankRange"] = {"min": 1, "max": 8}  # as in Chromium
    b = GraphBuilder()
    plan = compile_plan(b.build({"y": replace(b)}), Target(limits, ())).plan
    assemble(MLContext(limits), plan)
    assert "reshape" in [call["op"] for call in plan.content["operators"]]


def test_ranks_that_nothing_can_raise_are_refused() -> None:
    limits = support_limits()
    limits["softmax"]["input"]["rankRange"] = {"min": 3, "max": 3}
    b = GraphBuilder()
    graph = b.build({"y": b.softmax(b.input("x", "float32", [2]), axis=0)})
    with pytest.raises(BackendError) as caught:
        compile_plan(graph, Target(limits, ()))
    assert caught.value.code == "NNM405"
    assert "takes at least 3 here" in caught.value.message


@pytest.mark.parametrize("sizes", [(3, 3), (3, 2), (2, 3), (2, 2)])
@pytest.mark.parametrize("pool", ["average_pool2d", "l2_pool2d", "max_pool2d"])
def test_sizes_of_pools_become_padding(pool: str, sizes: tuple[int, int]) -> None:
    def make(b: GraphBuilder) -> Operand:
        x = b.input("x", "float32", [1, 1, 5, 5])
        options = {"window_dimensions": (2, 2), "strides": (2, 2)}
        return getattr(b, pool)(x, **options, output_sizes=sizes)

    (call,) = check_same_numbers(make, "wide")
    assert call.endswith("Pool2d")


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_weights_of_four_bits_need_no_such_type(name: str) -> None:
    def make(b: GraphBuilder) -> Operand:
        weights = b.constant([[1, -8, 7], [3, 0, -1]], "int4")
        zero_points = b.constant([[0], [1]], "int4")
        return b.dequantize_linear(weights, b.constant([[0.5], [2.0]]), zero_points)

    check_same_numbers(make, name)
    listed = find_target(name).limits["constant"]["dataTypes"]
    assert not {"int4", "uint4"} & {*listed}


@pytest.mark.parametrize("scale", [0.0, -0.5])
def test_scales_that_are_not_positive_are_not_left_to_chance(scale: float) -> None:
    def dequantize(b: GraphBuilder) -> Operand:
        x = b.cast(b.input("x", "float32", [2, 3]), type="int8")
        return b.dequantize_linear(x, b.constant([[scale], [2.0]]), b.constant([[0], [1]], "int8"))

    def quantize(b: GraphBuilder) -> Operand:
        x = b.input("x", "float32", [2, 3])
        return b.quantize_linear(x, b.constant([[scale], [2.0]]), b.constant([[0], [1]], "int8"))

    assert "dequantizeLinear" not in check_same_numbers(dequantize, "least")
    assert "quantizeLinear" not in check_same_numbers(quantize, "least")
