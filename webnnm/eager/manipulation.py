"""Shape and order of elements: array API standard, "Manipulation Functions"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.core.shapes import Shape, broadcast, count, show
from webnnm.eager import array as arrays
from webnnm.eager.array import (
    Array,
    check,
    common_shape,
    convert_dtype,
    copy_array,
    empty,
    record,
    reshape_to,
)
from webnnm.eager.creation import expand_to
from webnnm.eager.dtypes import promote
from webnnm.eager.errors import ArrayAxisError, ArrayIndexError, ArrayTypeError, ArrayValueError
from webnnm.eager.indexing import IndexArray, index_from_start

Axes = int | Sequence[int] | None


def axis_of(axis: int, ndim: int) -> int:
    """Return a dimension counted from the front. Raises `ArrayAxisError` if there is none."""
    if not hasattr(axis, "__index__"):
        raise ArrayTypeError(f"an axis is an integer, not {axis!r}")
    index = axis.__index__()
    if not -ndim <= index < ndim:
        raise ArrayAxisError(f"axis {index} of an array with {ndim} dimensions")
    return index % ndim


def axes_of(axis: Axes, ndim: int) -> tuple[int, ...]:
    """Return dimensions counted from the front, or all of them for None."""
    if axis is None:
        return tuple(range(ndim))
    axes = [axis_of(item, ndim) for item in (axis if isinstance(axis, Sequence) else (axis,))]
    if len({*axes}) < len(axes):
        raise ArrayValueError(f"a dimension occurs twice in {axis}")
    return tuple(axes)


def reshape(x: Array, /, shape: Sequence[int], *, copy: bool | None = None) -> Array:
    """Return the elements in another shape; one size may be −1, to be inferred from the others.

    >>> from webnnm import xp
    >>> xp.reshape(xp.arange(4), (2, -1))
    Array([[0, 1], [2, 3]], dtype=int32)
    """
    sizes = [*shape]
    if sizes.count(-1) > 1 or min(sizes, default=0) < -1:
        raise ArrayValueError(f"{show(sizes)} is not a shape")
    if -1 in sizes:
        rest = count(size for size in sizes if size != -1)
        if not rest:
            raise ArrayValueError(f"{show(shape)} has no elements, whatever the size for -1 is")
        sizes[sizes.index(-1)] = x.size // rest
    if count(sizes) != x.size:
        raise ArrayValueError(f"{x.size} elements {show(x.shape)} do not fill {show(shape)}")
    result = reshape_to(x, sizes)
    return copy_array(x) if result is x and copy else result


def permute_dims(x: Array, /, axes: Sequence[int]) -> Array:
    """Return an array with its dimensions in another order."""
    order = axes_of(tuple(axes), x.ndim)
    if len(order) != x.ndim:
        raise ArrayValueError(f"{len(order)} axes for an array with {x.ndim} dimensions")
    shape = tuple(x.shape[axis] for axis in order)
    if order == tuple(range(x.ndim)):
        return x
    if not x.size:
        return empty(shape, x.dtype, x)
    return record(lambda b, a: b.transpose(a, permutation=order), x)


def moveaxis(x: Array, source: Axes, destination: Axes, /) -> Array:
    """Return an array with some dimensions moved to other positions."""
    come, go = axes_of(source or 0, x.ndim), axes_of(destination or 0, x.ndim)
    if len(come) != len(go):
        raise ArrayValueError(f"{len(come)} dimensions cannot move to {len(go)} positions")
    rest = iter(axis for axis in range(x.ndim) if axis not in come)
    moved = dict(zip(go, come, strict=True))
    return permute_dims(x, [moved[at] if at in moved else next(rest) for at in range(x.ndim)])


def broadcast_to(x: Array, /, shape: Sequence[int]) -> Array:
    """Return an array broadcast to a shape."""
    return expand_to(x, tuple(shape))


def broadcast_arrays(*several: Array) -> list[Array]:
    """Return arrays broadcast to their common shape."""
    shape = common_shape(*(array.shape for array in several))
    return [expand_to(array, shape) for array in several]


def expand_dims(x: Array, /, axis: int | Sequence[int] = 0) -> Array:
    """Return an array with dimensions of size 1 at these positions of the result."""
    number = len(axis) if isinstance(axis, Sequence) else 1
    places = axes_of(axis, x.ndim + number)
    sizes = iter(x.shape)
    shape = [1 if at in places else next(sizes) for at in range(x.ndim + number)]
    return reshape_to(x, shape)


def squeeze(x: Array, /, axis: int | Sequence[int]) -> Array:
    """Return an array without some dimensions, which must have size 1."""
    places = axes_of(axis, x.ndim)
    if any(x.shape[at] != 1 for at in places):
        raise ArrayValueError(f"not all of the dimensions {axis} of {show(x.shape)} have size 1")
    return reshape_to(x, [size for at, size in enumerate(x.shape) if at not in places])


def flip(x: Array, /, *, axis: Axes = None) -> Array:
    """Return an array with its elements in reverse order along some or all dimensions."""
    places = axes_of(axis, x.ndim)
    if not x.size or not places:
        return x
    return record(lambda b, a: b.reverse(a, axes=places), x)


def roll(x: Array, /, shift: int | Sequence[int], *, axis: Axes = None) -> Array:
    """Return an array with its elements shifted along dimensions, the last ones to the front."""
    if axis is None:
        if not isinstance(shift, int):
            raise ArrayValueError("a shift of the flattened array is one integer")
        return reshape_to(roll(reshape_to(x, (x.size,)), shift, axis=0), x.shape)
    along = axis if isinstance(axis, Sequence) else (axis,)
    shifts = shift if isinstance(shift, Sequence) else (shift,) * len(along)
    for dimension, by in zip(along, shifts, strict=True):
        x = _roll(x, by, axis_of(dimension, x.ndim))
    return x


def _roll(x: Array, by: int, axis: int) -> Array:
    size = x.shape[axis]
    if not x.size or not by % size:
        return x
    cut = size - by % size
    before = (slice(None),) * axis
    return concat([x[*before, cut:], x[*before, :cut]], axis=axis)


def concat(several: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    """Return arrays joined along a dimension; `axis=None` flattens them first."""
    parts = [*several]
    if not parts:
        raise ArrayValueError("there is nothing to concatenate")
    if axis is None:
        parts, axis = [reshape_to(array, (array.size,)) for array in parts], 0
    ndim = parts[0].ndim
    at = axis_of(axis, ndim)
    dtype = promote([array.dtype for array in parts])
    rest = {(*array.shape[:at], *array.shape[at + 1 :]) for array in parts}
    if len(rest) > 1 or any(array.ndim != ndim for array in parts):
        shapes = " and ".join(show(array.shape) for array in parts)
        raise ArrayValueError(f"arrays {shapes} cannot be concatenated along axis {axis}")
    full = [convert_dtype(array, dtype) for array in parts if array.size]
    if not full:
        total = sum(array.shape[at] for array in parts)
        shape = (*parts[0].shape[:at], total, *parts[0].shape[at + 1 :])
        return empty(shape, dtype, parts[0])
    if len(full) == 1:
        return copy_array(full[0])

    def build(b: Any, *operands: Any) -> Any:
        return b.concat([*operands], at)

    return record(build, *full)


def stack(several: Sequence[Array], /, *, axis: int = 0) -> Array:
    """Return arrays of the same shape joined along a new dimension."""
    parts = [*several]
    if len({array.shape for array in parts}) != 1:
        raise ArrayValueError("stacked arrays must have the same shape")
    at = axis_of(axis, parts[0].ndim + 1)
    return concat([expand_dims(array, at) for array in parts], axis=at)


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return the slices of an array along a dimension."""
    at = axis_of(axis, x.ndim)
    before = (slice(None),) * at
    return tuple(x[*before, index] for index in range(x.shape[at]))


def tile(x: Array, repetitions: Sequence[int], /) -> Array:
    """Return copies of an array side by side along its dimensions."""
    times = [*repetitions]
    _check_repeats(times)
    times = [1] * (x.ndim - len(times)) + times
    sizes = [1] * (len(times) - x.ndim) + [*x.shape]
    shape = tuple(size * number for size, number in zip(sizes, times, strict=True))
    if not count(shape):
        return empty(shape, x.dtype, x)
    x = reshape_to(x, sizes)
    return record(lambda b, a: b.tile(a, repetitions=times), x)


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Return an array with each element repeated, by one number or one for each element.

    The numbers determine the shape of the result: if they are an array, the host reads it.
    """
    if axis is None:
        x, axis = reshape_to(x, (x.size,)), 0
    at = axis_of(axis, x.ndim)
    size = x.shape[at]
    if isinstance(repeats, Array):
        check("repeats", repeats, "integral")
        if repeats.ndim > 1:
            raise ArrayValueError(f"repeats are a vector, not {show(repeats.shape)}")
        counts = repeats.tolist()
        numbers: list[int] = counts if repeats.ndim else [counts] * size
        numbers = numbers * size if len(numbers) == 1 else numbers
    else:
        numbers = [repeats] * size
    _check_repeats(numbers)
    if len(numbers) != size:
        raise ArrayValueError(f"{len(numbers)} repeats for {size} elements")
    indices = [index for index, number in enumerate(numbers) for _ in range(number)]
    if not indices or not x.size:
        return empty((*x.shape[:at], len(indices), *x.shape[at + 1 :]), x.dtype, x)
    if not isinstance(repeats, Array):
        shape: Shape = (*x.shape[: at + 1], repeats, *x.shape[at + 1 :])
        return reshape_to(
            expand_to(expand_dims(x, at + 1), shape),
            (*x.shape[:at], size * repeats, *x.shape[at + 1 :]),
        )
    return gather(x, indices, at)


def _check_repeats(numbers: Sequence[int]) -> None:
    least = min(numbers, default=0)
    if least < 0:
        raise ArrayValueError(f"elements cannot be repeated {least} times")


def gather(x: Array, indices: Sequence[int], axis: int) -> Array:
    """Return the elements at constant indices along a dimension."""
    return record(lambda b, a: b.gather(a, b.constant([*indices], "int32"), axis=axis), x)


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """Return the elements at the given indices along a dimension."""
    if axis is None:
        if x.ndim != 1:
            raise ArrayValueError("`take` needs an axis for arrays of several dimensions")
        axis = 0
    at = axis_of(axis, x.ndim)
    check("the indices of take", indices, "integral")
    return x[*(slice(None),) * at, indices]


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Return elements along a dimension, at indices that an array gives for each row."""
    at = axis_of(axis, x.ndim)
    check("the indices of take_along_axis", indices, "integral")
    if indices.ndim != x.ndim:
        raise ArrayValueError(
            f"indices {show(indices.shape)} for an array {show(x.shape)}",
            "both have the same number of dimensions",
        )
    shapes = [(*array.shape[:at], 1, *array.shape[at + 1 :]) for array in (x, indices)]
    stack_shape = broadcast(*shapes)
    if stack_shape is None:
        raise ArrayIndexError(f"indices {show(indices.shape)} for an array {show(x.shape)}")
    bounds, size = arrays.bounds(indices), x.shape[at]
    IndexArray(indices.shape, bounds).check(size, at)
    x = expand_to(x, (*stack_shape[:at], size, *stack_shape[at + 1 :]))
    indices = expand_to(indices, (*stack_shape[:at], indices.shape[at], *stack_shape[at + 1 :]))
    if not indices.size:
        return empty(indices.shape, x.dtype, x)

    def build(b: Any, a: Any, i: Any) -> Any:
        return b.gather_elements(a, index_from_start(b, i, size, bounds), axis=at)

    return record(build, x, indices)
