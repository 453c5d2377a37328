"""Random changes to pictures, as records that datasets take by `augment`.

Sources: T. DeVries, G. Taylor, "Improved regularization of convolutional neural networks with
cutout", arXiv:1708.04552, for `Erase`; A. Krizhevsky, I. Sutskever, G. Hinton, "ImageNet
classification with deep convolutional neural networks" (2012), section 4.1, for the others.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import FORMATS, is_float
from webnnm.core.errors import DataError
from webnnm.core.random import Stream
from webnnm.core.shapes import count

if TYPE_CHECKING:
    from webnnm.data.pictures.boxes import Box

Arrays = Mapping[str, HostArray]

ANGLES = 32
"""Angles on either side: each has a table of where pixels come from."""


class Plane(NamedTuple):
    """The numbers of a picture in `[height, width, depth]`, and the one for what is not seen."""

    values: array[float]
    height: int
    width: int
    depth: int
    empty: float


class PictureChange:
    """A random change to each picture of a batch; masks of the same size change with it.

    Pictures are `[height, width]`, `[height, width, channels]` or `[channels, height, width]`, with
    at most 4 channels. What is not seen becomes 0, in masks of classes -1: no label.
    """

    draws: ClassVar[int]
    moves: ClassVar[bool]

    @abstractmethod
    def apply(self, plane: Plane, draws: Sequence[float]) -> array[float]:
        """Return the numbers of a picture, changed as numbers from 0 to 1 say that were drawn."""

    def __call__(
        self, inputs: Arrays, outputs: Arrays, stream: Stream, epoch: int
    ) -> tuple[Arrays, Arrays]:
        """Return a batch with changed pictures, see `Dataset.augment`."""
        pictures = {block: values for block, values in inputs.items() if len(values.shape) > 2}
        if not pictures:
            shapes = ", ".join(str([*values.shape]) for values in inputs.values())
            raise DataError("NNM702", f"{type(self).__name__}: no input is pictures, but {shapes}")
        draws = self.draw(len(next(iter(pictures.values()))), stream)
        size = _find_planes(next(iter(pictures.values())).shape[1:])[1:3]
        masks = {
            block: values
            for block, values in outputs.items()
            if self.moves and len(values.shape) > 2 and _find_planes(values.shape[1:])[1:3] == size
        }
        return self.change_all(pictures, draws), self.change_all(masks, draws)

    def draw(self, rows: int, stream: Stream) -> list[Sequence[float]]:
        """Return the random numbers of each row, from 0 to 1."""
        uniform = stream.uniform(self.draws * rows)
        return [uniform[row * self.draws : (row + 1) * self.draws] for row in range(rows)]

    def change_all(self, arrays: Arrays, draws: Sequence[Sequence[float]]) -> dict[str, HostArray]:
        """Return arrays of pictures, each changed as the numbers of its row say."""
        result: dict[str, HostArray] = {}
        for block, values in arrays.items():
            planes, height, width, depth = _find_planes(values.shape[1:])
            code = FORMATS[values.dtype]
            numbers: Any = array(code, bytes(values.data))
            size, empty = height * width * depth, 0.0 if is_float(values.dtype) else -1
            changed = array(code)
            for start in range(0, len(numbers), size):
                plane = Plane(numbers[start : start + size], height, width, depth, empty)
                changed += self.apply(plane, draws[start // (size * planes)])
            result[block] = HostArray(values.dtype, values.shape, changed)
        return result


class MovesBoxes(PictureChange):
    """A change that boxes can follow, because their sides stay along those of the picture."""

    @abstractmethod
    def move_box(self, box: Box, draws: Sequence[float], width: float, height: float) -> Box:
        """Return where a box of a picture of this size is after `apply`."""


@dataclass(frozen=True)
class Flip(MovesBoxes):
    """Mirror half of the pictures: left and right, with `vertical` also up and down.

    >>> from webnnm import ImageDataset
    >>> data = ImageDataset(bytes(range(64)), ["a", "b"], shape=(4, 8), split=(1, 0, 0))
    >>> data.augment(Flip(), Shift(0.1)).size("training")
    2
    """

    horizontal: bool = True
    vertical: bool = False
    draws = 2
    moves = True

    def apply(self, plane: Plane, draws: Sequence[float]) -> array[float]:
        """Return the picture, mirrored or not."""
        values, depth = plane.values, plane.depth
        across, down = self.horizontal and draws[0] < 0.5, self.vertical and draws[1] < 0.5
        if across:  # turned by half, and then upside down
            turned = array(values.typecode, values)
            for channel in range(depth):
                turned[channel::depth] = values[channel::depth][::-1]
            values = turned
        if across == down:
            return values
        line, result = plane.width * depth, array(values.typecode)
        for start in range(len(values) - line, -1, -line):
            result += values[start : start + line]
        return result

    def move_box(self, box: Box, draws: Sequence[float], width: float, height: float) -> Box:
        """Return the box, mirrored or not."""
        if self.horizontal and draws[0] < 0.5:
            box = box._replace(x=width - box.x - box.width)
        if self.vertical and draws[1] < 0.5:
            box = box._replace(y=height - box.y - box.height)
        return box


@dataclass(frozen=True)
class Shift(MovesBoxes):
    """Move pictures to any side, by up to a `share` of their width and height."""

    share: float = 0.1
    draws = 2
    moves = True

    def __post_init__(self) -> None:
        _check("share", self.share, 1)

    def apply(self, plane: Plane, draws: Sequence[float]) -> array[float]:
        """Return the picture, moved by whole pixels."""
        values, height, width, depth, empty = plane
        right, down = self._find_offset(draws, width, height)
        line = width * depth
        gap = array(values.typecode, [empty]) * (abs(right) * depth)
        blank = array(values.typecode, [empty]) * line
        result = array(values.typecode)
        for row in range(height):
            if not 0 <= row - down < height:
                result += blank
                continue
            start = (row - down) * line
            if right >= 0:
                result += gap + values[start : start + line - len(gap)]
            else:
                result += values[start + len(gap) : start + line] + gap
        return result

    def move_box(self, box: Box, draws: Sequence[float], width: float, height: float) -> Box:
        """Return the box, moved by as many pixels."""
        right, down = self._find_offset(draws, width, height)
        return box._replace(x=box.x + right, y=box.y + down)

    def _find_offset(self, draws: Sequence[float], width: float, height: float) -> tuple[int, int]:
        """Return the pixels to the right and down."""
        right, down = ((2 * draw - 1) * self.share for draw in draws)
        return round(right * width), round(down * height)


@dataclass(frozen=True)
class Rotate(PictureChange):
    """Turn pictures around their middle, by up to a number of `degrees` in both directions."""

    degrees: float = 15
    draws = 1
    moves = True

    def __post_init__(self) -> None:
        _check("degrees", self.degrees, 180)

    def apply(self, plane: Plane, draws: Sequence[float]) -> array[float]:
        """Return the picture, turned; each pixel is the nearest one of before."""
        values, height, width, depth, empty = plane
        step = round((2 * draws[0] - 1) * ANGLES)
        gather = _find_sources(height, width, depth, step * self.degrees / ANGLES)
        return array(values.typecode, gather(values + array(values.typecode, [empty])))


@dataclass(frozen=True)
class Brighten(PictureChange):
    """Change how bright pictures are, by up to `brightness`, and multiply their contrast.

    Pixels are 0 … 1, or standardised. `contrast` is the largest part that is added to or taken
    from the difference of each pixel to the mean of the picture.
    """

    brightness: float = 0.1
    contrast: float = 0.2
    draws = 2
    moves = False

    def __post_init__(self) -> None:
        _check("brightness", self.brightness, math.inf)
        _check("contrast", self.contrast, 1)

    def apply(self, plane: Plane, draws: Sequence[float]) -> array[float]:
        """Return the picture, brighter or darker."""
        values = plane.values
        factor = 1 + (2 * draws[1] - 1) * self.contrast
        mean = sum(values) / len(values)
        added = mean * (1 - factor) + (2 * draws[0] - 1) * self.brightness
        return array("f", [value * factor + added for value in values])


@dataclass(frozen=True)
class Erase(PictureChange):
    """Empty a rectangle of half of the pictures, each side up to a `share` of the picture's."""

    share: float = 0.4
    draws = 5
    moves = False

    def __post_init__(self) -> None:
        _check("share", self.share, 1)

    def apply(self, plane: Plane, draws: Sequence[float]) -> array[float]:
        """Return the picture, with a hole or not."""
        values, height, width, depth, empty = plane
        chosen, tall, wide, top, left = draws
        rows, columns = round(tall * self.share * height), round(wide * self.share * width)
        if chosen >= 0.5 or not columns:
            return values
        first, start = int(top * (height - rows + 1)), int(left * (width - columns + 1))
        hole = array(values.typecode, [empty]) * (columns * depth)
        for row in range(first, first + rows):
            at = (row * width + start) * depth
            values[at : at + len(hole)] = hole
        return values


def _check(name: str, value: float, limit: float) -> None:
    if not 0 <= value <= limit:
        hint = "at least 0" if limit == math.inf else f"0 … {limit}"
        raise DataError("NNM704", f"{name} is {value}", hint=hint)


def _find_planes(shape: Sequence[int]) -> tuple[int, int, int, int]:
    """Return how many planes a picture has, and the height, the width and the depth of each."""
    if len(shape) == 2:
        return 1, shape[0], shape[1], 1
    first, middle, last = shape[0], shape[1], count(shape[2:])
    return (first, middle, last, 1) if first <= 4 < last else (1, first, middle, last)


@lru_cache(maxsize=4 * ANGLES)
def _find_sources(
    height: int, width: int, depth: int, degrees: float
) -> Callable[[Any], Sequence[float]]:
    """Return a function that gathers a turned picture from the values of one, and an empty one."""
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    middle_y, middle_x = (height - 1) / 2, (width - 1) / 2
    outside, sources = height * width * depth, list[int]()
    for row in range(height):
        for column in range(width):
            y, x = row - middle_y, column - middle_x
            from_row = round(middle_y + cosine * y - sine * x)
            from_column = round(middle_x + sine * y + cosine * x)
            inside = 0 <= from_row < height and 0 <= from_column < width
            first = (from_row * width + from_column) * depth
            sources += [first + channel if inside else outside for channel in range(depth)]
    return itemgetter(*sources)
