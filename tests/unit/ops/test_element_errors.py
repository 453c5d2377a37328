"""What element-wise operators, quantisation and searches refuse, and how they say it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from webnnm import GraphBuilder
from webnnm.graph.node import Operand
from webnnm.ops.declare.tensors import OperatorError

Call = Callable[[GraphBuilder, Operand], Any]


def ints(b: GraphBuilder, *shape: int) -> Operand:
    return b.input("i", "int8", shape)


REFUSED: dict[str, tuple[str, str, Call]] = {
    "bounds in the wrong order": (
        "NNM303", "minValue 2.0 of clamp exceeds maxValue 1.0",
        lambda b, x: b.clamp(x, min_value=2.0, max_value=1.0),
    ),
    "a bound that is not a number": (
        "NNM303", 'min_value of "clamp"', lambda b, x: b.clamp(x, min_value="low"),
    ),
    "an unknown option": (
        "NNM301", '"elu" has no option "beta"', lambda b, x: b.elu(x, beta=1),
    ),
    "a slope of another type": (
        "NNM501", 'operands of "prelu"',
        lambda b, x: b.prelu(x, b.input("s", "float16", [3])),
    ),
    "a slope that does not broadcast": (
        "NNM401", "[2, 3] and [2] do not broadcast",
        lambda b, x: b.prelu(x, b.input("s", "float32", [2])),
    ),
    "a missing slope": ("NNM302", '"prelu" takes 2 operands, 1 given', lambda b, x: b.prelu(x)),
    "floats where logic is": (
        "NNM501", 'a of "logicalAnd" is float32', lambda b, x: b.logical_and(x, x),
    ),
    "integers where curves are": (
        "NNM501", 'input of "gelu" is int8', lambda b, x: b.gelu(ints(b, 2)),
    ),
    "an axis beyond the rank": (
        "NNM308", 'axis of "argMax": axis 2, rank 2', lambda b, x: b.arg_max(x, 2),
    ),
    "a scalar without an axis": (
        "NNM405", 'input of "argMin"', lambda b, x: b.arg_min(b.input("s", "float32", []), 0),
    ),
    "an unknown index type": (
        "NNM303", "not one of int32, int64",
        lambda b, x: b.arg_max(x, 1, output_data_type="float32"),
    ),
    "a missing axis": (
        "NNM304", '"cumulativeSum" needs axis=', lambda b, x: b.cumulative_sum(x),
    ),
    "sums of bytes": (
        "NNM501", 'input of "cumulativeSum" is int8', lambda b, x: b.cumulative_sum(ints(b, 2), 0),
    ),
    "triangles of vectors": (
        "NNM405", 'input of "triangular"', lambda b, x: b.triangular(b.input("v", "float32", [3])),
    ),
    "a diagonal between the others": (
        "NNM303", 'diagonal of "triangular"', lambda b, x: b.triangular(x, diagonal=0.5),
    ),
    "scales that do not divide": (
        "NNM401", 'scale [1, 2] of "quantizeLinear" does not divide input [2, 3]',
        lambda b, x: b.quantize_linear(
            x, b.input("s", "float32", [1, 2]), b.input("z", "int8", [1, 2])
        ),
    ),
    "zero points of another shape": (
        "NNM401", "scale [1, 3] and zeroPoint [1, 1]",
        lambda b, x: b.quantize_linear(
            x, b.input("s", "float32", [1, 3]), b.input("z", "int8", [1, 1])
        ),
    ),
    "a zero point of floats": (
        "NNM501", 'zeroPoint of "quantizeLinear" is float32',
        lambda b, x: b.quantize_linear(x, x, x),
    ),
    "a zero point of another integer type": (
        "NNM501", 'operands of "dequantizeLinear" are int8 and uint8',
        lambda b, x: b.dequantize_linear(
            ints(b, 2, 3), b.input("s", "float32", [1, 1]), b.input("z", "uint8", [1, 1])
        ),
    ),
    "steepness that is not a number": (
        "NNM303", "steepness of softplus is 0", lambda b, x: b.softplus(x, steepness=0),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("code", "words", "call"), REFUSED.values(), ids=REFUSED)
def test_refused_with_operator_operand_and_rule(code: str, words: str, call: Call) -> None:
    b = GraphBuilder()
    with pytest.raises(OperatorError) as caught:
        call(b, b.input("x", "float32", [2, 3]))
    assert caught.value.code == code
    assert words in caught.value.message
