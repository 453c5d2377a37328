"""Values of four bits are carried in bytes where the backend computes none, with equal numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.unit.backends.fake_webnn import FakeWebNN
from tests.unit.compiler.legalising import build_graph, chromium_limits, legalise
from webnnm.backends.reference import evaluate
from webnnm.backends.webnn import WebNNBackend
from webnnm.compiler.four_bits import storage_type
from webnnm.compiler.limits import Limits
from webnnm.core.arrays import HostArray
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, InputNode, Operand, OperatorNode
from webnnm.graph.scan import Scan
from webnnm.ops.declare.tensors import TensorType

np = pytest.importorskip("numpy")

ENDS = {"int4": [-8, 7, 3, -1, 2], "uint4": [15, 1, 9, 8, 2]}


@pytest.fixture(scope="module")
def limits() -> dict[str, Any]:
    """The limits of the bundled Chromium."""
    return chromium_limits()


def ends(b: GraphBuilder, dtype: Any, name: str = "x") -> Operand:
    return b.input(name, dtype, [5])


def table(b: GraphBuilder, dtype: Any) -> Operand:
    return b.constant([ENDS[dtype], ENDS[dtype][::-1]], dtype)


def dequantize(b: GraphBuilder, x: Operand) -> Operand:
    ones = [1] * x.rank
    scale, zero_point = b.constant([0.5], shape=ones), b.constant([1], x.dtype, ones)
    return b.dequantize_linear(x, scale, zero_point)


def quantize(b: GraphBuilder, dtype: Any) -> Operand:
    x = b.input("f", "float32", [6])
    return b.quantize_linear(x, b.constant([0.3]), b.constant([2], dtype))


FEEDS: Mapping[str, Any] = {
    "f": [float("nan"), -1e9, 300.7, -2.6, 1.5, 8.0],
    "i": [2**31 - 1, -(2**31), 300, -77, 9, 16],
}
CASES: dict[str, Callable[[GraphBuilder, Any], Operand | dict[str, Operand]]] = {
    "cast of floats": lambda b, t: b.cast(b.input("f", "float32", [6]), type=t),
    "cast of integers": lambda b, t: b.cast(b.input("i", "int32", [6]), type=t),
    "cast to floats": lambda b, t: b.cast(ends(b, t), type="float32"),
    "cast between": lambda b, t: b.cast(ends(b, t), type="int4" if t == "uint4" else "uint4"),
    "sum": lambda b, t: ends(b, t) + ends(b, t, "z"),
    "difference of one": lambda b, t: ends(b, t) - 5 * ends(b, t, "z") / 3,
    "product": lambda b, t: ends(b, t) * ends(b, t, "z"),
    "clamp": lambda b, t: b.clamp(ends(b, t), min_value=-3.5, max_value=5),
    "clamp from beyond": lambda b, t: b.clamp(ends(b, t), min_value=200, max_value=200),
    "clamp between integers": lambda b, t: b.clamp(ends(b, t), min_value=0.25, max_value=0.75),
    "clamp to below": lambda b, t: b.clamp(ends(b, t), min_value=-200, max_value=-100),
    "pad": lambda b, t: b.pad(ends(b, t), [2], [1], value=5),
    "rows of a constant": lambda b, t: b.gather(table(b, t), b.constant([1, 0, 1], "int32")),
    "a constant as it is": lambda b, t: b.identity(table(b, t)),
    "an input as it is": lambda b, t: ends(b, t),
    "scalar": lambda b, t: b.reduce_max(ends(b, t)),
    "scalar input": lambda b, t: b.input("s", t, []) + 1,
    "comparison": lambda b, t: b.greater(ends(b, t), 2),
    "place of the largest": lambda b, t: b.arg_max(ends(b, t), axis=0),
    "quantised": quantize,
    "quantised and back": lambda b, t: dequantize(b, quantize(b, t)),
    "dequantised input": lambda b, t: dequantize(b, ends(b, t)),
    "two outputs": lambda b, t: {"y": ends(b, t) + 1, "z": b.neg(b.cast(ends(b, t, "w"), "int32"))},
}


@pytest.mark.parametrize("dtype", ENDS)
@pytest.mark.parametrize("make", CASES.values(), ids=CASES)
def test_numbers_are_the_same(make: Any, dtype: str, limits: dict[str, Any]) -> None:
    graph = build_graph(lambda b: make(b, dtype))
    fitted, rewrites = legalise(graph, limits)
    known = Limits(limits)
    for node in fitted.nodes():
        for type in node.types:
            assert type.dtype not in ENDS
        if isinstance(node, OperatorNode):
            assert all(type.dtype in bounds.dtypes for type, bounds in known.list_bounds(node))
    assert any(f" {dtype} " in text for text in rewrites)
    values: dict[str, Any] = {
        name: FEEDS.get(name, np.resize(ENDS[dtype], operand.shape))
        for name, operand in graph.inputs.items()
    }
    given = {
        name: HostArray.of(values[name], *graph.inputs[name].type).data
        if operand.type != graph.inputs[name].type
        else values[name]
        for name, operand in fitted.inputs.items()
    }
    expected, found = evaluate(graph, values), evaluate(fitted, given)
    for name, operand in graph.outputs.items():
        array = found[name]
        assert fitted.outputs[name].type == storage_type(known, operand.type)
        if operand.dtype in ENDS:
            array = HostArray(*operand.type, array.tobytes()).tolist()
        np.testing.assert_array_equal(array, expected[name])


def test_weights_of_four_bits_stay_where_they_are_dequantised(limits: dict[str, Any]) -> None:
    graph = build_graph(lambda b: dequantize(b, table(b, "int4")))
    assert legalise(graph, limits) == (graph, [])


def test_constants_that_stay_are_those_that_nothing_else_reads(limits: dict[str, Any]) -> None:
    def make(b: GraphBuilder) -> dict[str, Operand]:
        rows = b.gather(table(b, "int4"), b.constant([1], "int32"))
        return {"y": dequantize(b, rows), "z": dequantize(b, b.constant([[1, 2]], "int4"))}

    fitted, _ = legalise(build_graph(make), limits)
    found = [n.types[0] for n in fitted.nodes() if isinstance(n, ConstantNode)]
    assert TensorType("int8", (2, 5)) in found
    assert TensorType("int4", (1, 2)) in found


def test_an_input_that_will_be_a_constant_stays(limits: dict[str, Any]) -> None:
    graph = build_graph(lambda b: dequantize(b, ends(b, "int4")))
    assert legalise(graph, limits, constant_inputs=["x"]) == (graph, [])
    fitted, _ = legalise(graph, limits)
    assert [n.types[0] for n in fitted.nodes() if isinstance(n, InputNode)] == [("uint8", (3,))]


def test_a_backend_that_computes_four_bits_is_left_alone() -> None:
    graph = build_graph(lambda b: ends(b, "int4") + 1)
    assert legalise(graph, {"add": {}, "cast": {}}) == (graph, [])
    assert storage_type(Limits({"cast": {}}), TensorType("int4", (3,))) == ("int4", (3,))
    assert storage_type(Limits({"add": {}}), TensorType("int4", (3,))) == ("uint8", (2,))


async def test_tensors_are_bytes_and_graphs_are_told_apart(limits: dict[str, Any]) -> None:
    bridge = FakeWebNN(limits=limits)
    backend = await WebNNBackend.open(bridge=bridge)  # type: ignore[arg-type]
    executable = await backend.compile(build_graph(lambda b: ends(b, "int4") + 1))
    assert executable.inputs == {"x": ("int4", (5,))}
    assert executable.outputs == {"y": ("int4", (5,))}
    assert bridge.built[-1].inputs == {"x": ("uint8", (3,))}
    found = (await executable.run_host({"x": ENDS["int4"]}))["y"]
    assert found.dtype == "int4"
    assert found.tolist() == [-7, -8, 4, 0, 3]
    backend.close()


@pytest.mark.parametrize(("room", "kept"), [(2**20, "int4"), (8, "uint8")])
async def test_tensors_that_become_constants_are_weights_where_they_fit(
    limits: dict[str, Any], room: int, kept: str
) -> None:
    backend = await WebNNBackend.open(bridge=(bridge := FakeWebNN(limits=limits)))  # type: ignore[arg-type]
    backend.unpacks = False
    graph = build_graph(
        lambda b: {"y": dequantize(b, b.input("w", "int4", [32])), "z": ends(b, "uint8") * 1}
    )
    weights = await backend.tensor(TensorType("int4", (32,)), HostArray.of([3] * 32, "int4"))
    backend.max_constant_bytes = room
    executable = await backend.compile(graph, constants={"w": weights})
    plan = bridge.built[-1]
    given = [*plan.content["inputs"], *plan.content["constants"]]
    assert [each["dtype"] for each in given if each.get("name") == "w"] == [kept]
    assert ("w" in executable.inputs) == (kept == "uint8")
    backend.close()


async def test_scans_of_four_bits_are_one_graph(limits: dict[str, Any]) -> None:
    b = GraphBuilder()
    before = b.build({"part": b.input("data", "int4", [3]) * 3})
    b = GraphBuilder()
    body = b.build({"sum": b.input("sum", "int4", [1]) + b.input("part", "int4", [1])})
    scan = Scan(before, body, GraphBuilder().build({}), 3)
    backend = await WebNNBackend.open(bridge=FakeWebNN(limits=limits))  # type: ignore[arg-type]
    executable = await backend.compile(scan)
    found = await executable.run_host({"data": [1, 2, 3], "sum": [5]})
    assert found["sum"].tolist() == [7]
    backend.close()
