"""The pixels of pictures, few enough to compare many pictures with each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from webnnm.core.shapes import count
from webnnm.data.preparation.standardize import find_channel_axis
from webnnm.expert.examination.rows import Rows

MIN_SIDE = 6
"""Smaller ones are no pictures."""

MAX_CHANNELS = 4


class PictureGrid(NamedTuple):
    """Evenly spaced pixels of the pictures of an input, the same ones from either side: their
    `rows` and `columns`, and where their channels begin."""

    block: str
    flat: Sequence[float]
    size: int
    rows: Sequence[int]
    columns: Sequence[int]
    starts: Sequence[int]
    channel_step: int
    channels: int
    units: Sequence[tuple[float, float]]

    def read(self, number: int) -> list[float]:
        """Return the pixels of a picture, line by line, in the units of the data: sums of their
        channels."""
        picture = self.flat[number * self.size : (number + 1) * self.size]
        pixels = [0.0] * len(self.starts)
        for channel in range(self.channels):
            step = channel * self.channel_step
            scale, offset = self.units[self.starts[0] + step]
            pixels = [
                pixel + picture[start + step] * scale + offset
                for pixel, start in zip(pixels, self.starts, strict=True)
            ]
        return pixels


def list_pictures(rows: Rows, max_pixels: int) -> Iterator[PictureGrid]:
    """Yield the inputs that are pictures, of which up to `max_pixels` pixels are looked at."""
    for block, values in rows.inputs.items():
        field = rows.fields[block]
        if field.kind != "continuous" or field.sequence or len(field.shape) not in (2, 3):
            continue
        axis = find_channel_axis(field) if len(field.shape) == 3 else None
        if len(field.shape) == 3 and (axis not in (0, 2) or field.shape[axis] > MAX_CHANNELS):
            continue
        sides = [size for index, size in enumerate(field.shape) if index != axis]
        if min(sides) < MIN_SIDE:
            continue
        height, width = sides
        channels = 1 if axis is None else field.shape[axis]
        pixel_step, channel_step = (channels, 1) if axis == 2 else (1, height * width)
        step = 1
        while (height // step) * (width // step) > max_pixels:
            step += 1
        lines, columns = _space_out(height, step), _space_out(width, step)
        starts = [(line * width + x) * pixel_step for line in lines for x in columns]
        units = rows.units(block)
        yield PictureGrid(
            block,
            values.values(),
            count(field.shape),
            lines,
            columns,
            starts,
            channel_step,
            channels,
            units,
        )


def _space_out(size: int, step: int) -> list[int]:
    """Return evenly spaced positions, as far from either end.

    >>> _space_out(10, 3)
    [0, 3, 6, 9]
    >>> _space_out(9, 3)
    [1, 4, 7]
    """
    number = -(-size // step)
    first = (size - 1 - (number - 1) * step) // 2
    return [first + step * index for index in range(number)]
