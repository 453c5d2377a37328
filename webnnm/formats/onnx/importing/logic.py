"""Comparisons, logic, and bitwise operators; booleans are 0 or 1 as uint8."""

from __future__ import annotations

from collections.abc import Callable

from webnnm.core.dtypes import integer_range
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.shaping import as_type, scalar_like
from webnnm.formats.onnx.importing.table import imports
from webnnm.graph.node import Operand

_BINARY = {
    "And": "logical_and",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_or_equal",
    "Less": "lesser",
    "LessOrEqual": "lesser_or_equal",
    "Or": "logical_or",
    "Xor": "logical_xor",
}


def _same(method: str) -> Callable[[Call, Operand, Operand], Operand]:
    def entry(c: Call, x: Operand, y: Operand) -> Operand:
        return getattr(c.b, method)(x, y)

    entry.__doc__ = f"The builder's `{method}`."
    return entry


for _name, _method in _BINARY.items():
    imports(_name)(_same(_method))


@imports("Not")
def negation(c: Call, x: Operand) -> Operand:
    """1 − x."""
    return c.b.logical_not(x)


@imports("Where")
def where(c: Call, condition: Operand, x: Operand, y: Operand) -> Operand:
    """x where the condition holds, otherwise y."""
    return c.b.where(condition, x, y)


@imports("IsNaN")
def is_nan(c: Call, x: Operand) -> Operand:
    """1 for NaN."""
    return c.b.not_equal(x, x)


@imports("IsInf")
def is_inf(c: Call, x: Operand) -> Operand:
    """1 for ∞, −∞ or both."""
    is_infinite, zero = c.b.is_infinite(x), scalar_like(c, 0, x)
    if not c.flag("detect_negative", 1):
        is_infinite = c.b.logical_and(is_infinite, c.b.greater(x, zero))
    if not c.flag("detect_positive", 1):
        is_infinite = c.b.logical_and(is_infinite, c.b.lesser(x, zero))
    return is_infinite


@imports("BitwiseNot")
def bitwise_not(c: Call, x: Operand) -> Operand:
    """All bits inverted."""
    return c.b.sub(scalar_like(c, integer_range(x.dtype)[1] if x.dtype[0] == "u" else -1, x), x)


@imports("BitShift")
def bit_shift(c: Call, x: Operand, amount: Operand) -> Operand:
    """Bits shifted to the left, or to the right with copies of the sign bit.

    An amount below 0 shifts all bits out, like one above the width.
    """
    b, left = c.b, c.string("direction", "") == "LEFT"
    low, high = integer_range(x.dtype)
    bits = (high - low).bit_length() if left else high.bit_length()
    powers = [2**bit if 2**bit <= high else low for bit in range(bits)]
    inside = b.lesser(amount, scalar_like(c, bits, amount))
    if low < 0:
        inside = b.logical_and(inside, b.greater_or_equal(amount, scalar_like(c, 0, amount)))
    amount = b.where(inside, amount, scalar_like(c, 0, amount))
    factors = b.gather(b.constant(powers, x.dtype), as_type(c, amount, "int32"))
    shifted = x * factors if left else b.div(x, factors)
    negative = b.lesser(x, scalar_like(c, 0, x))
    if not left and low < 0:
        rounded_up = b.logical_and(negative, b.not_equal(shifted * factors, x))
        shifted = b.where(rounded_up, shifted - 1, shifted)
    empty = scalar_like(c, 0, x)
    if not left and low < 0:
        empty = b.where(negative, scalar_like(c, -1, x), empty)
    return b.where(inside, shifted, empty)
