"""Boxes as the numbers of a grid, the targets and outputs of object detection.

Source: X. Zhou, D. Wang, P. Krähenbühl, "Objects as points", arXiv:1904.07850 (CenterNet): a heat
map of centers for each class, and at each center its offset in its cell and the size of the box.
The spread around a center is that of H. Law, J. Deng, "CornerNet: detecting objects as paired
keypoints", arXiv:1808.01244, section 3.2.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.rectangles import suppress_overlaps
from webnnm.core.shapes import count, show
from webnnm.data.pictures.boxes import Box
from webnnm.training.losses import SHAPE_VALUES

NEAR_OVERLAP = 0.7
"""A box whose corners are moved by less than the spread overlaps the true one so much."""
MIN_SCORE = 0.05
"""Centers with a lower score are no candidates."""
MAX_OVERLAP = 0.5
"""Of boxes of a class that overlap more than this, the best one is taken."""
MAX_BOXES = 100
"""The most boxes of a picture, as in the metrics of COCO."""


@dataclass(frozen=True, slots=True)
class BoxGrid:
    """A grid over a picture, with scores of classes and a box in each cell.

    >>> grid = BoxGrid(rows=4, columns=4, classes=2, width=16, height=16)
    >>> grid.decode_targets(grid.encode([Box(4, 2, 6, 8, 1)]))
    [Box(x=4.0, y=2.0, width=6.0, height=8.0, label=1, score=1.0)]

    Attributes: `rows` and `columns` of cells; `classes`, their number; `width` and `height` of the
    picture in pixels. Its numbers are `[rows, columns, classes + 4]`: for each class 1 at the
    centers of its boxes, and less around these; then, at centers, the offset (x, y) of the center
    in its cell, width and height of the box, all in cells.
    """

    rows: int
    columns: int
    classes: int
    width: float
    height: float

    @property
    def depth(self) -> int:
        """How many numbers a cell has."""
        return self.classes + SHAPE_VALUES

    def encode(self, boxes: Sequence[Box]) -> array[float]:
        """Return the numbers for boxes, whose labels are class numbers; small ones win a cell."""
        values = array("f", bytes(4 * self.rows * self.columns * self.depth))
        for box in sorted(boxes, key=lambda one: -one.width * one.height):
            x, y, column, row = self._find_center(box)
            across, down = box.width / self._cell_width, box.height / self._cell_height
            self._spread(values, row, column, find_spread(across, down), int(box.label))
            start = (row * self.columns + column) * self.depth + self.classes
            values[start : start + SHAPE_VALUES] = array("f", (x - column, y - row, across, down))
        return values

    def count_hidden(self, boxes: Sequence[Box]) -> int:
        """Return how many boxes have their center in the same cell as a smaller one."""
        return len(boxes) - len({self._find_center(box)[2:] for box in boxes})

    def decode_targets(self, values: Sequence[float]) -> list[Box]:
        """Return the boxes of which numbers are the targets."""
        boxes: list[Box] = []
        for label in range(self.classes):
            for index, score in enumerate(values[label :: self.depth]):
                if score == 1:
                    boxes.append(self._read_box(values, index, label, 1.0))
        return boxes

    def decode_outputs(self, values: Sequence[float]) -> list[Box]:
        """Return the boxes that outputs predict, the most probable first.

        The scores of classes are logits. Local maxima of a class with a score of at least 0.05 are
        centers; of boxes of a class with an intersection over union
        above 0.5 the best is taken, and 100 of a picture.
        """
        boxes: list[Box] = []
        for label in range(self.classes):
            scores = values[label :: self.depth]
            candidates = [
                self._read_box(values, index, label, 1 / (1 + math.exp(-score)))
                for index, score in enumerate(scores)
                if score >= MIN_LOGIT and self._is_peak(scores, index)
            ]
            candidates = [box for box in candidates if box.width > 0 and box.height > 0]
            candidates.sort(key=_get_score, reverse=True)
            kept = suppress_overlaps([box.rectangle for box in candidates], MAX_OVERLAP, MAX_BOXES)
            boxes += [candidates[index] for index in kept]
        return sorted(boxes, key=_get_score, reverse=True)[:MAX_BOXES]

    def decode_rows(self, outputs: HostArray, *, targets: bool = False) -> list[list[Box]]:
        """Return the boxes of outputs `[rows, …]`, or of targets.

        Raises `DataError` NNM702 for another shape.
        """
        shape = (self.rows, self.columns, self.depth)
        if outputs.shape[1:] != shape:
            hint = f"for each picture {show(shape)}"
            raise DataError("NNM702", f"{show(outputs.shape)} is no grid of boxes", hint=hint)
        values, size = outputs.values(), count(shape)
        decode = self.decode_targets if targets else self.decode_outputs
        return [decode(values[start : start + size]) for start in range(0, len(values), size)]

    @property
    def _cell_width(self) -> float:
        return self.width / self.columns

    @property
    def _cell_height(self) -> float:
        return self.height / self.rows

    def _find_center(self, box: Box) -> tuple[float, float, int, int]:
        """Return x and y of the center in cells, and the column and the row of its cell."""
        x = (box.x + box.width / 2) / self._cell_width
        y = (box.y + box.height / 2) / self._cell_height
        return x, y, min(int(x), self.columns - 1), min(int(y), self.rows - 1)

    def _spread(
        self, values: array[float], row: int, column: int, radius: float, label: int
    ) -> None:
        """Raise the scores of a class around a center, to 1 at the center."""
        reach = int(radius)
        deviation = (2 * reach + 1) / 6
        for line in range(max(0, row - reach), min(self.rows, row + reach + 1)):
            for cell in range(max(0, column - reach), min(self.columns, column + reach + 1)):
                square = (line - row) ** 2 + (cell - column) ** 2
                index = (line * self.columns + cell) * self.depth + label
                values[index] = max(values[index], math.exp(-square / (2 * deviation**2)))

    def _is_peak(self, scores: Sequence[float], index: int) -> bool:
        row, column = divmod(index, self.columns)
        first, last = max(0, column - 1), min(self.columns, column + 2)
        return all(
            scores[line * self.columns + cell] <= scores[index]
            for line in range(max(0, row - 1), min(self.rows, row + 2))
            for cell in range(first, last)
        )

    def _read_box(self, values: Sequence[float], index: int, label: int, score: float) -> Box:
        row, column = divmod(index, self.columns)
        start = index * self.depth + self.classes
        x, y, across, down = values[start : start + SHAPE_VALUES]
        width, height = across * self._cell_width, down * self._cell_height
        left = (column + x) * self._cell_width - width / 2
        return Box(left, (row + y) * self._cell_height - height / 2, width, height, label, score)


MIN_LOGIT = math.log(MIN_SCORE / (1 - MIN_SCORE))


def find_spread(width: float, height: float) -> float:
    """Return by how much corners may move until a box overlaps the true one by 0.7 only.

    >>> round(find_spread(10, 10), 3)
    0.817

    The least of three cases: both corners move alike, inwards, or outwards (CornerNet, 3.2).
    """
    overlap, area, sum_of_sides = NEAR_OVERLAP, width * height, width + height

    def solve(square: float, linear: float, constant: float) -> float:
        return (-linear + math.sqrt(linear * linear - 4 * square * constant)) / (2 * square)

    # The first two equations hold for −radius: both roots are negative.
    alike = -solve(1, sum_of_sides, area * (1 - overlap) / (1 + overlap))
    inside = -solve(4, 2 * sum_of_sides, area * (1 - overlap))
    outside = solve(4 * overlap, 2 * overlap * sum_of_sides, area * (overlap - 1))
    return min(alike, inside, outside)


def _get_score(box: Box) -> float:
    return box.score
