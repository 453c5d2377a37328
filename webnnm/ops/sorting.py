"""Elements in order along an axis: sort, argsort, topK."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from webnnm.core.dtypes import ANY, SIGNED, DataType, integer_range, is_float
from webnnm.core.shapes import count
from webnnm.ops.declare import checks
from webnnm.ops.declare.algebra import same_as_first, zeros_like
from webnnm.ops.declare.along import slice_axis
from webnnm.ops.declare.operator import Composite, Option, Sample, Slot, no_gradient, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType

TYPES: frozenset[DataType] = ANY - {"int4", "uint4"}
MAX_COMPARED = 2**20
"""Most pairs that are compared at once; more elements are sorted by a network, in more steps."""


def _key(b: Builder, x: Tensor, descending: bool) -> Tensor:
    """Return numbers to be sorted in ascending order; applied twice, it returns the numbers."""
    if not descending:
        return x
    if is_float(x.dtype):
        return x * -1.0
    return b.constant(-1 if x.dtype in SIGNED else integer_range(x.dtype)[1], x.dtype) - x


def _highest(dtype: DataType) -> float:
    return math.inf if is_float(dtype) else integer_range(dtype)[1]


def _sort_rows(b: Builder, x: Tensor, descending: bool) -> tuple[Tensor, Tensor]:
    """Return sorted rows, and the former position of each element; equal ones keep their order."""
    lines, n = x.shape
    key = _key(b, x, descending)
    positions = b.expand(b.constant([*range(n)], "int32", (1, n)), new_shape=x.shape)
    if is_float(x.dtype):  # NaN after infinity
        is_nan = b.not_equal(key, key)
        key = b.where(is_nan, math.inf, key)
        positions = b.where(is_nan, positions + n, positions)
    if lines * n * n <= MAX_COMPARED:
        positions = _order_by_counting(b, key, positions)
        return b.gather_elements(x, positions, axis=1), positions
    key, positions = _network(b, key, positions)
    if is_float(x.dtype):
        is_nan = b.greater_or_equal(positions, n)
        key = b.where(is_nan, math.nan, key)
        positions = b.where(is_nan, positions - n, positions)
    return _key(b, key, descending), positions


def _order_by_counting(b: Builder, key: Tensor, positions: Tensor) -> Tensor:
    """Return the order by counting, for each element, how many come before it."""
    lines, n = key.shape
    columns, rows = (lines, n, 1), (lines, 1, n)
    of_key, of_place = (
        [b.reshape(x, new_shape=shape) for shape in (columns, rows)] for x in (key, positions)
    )
    tie = b.logical_and(b.equal(*of_key), b.greater(*of_place))
    before = b.logical_or(b.greater(*of_key), tie)
    rank = b.reduce_sum(b.cast(before, type="int32"), axes=[2], keep_dimensions=True)
    numbers = b.constant([*range(n)], "int32")
    is_at_rank = b.equal(rank, b.reshape(numbers, new_shape=(1, 1, n)))
    return b.reduce_sum(b.where(is_at_rank, b.reshape(numbers, new_shape=(1, n, 1)), 0), axes=[1])


def _network(b: Builder, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    """Return sorted rows and their former positions, by a network of comparisons.

    K. E. Batcher, Sorting networks and their applications (1968): bitonic sorting.
    """
    lines, n = key.shape
    levels = (n - 1).bit_length()
    size = 2**levels
    if size > n:
        rest = (lines, size - n)
        last = b.constant(_highest(key.dtype), key.dtype)
        behind = b.constant([2 * n + i for i in range(size - n)], "int32", (1, size - n))
        key = b.concat([key, b.expand(last, new_shape=rest)], axis=1)
        positions = b.concat([positions, b.expand(behind, new_shape=rest)], axis=1)
    for level in range(1, levels + 1):
        for step in reversed(range(level)):
            key, positions = _compare_exchange(b, key, positions, level, 2**step)
    return slice_axis(b, key, 1, 0, n), slice_axis(b, positions, 1, 0, n)


def _compare_exchange(
    b: Builder, key: Tensor, positions: Tensor, level: int, step: int
) -> tuple[Tensor, Tensor]:
    """Sort pairs of elements `step` apart, every other block of a level in descending order."""
    lines, size = key.shape
    blocks = size // (2 * step)
    view = (lines, blocks, 2, step)
    (a, c), (p, q) = (
        [slice_axis(b, b.reshape(x, new_shape=view), 2, half, 1) for half in (0, 1)]
        for x in (key, positions)
    )
    swap = b.logical_or(b.greater(a, c), b.logical_and(b.equal(a, c), b.greater(p, q)))
    downwards = [(block * 2 * step >> level) & 1 for block in range(blocks)]
    if any(downwards):
        swap = b.logical_xor(swap, b.constant(downwards, "uint8", (1, blocks, 1, 1)))
    pairs = [
        b.concat([b.where(swap, y, x), b.where(swap, x, y)], axis=2) for x, y in ((a, c), (p, q))
    ]
    return (b.reshape(pairs[0], new_shape=key.shape), b.reshape(pairs[1], new_shape=key.shape))


def _along(b: Builder, x: Tensor, axis: int, descending: bool) -> tuple[Tensor, Tensor]:
    """Return elements sorted along an axis, and their former places."""
    order = [k for k in range(x.rank) if k != axis] + [axis]
    back = [order.index(k) for k in range(x.rank)]
    is_last = axis == x.rank - 1
    moved = x if is_last else b.transpose(x, permutation=order)
    rows = b.reshape(moved, new_shape=(count(moved.shape[:-1]), moved.shape[-1]))
    values, places = (
        b.reshape(result, new_shape=moved.shape) for result in _sort_rows(b, rows, descending)
    )
    if is_last:
        return values, places
    return b.transpose(values, permutation=back), b.transpose(places, permutation=back)


def _places(np: Any, x: Any, axis: int, descending: bool) -> Any:
    """Return the order of elements along an axis; NaN comes last in both directions."""
    if descending:
        x = -x if np.isdtype(x.dtype, "real floating") else np.bitwise_invert(x)
    return np.argsort(x, axis=axis, stable=True)


def _sort(b: Builder, x: Tensor, *, axis: int, descending: bool) -> Tensor:
    return _along(b, x, axis, descending)[0]


def _sort_kernel(np: Any, x: Any, *, axis: int, descending: bool) -> Any:
    if not descending:
        return np.sort(x, axis=axis, stable=True)
    return np.take_along_axis(x, _places(np, x, axis, descending), axis=axis)


def _sort_gradient(
    b: Builder, g: Tensor, _y: Tensor, x: Tensor, *, axis: int, descending: bool
) -> list[Tensor]:
    places = b.argsort(x, axis=axis, descending=descending)
    return [b.scatter_elements(zeros_like(b, g), places, g, axis=axis)]


def _argsort(b: Builder, x: Tensor, *, axis: int, descending: bool) -> Tensor:
    return _along(b, x, axis, descending)[1]


def _argsort_kernel(np: Any, x: Any, *, axis: int, descending: bool) -> Any:
    return np.astype(_places(np, x, axis, descending), np.int32)


def _argsort_infer(x: TensorType, **_: Any) -> TensorType:
    return TensorType("int32", x.shape)


def _top_infer(x: TensorType, *, k: int, axis: int, largest: bool) -> tuple[TensorType, TensorType]:
    del largest
    if k > x.shape[axis]:
        raise OperatorError(
            "NNM303", f"k={k}, but there are {x.shape[axis]} elements along axis {axis}"
        )
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return TensorType(x.dtype, shape), TensorType("int32", shape)


def _top(b: Builder, x: Tensor, *, k: int, axis: int, largest: bool) -> tuple[Tensor, Tensor]:
    values = b.sort(x, axis=axis, descending=largest)
    places = b.argsort(x, axis=axis, descending=largest)
    return slice_axis(b, values, axis, 0, k), slice_axis(b, places, axis, 0, k)


def _top_kernel(np: Any, x: Any, *, k: int, axis: int, largest: bool) -> tuple[Any, Any]:
    places = np.take(_places(np, x, axis, largest), np.arange(k), axis=axis)
    return np.take_along_axis(x, places, axis=axis), np.astype(places, np.int32)


def _top_gradient(
    b: Builder, g: Sequence[Tensor], y: Sequence[Tensor], x: Tensor, *, axis: int, **_: Any
) -> list[Tensor]:
    return [b.scatter_elements(zeros_like(b, x), y[1], g[0], axis=axis)]


OPERANDS = (Slot(name="input", dtypes=TYPES, ranks=(1, None)),)
OPTIONS = {"axis": Option(-1, checks.axis), "descending": Option(False, checks.boolean)}
SAMPLES: tuple[Sample, ...] = (
    sample((5,)),
    sample((3, 2), axis=0, descending=True),
    sample((2, 4), axis=1, descending=True),
    sample((6,), dtypes=("int32",), values=([3, -5, 3, 2, -5, 7],)),
    sample((4,), dtypes=("uint8",), values=([3, 255, 0, 3],), descending=True),
)  # fmt: skip

sort = Composite(
    name="sort",
    summary="elements sorted along an axis, equal ones in their former order; NaN comes last",
    operands=OPERANDS,
    options=OPTIONS,
    decompose=_sort,
    infer=same_as_first,
    gradient=_sort_gradient,
    reference=_sort_kernel,
    native="sort",  # WebNN has no such method: backends detect that and decompose it
    layer=None,
    batch="axes",
    samples=SAMPLES,
)
argsort = Composite(
    name="argsort",
    summary="int32 indices that sort the elements along an axis",
    operands=OPERANDS,
    options=OPTIONS,
    decompose=_argsort,
    infer=_argsort_infer,
    gradient=no_gradient,
    reference=_argsort_kernel,
    native="argsort",
    layer=None,
    batch="axes",
    samples=SAMPLES,
)
top_k = Composite(
    name="topK",
    summary="the k largest or smallest elements along an axis in order, and their indices",
    operands=OPERANDS,
    options={
        "k": Option(1, checks.integer(1)),
        "axis": Option(-1, checks.axis),
        "largest": Option(True, checks.boolean),
    },
    decompose=_top,
    infer=_top_infer,
    gradient=_top_gradient,
    reference=_top_kernel,
    native="topK",
    layer=None,
    batch="axes",
    samples=(
        sample((5,), k=2),
        sample((3, 2), k=1, axis=0, largest=False),
        sample((6,), k=4, dtypes=("int32",), values=([3, -5, 3, 2, -5, 7],)),
    ),
)
