"""Activations, clamp and the like: kinks as the specification has them, and the notation's side."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.unit.graph.texts import fails, network
from tests.unit.ops.cases import np
from webnnm import GraphBuilder, gradients
from webnnm.backends.reference import evaluate
from webnnm.graph.elaboration.lowering import lower_network

X = [-3.0, -1.0, -0.0, 0.0, 1.0, 3.0]


def slopes(name: str, at: Any, **options: Any) -> list[float]:
    """Return the gradient of an element-wise operator at exact values."""
    b = GraphBuilder()
    x = b.input("x", "float32", np.shape(at))
    (dx,) = gradients(b.reduce_sum(getattr(b, name)(x, **options)), [x])
    return evaluate(b.build({"dx": dx}), {"x": at})["dx"].tolist()


@pytest.mark.parametrize(
    ("name", "at", "options", "expected"),
    [
        ("clamp", [-2, -1, 0, 1, 2], {"min_value": -1, "max_value": 1}, [0, 1, 1, 1, 0]),
        ("clamp", [-2, 2], {}, [1, 1]),
        ("clamp", [1, 1, 0], {"min_value": 1, "max_value": 1}, [1, 1, 0]),
        ("leaky_relu", X, {"alpha": 0.25}, [0.25, 0.25, 0.25, 0.25, 1, 1]),
        ("elu", [0.0, 2.0], {"alpha": 1}, [1, 1]),
        ("hard_sigmoid", [-2.5, 0, 2.5], {}, [0, np.float32(0.2), 0]),
        ("hard_swish", [-4, 4], {}, [0, 1]),
        ("softplus", [0.0, 1000.0, -1000.0], {}, [0.5, 1, 0]),
        ("softsign", [0.0], {}, [1]),
        ("gelu", [0.0], {}, [0.5]),
        ("linear", [5.0], {"alpha": -2, "beta": 1}, [-2]),
    ],
)
def test_gradient_at_exact_values(
    name: str, at: list[float], options: dict[str, Any], expected: list[float]
) -> None:
    assert slopes(name, at, **options) == pytest.approx(expected, abs=1e-7)


def test_large_operands_do_not_overflow() -> None:
    b = GraphBuilder()
    x = b.constant([-1000.0, 1000.0])
    outputs = {"elu": b.elu(x), "softplus": b.softplus(x), "gelu": b.gelu(x)}
    found = evaluate(b.build(outputs), {})
    assert found["elu"].tolist() == [-1, 1000]
    assert found["softplus"].tolist() == [0, 1000]
    assert found["gelu"].tolist() == [0, 1000]


def test_gradient_of_the_slope_is_gathered_where_the_operand_is_negative() -> None:
    b = GraphBuilder()
    x, slope = b.input("x", "float32", [2, 3]), b.input("s", "float32", [3])
    _, ds = gradients(b.reduce_sum(b.prelu(x, slope)), [x, slope])
    found = evaluate(b.build({"ds": ds}), {"x": [[-1, 2, 0], [-3, -4, 5]], "s": [9, 9, 9]})
    assert found["ds"].tolist() == [-4, -4, 0]


@pytest.mark.parametrize(
    ("dtype", "x", "options", "expected"),
    [
        ("uint8", [0, 5, 255], {"min_value": 1, "max_value": 200}, [1, 5, 200]),
        ("uint8", [0, 255], {"min_value": -5, "max_value": 1000}, [0, 255]),
        ("int32", [-7, 7], {"min_value": -2.5, "max_value": 2.5}, [-2, 2]),
        ("int64", [2**60, -(2**60)], {"max_value": 2**53 + 1}, [2**53 + 1, -(2**60)]),
        ("float32", [math.inf, -math.inf, 3], {"min_value": math.nan}, [math.inf, -math.inf, 3]),
    ],
)
def test_clamp_of_every_type(dtype: Any, x: Any, options: Any, expected: Any) -> None:
    b = GraphBuilder()
    y = b.clamp(b.constant(x, dtype), **options)
    found = evaluate(b.build({"y": y}), {})["y"]
    assert (found.dtype.name, found.tolist()) == (dtype, expected)


def test_first_of_ties_is_found() -> None:
    b = GraphBuilder()
    x = b.constant([[1.0, 7.0, 7.0], [2.0, 2.0, 0.0]])
    found = evaluate(b.build({"a": b.arg_max(x, 1), "b": b.arg_min(x, 0)}), {})
    assert found["a"].tolist() == [1, 0]
    assert found["b"].tolist() == [0, 1, 1]


def test_quantised_values_and_their_gradient_straight_through() -> None:
    b = GraphBuilder()
    x, scale = b.input("x", "float32", [4]), b.input("s", "float32", [1])
    zero = b.constant([3], "int8")
    y = b.dequantize_linear(b.quantize_linear(x, scale, zero), scale, zero)
    dx, ds = gradients(b.reduce_sum(y), [x, scale])
    feeds = {"x": [0.26, -0.26, 100.0, -100.0], "s": [0.5]}
    found = evaluate(b.build({"y": y, "dx": dx, "ds": ds}), feeds)
    assert found["y"].tolist() == [0.5, -0.5, 62, -65.5]
    assert found["dx"].tolist() == [1, 1, 0, 0]
    # Only the dequantisation depends on the scale differentiably: Σ (q − zero).
    assert found["ds"].tolist() == [1 - 1 + 124 - 131]


def test_blocks_have_scales_of_their_own() -> None:
    b = GraphBuilder()
    x = b.constant([[4, 4, 4, 4], [4, 4, 4, 4]], "int8")
    y = b.dequantize_linear(x, b.constant([[1.0, 2.0]]), b.constant([[0, 4]], "int8"))
    found = evaluate(b.build({"y": y}), {})["y"]
    assert found.tolist() == [[4, 4, 0, 0], [4, 4, 0, 0]]


def test_scale_of_lower_rank_is_taken_as_it_was() -> None:
    b = GraphBuilder()
    x = b.constant([[4, 8]], "int8")
    y = b.dequantize_linear(x, b.constant(0.5), b.constant(4, "int8"))
    assert evaluate(b.build({"y": y}), {})["y"].tolist() == [[0, 2]]


def lowered(layers: str, input: str, output: str) -> Any:
    found = network(f"m:input {input}; m:output {output}; m:layers {layers};")
    return lower_network(found, batch=2, sequence={"sequence": 5}).outputs["m"]


@pytest.mark.parametrize(
    ("layers", "input", "output", "shape"),
    [
        ("clamp(min=-1, maxValue=2)", "shape=[3]", "shape=[3]", (2, 3)),
        ("prelu(a)", "shape={channels:2, height:3}", "shape=[2, 3]", (2, 2, 3)),
        ("argMax()", "shape=[4]", "int32 shape=[]", (2,)),
        ("argMin(axis=rows, keepDimensions=true)", "shape={rows:4, c:3}", "int32 shape=[1, 3]",
         (2, 1, 3)),
        ("argMax(axis=sequence)", "shape=[3] sequence=true", "int32 shape=[3]", (2, 3)),
        ("argMax(outputDataType=int64)", "shape=[4]", "int64 shape=[]", (2,)),
        ("cumulativeSum(axis=sequence, exclusive=true)", "shape=[3] sequence=true", "shape=[3]",
         (2, 5, 3)),
        ("triangular(upper=false, diagonal=-1)", "shape=[3, 3]", "shape=[3, 3]", (2, 3, 3)),
        ("squaremax()", "shape=[3]", "shape=[3]", (2, 3)),
        ("isNaN()", "shape=[3]", "uint8 shape=[3]", (2, 3)),
    ],
)  # fmt: skip
def test_layers_have_their_shapes(
    layers: str, input: str, output: str, shape: tuple[int, ...]
) -> None:
    assert lowered(layers, input, output).shape == shape


def test_slope_is_a_parameter_of_the_features() -> None:
    found = network("m:input shape=[2, 3]; m:output shape=[2, 3]; m:layers prelu(a);")
    (slope,) = found.parameters
    assert (slope.name, slope.features[0].sizes(), slope.role) == ("a1", (2, 3), "slope")


@pytest.mark.parametrize(
    ("code", "layers"),
    [
        ("NNM301", "clamp(¦minimum=1)"),
        ("NNM303", "clamp(¦min=[1])"),
        ("NNM303", "leakyRelu(¦alpha=true)"),
        ("NNM308", "argMax(¦axis=2)"),
        ("NNM307", "squaremax(¦axis=nowhere)"),
        ("NNM303", "argMax(¦outputDataType=float32)"),
        ("NNM405", "¦triangular()"),
        ("NNM501", "¦logicalNot()"),
        ("NNM304", "¦quantizeLinear()"),
        ("NNM205", "quantizeLinear(¦scale=nothing, zeroPoint=nothing)"),
    ],
)
def test_mistakes_are_told_with_their_place(code: str, layers: str) -> None:
    fails(code, f"m:input shape=[4]; m:output shape=[4]; m:layers {layers};")
