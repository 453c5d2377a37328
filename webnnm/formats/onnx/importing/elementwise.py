"""Element-wise operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

from webnnm.core.dtypes import is_float
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.shaping import as_type, scalar_like, wide
from webnnm.formats.onnx.importing.table import imports
from webnnm.formats.onnx.tensors import BOOL, CODES, SHORT
from webnnm.graph.node import Operand

_UNARY = {
    "Ceil": "ceil",
    "Cos": "cos",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "Identity": "identity",
    "Log": "log",
    "Neg": "neg",
    "Reciprocal": "reciprocal",
    "Relu": "relu",
    "Round": "round_even",
    "Sigmoid": "sigmoid",
    "Sin": "sin",
    "Softplus": "softplus",
    "Softsign": "softsign",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
    "HardSwish": "hard_swish",
}
"""ONNX's name → the builder's method of the same meaning."""


def _same(method: str) -> Callable[[Call, Operand], Operand]:
    def entry(c: Call, x: Operand) -> Operand:
        return getattr(c.b, method)(x)

    entry.__doc__ = f"The builder's `{method}`."
    return entry


for _name, _method in _UNARY.items():
    imports(_name)(_same(_method))


@imports("Abs")
def absolute(c: Call, x: Operand) -> Operand:
    """|x|; x for unsigned integers."""
    return x if x.dtype.startswith("u") else c.b.abs(x)


@imports("Sign")
def sign(c: Call, x: Operand) -> Operand:
    """−1, 0 or 1."""
    if x.dtype.startswith("u"):
        return c.b.min(x, scalar_like(c, 1, x))
    return c.b.sign(x)


# Inverse and hyperbolic functions, which WebNN does not have.

_ARC = (8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1, 1.0)
"""Coefficients in x², times x: the arc tangent up to tan(π/8), from the Cephes library (atanf)."""
_SINH = (1 / 362880, 1 / 5040, 1 / 120, 1 / 6, 1.0)
_ASINH = (35 / 1152, -15 / 336, 3 / 40, -1 / 6, 1.0)
_ATANH = (1 / 9, 1 / 7, 1 / 5, 1 / 3, 1.0)
"""Taylor series in x², times x, for small x, where the closed forms suffer from cancellation."""


def _odd(x: Operand, factors: Sequence[float]) -> Operand:
    """Return x times a polynomial in x²."""
    square = x * x
    return x * reduce(
        lambda total, factor: total * square + factor, factors[1:], square * 0 + factors[0]
    )


def _near_zero(c: Call, x: Operand, bound: float, series: Sequence[float], far: Operand) -> Operand:
    near = c.b.lesser(c.b.abs(x), scalar_like(c, bound, x))
    return c.b.where(near, _odd(x, series), far)


@imports("Atan")
def atan(c: Call, x: Operand) -> Operand:
    """Arc tangent: x is reduced below tan(π/8) by atan x = π/2 − atan(1/x) and the like."""
    b, size = c.b, c.b.abs(x)
    large = b.greater(size, scalar_like(c, math.tan(3 * math.pi / 8), x))
    middle = b.greater(size, scalar_like(c, math.tan(math.pi / 8), x))
    inner = b.where(large, -1 / size, b.where(middle, (size - 1) / (size + 1), size))
    zero = scalar_like(c, 0, x)
    start = b.where(
        large, scalar_like(c, math.pi / 2, x), b.where(middle, scalar_like(c, math.pi / 4, x), zero)
    )
    return b.sign(x) * (start + _odd(inner, _ARC))


@imports("Asin")
def asin(c: Call, x: Operand) -> Operand:
    """Arc sine: atan(x/√(1 − x²))."""
    return atan(c, x / c.b.sqrt((1 - x) * (1 + x)))


@imports("Acos")
def acos(c: Call, x: Operand) -> Operand:
    """Arc cosine: 2·atan √((1 − x)/(1 + x))."""
    return 2 * atan(c, c.b.sqrt((1 - x) / (1 + x)))


@imports("Sinh")
def sinh(c: Call, x: Operand) -> Operand:
    """(eˣ − e⁻ˣ)/2."""
    return _near_zero(c, x, 1.0, _SINH, (c.b.exp(x) - c.b.exp(-x)) / 2)


@imports("Cosh")
def cosh(c: Call, x: Operand) -> Operand:
    """(eˣ + e⁻ˣ)/2."""
    return (c.b.exp(x) + c.b.exp(-x)) / 2


@imports("Asinh")
def asinh(c: Call, x: Operand) -> Operand:
    """Inverse of sinh: log(|x| + √(x² + 1)) with the sign of x."""
    size = c.b.abs(x)
    far = c.b.sign(x) * c.b.log(size + c.b.sqrt(size * size + 1))
    return _near_zero(c, x, 0.25, _ASINH, far)


@imports("Acosh")
def acosh(c: Call, x: Operand) -> Operand:
    """Inverse of cosh: log(x + √(x² − 1))."""
    return c.b.log(x + c.b.sqrt((x - 1) * (x + 1)))


@imports("Atanh")
def atanh(c: Call, x: Operand) -> Operand:
    """Inverse of tanh: log((1 + x)/(1 − x))/2."""
    return _near_zero(c, x, 0.25, _ATANH, c.b.log((1 + x) / (1 - x)) / 2)


# Activations.


@imports("Elu")
def elu(c: Call, x: Operand) -> Operand:
    """x, or α·(eˣ − 1) where negative."""
    return c.b.elu(x, alpha=c.number("alpha", 1.0))


@imports("Selu")
def selu(c: Call, x: Operand) -> Operand:
    """γ·elu(x)."""
    alpha = c.number("alpha", 1.67326319217681884765625)
    return c.b.elu(x, alpha=alpha) * c.number("gamma", 1.05070102214813232421875)


@imports("Celu")
def celu(c: Call, x: Operand) -> Operand:
    """x, or α·(e^(x/α) − 1) where negative."""
    alpha = c.number("alpha", 1.0)
    return c.b.elu(x / alpha, alpha=1.0) * alpha


@imports("LeakyRelu")
def leaky_relu(c: Call, x: Operand) -> Operand:
    """x, or α·x where negative."""
    return c.b.leaky_relu(x, alpha=c.number("alpha", 0.01))


@imports("ThresholdedRelu")
def thresholded_relu(c: Call, x: Operand) -> Operand:
    """x above α, else 0."""
    above = c.b.greater(x, scalar_like(c, c.number("alpha", 1.0), x))
    return c.b.where(above, x, scalar_like(c, 0, x))


@imports("PRelu")
def prelu(c: Call, x: Operand, slope: Operand) -> Operand:
    """x, or slope·x where negative."""
    return c.b.where(c.b.lesser(x, scalar_like(c, 0, x)), x * slope, x)


@imports("HardSigmoid")
def hard_sigmoid(c: Call, x: Operand) -> Operand:
    """α·x + β clamped to 0 … 1."""
    return c.b.hard_sigmoid(x, alpha=c.number("alpha", 0.2), beta=c.number("beta", 0.5))


@imports("Swish")
def swish(c: Call, x: Operand) -> Operand:
    """x·sigmoid(α·x)."""
    return c.b.silu(x, alpha=c.number("alpha", 1.0))


@imports("Mish")
def mish(c: Call, x: Operand) -> Operand:
    """x·tanh(softplus x)."""
    return x * c.b.tanh(c.b.softplus(x))


@imports("Gelu")
def gelu(c: Call, x: Operand) -> Operand:
    """x·Φ(x), or its tanh form."""
    return c.b.gelu_tanh(x) if c.string("approximate", "none") == "tanh" else c.b.gelu(x)


@imports("Shrink")
def shrink(c: Call, x: Operand) -> Operand:
    """0 from −λ to λ, otherwise x moved towards 0 by the bias."""
    bias, bound = c.number("bias", 0.0), c.number("lambd", 0.5)

    def rule(x: Operand) -> Operand:
        b, zero = c.b, scalar_like(c, 0, x)
        below = b.lesser(x, scalar_like(c, -bound, x))
        above = b.greater(x, scalar_like(c, bound, x))
        return b.where(below, x + bias, b.where(above, x - bias, zero))

    return wide(c, x, rule)


@imports("Clip")
def clip(c: Call, x: Operand, low: Operand | None = None, high: Operand | None = None) -> Operand:
    """x clamped between two bounds, which are attributes before opset 11."""
    b = c.b
    if c.opset < 11:
        return b.clamp(x, min_value=c.number("min", -math.inf), max_value=c.number("max", math.inf))
    bounds = [bound and b.evaluate(bound) for bound in (low, high)]
    limits = [-math.inf if bound is None else bound.values()[0] for bound in bounds]
    if high is None:
        limits[1] = math.inf
    are_constant = all(
        bound is None or array is not None for bound, array in zip((low, high), bounds, strict=True)
    )
    if are_constant and is_float(x.dtype) and limits[0] <= limits[1] and b.evaluate(x) is None:
        return b.clamp(x, min_value=limits[0], max_value=limits[1])
    x = x if low is None else b.max(x, low)
    return x if high is None else b.min(x, high)


# Arithmetic.


@imports("Add")
def add(c: Call, x: Operand, y: Operand) -> Operand:
    """x + y."""
    return c.b.add(x, _legacy(c, x, y))


@imports("Sub")
def sub(c: Call, x: Operand, y: Operand) -> Operand:
    """x − y."""
    return c.b.sub(x, _legacy(c, x, y))


@imports("Mul")
def mul(c: Call, x: Operand, y: Operand) -> Operand:
    """x·y."""
    return c.b.mul(x, _legacy(c, x, y))


@imports("Div")
def div(c: Call, x: Operand, y: Operand) -> Operand:
    """x/y; integers are truncated."""
    return c.b.div(x, _legacy(c, x, y))


def _legacy(c: Call, x: Operand, y: Operand) -> Operand:
    """Return y broadcast as in opsets before 7: its dimensions begin at an axis of x."""
    if c.opset >= 7 or not c.flag("broadcast") or not c.has("axis"):
        return y
    behind = x.rank - c.axis(c.integer("axis"), x.rank) - y.rank
    return c.b.reshape(y, new_shape=(*y.shape, *(1,) * behind))


@imports("Pow")
def power(c: Call, x: Operand, y: Operand) -> Operand:
    """x to the power y, in the type of x."""
    if is_float(x.dtype):
        return c.b.pow(x, as_type(c, y, x.dtype))
    if not is_float(y.dtype):
        return c.b.pow(x, as_type(c, y, x.dtype))
    return as_type(c, c.b.pow(as_type(c, x, y.dtype), y), x.dtype)


@imports("Mod")
def mod(c: Call, x: Operand, y: Operand) -> Operand:
    """Remainder of a division, with the sign of y, or with that of x for `fmod`."""
    b, zero = c.b, scalar_like(c, 0, x)
    quotient = b.div(x, y)
    if is_float(x.dtype):
        quotient = b.sign(quotient) * b.floor(b.abs(quotient))
    rest = x - quotient * y
    if is_float(x.dtype):
        keeps_dividend = b.logical_and(b.is_infinite(y), b.logical_not(b.is_infinite(x)))
        rest = b.where(keeps_dividend, x, rest)
    if x.dtype.startswith("u"):
        return rest
    is_negative = b.lesser(x if c.flag("fmod") else y, zero)
    has_wrong_sign = b.logical_and(
        b.not_equal(rest, zero), b.logical_xor(b.lesser(rest, zero), is_negative)
    )
    step = b.where(is_negative, -b.abs(y), b.abs(y)) if c.flag("fmod") else y
    return b.where(has_wrong_sign, rest + step, rest)


def _reduce_operands(c: Call, method: str, operands: Sequence[Operand]) -> Operand:
    return reduce(getattr(c.b, method), operands)


@imports("Sum")
def total(c: Call, x: Operand, *more: Operand) -> Operand:
    """Sum of all operands."""
    return _reduce_operands(c, "add", (x, *more))


@imports("Max")
def largest(c: Call, x: Operand, *more: Operand) -> Operand:
    """Largest of all operands."""
    return _reduce_operands(c, "max", (x, *more))


@imports("Min")
def smallest(c: Call, x: Operand, *more: Operand) -> Operand:
    """Smallest of all operands."""
    return _reduce_operands(c, "min", (x, *more))


@imports("Mean")
def mean(c: Call, x: Operand, *more: Operand) -> Operand:
    """Mean of all operands."""
    return _reduce_operands(c, "add", (x, *more)) / (1 + len(more))


@imports("Cast")
def cast_to(c: Call, x: Operand) -> Operand:
    """Conversion to another data type; booleans are 0 or 1."""
    return cast_to_code(c, x, c.integer("to"))


def cast_to_code(c: Call, x: Operand, code: int) -> Operand:
    """Return a tensor cast to a type of ONNX."""
    dtype = c.data_type(code)
    if code == BOOL:
        return c.b.not_equal(x, scalar_like(c, 0, x))
    if is_float(x.dtype) and dtype in ("int4", "uint4"):
        x = as_type(c, x, "int8")  # which keeps only the lowest bits
    if code in SHORT:
        return _wrap_to_16_bits(c, as_type(c, x, dtype), code)
    return as_type(c, x, dtype)


def _wrap_to_16_bits(c: Call, x: Operand, code: int) -> Operand:
    """Return int32 within the range of an integer type of 16 bits, which wraps around."""
    _, low, high = SHORT[code]
    rest = c.b.bitwise_and(x, scalar_like(c, 0xFFFF, x))
    return c.b.where(c.b.greater(rest, scalar_like(c, high, x)), rest + 2 * low, rest)


@imports("CastLike")
def cast_like(c: Call, x: Operand, target: Operand) -> Operand:
    """Conversion to the data type of another tensor."""
    code = c.code(1)
    if code is None and target.dtype == "uint8":
        raise c.not_supported("whether its target is bool or uint8 is not declared")
    return cast_to_code(c, x, CODES[target.dtype] if code is None else code)
