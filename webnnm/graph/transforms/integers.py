"""Operators on integers written with other operators, for backends that do not take the type.

Each is exact, and wraps around as the operator does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from webnnm.core.dtypes import integer_range, is_float
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand, OperatorNode
from webnnm.ops.declare.constants import constant_values

QUOTIENTS = 4
"""Float32 quotients of the remainder: each leaves less than a millionth of it, or of one."""


def decompose_integer_operator(b: GraphBuilder, node: OperatorNode) -> Operand | None:
    """Return the result of a node computed with other operators, None if there is no way."""
    rule = RULES.get(node.operator.name)
    x = node.operands[0]
    # There is no arithmetic on uint64 to build other operators with.
    if rule is None or x is None or is_float(x.dtype) or x.dtype == "uint64":
        return None
    return b.expand(rule(b, *node.operands, **node.options), new_shape=node.types[0].shape)


def power(b: GraphBuilder, x: Operand, z: Operand) -> Operand:
    """Return xⁿ of integers: squared for each bit of n from the highest, times x if it is set.

    Powers of negative exponents are 0 except for the bases 1 and −1.
    """
    exponents = constant_values(z)
    lowest, highest = integer_range(z.dtype)
    smallest = lowest if exponents is None else min(map(int, exponents))
    largest = highest if exponents is None else min(highest, max(abs(int(n)) for n in exponents))
    rest = _size(b, z) if smallest < 0 else z
    result = b.constant(1, x.dtype)
    for bit in reversed(range(largest.bit_length())):
        value = b.constant(2**bit, z.dtype)
        is_set = b.greater_or_equal(rest, value)
        square = result * result
        result = b.where(is_set, square * x, square)
        rest = b.where(is_set, rest - value, rest)
    if smallest < 0:
        # If the base is 1 or −1, n and −n give the same.
        inverse = b.where(b.equal(_size(b, x), 1), result, 0)
        result = b.where(b.lesser(z, 0), inverse, result)
    return result


def _size(b: GraphBuilder, x: Operand) -> Operand:
    return b.max(x, 0 - x)


def _sign(b: GraphBuilder, x: Operand) -> Operand:
    return b.max(b.min(x, 1), -1)


def _quotient(b: GraphBuilder, x: Operand, z: Operand) -> Operand:
    """Return x/z, truncated, or 0 for z = 0.

    Float32 quotients of the remainder are summed, then the result is corrected by one, twice at
    most. Both operands are made negative, because the smallest integer has no positive counterpart.
    """
    if x.dtype != "int64":
        return b.cast(b.div(b.cast(x, type="int64"), b.cast(z, type="int64")), type=x.dtype)
    rest, divisor = b.min(x, 0 - x), b.min(z, 0 - z)
    divisor = b.where(b.equal(z, 0), -1, divisor)
    quotient = b.constant(0, "int64")
    for _ in range(QUOTIENTS):
        part = b.cast(b.cast(rest, type="float32") / b.cast(divisor, type="float32"), type="int64")
        quotient, rest = quotient + part, rest - part * divisor
    for _ in range(2):
        low, high = b.greater(rest, 0), b.lesser_or_equal(rest, divisor)
        step = b.where(high, b.constant(1, "int64"), b.where(low, b.constant(-1, "int64"), 0))
        quotient, rest = quotient + step, rest - step * divisor
    apart = b.logical_xor(b.lesser(x, 0), b.lesser(z, 0))
    return b.where(b.equal(z, 0), 0, b.where(apart, 0 - quotient, quotient))


def _reverse(b: GraphBuilder, x: Operand, *, axes: tuple[int, ...]) -> Operand:
    for axis in axes:
        x = b.gather(x, b.constant([*reversed(range(x.shape[axis]))], "int32"), axis=axis)
    return x


def _first(extremum: str) -> Callable[..., Operand]:
    """Return the rule of argMax or argMin: the smallest index of an extremum."""

    def rule(
        b: GraphBuilder, x: Operand, *, axis: int, keep_dimensions: bool, output_data_type: Any
    ) -> Operand:
        size = x.shape[axis]
        extreme = getattr(b, extremum)(x, axes=[axis], keep_dimensions=True)
        column = [size if k == axis else 1 for k in range(x.rank)]
        indices = b.reshape(b.constant([*range(size)], output_data_type), new_shape=column)
        candidates = b.where(b.equal(x, extreme), indices, size)
        return b.reduce_min(candidates, axes=[axis], keep_dimensions=keep_dimensions)

    return rule


def _relu(b: GraphBuilder, x: Operand) -> Operand:
    return b.max(x, 0)


def _triangle(b: GraphBuilder, x: Operand, *, upper: bool, diagonal: int) -> Operand:
    rows, columns = x.shape[-2:]
    inside = [
        [
            (column - row >= diagonal) if upper else (column - row <= diagonal)
            for column in range(columns)
        ]
        for row in range(rows)
    ]
    return b.where(b.constant(inside, "uint8"), x, 0)


def _sum_of_squares(b: GraphBuilder, x: Operand, **options: Any) -> Operand:
    return b.reduce_sum(x * x, **options)


RULES: Mapping[str, Callable[..., Operand]] = {
    "abs": _size,
    "argMax": _first("reduce_max"),
    "argMin": _first("reduce_min"),
    "div": _quotient,
    "pow": power,
    "relu": _relu,
    "reduceSumSquare": _sum_of_squares,
    "reverse": _reverse,
    "sign": _sign,
    "triangular": _triangle,
}
