"""Random changes to pictures whose boxes move with them."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from webnnm.core.arrays import HostArray
from webnnm.core.random import Stream
from webnnm.data.pictures.augmentations import Arrays, MovesBoxes
from webnnm.data.pictures.box_grid import BoxGrid
from webnnm.data.pictures.boxes import clip_boxes


@dataclass(frozen=True)
class BoxedChange:
    """A random change to pictures whose targets are the numbers of a grid of boxes.

    >>> from webnnm import Flip
    >>> from webnnm.data.pictures.boxes import Box
    >>> grid = BoxGrid(rows=2, columns=2, classes=1, width=4, height=4)
    >>> target = HostArray("float32", (1, 2, 2, 5), grid.encode([Box(0, 0, 1, 1, 0)]))
    >>> change, picture = BoxedChange(Flip(), grid), HostArray("float32", (1, 4, 4), bytes(64))
    >>> moved = change({"m": picture}, {"m": target}, Stream(1, 2), 0)[1]["m"]
    >>> grid.decode_rows(moved, targets=True)
    [[Box(x=3.0, y=0.0, width=1.0, height=1.0, label=0, score=1.0)]]
    """

    change: MovesBoxes
    grid: BoxGrid

    def __call__(
        self, inputs: Arrays, outputs: Arrays, stream: Stream, epoch: int
    ) -> tuple[Arrays, Arrays]:
        """Return a batch with changed pictures and boxes, see `Dataset.augment`."""
        grid = self.grid
        draws = self.change.draw(len(next(iter(inputs.values()))), stream)
        moved: dict[str, HostArray] = {}
        for block, targets in outputs.items():
            rows = array("f")
            for boxes, numbers in zip(grid.decode_rows(targets, targets=True), draws, strict=True):
                moved_boxes = [
                    self.change.move_box(box, numbers, grid.width, grid.height) for box in boxes
                ]
                rows += grid.encode(clip_boxes(moved_boxes, grid.width, grid.height))
            moved[block] = HostArray("float32", targets.shape, rows)
        return self.change.change_all(inputs, draws), moved
