"""Element-wise functions: array API standard, "Element-wise Functions"."""

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
    check,
    common_shape,
    compare,
    empty,
    power,
    promote_operands,
    record,
    unary,
)
from webnnm.eager.dtypes import bool_, is_kind, limits
from webnnm.eager.errors import ArrayTypeError
from webnnm.graph.node import Operand


def _float(
    name: str, method: str, what: str, argument: str, result: str
) -> Callable[[Array], Array]:
    def function(x: Array, /) -> Array:
        return unary(method, x, "real floating")

    return _document(
        function,
        name,
        f"Return {what} of each element.",
        f"xp.asarray({argument})",
        f"Array({result}, dtype=float32)",
    )


def _document(function: Any, name: str, doc: str, arguments: str, result: str) -> Any:
    """Return a function with a name and a docstring, whose example has these arguments."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}\n\n>>> from webnnm import xp\n>>> xp.{name}({arguments})\n{result}\n"
    return function


acos = _float("acos", "acos", "the arc cosine, in radians,", "1.0", "0.0")
acosh = _float("acosh", "acosh", "the inverse hyperbolic cosine", "1.0", "0.0")
asin = _float("asin", "asin", "the arc sine, in radians,", "0.0", "0.0")
asinh = _float("asinh", "asinh", "the inverse hyperbolic sine", "0.0", "0.0")
atan = _float("atan", "atan", "the arc tangent, in radians,", "0.0", "0.0")
atanh = _float("atanh", "atanh", "the inverse hyperbolic tangent", "0.0", "0.0")
cos = _float("cos", "cos", "the cosine", "0.0", "1.0")
cosh = _float("cosh", "cosh", "the hyperbolic cosine", "0.0", "1.0")
exp = _float("exp", "exp", "the exponential", "0.0", "1.0")
expm1 = _float("expm1", "expm1", "exp(x) − 1, exact for small x,", "0.0", "0.0")
log = _float("log", "log", "the natural logarithm", "1.0", "0.0")
log1p = _float("log1p", "log1p", "log(1 + x), exact for small x,", "0.0", "0.0")
log2 = _float("log2", "log2", "the logarithm to base 2", "8.0", "3.0")
log10 = _float("log10", "log10", "the logarithm to base 10", "1.0", "0.0")
reciprocal = _float("reciprocal", "reciprocal", "1/x", "4.0", "0.25")
sin = _float("sin", "sin", "the sine", "0.0", "0.0")
sinh = _float("sinh", "sinh", "the hyperbolic sine", "0.0", "0.0")
sqrt = _float("sqrt", "sqrt", "the square root", "4.0", "2.0")
tan = _float("tan", "tan", "the tangent", "0.0", "0.0")
tanh = _float("tanh", "tanh", "the hyperbolic tangent", "0.0", "0.0")


def _rounding(name: str, method: str, what: str, result: str) -> Callable[[Array], Array]:
    def function(x: Array, /) -> Array:
        check(name, x, "numeric")
        return x if is_kind(x.dtype, "integral") else unary(method, x, "real floating")

    return _document(
        function,
        name,
        f"Return each element rounded {what}.",
        "xp.asarray([-1.5, 2.5])",
        f"Array({result}, dtype=float32)",
    )


ceil = _rounding("ceil", "ceil", "up", "[-1.0, 3.0]")
floor = _rounding("floor", "floor", "down", "[-2.0, 2.0]")
round = _rounding("round", "round_even", "to the nearest integer, halves to even", "[-2.0, 2.0]")
trunc = _rounding("trunc", "trunc", "towards zero", "[-1.0, 2.0]")


def _binary(
    name: str,
    method: str,
    kind: str,
    what: str,
    arguments: str,
    result: str,
    *,
    boolean: bool = False,
) -> Callable[[Array | Scalar, Array | Scalar], Array]:
    def function(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
        return binary(method, x1, x2, kind, bool_ if boolean else None)

    return _document(function, name, f"Return {what}, element by element.", arguments, result)


add = _binary(
    "add", "add", "numeric", "the sum", "xp.asarray([1, 2]), 3", "Array([4, 5], dtype=int32)"
)
subtract = _binary(
    "subtract",
    "sub",
    "numeric",
    "the difference",
    "xp.asarray([1, 2]), 3",
    "Array([-2, -1], dtype=int32)",
)
multiply = _binary(
    "multiply",
    "mul",
    "numeric",
    "the product",
    "xp.asarray([1, 2]), 3",
    "Array([3, 6], dtype=int32)",
)
divide = _binary(
    "divide",
    "div",
    "real floating",
    "the quotient",
    "xp.asarray([1.0, 3.0]), 2",
    "Array([0.5, 1.5], dtype=float32)",
)
floor_divide = _binary(
    "floor_divide",
    "floor_divide",
    "numeric",
    "the quotient rounded down",
    "xp.asarray([7, -7]), 2",
    "Array([3, -4], dtype=int32)",
)
remainder = _binary(
    "remainder",
    "remainder",
    "numeric",
    "the remainder, with the sign of the divisor",
    "xp.asarray([7, -7]), 3",
    "Array([1, 2], dtype=int32)",
)
atan2 = _binary(
    "atan2",
    "atan2",
    "real floating",
    "the angle of the point (x2, x1)",
    "xp.asarray([0.0]), xp.asarray([1.0])",
    "Array([0.0], dtype=float32)",
)
copysign = _binary(
    "copysign",
    "copysign",
    "real floating",
    "x1 with the sign of x2",
    "xp.asarray([1.0, 2.0]), -0.0",
    "Array([-1.0, -2.0], dtype=float32)",
)
hypot = _binary(
    "hypot",
    "hypot",
    "real floating",
    "√(x1² + x2²)",
    "xp.asarray([3.0]), 4.0",
    "Array([5.0], dtype=float32)",
)
logaddexp = _binary(
    "logaddexp",
    "logaddexp",
    "real floating",
    "log(exp(x1) + exp(x2))",
    "xp.asarray([0.0]), 0.0",
    "Array([0.6931472], dtype=float32)",
)
nextafter = _binary(
    "nextafter",
    "nextafter",
    "real floating",
    "the next number towards x2",
    "xp.asarray([1.0]), 1.0",
    "Array([1.0], dtype=float32)",
)
maximum = _binary(
    "maximum",
    "max",
    "numeric",
    "the larger element",
    "xp.asarray([1, 5]), 3",
    "Array([3, 5], dtype=int32)",
)
minimum = _binary(
    "minimum",
    "min",
    "numeric",
    "the smaller element",
    "xp.asarray([1, 5]), 3",
    "Array([1, 3], dtype=int32)",
)
bitwise_left_shift = _binary(
    "bitwise_left_shift",
    "bitwise_left_shift",
    "integral",
    "x1 with its bits shifted left by x2",
    "xp.asarray([1, 3]), 2",
    "Array([4, 12], dtype=int32)",
)
bitwise_right_shift = _binary(
    "bitwise_right_shift",
    "bitwise_right_shift",
    "integral",
    "x1 with its bits shifted right by x2",
    "xp.asarray([4, 9]), 2",
    "Array([1, 2], dtype=int32)",
)
logical_and = _binary(
    "logical_and",
    "logical_and",
    "bool",
    "whether both are true",
    "xp.asarray([True, False]), xp.asarray([True, True])",
    "Array([True, False], dtype=bool)",
)
logical_or = _binary(
    "logical_or",
    "logical_or",
    "bool",
    "whether one is true",
    "xp.asarray([True, False]), xp.asarray([True, True])",
    "Array([True, True], dtype=bool)",
)
logical_xor = _binary(
    "logical_xor",
    "logical_xor",
    "bool",
    "whether exactly one is true",
    "xp.asarray([True, False]), xp.asarray([True, True])",
    "Array([False, True], dtype=bool)",
)


def _comparison(name: str, method: str, what: str, result: str) -> Callable[[Any, Any], Array]:
    def function(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
        return compare(method, x1, x2)

    return _document(
        function,
        name,
        f"Return whether x1 {what} x2, element by element.",
        "xp.asarray([1, 2, 3]), 2",
        f"Array({result}, dtype=bool)",
    )


equal = _comparison("equal", "equal", "equals", "[False, True, False]")
not_equal = _comparison("not_equal", "not_equal", "differs from", "[True, False, True]")
less = _comparison("less", "lesser", "is less than", "[True, False, False]")
less_equal = _comparison("less_equal", "lesser_or_equal", "is at most", "[True, True, False]")
greater = _comparison("greater", "greater", "is greater than", "[False, False, True]")
greater_equal = _comparison(
    "greater_equal", "greater_or_equal", "is at least", "[False, True, True]"
)


def _bits(name: str, operation: str, what: str, result: str) -> Callable[[Any, Any], Array]:
    def function(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
        return bitwise(operation, x1, x2)

    return _document(
        function,
        name,
        f"Return the bits that are set in {what}.",
        "xp.asarray([6]), 3",
        f"Array({result}, dtype=int32)",
    )


bitwise_and = _bits("bitwise_and", "and", "both", "[2]")
bitwise_or = _bits("bitwise_or", "or", "one at least", "[7]")
bitwise_xor = _bits("bitwise_xor", "xor", "exactly one", "[5]")


def bitwise_invert(x: Array, /) -> Array:
    """Return all bits inverted; for booleans, the negation.

    >>> from webnnm import xp
    >>> xp.bitwise_invert(xp.asarray([0, 5]))
    Array([-1, -6], dtype=int32)
    """
    check("bitwise_invert", x, "bool", "integral")
    return ~x


def logical_not(x: Array, /) -> Array:
    """Return the negation of booleans.

    >>> from webnnm import xp
    >>> xp.logical_not(xp.asarray([True, False]))
    Array([False, True], dtype=bool)
    """
    return unary("logical_not", x, "bool")


def abs(x: Array, /) -> Array:
    """Return the absolute value of each element.

    >>> from webnnm import xp
    >>> xp.abs(xp.asarray([-2, 3]))
    Array([2, 3], dtype=int32)
    """
    return arrays.absolute(x)


def negative(x: Array, /) -> Array:
    """Return −x; unsigned integers wrap around.

    >>> from webnnm import xp
    >>> xp.negative(xp.asarray([-2, 3]))
    Array([2, -3], dtype=int32)
    """
    return arrays.negate(x)


def conj(x: Array, /) -> Array:
    """Return the array itself: it has no complex numbers.

    >>> from webnnm import xp
    >>> xp.conj(xp.asarray([1.0]))
    Array([1.0], dtype=float32)
    """
    return positive(x)


def real(x: Array, /) -> Array:
    """Return the array itself: it has no complex numbers.

    >>> from webnnm import xp
    >>> xp.real(xp.asarray([1.0]))
    Array([1.0], dtype=float32)
    """
    return positive(x)


def imag(x: Array, /) -> Array:
    """Return zeros: the array has no complex numbers.

    >>> from webnnm import xp
    >>> xp.imag(xp.asarray([1.0]))
    Array([0.0], dtype=float32)
    """
    check("imag", x, "numeric")
    return x * 0


def positive(x: Array, /) -> Array:
    """Return the array itself.

    >>> from webnnm import xp
    >>> xp.positive(xp.asarray([-2, 3]))
    Array([-2, 3], dtype=int32)
    """
    check("positive", x, "numeric")
    return x


def sign(x: Array, /) -> Array:
    """Return −1, 0 or 1; NaN for NaN.

    >>> from webnnm import xp
    >>> xp.sign(xp.asarray([-2.0, 0.0, 3.0]))
    Array([-1.0, 0.0, 1.0], dtype=float32)
    """
    check("sign", x, "numeric")
    if is_kind(x.dtype, "unsigned integer"):
        return minimum(x, 1)
    return unary("sign", x, "numeric")


def square(x: Array, /) -> Array:
    """Return x².

    >>> from webnnm import xp
    >>> xp.square(xp.asarray([-2, 3]))
    Array([4, 9], dtype=int32)
    """
    return binary("mul", x, x, "numeric")


def signbit(x: Array, /) -> Array:
    """Return whether the sign bit of each element is set, as it is for −0.0.

    >>> from webnnm import xp
    >>> xp.signbit(xp.asarray([-0.0, 1.0]))
    Array([True, False], dtype=bool)
    """
    return unary("signbit", x, "real floating", bool_)


def isnan(x: Array, /) -> Array:
    """Return where elements are NaN.

    >>> from webnnm import xp
    >>> xp.isnan(xp.asarray([1.0, float("nan")]))
    Array([False, True], dtype=bool)
    """
    return _of_floats(x, "isnan", lambda b, a: b.not_equal(a, a))


def isinf(x: Array, /) -> Array:
    """Return where elements are infinite.

    >>> from webnnm import xp
    >>> xp.isinf(xp.asarray([1.0, float("-inf")]))
    Array([False, True], dtype=bool)
    """
    return _of_floats(x, "isinf", lambda b, a: b.equal(b.abs(a), b.constant(float("inf"), a.dtype)))


def isfinite(x: Array, /) -> Array:
    """Return where elements are neither infinite nor NaN.

    >>> from webnnm import xp
    >>> xp.isfinite(xp.asarray([1.0, float("inf")]))
    Array([True, False], dtype=bool)
    """
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
        return record(build, x, dtype=bool_)

    def same(b: Any, a: Operand) -> Operand:
        return b.expand(b.constant(int(other), "uint8"), new_shape=a.shape)

    return record(same, x, dtype=bool_)


def pow(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return x1 to the power of x2, element by element.

    >>> from webnnm import xp
    >>> xp.pow(xp.asarray([2.0, 3.0]), 2)
    Array([4.0, 9.0], dtype=float32)
    """
    return power(x1, x2)


def clip(
    x: Array, /, min: Array | Scalar | None = None, max: Array | Scalar | None = None
) -> Array:
    """Return each element clipped to a range.

    >>> from webnnm import xp
    >>> xp.clip(xp.asarray([-3.0, 0.5, 3.0]), -1, 1)
    Array([-1.0, 0.5, 1.0], dtype=float32)

    Raises `ArrayTypeError` for limits of another kind, `ArrayOverflowError` for integers that the
    result would have to hold and cannot.
    """
    check("clip", x, "numeric")
    # Integers beyond what the type holds are no limits.
    if min is not None and not (arrays.is_out_of_range(min, x) and min < 0):
        x = maximum(x, _limit(min, x, arrays.Sides(below=False, above=True)))
    if max is not None and not (arrays.is_out_of_range(max, x) and max > 0):
        x = minimum(x, _limit(max, x, arrays.Sides(below=True, above=False)))
    return x


def _limit(limit: Array | Scalar, x: Array, sides: arrays.Sides) -> Array | Scalar:
    """Return a limit in the data type of an array; of integers the nearest that it has.

    `sides` are those on which a Python integer that is traced has to be in range.
    """
    if not isinstance(limit, Array) or limit.dtype is x.dtype:
        return limit
    if limit.weak and not is_kind(limit.dtype, "integral"):
        return limit
    if is_kind(x.dtype, "integral"):
        if limit.weak:
            arrays.check_fits(limit, x.dtype, sides)
        check("clip, with limits of an array of integers,", limit, "integral")
        limit = clip(limit, *limits(x.dtype))
    return arrays.convert_dtype(limit, x.dtype)


def where(condition: Array, x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the elements of x1 where a condition holds, and of x2 elsewhere.

    >>> from webnnm import xp
    >>> x = xp.asarray([-1.0, 2.0])
    >>> xp.where(x > 0, x, 0.0)
    Array([0.0, 2.0], dtype=float32)
    """
    check("the condition of where", condition, "bool")
    if not isinstance(x1, Array) and not isinstance(x2, Array):
        raise ArrayTypeError("at least one of the values of `where` must be an array")
    a, b = promote_operands("where", x1, x2, "bool", "numeric")
    shape = common_shape(condition.shape, a.shape, b.shape)
    if not count(shape):
        return empty(shape, a.dtype, a)
    return record(lambda g, c, p, q: g.where(c, p, q), condition, a, b, dtype=a.dtype)
