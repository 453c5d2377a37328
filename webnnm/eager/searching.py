"""Searching, sorting and sets: array API standard, sections of the same names."""

from __future__ import annotations

from typing import Any, NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.core.shapes import show
from webnnm.eager import array as arrays
from webnnm.eager.array import (
    Array,
    Scalar,
    check,
    empty,
    from_host,
    promote_operands,
    record,
    reshape_to,
)
from webnnm.eager.creation import asarray
from webnnm.eager.dtypes import DEFAULTS, bool_
from webnnm.eager.errors import ArrayValueError
from webnnm.eager.manipulation import axis_of


def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the indices of the largest elements along a dimension, or in the flattened array."""
    return _arg("arg_max", x, axis, keepdims)


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the indices of the smallest elements along a dimension, or in the flattened array."""
    return _arg("arg_min", x, axis, keepdims)


def _arg(method: str, x: Array, axis: int | None, keepdims: bool) -> Array:
    check(method, x, "numeric")
    flat = axis is None
    ndim = x.ndim
    x = reshape_to(x, (x.size,)) if flat else x
    at = 0 if axis is None else axis_of(axis, x.ndim)
    dtype = DEFAULTS["indexing"]
    if not x.size:
        if not x.shape[at]:
            raise ArrayValueError("there is no extremum of no elements")
        shape = [1 if dimension == at else size for dimension, size in enumerate(x.shape)]
        return empty([s for i, s in enumerate(shape) if keepdims or i != at], dtype, x)
    indices = record(
        lambda b, a: getattr(b, method)(
            a, axis=at, keep_dimensions=keepdims and not flat, output_data_type="int32"
        ),
        x,
        dtype=dtype,
    )
    return reshape_to(indices, (1,) * ndim) if flat and keepdims else indices


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Return the indices of the elements that are not zero, one array for each dimension.

    Their number depends on the values, so the host reads them.
    """
    check("nonzero", x, "bool", "numeric")
    return tuple(arrays.find_nonzero(x))


def searchsorted(
    x1: Array, x2: Array | Scalar, /, *, side: str = "left", sorter: Array | None = None
) -> Array:
    """Return the indices at which to insert values into a sorted array so that it stays sorted."""
    if side not in ("left", "right"):
        raise ArrayValueError(f'side is "{side}", not "left" or "right"')
    check("searchsorted", x1, "numeric")
    if x1.ndim != 1:
        raise ArrayValueError(f"numbers are searched in a vector, not in {show(x1.shape)}")
    if sorter is not None:
        x1 = x1[sorter]
    if arrays.is_out_of_range(x2, x1):  # before or after all of them
        return asarray(0 if x2 < 0 else x1.size, dtype=DEFAULTS["indexing"], device=x1.device)
    if isinstance(x2, Array) and x2.weak:
        below = arrays.compare("lesser" if side == "left" else "lesser_or_equal", x1, x2)
        return _count(below)
    a, v = promote_operands("searchsorted", x1, x2, "numeric")
    dtype = DEFAULTS["indexing"]
    if not v.size:
        return empty(v.shape, dtype, v)
    if not a.size:
        return asarray(0, dtype=dtype) + arrays.convert_dtype(v * 0, dtype)
    method = "lesser" if side == "left" else "lesser_or_equal"

    def build(b: Any, row: Any, value: Any) -> Any:
        values = b.reshape(value, new_shape=(*value.shape, 1))
        below = b.cast(getattr(b, method)(row, values), type="int32")
        return b.reduce_sum(below, axes=[len(below.shape) - 1])

    return record(build, a, v, dtype=dtype)


def _count(x: Array) -> Array:
    """Return how many booleans are true."""
    if not x.size:
        return asarray(0, dtype=DEFAULTS["indexing"], device=x.device)
    return record(lambda b, a: b.reduce_sum(b.cast(a, type="int32")), x, dtype=DEFAULTS["indexing"])


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the elements in order along a dimension, NaN last.

    >>> from webnnm import xp
    >>> xp.sort(xp.asarray([3, 1, 2]), descending=True)
    Array([3, 2, 1], dtype=int32)
    """
    check("sort", x, "numeric")
    at = axis_of(axis, x.ndim)
    if not x.size:
        return x
    return record(lambda b, a: b.sort(a, axis=at, descending=descending), x)


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the indices that sort the elements along a dimension; equal ones keep their order."""
    check("argsort", x, "numeric")
    at = axis_of(axis, x.ndim)
    if not x.size:
        return empty(x.shape, DEFAULTS["indexing"], x)
    return record(
        lambda b, a: b.argsort(a, axis=at, descending=descending), x, dtype=DEFAULTS["indexing"]
    )


class UniqueAll(NamedTuple):
    """The result of `unique_all`."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """The result of `unique_counts`."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """The result of `unique_inverse`."""

    values: Array
    inverse_indices: Array


def unique_all(x: Array, /) -> UniqueAll:
    """Return the unique elements in order, their first indices, the inverse indices and the counts.

    Their number depends on the values, so the host reads them. Each NaN is unique.
    """
    check("unique", x, "bool", "numeric")
    flat = [*arrays.values_of(x)]
    order = sorted(range(len(flat)), key=lambda at: (flat[at] != flat[at], flat[at], at))
    first: list[int] = []
    counts: list[int] = []
    inverse = [0] * len(flat)
    for at in order:
        if first and flat[first[-1]] == flat[at]:
            counts[-1] += 1
        else:
            first.append(at)
            counts.append(1)
        inverse[at] = len(first) - 1
    values = HostArray.of([flat[at] for at in first], x.dtype.tensor, (len(first),))
    return UniqueAll(
        from_host(values, x.dtype, x.device),
        _to_indices(first, x, (len(first),)),
        _to_indices(inverse, x, x.shape),
        _to_indices(counts, x, (len(counts),)),
    )


def _to_indices(values: list[int], x: Array, shape: tuple[int, ...]) -> Array:
    return from_host(HostArray.of(values, "int32", shape), DEFAULTS["indexing"], x.device)


def unique_counts(x: Array, /) -> UniqueCounts:
    """Return the unique elements in order, and how often each occurs."""
    unique = unique_all(x)
    return UniqueCounts(unique.values, unique.counts)


def unique_inverse(x: Array, /) -> UniqueInverse:
    """Return the unique elements in order, and the index of each element among them."""
    unique = unique_all(x)
    return UniqueInverse(unique.values, unique.inverse_indices)


def unique_values(x: Array, /) -> Array:
    """Return the unique elements in order."""
    return unique_all(x).values


def isin(x1: Array | Scalar, x2: Array | Scalar, /, *, invert: bool = False) -> Array:
    """Return whether each element of x1 is in x2."""
    for x, number in ((x1, x2), (x2, x1)):
        if isinstance(x, Array) and arrays.is_out_of_range(number, x):
            result = arrays.fill_like(x, int(invert), bool_)
            return result if x is x1 else asarray(invert, device=x.device)
    if isinstance(x1, Array) and isinstance(x2, Array) and x2.weak:
        return arrays.compare("not_equal" if invert else "equal", x1, x2)
    a, v = promote_operands("isin", x1, x2, "bool", "numeric")
    if not a.size:
        return empty(a.shape, bool_, a)
    if not v.size:
        return arrays.create(
            lambda b: b.expand(b.constant(int(invert), "uint8"), new_shape=a.shape), bool_, a.device
        )

    def build(b: Any, x: Any, y: Any) -> Any:
        elements = b.reshape(x, new_shape=(*x.shape, 1))
        matches = b.equal(elements, b.reshape(y, new_shape=(v.size,)))
        matches = b.reduce_max(matches, axes=[len(matches.shape) - 1])
        return b.logical_not(matches) if invert else matches

    return record(build, a, v, dtype=bool_)
