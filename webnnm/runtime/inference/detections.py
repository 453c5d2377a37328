"""The predicted boxes around the objects of pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

from webnnm.data.pictures.box_grid import BoxGrid
from webnnm.data.pictures.boxes import Box, Placement, name_boxes
from webnnm.data.pictures.fitting import PictureFormat
from webnnm.evaluation.detection_report import SHOWN_SCORE

if TYPE_CHECKING:
    from webnnm.core.arrays import HostArray
    from webnnm.data.binding.form import Form
    from webnnm.runtime.inference.answers import Answers

MAX_PRINTED = 10
"""Pictures of a prediction that are printed."""

Sizes = Sequence[tuple[int, int]] | None
"""Width and height of pictures in pixels; None for those that have the size of the dataset's."""


class Detections(Sequence[list[Box]]):
    """The predicted boxes of some pictures: for each a list of `Box`, the most probable first.

    >>> found = Detections([[Box(4, 2, 10, 20, "cat", 0.9), Box(0, 0, 5, 5, "dog", 0.1)]])
    >>> found
    1 box: cat 90.0% at (4, 2), 10 × 20
    >>> len(found), [box.label for box in found[0]], [len(boxes) for boxes in found.above(0.05)]
    (1, ['cat'], [2])

    Boxes are in pixels of the picture that was passed, cut at its border. Those with a score of at
    least 0.3 are listed; `above` returns others.
    """

    def __init__(self, rows: Sequence[Sequence[Box]]) -> None:
        self._rows = rows
        self._shown = self.above(SHOWN_SCORE)

    def above(self, score: float) -> list[list[Box]]:
        """Return the boxes of each picture with at least a score; all have more than 0.05."""
        return [[box for box in boxes if box.score >= score] for boxes in self._rows]

    def tolist(self) -> list[list[Box]]:
        """Return the listed boxes of each picture."""
        return [[*boxes] for boxes in self._shown]

    def __len__(self) -> int:
        return len(self._shown)

    @overload
    def __getitem__(self, index: int) -> list[Box]: ...
    @overload
    def __getitem__(self, index: slice) -> list[list[Box]]: ...
    def __getitem__(self, index: int | slice) -> list[Box] | list[list[Box]]:
        return self._shown[index]

    def __iter__(self) -> Iterator[list[Box]]:
        return iter(self._shown)

    def __eq__(self, other: object) -> bool:
        return self._shown == (other.tolist() if isinstance(other, Detections) else other)

    __hash__: None = None

    def __repr__(self) -> str:
        lines = [_describe(boxes) for boxes in self._shown[:MAX_PRINTED]]
        more = len(self) - len(lines)
        return "\n".join([*lines, *([f"… and {more} more pictures"] if more else [])])


def _describe(boxes: Sequence[Box]) -> str:
    if not boxes:
        return "no boxes"
    texts = [
        f"{box.label} {100 * box.score:.1f}% at ({box.x:.0f}, {box.y:.0f}), "
        f"{box.width:.0f} × {box.height:.0f}"
        for box in boxes
    ]
    return f"{len(boxes)} box{'es' if len(boxes) > 1 else ''}: {'; '.join(texts)}"


def find_boxes(output: HostArray, answers: Answers, form: Form | None, sizes: Sizes) -> Detections:
    """Return the boxes of an output, in pixels of pictures of these sizes.

    `form` is that of the pictures; without one, boxes are in cells.
    """
    rows, columns, _ = answers.shape
    width, height = columns, rows
    if form is not None:
        of_pictures = PictureFormat.of(form.field, form.fit)
        width, height = of_pictures.width, of_pictures.height
    grid = BoxGrid(rows, columns, answers.classes, width, height)
    predicted = name_boxes(grid.decode_rows(output), answers.names)
    placements = [Placement(1, 1, 0, 0, width, height)] * len(predicted)
    if form is not None and sizes is not None:
        placements = [
            Placement.find(*size, PictureFormat.of(form.field, form.fit)) for size in sizes
        ]
    return Detections(
        [
            [box for one in boxes if (box := placement.to_picture(one)) is not None]
            for placement, boxes in zip(placements, predicted, strict=True)
        ]
    )
