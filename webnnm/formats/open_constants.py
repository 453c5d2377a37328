"""Constants of graphs for several sizes: the same in all of them, or derived from a size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count, show
from webnnm.formats.sizes import Dim, Dims, Size, inexpressible, size_of
from webnnm.formats.twins import merge_sizes


class Repeated(NamedTuple):
    """The same number everywhere, which may be a size."""

    value: float | Dim


class Progression(NamedTuple):
    """Numbers that increase evenly along one axis only."""

    axis: int
    start: float
    step: float


def pattern(arrays: Sequence[HostArray]) -> tuple[Dims, HostArray | Repeated | Progression]:
    """Return the shape of corresponding constants, and the pattern of their values.

    >>> pattern([HostArray.of([0.0, 2.0, 4.0][:n]) for n in (2, 3)])
    ((Size(values=(2, 3)),), Progression(axis=0, start=0.0, step=2.0))

    Raises `OperatorError` NNM902 for numbers without such a pattern.
    """
    first = arrays[0]
    if all(a.shape == first.shape and a.data == first.data for a in arrays):
        return first.shape, first
    shape: Dims = merge_sizes([array.shape for array in arrays])
    flat: list[list[Any]] = [list(array.values()) for array in arrays]
    if all(len(set(values)) == 1 for values in flat):
        return shape, Repeated(_number([values[0] for values in flat]))
    for axis in [axis for axis, size in enumerate(shape) if isinstance(size, Size)]:
        progressions = {
            _even(array, axis, values) for array, values in zip(arrays, flat, strict=True)
        }
        rule = progressions.pop()
        if not progressions and rule is not None:
            return shape, rule
    sizes = show(size if isinstance(size, int) else None for size in shape)
    raise inexpressible(f"it has a different table {first.dtype}{sizes} of numbers for each size")


def _number(values: Sequence[float]) -> float | Dim:
    """Return a number that differs between the graphs as an open size."""
    if all(value == values[0] for value in values):
        return values[0]
    if all(value == int(value) for value in values):
        return size_of(map(int, values))
    raise inexpressible(
        f"it has the number {values[0]:g} for one size and {values[1]:g} for another"
    )


def _even(array: HostArray, axis: int, values: Sequence[Any]) -> Progression | None:
    """Return the progression of numbers that increase evenly along one axis only."""
    behind, size = count(array.shape[axis + 1 :]), array.shape[axis]
    start, step = values[0], values[behind] - values[0]
    if is_float(array.dtype) and not all(map(float.is_integer, (start, step))):
        return None
    even = all(v == start + step * (k // behind % size) for k, v in enumerate(values))
    return Progression(axis, start, step) if even else None
