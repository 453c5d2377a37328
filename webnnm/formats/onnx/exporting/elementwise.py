"""Entries of element-wise operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webnnm.core.dtypes import FLOAT_INFO, SIGNED, DataType, is_float
from webnnm.formats.onnx.exporting.emitter import Emitter
from webnnm.formats.onnx.exporting.entry import Entry, Write, of_floats
from webnnm.formats.onnx.exporting.values import Value
from webnnm.graph.node import OperatorNode
from webnnm.ops.cast import float_range


def same(operator: str, *attributes: str) -> Write:
    """Return an entry that calls an ONNX operator with the same meaning, with these options."""

    def write(h: Emitter, *operands: Value, **options: Any) -> Value:
        numbers: dict[str, Any] = {name: float(options[name]) for name in attributes}
        return h.one(operator, operands, **numbers)

    return write


def compare(operator: str) -> Write:
    """Return an entry that calls an operator with a boolean result."""

    def write(h: Emitter, *operands: Value) -> Value:
        return h.one(operator, operands, "bool")

    return write


def logical(operator: str) -> Write:
    """Return an entry that calls an operator on booleans."""

    def write(h: Emitter, *operands: Value) -> Value:
        return h.one(operator, [h.truth(x) for x in operands], "bool")

    return write


def _not_equal(h: Emitter, a: Value, b: Value) -> Value:
    return h.one("Not", [h.one("Equal", [a, b], "bool")], "bool")


def _relu(h: Emitter, x: Value) -> Value:
    return h.one("Relu", [x]) if x.dtype in FLOAT_INFO else h.one("Max", [x, h.like(0, x)])


def _divide(h: Emitter, a: Value, b: Value) -> Value:
    """Integers: division by 0 gives 0, and by −1 the smallest integer stays as it is."""
    if b.dtype in FLOAT_INFO:
        return h.one("Div", [a, b])
    by_zero = h.one("Equal", [b, h.like(0, b)], "bool", b.shape)
    divisor = h.one("Where", [by_zero, h.like(1, b), b], b.dtype, b.shape)
    if b.dtype in SIGNED:
        by_minus = h.one("Equal", [b, h.like(-1, b)], "bool", b.shape)
        divisor = h.one("Where", [by_minus, h.like(1, b), divisor], b.dtype, b.shape)
        quotient = h.one("Div", [a, divisor])
        quotient = h.one("Where", [by_minus, h.one("Neg", [quotient]), quotient])
    else:
        quotient = h.one("Div", [a, divisor])
    return h.one("Where", [by_zero, h.like(0, b), quotient])


def _remainder(h: Emitter, a: Value, b: Value) -> Value:
    """Integers: by 0 and −1 it is 0, so that the processor never divides the smallest one."""
    if b.dtype in FLOAT_INFO:
        zero = h.like(0.0, b)
        rest = h.one("Mod", [a, b], fmod=1)
        below = h.one("Less", [b, zero], "bool", b.shape)
        apart = h.one("Xor", [h.one("Less", [rest, zero], "bool", rest.shape), below], "bool")
        none = h.one("Where", [below, h.like(-0.0, b), zero], b.dtype, b.shape)
        is_none = h.one("Equal", [rest, zero], "bool", rest.shape)
        moved = h.one("Where", [apart, h.one("Add", [rest, b]), rest])
        return h.one("Where", [is_none, none, moved])
    harmless = [h.one("Equal", [b, h.like(0, b)], "bool", b.shape)]
    if b.dtype in SIGNED:
        harmless += [h.one("Equal", [b, h.like(-1, b)], "bool", b.shape)]
    for condition in harmless:
        b = h.one("Where", [condition, h.like(1, b), b], b.dtype, b.shape)
    return h.one("Mod", [a, b])


def _shift(direction: str) -> Write:
    """Return an entry that shifts bits: by the width of the type or more, it gives 0."""

    def write(h: Emitter, x: Value, count: Value) -> Value:
        last_bit = int(count.dtype.removeprefix("uint")) - 1
        is_too_far = h.one("Greater", [count, h.like(last_bit, count)], "bool", count.shape)
        bits = h.one("Where", [is_too_far, h.like(0, count), count], count.dtype, count.shape)
        shifted = h.one("BitShift", [x, bits], direction=direction)
        return h.one("Where", [is_too_far, h.like(0, x), shifted])

    return write


def _has_no_sign(node: OperatorNode) -> bool:
    return node.types[0].dtype not in SIGNED


def _cast(h: Emitter, x: Value, *, type: DataType) -> Value:
    """Floats are rounded towards 0 and clamped to the range of the type; NaN becomes 0."""
    if x.dtype not in FLOAT_INFO or is_float(type):
        return h.cast(x, type)
    facts = FLOAT_INFO[x.dtype]
    low, high = (h.like(bound, x) for bound in float_range(type, facts.eps, facts.max))
    kept = h.one("Clip", [x, low, high], x.dtype)
    unknown = h.one("IsNaN", [x], "bool")
    return h.cast(h.one("Where", [unknown, h.like(0, x), kept], x.dtype), type)


def _where(h: Emitter, condition: Value, a: Value, b: Value) -> Value:
    return h.one("Where", [h.truth(condition), a, b])


def _fits_slope(node: OperatorNode) -> bool:
    """ONNX broadcasts the slope to the operand, never the operand."""
    x, slope = node.operands
    assert x is not None and slope is not None
    return is_float(x.dtype) and x.shape == node.types[0].shape


ENTRIES: Mapping[str, Entry] = {
    **{
        name[:1].lower() + name[1:]: Entry(same(name))
        for name in (
            *("Abs", "Ceil", "Cos", "Erf", "Exp", "Floor", "Log", "Neg", "Reciprocal", "Sigmoid"),
            *("Sign", "Sin", "Sqrt", "Tan", "Tanh", "Softplus", "Softsign", "HardSwish", "Gelu"),
            *("Identity", "Add", "Sub", "Mul", "Max", "Min"),
            *("BitwiseAnd", "BitwiseOr", "BitwiseXor"),
            *("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh"),
        )
    },
    "bitwiseInvert": Entry(same("BitwiseNot")),
    "bitwiseLeftShift": Entry(_shift("LEFT"), _has_no_sign),
    "bitwiseRightShift": Entry(_shift("RIGHT"), _has_no_sign),
    "remainder": Entry(_remainder),
    "roundEven": Entry(same("Round")),
    "relu": Entry(_relu),
    "div": Entry(_divide),
    "pow": Entry(same("Pow"), of_floats),
    "elu": Entry(same("Elu", "alpha")),
    "leakyRelu": Entry(same("LeakyRelu", "alpha")),
    "hardSigmoid": Entry(same("HardSigmoid", "alpha", "beta")),
    "prelu": Entry(same("PRelu"), _fits_slope),
    "equal": Entry(compare("Equal")),
    "notEqual": Entry(_not_equal),
    "greater": Entry(compare("Greater")),
    "greaterOrEqual": Entry(compare("GreaterOrEqual")),
    "lesser": Entry(compare("Less")),
    "lesserOrEqual": Entry(compare("LessOrEqual")),
    "logicalAnd": Entry(logical("And")),
    "logicalOr": Entry(logical("Or")),
    "logicalXor": Entry(logical("Xor")),
    "logicalNot": Entry(logical("Not")),
    "isNaN": Entry(compare("IsNaN"), of_floats),
    "isInfinite": Entry(compare("IsInf"), of_floats),
    "where": Entry(_where),
    "cast": Entry(_cast),
}
