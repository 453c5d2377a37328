"""Positions of numbers in a sorted list: searchSorted."""

from __future__ import annotations

from typing import Any

from webnnm.core.dtypes import ANY, DataType, is_float
from webnnm.core.shapes import count
from webnnm.ops.declare import checks
from webnnm.ops.declare.operator import Composite, Option, Slot, no_gradient, sample
from webnnm.ops.declare.tensors import Builder, Tensor, TensorType

TYPES: frozenset[DataType] = ANY - {"int4", "uint4"}
MAX_COMPARED = 2**20
"""Most pairs that are compared at once; for more, the list is searched by bisection."""


def _infer(_list: TensorType, x: TensorType, *, right: bool) -> TensorType:
    del right
    return TensorType("int32", x.shape)


def _comes_before(b: Builder, a: Tensor, x: Tensor, right: bool) -> Tensor:
    """Return 1 where an element of the list comes before a number; NaN comes last."""
    before = (b.lesser_or_equal if right else b.lesser)(a, x)
    if not is_float(a.dtype):
        return before
    unknown = b.not_equal(x, x)
    return b.logical_or(before, unknown if right else b.logical_and(unknown, b.equal(a, a)))


def _decompose(b: Builder, sorted: Tensor, x: Tensor, *, right: bool) -> Tensor:
    (n,) = sorted.shape
    values = b.reshape(x, new_shape=(count(x.shape),))
    if n * count(x.shape) <= MAX_COMPARED:
        column = b.reshape(x, new_shape=(count(x.shape), 1))
        before = _comes_before(b, b.reshape(sorted, new_shape=(1, n)), column, right)
        indices = b.reduce_sum(b.cast(before, type="int32"), axes=[1])
    else:
        indices = b.expand(b.constant(0, "int32"), new_shape=values.shape)
        # From the highest bit of the place on: there are as many before if the last of them is.
        for bit in reversed(range(n.bit_length())):
            more = indices + 2**bit
            last = b.gather(sorted, b.min(more, n) - 1)
            fits = b.logical_and(b.lesser_or_equal(more, n), _comes_before(b, last, values, right))
            indices = b.where(fits, more, indices)
    return b.reshape(indices, new_shape=x.shape)


def _reference(np: Any, sorted: Any, x: Any, *, right: bool) -> Any:
    indices = np.searchsorted(sorted, x, side="right" if right else "left")
    return np.astype(np.asarray(indices), np.int32)


search_sorted = Composite(
    name="searchSorted",
    summary="how many elements of a sorted list are less than each number, or at most equal to it",
    operands=(
        Slot(name="sorted", dtypes=TYPES, ranks=(1, 1)),
        Slot(name="input", dtypes=TYPES, like=0),
    ),
    options={"right": Option(False, checks.boolean)},
    decompose=_decompose,
    infer=_infer,
    gradient=no_gradient,
    reference=_reference,
    native="searchSorted",  # WebNN has no such method: backends detect that and decompose it
    layer=None,
    samples=(
        sample((4,), (2, 3), values=([2.0, 2.0, 2.0, 2.0], [[0.0, 2.0, 3.0], [5.0, 6.0, 1.0]])),
        sample((4,), (3,), dtypes=("int32", "int32"), values=([3, 3, 3, 3], [3, 0, 8]), right=True),
    ),
)
