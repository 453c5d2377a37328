"""Arrays as rows of a shape, whichever of their dimensions were given."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import Shape, count, show


def as_rows(
    where: str, values: HostArray, shape: Shape, names: Sequence[str | None] = ()
) -> HostArray:
    """Return an array as rows of a shape; a single row becomes the only one.

    >>> as_rows("x", HostArray.of([1, 2]), (2,)).shape, as_rows("x", HostArray.of([1, 2]), ()).shape
    ((1, 2), (2,))

    Dimensions of size 1 may be left out or added, and rows may be flat. Raises `DataError` NNM702
    for any other shape, even with as many elements: their order would differ.
    """
    actual, width = values.shape, count(shape)
    if actual[1:] == shape and actual:
        return values
    squeezed = drop_ones(shape)
    if actual == shape or (actual and actual == (width,) and len(shape) > 1):
        rows = 1
    elif actual and (drop_ones(actual[1:]) == squeezed or actual[1:] == (width,)):
        rows = actual[0]
    elif drop_ones(actual) == squeezed:
        rows = 1
    else:
        layout = " × ".join(name for name in names if name)
        what = f"{show(shape)}{f' ({layout})' if layout else ''}"
        one = actual[1:] if len(actual) > len(shape) else actual
        note = ""
        if count(one) == width:
            note = ", which has as many elements in another order"
        raise DataError(
            "NNM702",
            f"{where} takes rows of {what}, a row is {show(one)} here{note}",
            hint=f"give {show(shape).replace('[', '[rows, ', 1)}, or one row {show(shape)}",
        )
    return HostArray(values.dtype, (rows, *shape), values.data)


def drop_ones(shape: Sequence[int]) -> tuple[int, ...]:
    """Return a shape without its dimensions of size 1."""
    return tuple(size for size in shape if size != 1)
