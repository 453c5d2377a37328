"""Layers for attention in windows of a grid `[height, width, features]`, shifted or not.

Source: Z. Liu et al., "Swin transformer: hierarchical vision transformer using shifted windows",
arXiv:2103.14030 (2021), section 3.2.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

from webnnm.core.arrays import HostArray

HIDDEN = -100.0
"""What is added to the score of two cells that a shift has put beside each other."""


class Windows(NamedTuple):
    """A grid that is divided into windows, padded at its ends, after a shift up and to the left."""

    height: int
    width: int
    side: int
    shift: int
    features: int
    heads: int

    @property
    def full_size(self) -> tuple[int, int]:
        """Height and width with padding."""
        return self.height + -self.height % self.side, self.width + -self.width % self.side

    @property
    def number(self) -> int:
        """The number of windows."""
        height, width = self.full_size
        return height * width // self.side**2

    def divide(self) -> tuple[str, ...]:
        """Return the layers from a grid to `[windows, cells, features]`."""
        side, (height, width) = self.side, self.full_size
        below, beside = height - self.height, width - self.width
        cut = f"[{height // side}, {side}, {width // side}, {side}, {self.features}]"
        return (
            f"pad([0, 0, 0], [{below}, {beside}, 0])" if below or beside else "",
            *self._roll(self.shift),
            f"reshape({cut})",
            "transpose([0, 2, 1, 3, 4])",
            f"reshape([{self.number}, {side**2}, {self.features}])",
        )

    def join(self) -> tuple[str, ...]:
        """Return the layers from windows back to the grid."""
        side, (height, width) = self.side, self.full_size
        cut = f"[{height // side}, {width // side}, {side}, {side}, {self.features}]"
        padded_sizes = f"[{height}, {width}, {self.features}]"
        sizes = f"[{self.height}, {self.width}, {self.features}]"
        return (
            f"reshape({cut})",
            "transpose([0, 2, 1, 3, 4])",
            f"reshape({padded_sizes})",
            *self._roll(-self.shift),
            f"slice([0, 0, 0], {sizes})" if padded_sizes != sizes else "",
        )

    def _roll(self, shift: int) -> tuple[str, ...]:
        """Return the layers that move all cells up and to the left, and around the edges."""
        if not shift:
            return ()
        up, left = shift % self.full_size[0], shift % self.full_size[1]
        sizes = (
            f"up={up}, down={self.full_size[0] - up}, left={left}, right={self.full_size[1] - left}"
        )
        return (f"roll({sizes})",)

    def measure_hiding(self) -> HostArray:
        """Return what is added to scores, `[windows, 1, cells, cells]`: less than 0 for cells of
        a window that were not neighbours before the shift."""
        regions = [
            [(n >= size - self.side) + (n >= size - self.shift) for n in range(size)]
            for size in self.full_size
        ]
        height, width = self.full_size
        side, plain = self.side, bytes(4 * self.side**4)
        windows: dict[tuple[bool, bool], bytes] = {(False, False): plain}
        values = bytearray()
        for top in range(0, height, side):
            for left in range(0, width, side):
                # Only windows at the ends have cells of several regions, and these are alike.
                last = top + side == height, left + side == width
                if last not in windows:
                    cells = [
                        (regions[0][top + y], regions[1][left + x])
                        for y in range(side)
                        for x in range(side)
                    ]
                    scores = (0.0 if one == other else HIDDEN for one in cells for other in cells)
                    windows[last] = array("f", scores).tobytes()
                values += windows[last]
        return HostArray("float32", (self.number, 1, side**2, side**2), bytes(values))


ROLL = (
    "roll:layers\n"
    "  split([up, down], axis=0, name=rows),\n"
    "  concat([rows.1, rows.0], axis=0),\n"
    "  split([left, right], axis=1, name=columns),\n"
    "  concat([columns.1, columns.0], axis=1)"
)
"""The block that moves all cells of a grid up and to the left, and around its edges."""
