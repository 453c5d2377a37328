"""Arrays as rows of a shape, whichever of their dimensions were given."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import Shape, count, show


def rows_of(
    where: str, found: HostArray, shape: Shape, names: Sequence[str | None] = ()
) -> HostArray:
    """Return an array as rows of a shape; a single row becomes the only one.

    >>> rows_of("x", HostArray.of([1, 2]), (2,)).shape, rows_of("x", HostArray.of([1, 2]), ()).shape
    ((1, 2), (2,))

    Dimensions of size 1 may be left out or added, and rows may be flat. Raises `DataError` NNM702
    for any other shape, even with as many elements: their order would differ.
    """
    given, width = found.shape, count(shape)
    if given[1:] == shape and given:
        return found
    bare = _bare(shape)
    if given == shape or (given and given == (width,) and len(shape) > 1):
        rows = 1
    elif given and (_bare(given[1:]) == bare or given[1:] == (width,)):
        rows = given[0]
    elif _bare(given) == bare:
        rows = 1
    else:
        layout = " × ".join(name for name in names if name)
        what = f"{show(shape)}{f' ({layout})' if layout else ''}"
        one = given[1:] if len(given) > len(shape) else given
        also = ""
        if count(one) == width:
            also = ", which has as many elements in another order"
        raise DataError(
            "NNM702",
            f"{where} takes rows of {what}, a row is {show(one)} here{also}",
            hint=f"give {show(shape).replace('[', '[rows, ', 1)}, or one row {show(shape)}",
        )
    return HostArray(found.dtype, (rows, *shape), found.data)


def _bare(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)
