"""Element-wise operators at the limits of their types: exact integers, infinities, saturation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.graph.texts import fails, network, run
from tests.unit.ops.cases import np
from webnnm import GraphBuilder, gradients
from webnnm.backends.reference import evaluate
from webnnm.graph.node import Operand
from webnnm.ops.declare.tensors import OperatorError

LONG = 16_777_217
"""The first integer that float32 does not hold."""

Call = Callable[[GraphBuilder, Operand], Operand]


def value(call: Call, x: Any, dtype: Any = "float32") -> Any:
    """Return what a call computes from a constant."""
    b = GraphBuilder()
    return evaluate(b.build({"y": call(b, b.constant(x, dtype))}), {})["y"].tolist()


@pytest.mark.parametrize(
    ("dtype", "options", "expected"),
    [
        ("uint8", {"min_value": 300}, [255, 255]),
        ("uint8", {"max_value": -5}, [0, 0]),
        ("int8", {"min_value": math.inf}, [127, 127]),
        ("int32", {"max_value": -math.inf}, [-(2**31), -(2**31)]),
        ("int64", {"min_value": -math.inf, "max_value": math.inf}, [1, 7]),
        ("uint8", {"min_value": 1.5, "max_value": 5.5}, [2, 5]),
        ("int32", {"min_value": math.nan}, [1, 7]),
    ],
)
def test_bounds_beyond_an_integer_type_are_its_own(
    dtype: str, options: dict[str, float], expected: list[int]
) -> None:
    assert value(lambda b, x: b.clamp(x, **options), [1, 7], dtype) == expected


@pytest.mark.parametrize(
    ("x", "reversed", "expected"),
    [
        ([1.0, 1e8, 3.0], False, [0, 1, 1e8]),
        ([3.0, 1e8, 1.0], True, [1e8, 1, 0]),
        ([math.inf, 1.0], False, [0, math.inf]),
        ([5.0], False, [0]),
    ],
)
def test_exclusive_sums_do_not_take_the_element_off_again(
    x: list[float], reversed: bool, expected: list[float]
) -> None:
    found = value(lambda b, x: b.cumulative_sum(x, 0, exclusive=True, reversed=reversed), x)
    assert found == expected


@pytest.mark.parametrize(
    ("dtype", "x", "zero", "expected"),
    [
        ("int32", [LONG, 5], LONG - 1, [1, 6 - LONG]),
        ("uint32", [1, 2**32 - 1], 3, [-2, float(np.float32(2**32 - 4))]),
        ("int32", [2**31 - 1], -(2**31), [float(np.float32(2**32 - 1))]),
        ("int8", [-128, 127], 127, [-255, 0]),
    ],
)
def test_dequantised_differences_are_exact(
    dtype: str, x: list[int], zero: int, expected: list[float]
) -> None:
    assert value(lambda b, x: b.dequantize_linear(x, 1.0, zero), x, dtype) == expected


def test_long_integers_do_not_overflow_halves() -> None:
    found = value(
        lambda b, x: b.dequantize_linear(x, b.constant(0.0625, "float16"), 0), [102_400], "int32"
    )
    assert found == [6400]


@pytest.mark.parametrize(
    ("dtype", "zero", "expected"),
    [
        ("uint32", 3, [0, 2**32 - 1, 10]),
        ("int32", LONG, [LONG - 5, 2**31 - 1, LONG + 7]),
        ("int8", 3, [-2, 127, 10]),
        ("uint4", 3, [0, 15, 10]),
    ],
)
def test_quantised_values_saturate_and_keep_their_zero_point(
    dtype: Any, zero: int, expected: list[int]
) -> None:
    found = value(
        lambda b, x: b.quantize_linear(x, 1.0, b.constant(zero, dtype)), [-5.0, 1e12, 7.0]
    )
    assert found == expected


@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_gradient_straight_through_ends_with_the_range(dtype: Any) -> None:
    b = GraphBuilder()
    x, zero = b.input("x", "float32", [3]), b.constant([1], dtype)
    y = b.dequantize_linear(b.quantize_linear(x, 0.5, zero), b.constant([0.5]), zero)
    (dx,) = gradients(b.reduce_sum(y), [x])
    assert evaluate(b.build({"dx": dx}), {"x": [0.3, 1e12, -1e12]})["dx"].tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"axes": [1]}, [1]),
        ({"axes": [-1], "select_last_index": True}, [2]),
        ({"axes": (0,), "keep_dimensions": True}, [[0, 0, 0]]),
    ],
)
def test_axes_of_the_transformer_list(options: dict[str, Any], expected: list[Any]) -> None:
    assert value(lambda b, x: b.arg_max(x, **options), [[1.0, 3.0, 3.0]]) == expected


@pytest.mark.parametrize(
    ("code", "words", "call"),
    [
        ("NNM303", 'axes of "argMax": [0, 1] is not a single axis',
         lambda b, x: b.arg_max(x, axes=[0, 1])),
        ("NNM301", 'no option "axes"', lambda b, x: b.arg_max(x, 0, axes=[0])),
        ("NNM303", "neither true nor false", lambda b, x: b.arg_max(x, 0, select_last_index=3)),
        ("NNM302", '"argMin" needs a tensor',
         lambda b, x: b.arg_min(3.0, 0, select_last_index=True)),
    ],
)  # fmt: skip
def test_refused(code: str, words: str, call: Call) -> None:
    b = GraphBuilder()
    with pytest.raises(OperatorError) as caught:
        call(b, b.input("x", "float32", [2, 3]))
    assert (caught.value.code, words in caught.value.message) == (code, True), caught.value


# The notation.


def text(layers: str, *more: str, port: str = "shape=[2, 3]", output: str = "shape=[2, 3]") -> str:
    return "\n".join([f"m:input {port};", f"m:output {output};", f"m:layers {layers};", *more])


@pytest.mark.parametrize("layer", ["prelu(a)", "prelu(slope=a)", "prelu(alpha=a)"])
def test_slope_stands_as_an_operand_or_by_name(layer: str) -> None:
    (slope,) = network(text(layer)).parameters
    assert (slope.name, slope.features[0].sizes(), slope.role) == ("a1", (2, 3), "slope")


def test_slope_may_be_a_number_and_aligns_by_name() -> None:
    x = {"m": [[[-1.0, 2.0, -3.0], [4.0, -5.0, 6.0]]]}
    assert run(text("prelu(alpha=0.5)"), x) == [[[-0.5, 2, -1.5], [4, -2.5, 6]]]
    slopes = "m:constants k float32 {channels:2} [0.5, 2];"
    named = text("prelu(slope=k)", slopes, port="shape={channels:2, length:3}")
    assert run(named, x) == [[[-0.5, 2, -1.5], [4, -10, 6]]]


BYTES = "m:constants s float32 [4] 0.5, z int8 [4] 1, w int8 [2] 1;"


@pytest.mark.parametrize(
    ("code", "layers", "says"),
    [
        ("NNM304", "¦prelu()", '"prelu" needs slope='),
        ("NNM302", "prelu(a, ¦b)", "takes one slope, 2 were given"),
        ("NNM401", "quantizeLinear(¦scale=s, zeroPoint=z)", "scale [4] does not divide [2, 3]"),
        ("NNM401", "quantizeLinear(1, ¦w)", "scale [] and zeroPoint [2] differ"),
        ("NNM304", "¦quantizeLinear(scale=s)", '"quantizeLinear" needs zeroPoint='),
    ],
)
def test_mistakes_are_told_before_anything_is_built(code: str, layers: str, says: str) -> None:
    fails(code, text(layers, BYTES, output="int8 shape=[2, 3]"), says=says)


def test_integer_quotients_by_zero_and_powers_of_the_least_exponent() -> None:
    b = GraphBuilder()
    x, z = b.input("x", "int32", [5]), b.input("z", "int32", [5])
    graph = b.build({"div": x / z, "pow": b.pow(x, z)})
    least = -(2**31)
    found = evaluate(graph, {"x": [7, -7, -1, 1, least], "z": [0, 2, least, least + 1, -1]})
    assert found["div"].tolist() == [0, -3, 0, 0, least]
    assert found["pow"].tolist() == [1, 49, 1, 1, 0]
