"""Sums and other statistics: array API standard, "Statistical" and "Utility Functions"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webnnm.core.shapes import Shape, count
from webnnm.eager.array import Array, check, convert_dtype, empty, record, reshape_to
from webnnm.eager.creation import full, zeros
from webnnm.eager.dtypes import BY_NAME, DEFAULTS, DType, bool_, dtype_of, is_kind
from webnnm.eager.errors import ArrayValueError
from webnnm.eager.manipulation import Axes, axes_of, axis_of, concat
from webnnm.graph.node import Operand


def _reduce(x: Array, axis: Axes, keepdims: bool, build: Callable[..., Operand]) -> Array:
    """Return a reduction of an array with elements: `build(builder, operand, axes, keep)`."""
    axes = axes_of(axis, x.ndim)
    if not axes:
        return x
    return record(lambda b, a: build(b, a, axes, keepdims), x)


def _without(shape: Shape, axis: Axes, keepdims: bool) -> Shape:
    axes = axes_of(axis, len(shape))
    sizes = [1 if at in axes else size for at, size in enumerate(shape)]
    return tuple(size for at, size in enumerate(sizes) if keepdims or at not in axes)


def _reduction(method: str) -> Callable[..., Operand]:
    def build(b: Any, a: Operand, axes: tuple[int, ...], keep: bool) -> Operand:
        return getattr(b, method)(a, axes=axes, keep_dimensions=keep)

    return build


def _get_sum_dtype(x: Array, dtype: DType | None) -> DType:
    """Return the type in which elements are summed."""
    if dtype is not None:
        return dtype_of(dtype)
    if x.dtype.kind == "signed integer" and x.dtype.bits < 32:
        return DEFAULTS["integral"]
    if x.dtype.kind == "unsigned integer" and x.dtype.bits < 32:
        return BY_NAME["uint32"]
    return x.dtype


def _compute_wide(x: Array, function: Callable[[Array], Array]) -> Array:
    """Return a function of an array, computed in 32 bits if it has fewer, which devices lack."""
    narrow = is_kind(x.dtype, "integral") and x.dtype.bits < 32
    return (
        convert_dtype(function(convert_dtype(x, DEFAULTS["integral"])), x.dtype)
        if narrow
        else function(x)
    )


def sum(
    x: Array, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False
) -> Array:
    """Return sums along dimensions, or of all elements.

    >>> from webnnm import xp
    >>> xp.sum(xp.ones((2, 3)), axis=0)
    Array([2.0, 2.0, 2.0], dtype=float32)
    """
    check("sum", x, "numeric")
    x = convert_dtype(x, _get_sum_dtype(x, dtype))
    if not x.size:
        return zeros(_without(x.shape, axis, keepdims), dtype=x.dtype, device=x.device)
    return _compute_wide(x, lambda a: _reduce(a, axis, keepdims, _reduction("reduce_sum")))


def prod(
    x: Array, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False
) -> Array:
    """Return products along dimensions, or of all elements."""
    check("prod", x, "numeric")
    x = convert_dtype(x, _get_sum_dtype(x, dtype))
    if not x.size:
        return full(_without(x.shape, axis, keepdims), 1, dtype=x.dtype, device=x.device)
    return _compute_wide(x, lambda a: _reduce(a, axis, keepdims, _reduction("reduce_product")))


def max(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """Return the largest elements along dimensions, or of all."""
    return _extremum("reduce_max", x, axis, keepdims)


def min(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """Return the smallest elements along dimensions, or of all."""
    return _extremum("reduce_min", x, axis, keepdims)


def _extremum(method: str, x: Array, axis: Axes, keepdims: bool) -> Array:
    check(method.removeprefix("reduce_"), x, "numeric")
    shape = _without(x.shape, axis, keepdims)
    if not x.size:
        if count(shape):
            raise ArrayValueError("there is no extremum of no elements")
        return empty(shape, x.dtype, x)
    return _reduce(x, axis, keepdims, _reduction(method))


def mean(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """Return means along dimensions, or of all elements; NaN if there are none."""
    check("mean", x, "real floating")
    if not x.size:
        shape = _without(x.shape, axis, keepdims)
        return full(shape, float("nan"), dtype=x.dtype, device=x.device)
    return _reduce(x, axis, keepdims, _reduction("reduce_mean"))


def var(
    x: Array, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """Return variances along dimensions; `correction=1` gives the sample variance."""
    check("var", x, "real floating")
    number = count(x.shape[at] for at in axes_of(axis, x.ndim))
    if not x.size or number <= correction:
        shape = _without(x.shape, axis, keepdims)
        return full(shape, float("nan"), dtype=x.dtype, device=x.device)
    away = x - mean(x, axis=axis, keepdims=True)
    return sum(away * away, axis=axis, keepdims=keepdims) / (number - correction)


def std(
    x: Array, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """Return standard deviations along dimensions; `correction=1` gives that of samples."""
    return var(x, axis=axis, correction=correction, keepdims=keepdims) ** 0.5


def all(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """Return whether all elements are true, along dimensions or overall."""
    return _truth("reduce_min", 1, x, axis, keepdims)


def any(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """Return whether any element is true, along dimensions or overall."""
    return _truth("reduce_max", 0, x, axis, keepdims)


def _truth(method: str, of_none: int, x: Array, axis: Axes, keepdims: bool) -> Array:
    check("a test of truth", x, "bool", "numeric")
    if not x.size:
        shape = _without(x.shape, axis, keepdims)
        return full(shape, bool(of_none), device=x.device)
    return _reduce(convert_dtype(x, bool_), axis, keepdims, _reduction(method))


def count_nonzero(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """Return the number of nonzero elements, along dimensions or overall."""
    ones = convert_dtype(convert_dtype(x, bool_), DEFAULTS["indexing"])
    return sum(ones, axis=axis, keepdims=keepdims)


def cumulative_sum(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Array:
    """Return the cumulative sums of the elements along a dimension."""
    return _accumulate("cumulative_sum", 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Array:
    """Return the cumulative products of the elements along a dimension."""
    return _accumulate("cumulative_product", 1, x, axis, dtype, include_initial)


def _accumulate(
    method: str, start: int, x: Array, axis: int | None, dtype: DType | None, initial: bool
) -> Array:
    check(method, x, "numeric")
    if axis is None:
        if x.ndim > 1:
            raise ArrayValueError(f"{method} needs an axis for an array of {x.ndim} dimensions")
        axis = 0
    x = reshape_to(x, (1,)) if not x.ndim else x
    at = axis_of(axis, x.ndim)
    x = convert_dtype(x, _get_sum_dtype(x, dtype))
    result = x
    if x.size:
        result = _compute_wide(x, lambda a: record(lambda b, o: getattr(b, method)(o, axis=at), a))
    if not initial:
        return result
    first = full((*x.shape[:at], 1, *x.shape[at + 1 :]), start, dtype=x.dtype, device=x.device)
    return concat([first, result], axis=at)


def diff(
    x: Array,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    """Return the n-th differences of neighbouring elements along a dimension."""
    check("diff", x, "numeric")
    if n < 0:
        raise ArrayValueError(f"there are no {n}-th differences", "n is an integer from 0 on")
    at = axis_of(axis, x.ndim)
    ends = [part for part in (prepend, x, append) if part is not None]
    x = concat(ends, axis=at) if len(ends) > 1 else x
    before = (slice(None),) * at
    for _ in range(n):
        if not x.shape[at]:
            break
        x = x[*before, 1:] - x[*before, :-1]
    return x
