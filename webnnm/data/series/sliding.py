"""Windows that slide over the steps of series: rows share memory until they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from webnnm.core.arrays import HostArray


class SlidingWindows(HostArray):
    """An array `[rows, window, channels]` whose rows overlap in memory.

    >>> steps = HostArray.of([[1.0], [2.0], [3.0]])
    >>> SlidingWindows(steps, [0, 1], 2).tolist()
    [[[1.0], [2.0]], [[2.0], [3.0]]]

    Only the rows that are asked for are copied: `rows` and `part` are what to use, while `data` and
    `values()` copy all of them at each call.

    Attributes: `dtype` and `shape` as of `HostArray`; `steps`, `[steps, channels]`; `starts`, the
    first step of each row.
    """

    __slots__ = ("starts", "steps")

    def __init__(self, steps: HostArray, starts: Sequence[int], window: int) -> None:
        self.dtype = steps.dtype
        self.shape = (len(starts), window, *steps.shape[1:])
        self.steps = steps
        self.starts = starts

    @property
    def data(self) -> memoryview[int]:  # pyrefly: ignore[bad-override]
        """A copy of all rows."""
        return self.rows(range(len(self))).data

    def rows(self, indices: Iterable[int]) -> HostArray:
        """Return the rows at these indices, in this order, in memory of their own."""
        indices = list(indices)
        width = len(self.steps.data) // max(1, len(self.steps))
        size, data = self.shape[1] * width, self.steps.data
        first = [self.starts[index] * width for index in indices]
        shape = (len(indices), *self.shape[1:])
        return HostArray(self.dtype, shape, b"".join([data[at : at + size] for at in first]))

    def part(self, start: int, stop: int) -> HostArray:
        """Return the rows from `start` up to, but excluding, `stop`."""
        return self.rows(range(start, stop))

    def list_steps(self, indices: Iterable[int]) -> list[int]:
        """Return the steps that these rows contain, each once.

        >>> SlidingWindows(HostArray.of([[1.0], [2.0], [3.0]]), [0, 1], 2).list_steps([0, 1])
        [0, 1, 2]
        """
        window = self.shape[1]
        first = [self.starts[index] for index in indices]
        return sorted({step for start in first for step in range(start, start + window)})

    def map_steps(self, function: Callable[[HostArray], HostArray]) -> SlidingWindows:
        """Return the same windows over steps that a function returns for these."""
        return SlidingWindows(function(self.steps), self.starts, self.shape[1])
