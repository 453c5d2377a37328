"""Functions of each element: array API standard, "Element-wise Functions"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webnnm.core.shapes import count
from webnnm.eager import array as arrays
from webnnm.eager.array import (
    Array,
    Scalar,
    binary,
    bitwise,
    both,
    check,
    common_shape,
    compare,
    empty,
    power,
    recorded,
    unary,
)
from webnnm.eager.dtypes import bool_, is_kind
from webnnm.eager.errors import ArrayTypeError
from webnnm.graph.node import Operand


def _float(name: str, method: str, what: str) -> Callable[[Array], Array]:
    def function(x: Array, /) -> Array:
        return unary(method, x, "real floating")

    return _named(function, name, f"Return {what} of each element.")


def _named(function: Any, name: str, doc: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


acos = _float("acos", "acos", "the arc cosine, in radians,")
acosh = _float("acosh", "acosh", "the inverse hyperbolic cosine")
asin = _float("asin", "asin", "the arc sine, in radians,")
asinh = _float("asinh", "asinh", "the inverse hyperbolic sine")
atan = _float("atan", "atan", "the arc tangent, in radians,")
atanh = _float("atanh", "atanh", "the inverse hyperbolic tangent")
cos = _float("cos", "cos", "the cosine")
cosh = _float("cosh", "cosh", "the hyperbolic cosine")
exp = _float("exp", "exp", "the exponential")
expm1 = _float("expm1", "expm1", "exp(x) − 1, exact for small x,")
log = _float("log", "log", "the natural logarithm")
log1p = _float("log1p", "log1p", "log(1 + x), exact for small x,")
log2 = _float("log2", "log2", "the logarithm to base 2")
log10 = _float("log10", "log10", "the logarithm to base 10")
reciprocal = _float("reciprocal", "reciprocal", "1/x")
sin = _float("sin", "sin", "the sine")
sinh = _float("sinh", "sinh", "the hyperbolic sine")
sqrt = _float("sqrt", "sqrt", "the square root")
tan = _float("tan", "tan", "the tangent")
tanh = _float("tanh", "tanh", "the hyperbolic tangent")


def _rounding(name: str, method: str, what: str) -> Callable[[Array], Array]:
    def function(x: Array, /) -> Array:
        check(name, x, "numeric")
        return x if is_kind(x.dtype, "integral") else unary(method, x, "real floating")

    return _named(function, name, f"Return each element rounded {what}.")


ceil = _rounding("ceil", "ceil", "up")
floor = _rounding("floor", "floor", "down")
round = _rounding("round", "round_even", "to the nearest integer, halves to the even one")
trunc = _rounding("trunc", "trunc", "towards zero")


def _binary(
    name: str, method: str, kind: str, what: str, *, boolean: bool = False
) -> Callable[[Array | Scalar, Array | Scalar], Array]:
    def function(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
        return binary(method, x1, x2, kind, bool_ if boolean else None)

    return _named(function, name, f"Return {what}, element by element.")


add = _binary("add", "add", "numeric", "the sum")
subtract = _binary("subtract", "sub", "numeric", "the difference")
multiply = _binary("multiply", "mul", "numeric", "the product")
divide = _binary("divide", "div", "real floating", "the quotient")
floor_divide = _binary("floor_divide", "floor_divide", "numeric", "the quotient rounded down")
remainder = _binary(
    "remainder", "remainder", "numeric", "the remainder, with the sign of the divisor"
)
atan2 = _binary("atan2", "atan2", "real floating", "the angle of the point (x2, x1)")
copysign = _binary("copysign", "copysign", "real floating", "x1 with the sign of x2")
hypot = _binary("hypot", "hypot", "real floating", "√(x1² + x2²)")
logaddexp = _binary("logaddexp", "logaddexp", "real floating", "log(exp(x1) + exp(x2))")
nextafter = _binary("nextafter", "nextafter", "real floating", "the next number towards x2")
maximum = _binary("maximum", "max", "numeric", "the larger element")
minimum = _binary("minimum", "min", "numeric", "the smaller element")
bitwise_left_shift = _binary(
    "bitwise_left_shift", "bitwise_left_shift", "integral", "x1 with its bits shifted left by x2"
)
bitwise_right_shift = _binary(
    "bitwise_right_shift", "bitwise_right_shift", "integral", "x1 with its bits shifted right by x2"
)
logical_and = _binary("logical_and", "logical_and", "bool", "whether both are true")
logical_or = _binary("logical_or", "logical_or", "bool", "whether one is true")
logical_xor = _binary("logical_xor", "logical_xor", "bool", "whether exactly one is true")


def _comparison(name: str, method: str, what: str) -> Callable[[Any, Any], Array]:
    def function(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
        return compare(method, x1, x2)

    return _named(function, name, f"Return whether x1 {what} x2, element by element.")


equal = _comparison("equal", "equal", "equals")
not_equal = _comparison("not_equal", "not_equal", "differs from")
less = _comparison("less", "lesser", "is less than")
less_equal = _comparison("less_equal", "lesser_or_equal", "is at most")
greater = _comparison("greater", "greater", "is greater than")
greater_equal = _comparison("greater_equal", "greater_or_equal", "is at least")


def _bits(name: str, word: str, what: str) -> Callable[[Any, Any], Array]:
    def function(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
        return bitwise(word, x1, x2)

    return _named(function, name, f"Return the bits that are set in {what}.")


bitwise_and = _bits("bitwise_and", "and", "both")
bitwise_or = _bits("bitwise_or", "or", "one at least")
bitwise_xor = _bits("bitwise_xor", "xor", "exactly one")


def bitwise_invert(x: Array, /) -> Array:
    """Return all bits turned over; of truth values, the opposite."""
    check("bitwise_invert", x, "bool", "integral")
    return ~x


def logical_not(x: Array, /) -> Array:
    """Return the opposite of truth values."""
    return unary("logical_not", x, "bool")


def abs(x: Array, /) -> Array:
    """Return the absolute value of each element."""
    return arrays.absolute(x)


def negative(x: Array, /) -> Array:
    """Return −x, modulo the range of unsigned integers."""
    return arrays.negated(x)


def conj(x: Array, /) -> Array:
    """Return the array itself: it has no complex numbers."""
    return positive(x)


def real(x: Array, /) -> Array:
    """Return the array itself: it has no complex numbers."""
    return positive(x)


def imag(x: Array, /) -> Array:
    """Return zeros: the array has no complex numbers."""
    check("imag", x, "numeric")
    return x * 0


def positive(x: Array, /) -> Array:
    """Return the array itself."""
    check("positive", x, "numeric")
    return x


def sign(x: Array, /) -> Array:
    """Return −1, 0 or 1; NaN of NaN."""
    check("sign", x, "numeric")
    if is_kind(x.dtype, "unsigned integer"):
        return minimum(x, 1)
    return unary("sign", x, "numeric")


def square(x: Array, /) -> Array:
    """Return x²."""
    return binary("mul", x, x, "numeric")


def signbit(x: Array, /) -> Array:
    """Return whether the sign of each element is negative, as that of −0.0 is."""
    return unary("signbit", x, "real floating", bool_)


def isnan(x: Array, /) -> Array:
    """Return where elements are NaN."""
    return _of_floats(x, "isnan", lambda b, a: b.not_equal(a, a))


def isinf(x: Array, /) -> Array:
    """Return where elements are infinite."""
    return _of_floats(x, "isinf", lambda b, a: b.equal(b.abs(a), b.constant(float("inf"), a.dtype)))


def isfinite(x: Array, /) -> Array:
    """Return where elements are neither infinite nor NaN."""
    return _of_floats(
        x,
        "isfinite",
        lambda b, a: b.lesser(b.abs(a), b.constant(float("inf"), a.dtype)),
        other=True,
    )


def _of_floats(
    x: Array, name: str, build: Callable[[Any, Any], Any], *, other: bool = False
) -> Array:
    check(name, x, "numeric")
    if not x.size:
        return empty(x.shape, bool_, x)
    if is_kind(x.dtype, "real floating"):
        return recorded(build, x, dtype=bool_)

    def same(b: Any, a: Operand) -> Operand:
        return b.expand(b.constant(int(other), "uint8"), new_shape=a.shape)

    return recorded(same, x, dtype=bool_)


def pow(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return x1 to the power of x2, element by element."""
    return power(x1, x2)


def clip(
    x: Array, /, min: Array | Scalar | None = None, max: Array | Scalar | None = None
) -> Array:
    """Return each element brought into a range.

    Raises `ArrayTypeError` for limits that the type of the array does not hold.
    """
    check("clip", x, "numeric")
    for limit, function in ((min, maximum), (max, minimum)):
        if limit is None:
            continue
        if isinstance(limit, Array) and limit.dtype is not x.dtype:
            limit = arrays.converted(limit, x.dtype)
        x = function(x, limit)
    return x


def where(condition: Array, x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the elements of x1 where a condition holds, and of x2 elsewhere.

    >>> from webnnm import xp
    >>> x = xp.asarray([-1.0, 2.0])
    >>> xp.where(x > 0, x, 0.0)
    Array([0.0, 2.0], dtype=float32)
    """
    check("the condition of where", condition, "bool")
    if not isinstance(x1, Array) and not isinstance(x2, Array):
        raise ArrayTypeError("one of the values of `where` has to be an array")
    a, b = both("where", x1, x2, "bool", "numeric")
    shape = common_shape(condition.shape, a.shape, b.shape)
    if not count(shape):
        return empty(shape, a.dtype, a)
    return recorded(lambda g, c, p, q: g.where(c, p, q), condition, a, b, dtype=a.dtype)
