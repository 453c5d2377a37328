"""Windows that slide along an axis: how many there are, and which cells each one sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from webnnm.ops.declare.checks import check_amount


def reach(length: int, dilation: int) -> int:
    """Return how many cells a window of `length` cells spans with a dilation.

    >>> reach(3, 1), reach(3, 2)
    (3, 5)
    """
    return (length - 1) * dilation + 1


def same_padding(size: int, span: int, stride: int) -> tuple[int, int]:
    """Return the padding that gives ⌈size / stride⌉ windows; the odd cell is at the end.

    >>> same_padding(5, 3, 1), same_padding(5, 2, 2), same_padding(4, 1, 2)
    ((1, 1), (0, 1), (0, 0))
    """
    return halves(max((-(-size // stride) - 1) * stride + span - size, 0))


def halves(total: int) -> tuple[int, int]:
    """Split a padding in two; the odd cell is at the end."""
    return total // 2, total - total // 2


@dataclass(frozen=True)
class Windows:
    """`count` windows of `length` cells along an axis of `size` cells and its padding.

    Cell k of window i is cell i·stride + k·dilation − before of the axis.

    >>> Windows(size=4, length=3, count=2, stride=2, before=1).cells
    ((-1, 0, 1), (1, 2, 3))
    """

    size: int
    length: int
    count: int
    stride: int = 1
    dilation: int = 1
    before: int = 0

    @property
    def span(self) -> int:
        """The number of cells from the first of a window to its last."""
        return reach(self.length, self.dilation)

    @property
    def after(self) -> int:
        """The cells that the last window needs beyond the axis; negative: cells left over."""
        return (self.count - 1) * self.stride + self.span - self.before - self.size

    @cached_property
    def cells(self) -> tuple[tuple[int, ...], ...]:
        """The cells of every window, including those in the padding. Raises NNM409 for too many."""
        check_amount(self.count * self.length, f"{self.count} windows of {self.length} cells")
        return tuple(
            tuple(i * self.stride + k * self.dilation - self.before for k in range(self.length))
            for i in range(self.count)
        )

    @cached_property
    def real(self) -> tuple[tuple[bool, ...], ...]:
        """Whether a cell belongs to the axis, not to the padding."""
        return tuple(tuple(0 <= cell < self.size for cell in row) for row in self.cells)

    @cached_property
    def nearest(self) -> tuple[tuple[int, ...], ...]:
        """The cells of every window; those in the padding are replaced by its nearest real cell."""
        return tuple(_clamp_cells(row, self.size) for row in self.cells)

    @cached_property
    def real_counts(self) -> tuple[int, ...]:
        """The number of real cells in every window."""
        return tuple(map(sum, self.real))

    @property
    def padded(self) -> bool:
        """Whether any window sees padding."""
        return self.before > 0 or self.after > 0


def _clamp_cells(row: Sequence[int], size: int) -> tuple[int, ...]:
    inside = [cell for cell in row if 0 <= cell < size]
    if not inside:  # only padding: any cell, for kernels that mask it
        return (0,) * len(row)
    return tuple(min(max(cell, inside[0]), inside[-1]) for cell in row)


def unfold_array(
    np: Any, image: Any, rows: Windows, columns: Windows, padding: float | None = 0
) -> Any:
    """Return the windows of an image `[n, c, h, w]` as `[n, c, rows, kh, columns, kw]`.

    `padding` fills cells of the padding; None repeats the nearest real cell of the window.
    """
    for axis, windows in ((2, rows), (4, columns)):
        cells = _cells(np, windows)
        real: Any = (cells >= 0) & (cells < windows.size)
        image = np.take(image, _nearest(np, windows, cells, real), axis=axis)
        if padding is not None and windows.padded:
            shape = (windows.count, windows.length) + (1,) * (image.ndim - axis - 2)
            fill = np.asarray(padding, dtype=image.dtype)
            image = np.where(np.reshape(real, shape), image, fill)
    return image


def _cells(np: Any, windows: Windows) -> Any:
    """Return `windows.cells` as an array: long signals have millions of them."""
    first = np.arange(windows.count)[:, None] * windows.stride - windows.before
    return first + np.arange(windows.length) * windows.dilation


def _nearest(np: Any, windows: Windows, cells: Any, real: Any) -> Any:
    """Return `windows.nearest` as an array."""
    if not windows.padded:
        return cells
    inside = np.where(real, cells, windows.size)
    lowest = np.min(inside, axis=1)[:, None]
    highest = np.max(np.where(real, cells, -1), axis=1)[:, None]
    cells_inside = np.minimum(np.maximum(cells, lowest), highest)
    return np.where(highest < 0, np.zeros_like(cells_inside), cells_inside)
