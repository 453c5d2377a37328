"""Concrete shapes: element counts, broadcasting, axes, windows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, TypeGuard

Shape = tuple[int, ...]

MAX_DIMENSION = 2**31 - 1


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer of any kind, including NumPy's, but not a bool.

    >>> is_integer(3), is_integer(True), is_integer(3.0)
    (True, False, False)
    """
    return type(value) is int or (not isinstance(value, bool) and isinstance(value, Integral))


def as_python(value: Any) -> Any:
    """Return a number of NumPy or another library of arrays as Python's; anything else unchanged.

    >>> as_python(3), as_python("auto")
    (3, 'auto')
    """
    return value.item() if getattr(value, "shape", None) == () and hasattr(value, "item") else value


def count(shape: Iterable[int]) -> int:
    """Return the number of elements.

    >>> count([2, 3]), count([])
    (6, 1)
    """
    return math.prod(shape)


def show(shape: Iterable[int | None]) -> str:
    """Return a shape as text for a message; an unknown size is `?`.

    >>> show([None, 3])
    '[?, 3]'
    """
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"


def broadcast(*shapes: Sequence[int]) -> Shape | None:
    """Return the common shape under NumPy's trailing alignment, or None if there is none.

    >>> broadcast([2, 1, 4], [3, 1])
    (2, 3, 4)
    """
    rank = max(map(len, shapes), default=0)
    result: list[int] = []
    for sizes in zip(*((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes), strict=True):
        larger = {size for size in sizes if size != 1}
        if len(larger) > 1:
            return None
        result.append(larger.pop() if larger else 1)
    return tuple(result)


def broadcast_axes(shape: Sequence[int], target: Sequence[int]) -> tuple[int, ...]:
    """Return the axes of `target` along which `shape` was repeated to reach it.

    >>> broadcast_axes([3, 1], [2, 3, 4])
    (0, 2)
    """
    extra = len(target) - len(shape)
    larger = (
        extra + axis for axis, size in enumerate(shape) if size == 1 and target[extra + axis] != 1
    )
    return (*range(extra), *larger)


def strides_of(shape: Sequence[int]) -> Shape:
    """Return row-major strides in elements.

    >>> strides_of([2, 3, 4])
    (12, 4, 1)
    """
    result: list[int] = []
    step = 1
    for size in reversed(shape):
        result.append(step)
        step *= size
    return tuple(reversed(result))
