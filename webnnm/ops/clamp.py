"""Values kept between two bounds."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from webnnm.core.dtypes import FLOAT_INFO, DataType, integer_range, is_float
from webnnm.ops.declare import values
from webnnm.ops.declare.layer import LayerRules, ValueOption
from webnnm.ops.declare.operator import Composite, Option, Slot, sample
from webnnm.ops.declare.rules import build_unary, same_shape
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType


def _check_bound(value: Any, *_: TensorType) -> float:
    """Accept a number; integers stay exact, and NaN is not a bound."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise OperatorError("NNM303", f"{value!r} is not a number")
    return int(value) if isinstance(value, int) else float(value)


def _infer(x: TensorType, *, min_value: float, max_value: float) -> TensorType:
    if min_value > max_value:
        raise OperatorError("NNM303", f"minValue {min_value} of clamp exceeds maxValue {max_value}")
    return x


def _clamp(b: Builder, x: Tensor, *, min_value: float, max_value: float) -> Tensor:
    low, high = _range(x.dtype)
    first, last = nearest_bounds(x.dtype, min_value, max_value)
    # The gradient of max and min goes to the first operand on ties: 1 at the bounds (spec C.1).
    if max_value < high:
        x = b.min(x, b.constant(last, x.dtype))
    if min_value > low:
        x = b.max(x, b.constant(first, x.dtype))
    return x


def _range(dtype: DataType) -> tuple[float, float]:
    return (-math.inf, math.inf) if is_float(dtype) else integer_range(dtype)


def nearest_bounds(dtype: DataType, min_value: float, max_value: float) -> tuple[float, float]:
    """Return the nearest numbers within the bounds that the type can represent.

    >>> nearest_bounds("uint4", -1.5, 200)
    (0, 15)
    >>> nearest_bounds("int4", 0.25, 0.75)
    (1, 1)
    """
    low, high = _range(dtype)
    # In this order, NaN, which is not a bound, yields to the bounds of the type.
    first, last = min(max(low, min_value), high), max(min(high, max_value), low)
    if dtype == "float16":  # bounds beyond its range limit nothing
        largest = FLOAT_INFO[dtype].max
        first, last = (math.copysign(math.inf, n) if abs(n) > largest else n for n in (first, last))
    if is_float(dtype):
        return first, last
    # Where no integer lies between the bounds, the lower one decides, as max after min has it.
    return math.ceil(first), max(math.ceil(first), math.floor(last))


def _stablehlo(h: Any, x: Any, *, min_value: float, max_value: float) -> Any:
    first, last = nearest_bounds(x.dtype, min_value, max_value)
    return h.clamp(first, x, last)


clamp = Composite(
    name="clamp",
    summary="x between two bounds; gradient 1 inside and at the bounds",
    operands=(Slot(name="input"),),
    options={
        "min_value": Option(-math.inf, _check_bound),
        "max_value": Option(math.inf, _check_bound),
    },
    infer=_infer,
    decompose=_clamp,
    stablehlo=_stablehlo,
    native="clamp",
    batch="elementwise",
    layer=LayerRules(
        options={
            "min_value": ValueOption(read=values.number, default=-math.inf, aliases=("min",)),
            "max_value": ValueOption(read=values.number, default=math.inf, aliases=("max",)),
        },
        shape=same_shape,
        build=build_unary,
    ),
    traits=frozenset({"choosing"}),
    samples=(
        sample((2, 3), min_value=-1.0, max_value=0.5, kinks=(-1.0, 0.5)),
        sample((4,), min_value=0, kinks=(0.0,)),
        sample((2, 2), max_value=1, kinks=(1.0,)),
        sample(()),
    ),
)
