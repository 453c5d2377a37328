"""Element-wise operations: functions, comparisons, selections, with broadcasting."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from webnnm.core.dtypes import integer_range, is_float
from webnnm.formats.sizes import Dim, Dims
from webnnm.formats.stablehlo.emitter import Value
from webnnm.formats.stablehlo.error_function import error_function
from webnnm.formats.stablehlo.runtime import Runtime
from webnnm.formats.stablehlo.text import Element
from webnnm.ops.declare.tensors import OperatorError

NAMES = {
    **{name: name for name in ("abs", "add", "ceil", "cosine", "divide", "floor", "log")},
    **{name: name for name in ("logistic", "maximum", "minimum", "multiply", "negate")},
    **{name: name for name in ("power", "remainder", "sign", "sine", "sqrt", "subtract")},
    **{name: name for name in ("tan", "tanh", "exponential", "round_nearest_even", "is_finite")},
    **{name: name for name in ("exponential_minus_one", "log_plus_one")},
    **{name: name for name in ("atan2", "shift_left", "shift_right_arithmetic")},
    "shift_right_logical": "shift_right_logical",
    **{f"bitwise_{name}": name for name in ("and", "or", "xor", "not")},
}
"""Methods that are operations of the dialect on operands of the same type."""

ValueOrNumber = Value | float | Dim


def common_shape(*shapes: Dims) -> Dims:
    """Return the shape to which all shapes broadcast, aligned at their ends.

    >>> common_shape((2, 1), (3,), ())
    (2, 3)
    """
    rank = max(map(len, shapes))
    result: list[Dim] = []
    for sizes in zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True):
        different = {size for size in sizes if size != 1}
        if len(different) > 1:
            text = " and ".join(str(shape) for shape in shapes)
            raise OperatorError("NNM902", f"{text} broadcast only for some sizes")
        result.append(different.pop() if different else 1)
    return tuple(result)


@dataclass
class Elementwise(Runtime):
    """An emitter of element-wise operations; numbers take the type of the tensors among them."""

    chlo: bool = True

    def __getattr__(self, name: str) -> Callable[..., Value]:
        if name not in NAMES:
            raise AttributeError(f'the dialect has no method "{name}"')

        def apply(*inputs: ValueOrNumber) -> Value:
            operands = self.together(*inputs)
            dtype: Element = "bool" if name == "is_finite" else operands[0].dtype
            return self.one(f"stablehlo.{NAMES[name]}", operands, dtype, operands[0].shape)

        return apply

    def together(self, *inputs: ValueOrNumber) -> list[Value]:
        """Return tensors and numbers as tensors of their common shape, numbers in their type."""
        dtype: Element = next(value.dtype for value in inputs if isinstance(value, Value))
        shape = common_shape(*(value.shape for value in inputs if isinstance(value, Value)))
        return [
            self.broadcast_in_dim(value, shape)
            if isinstance(value, Value)
            else self.constant(value, dtype, shape)
            for value in inputs
        ]

    def truth(self, x: Value) -> Value:
        """Return whether elements differ from 0; the result of a comparison is used as it is."""
        x = self.truths.get(x, x)
        return x if x.dtype == "bool" else self.compare("NE", x, 0)

    def compare(self, direction: str, x: ValueOrNumber, y: ValueOrNumber) -> Value:
        """Compare elements: EQ, NE, GE, GT, LE, LT."""
        operands = self.together(x, y)
        way = f"#stablehlo<comparison_direction {direction}>"
        name, shape = "stablehlo.compare", operands[0].shape
        return self.one(name, operands, "bool", shape, comparison_direction=way)

    def select(self, condition: Value, x: ValueOrNumber, y: ValueOrNumber) -> Value:
        """Return the first value where the condition is not 0, otherwise the second."""
        chosen = self.together(x, y)
        truth = self.truth(condition)
        shape = common_shape(truth.shape, chosen[0].shape)
        operands = [self.broadcast_in_dim(value, shape) for value in (truth, *chosen)]
        return self.one("stablehlo.select", operands, chosen[0].dtype, shape)

    def clamp(self, low: float, x: Value, high: float) -> Value:
        """Return values clamped between two bounds."""
        bounds = [self.constant(bound, x.dtype) for bound in (low, high)]
        return self.one("stablehlo.clamp", [bounds[0], x, bounds[1]], x.dtype, x.shape)

    def below(self, x: Value, largest: Value) -> Value:
        """Return x minus its largest elements, exactly 0 at those.

        XLA may recompute x, unrounded, and subtract a rounded maximum: at 10³⁸ the two differ by
        10³¹ at the largest element itself. A product with 0 is NaN for infinities, as is ∞ − ∞.
        """
        top = self.compare("GE", x, largest)
        return self.select(top, self.multiply(x, 0), self.subtract(x, largest))

    def erf(self, x: Value) -> Value:
        """Return the Gauss error function."""
        if self.chlo:
            return self.one("chlo.erf", [x], x.dtype, x.shape)
        return error_function(self, x)

    def wide(self, x: Value) -> Value:
        """Return float16 as float32, for sums that leave its range; other types as they are."""
        return self.convert(x, "float32") if x.dtype == "float16" else x

    def lowest(self, dtype: Element) -> float:
        """Return the least value of a type."""
        if dtype == "bool":
            return 0
        return -math.inf if is_float(dtype) else integer_range(dtype)[0]

    def highest(self, dtype: Element) -> float:
        """Return the greatest value of a type."""
        if dtype == "bool":
            return 1
        return math.inf if is_float(dtype) else integer_range(dtype)[1]

    def inside(self, indices: Value, n: Dim) -> Value:
        """Return indices as int32 clamped to 0 … n − 1, negative ones counted from the end."""
        if indices.dtype != "uint32":
            wrapped = self.add(indices, n)
            indices = self.select(self.compare("LT", indices, 0), wrapped, indices)
            indices = self.maximum(indices, 0)
        return self.convert(self.minimum(indices, n - 1), "int32")
