"""Pictures cut into tiles, with the picture as the last one, as Idefics 3 reads them.

Source: H. Laurençon et al., "Building and better understanding vision-language models",
arXiv:2408.12637 (2024), section 2.3.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.data.pictures.decoded_picture import decode_picture
from webnnm.transformers.processors.picture_settings import PictureSettings, Size
from webnnm.transformers.processors.pictures import crop_window, resize_again, scale

MAX_SIDE = 4096
"""The longer side of pictures before they are cut."""


class Tiles(NamedTuple):
    """The tiles of a picture: float32 `[3, side, side]`, row by row, then all of it in one.

    A picture that is not cut has neither `rows` nor `columns`.
    """

    tiles: list[HostArray]
    rows: int
    columns: int


async def process_tiles(picture: Any, name: str, settings: PictureSettings) -> Tiles:
    """Return the tiles of a picture.

    Raises what `decode_picture` raises.
    """
    side = settings.tile
    decoded = await decode_picture(picture, name)
    try:
        size = decoded.height, decoded.width
        first = find_longer_side(size, settings) if settings.resize else size
        pixels = await decoded.resize(*first, settings.filter)
    finally:
        decoded.close()
    size = count_tiles(first, side) if settings.split else (1, 1)
    pixels = await resize_again(pixels, (size[0] * side, size[1] * side), settings.filter)
    if size == (1, 1):
        return Tiles([scale(pixels, settings)], 0, 0)
    corners = [(row * side, column * side) for row in range(size[0]) for column in range(size[1])]
    parts = [crop_window(pixels, (side, side), *corner) for corner in corners]
    parts.append(await resize_again(pixels, (side, side), settings.filter))
    return Tiles([scale(part, settings) for part in parts], *size)


def find_longer_side(picture: Size, settings: PictureSettings) -> Size:
    """Return the size at which the longer side of a picture has its length; the other is even."""
    if "longest_edge" not in settings.size:
        return settings.size["height"], settings.size["width"]
    longer, (height, width) = settings.size["longest_edge"], picture
    ratio = width / height
    if width >= height:
        shorter = int(longer / ratio)
        size = max(1, shorter + shorter % 2), longer
    else:
        shorter = int(longer * ratio)
        size = longer, max(1, shorter + shorter % 2)
    height, width = size
    ratio = width / height
    if width >= height and width > MAX_SIDE:
        return max(1, int(MAX_SIDE / ratio)), MAX_SIDE
    if height > width and height > MAX_SIDE:
        return MAX_SIDE, max(1, int(MAX_SIDE * ratio))
    return size


def count_tiles(picture: Size, side: int) -> Size:
    """Return into how many tiles a picture is cut, down and across.

    >>> count_tiles((400, 1000), 364)
    (2, 3)
    """
    height, width = picture
    ratio = width / height
    if width >= height:
        columns = math.ceil(width / side)
        return math.ceil(int(columns * side / ratio) / side), columns
    rows = math.ceil(height / side)
    return rows, math.ceil(int(rows * side * ratio) / side)
