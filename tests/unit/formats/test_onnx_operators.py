"""Every operator is exported to ONNX, and ONNX Runtime computes what the reference computes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.formats.onnx_runs import agrees, np
from tests.unit.ops.cases import CASES, TYPES, Case, build
from webnnm import GraphBuilder, ModelError, gradients, ops
from webnnm.core.dtypes import DataType, integer_range, is_float
from webnnm.formats.onnx.exporting.lowering import graph_model
from webnnm.formats.onnx.exporting.table import TABLE
from webnnm.graph.node import Graph
from webnnm.ops.declare.operator import AnyOperator, Operator

OPERATORS = list(ops.registry().values())
HALVES = 4e-3
"""So close are results of halves: ONNX Runtime rounds them once per operator, as kernels do."""


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: o.name)
def test_every_primitive_operator_has_an_entry(operator: AnyOperator) -> None:
    assert operator.name in TABLE or operator.decompose is not None


@pytest.mark.parametrize("case", CASES, ids=str)
def test_samples_are_exported_right(case: Case) -> None:
    built = build(case)
    graph = built.builder.build({f"y{k}": y for k, y in enumerate(built.results)})
    agrees(graph, built.feeds)


@pytest.mark.parametrize("case", [c for c in CASES if build(c).differentiable], ids=str)
def test_gradients_of_samples_are_exported_right(case: Case) -> None:
    built = build(case)
    total = built.builder.constant(0.0)
    for result in built.float_results:
        total = total + built.builder.cast(result * result, type="float32").reduce_sum()
    found = gradients(total, built.float_operands)
    named = {f"g{k}": g for k, g in enumerate(found)}
    agrees(built.builder.build(named), built.feeds)


@pytest.mark.parametrize(
    ("case", "dtype"),
    [(c, dtype) for c in CASES for dtype in TYPES if dtype != "float32" and c.allows(dtype)],
    ids=str,
)
def test_samples_of_other_types_are_exported_right(case: Case, dtype: DataType) -> None:
    built = build(case, default=dtype)
    graph = built.builder.build({f"y{k}": y for k, y in enumerate(built.results)})
    agrees(graph, built.feeds, HALVES if is_float(dtype) else 0)


def pair(name: str, dtype: DataType, **options: Any) -> Graph:
    b = GraphBuilder()
    a, z = b.input("a", dtype, [25]), b.input("b", dtype, [25])
    return b.build({"y": getattr(b, name)(a, z, **options)})


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "name",
    [
        *("add", "sub", "mul", "div", "max", "min", "equal", "not_equal"),
        *("greater", "greater_or_equal", "lesser", "lesser_or_equal"),
    ],
)
def test_extreme_numbers_are_what_the_reference_makes_of_them(name: str, dtype: Any) -> None:
    if is_float(dtype):
        corners = [0.0, -1.5, math.inf, -math.inf, math.nan]
    else:
        low, high = integer_range(dtype)
        corners = [low, high, 0, 1, max(low, -1)]
    every = np.array([(a, b) for a in corners for b in corners], dtype=dtype)
    agrees(pair(name, dtype), {"a": every[:, 0], "b": every[:, 1]}, 0)


@pytest.mark.parametrize("name", ["relu", "sign", "abs", "is_na_n", "is_infinite", "round_even"])
def test_unary_operators_of_special_numbers(name: str) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [7])
    graph = b.build({"y": getattr(b, name)(x)})
    agrees(graph, {"x": [math.nan, math.inf, -math.inf, -0.5, 0.5, 2.5, 0.0]}, 0)


@pytest.mark.parametrize("source", ["float32", "float16", "int64", "int32", "uint8", "int4"])
@pytest.mark.parametrize("target", ["float16", "int64", "uint64", "int32", "uint8", "int8"])
def test_casts_saturate_floats_and_wrap_integers(source: Any, target: Any) -> None:
    b = GraphBuilder()
    if is_float(source):
        values = [0.9, -1.9, 300.5, -4e4, 6e4, math.nan, math.inf, -math.inf]
    else:
        low, high = integer_range(source)
        values = [low, high, 0, 1, high - 1, low + 1, 5, 7]
    x = b.constant(values, source)
    agrees(b.build({"y": b.cast(x, type=target)}), {}, 0)


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_four_bits_wrap_around(dtype: Any) -> None:
    low, high = integer_range(dtype)
    b = GraphBuilder()
    x = b.constant([low, high, 2, 3], dtype)
    found = [x + x, x * x, b.reverse(x), b.cast(b.cast(x, type="int32") * 3, type=dtype)]
    agrees(b.build({f"y{k}": b.cast(y, type="int32") for k, y in enumerate(found)}), {}, 0)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64"])
def test_indices_are_wrapped_and_clamped(dtype: Any) -> None:
    b = GraphBuilder()
    x, i = b.input("x", "float32", [4, 3]), b.input("i", dtype, [6])
    low = -9 if dtype != "uint32" else 0
    rows = b.reshape(i, new_shape=[2, 3])
    graph = b.build(
        {
            "gather": b.gather(x, i),
            "elements": b.gather_elements(x, rows, axis=0),
            "nd": b.gather_nd(x, b.reshape(i, new_shape=[3, 2])),
        }
    )
    agrees(graph, {"x": np.arange(12), "i": [0, 3, 4, 99, max(low, -1), low]}, 0)


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_l2", "reduce_max", "reduce_sum_square"])
def test_reductions_along_no_axis(name: str) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2, 3])
    graph = b.build({"y": getattr(b, name)(x, axes=[])})
    agrees(graph, {"x": [[1, -2, 3], [-4, 5, -6]]})


def test_numbers_above_those_of_int64_keep_their_order() -> None:
    b = GraphBuilder()
    x = b.input("x", "uint64", [3])
    graph = b.build(
        {
            "most": b.reduce_max(x),
            "least": b.reduce_min(x),
            "place": b.arg_max(x, axis=0),
        }
    )
    agrees(graph, {"x": np.array([2**63, 1, 2**64 - 1], dtype="uint64")}, 0)


def test_truths_are_not_cast_back_and_forth() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2])
    above = b.greater(x, 0)
    model = graph_model([b.build({"y": b.where(b.logical_not(above), x, 0)})])
    assert model.graph is not None
    assert [node.op_type for node in model.graph.node] == ["Greater", "Not", "Where"]


def test_outputs_have_their_names_whatever_they_are() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2])
    y = b.relu(x)
    agrees(b.build({"%0": y, "again": y, "same": x, "c": b.constant([1.0])}), {"x": [1, -2]})


def test_an_operator_of_ones_own_needs_a_decomposition() -> None:
    tanh = ops.registry()["tanh"]
    assert isinstance(tanh, Operator)

    def apply_operator(**changes: Any) -> Graph:
        b = GraphBuilder()
        x = b.input("x", "float32", [2])
        return b.build({"y": b.apply(replace(tanh, name="mine", **changes), [x], {})})

    with pytest.raises(ModelError, match='"mine" cannot be written in ONNX') as caught:
        graph_model([apply_operator()])
    assert caught.value.code == "NNM901"
    agrees(apply_operator(decompose=lambda b, x: b.tanh(x)), {"x": [1, -2]})
