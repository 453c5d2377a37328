"""Boxes around the objects of a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from webnnm.core.errors import DataError
from webnnm.core.rectangles import Rectangle
from webnnm.data.pictures.fitting import PictureFormat, find_part

MIN_VISIBLE = 0.25
"""The share of a box that a picture must show; of others the object is not seen."""
COORDINATES = ("x", "y", "width", "height")


class Box(NamedTuple):
    """A box around an object.

    >>> Box(4, 2, 10, 20, "cat")
    Box(x=4, y=2, width=10, height=20, label='cat', score=1.0)

    Attributes: `x` and `y` of its upper left corner, `width` and `height`, in pixels; `label`, the
    name of a class, or its number if classes have no names; `score`, the probability that there is
    such an object, 1 for boxes that are no predictions.
    """

    x: float
    y: float
    width: float
    height: float
    label: Any
    score: float = 1.0

    @property
    def rectangle(self) -> Rectangle:
        """The box by its corners."""
        return Rectangle(self.x, self.y, self.x + self.width, self.y + self.height)

    def move_to(self, rectangle: Rectangle) -> Box:
        """Return the same box with other corners."""
        left, top, right, bottom = rectangle
        return self._replace(x=left, y=top, width=right - left, height=bottom - top)


def read_boxes(where: str, values: Any, width: float, height: float) -> list[Box]:
    """Return the boxes of a picture of this size: `Box` or (x, y, width, height, label).

    >>> read_boxes("picture 0", [(1, 2, 3, 4, "cat")], 10, 10)
    [Box(x=1.0, y=2.0, width=3.0, height=4.0, label='cat', score=1.0)]

    Raises `DataError` NNM706 for an invalid box, or one outside of the picture.
    """
    if not isinstance(values, (list, tuple)) or isinstance(values, Box):
        raise DataError(
            "NNM706",
            f"{where}: {str(values)[:60]} is no list of boxes",
            hint="give a list of (x, y, width, height, label) for each picture, [] without objects",
        )
    some = cast("Sequence[Any]", values)
    return [
        read_box(f"{where}, box {number}", one, width, height) for number, one in enumerate(some)
    ]


def read_box(where: str, value: Any, width: float, height: float, *, relative: bool = False) -> Box:
    """Return a box of a picture, as `read_boxes` does.

    >>> read_box("picture 0", (0.5, 0.5, 0.25, 0.5, "cat"), 8, 8, relative=True)
    Box(x=4.0, y=4.0, width=2.0, height=4.0, label='cat', score=1.0)

    If it is `relative`, its numbers are shares of the width and the height of the picture.
    """
    try:
        *numbers, label = [*value][:5]
        x, y, across, down = map(float, numbers)
    except (TypeError, ValueError) as error:
        raise DataError(
            "NNM706",
            f"{where}: {str(value)[:60]} is no box",
            hint="(x, y, width, height, label), in pixels from the upper left corner",
        ) from error
    if relative:
        x, y, across, down = x * width, y * height, across * width, down * height
    box = Box(x, y, across, down, label)
    what = f"{where} is {across:g} × {down:g} pixels at ({x:g}, {y:g})"
    if not all(map(math.isfinite, box[:4])) or across <= 0 or down <= 0:
        hint = "correct or remove it: a width and a height are above 0"
        raise DataError("NNM706", what, hint=hint)
    if not box.rectangle.intersect(Rectangle(0, 0, width, height)).area:
        hint = "correct or remove it; pixels count from the upper left corner"
        raise DataError("NNM706", f"{what}, outside of {width:g} × {height:g}", hint=hint)
    return box


def name_boxes(rows: Sequence[Sequence[Box]], names: Sequence[Any] | None) -> list[list[Box]]:
    """Return boxes with the names of their classes instead of the numbers; without names as is.

    >>> name_boxes([[Box(0, 0, 1, 1, 1)]], ["cat", "dog"])[0][0].label
    'dog'
    """
    if names is None:
        return [[*boxes] for boxes in rows]
    return [[box._replace(label=names[box.label]) for box in boxes] for boxes in rows]


class Placement(NamedTuple):
    """Where a picture lies in another one: x ↦ x·across + left, y ↦ y·down + top.

    >>> Placement.find(200, 100, PictureFormat(32, 32, 3, "pad"))
    Placement(across=0.16, down=0.16, left=0.0, top=8.0, width=200, height=100)

    `width` and `height` are those of the picture, in pixels.
    """

    across: float
    down: float
    left: float
    top: float
    width: float
    height: float

    @classmethod
    def find(cls, width: int, height: int, form: PictureFormat) -> Placement:
        """Return where a picture lies after `fit_picture` brought it to a format."""
        (left, top, right, bottom), size = find_part(width, height, form)
        across, down = size[0] / (right - left), size[1] / (bottom - top)
        x, y = (form.width - size[0]) // 2, (form.height - size[1]) // 2
        return cls(across, down, x - left * across, y - top * down, width, height)

    def to_fitted(self, box: Box) -> Box:
        """Return a box of the picture in the other one."""
        x, y = box.x * self.across + self.left, box.y * self.down + self.top
        return box._replace(x=x, y=y, width=box.width * self.across, height=box.height * self.down)

    def to_picture(self, box: Box) -> Box | None:
        """Return a box of the other one in the picture, None if it is outside."""
        left, top, right, bottom = box.rectangle
        unclipped = Rectangle(
            (left - self.left) / self.across,
            (top - self.top) / self.down,
            (right - self.left) / self.across,
            (bottom - self.top) / self.down,
        )
        visible = unclipped.intersect(Rectangle(0, 0, self.width, self.height))
        return box.move_to(visible) if visible.area else None


def clip_boxes(boxes: Sequence[Box], width: float, height: float) -> list[Box]:
    """Return the parts of boxes that a picture shows, without boxes of which it shows little.

    >>> clip_boxes([Box(-2, 0, 4, 4, "cat"), Box(9, 9, 8, 8, "dog")], 10, 10)
    [Box(x=0, y=0, width=2, height=4, label='cat', score=1.0)]
    """
    picture = Rectangle(0, 0, width, height)
    parts = [(box, box.rectangle.intersect(picture)) for box in boxes]
    return [
        box.move_to(part) for box, part in parts if part.area >= MIN_VISIBLE * box.rectangle.area
    ]
