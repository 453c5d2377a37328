"""A picture that is decoded once, and resized by any of Pillow's filters.

Pillow resizes across first, then down, and rounds to bytes in between. Here it does so in two
calls, because newer versions choose the order. In pages, `js_bridge/page/fitting.js` gives the same
bytes.
"""

from __future__ import annotations

import asyncio
import importlib
from enum import IntEnum
from typing import Any, Protocol

from webnnm.backends import pyodide_host
from webnnm.core.arrays import HostArray
from webnnm.data.files.labelled_files import load_file
from webnnm.data.pictures.fitting import (
    call_page,
    flatten_picture,
    open_picture,
    refuse_picture,
)
from webnnm.data.pictures.pixels import rotate_upright


class Filter(IntEnum):
    """The filters of Pillow, by its numbers."""

    NEAREST = 0
    LANCZOS = 1
    BILINEAR = 2
    BICUBIC = 3
    BOX = 4
    HAMMING = 5


class DecodedPicture(Protocol):
    """A picture in memory: upright, RGB, over white where it is transparent."""

    height: int
    width: int

    async def resize(self, height: int, width: int, filter: Filter) -> HostArray:
        """Return the pixels at another size, uint8 `[height, width, 3]`."""
        ...

    def close(self) -> None:
        """Free its memory."""
        ...


async def decode_picture(picture: Any, name: str) -> DecodedPicture:
    """Return a picture of a path, address, file, bytes, array, image object, canvas or video.

    >>> import asyncio
    >>> grey = HostArray("uint8", (2, 4), bytes(8))
    >>> picture = asyncio.run(decode_picture(grey, "a picture"))
    >>> picture.height, picture.width
    (2, 4)

    `name` is for messages. Raises `DataError` NNM715 if it cannot be read, NNM802 if it is no
    picture, NNM702 for arrays that are none, `BackendError` NNM709 if something is missing to read
    it.
    """
    content = await load_file(picture)
    if pyodide_host.in_browser():
        return _PagePicture(await call_page("open", content, name))
    return await asyncio.to_thread(_decode_by_pillow, content, name)


def _decode_by_pillow(content: Any, name: str) -> DecodedPicture:
    image = open_picture(content, name)
    try:
        return _PillowPicture(flatten_picture(rotate_upright(image), name, 3))
    except (OSError, ValueError, SyntaxError) as error:
        raise refuse_picture(name, error) from error


class _PillowPicture:
    def __init__(self, image: Any) -> None:
        self._image = image
        self.width, self.height = image.size

    async def resize(self, height: int, width: int, filter: Filter) -> HostArray:
        pixels = await asyncio.to_thread(self._resize, height, width, filter)
        return HostArray("uint8", (height, width, 3), pixels)

    def _resize(self, height: int, width: int, filter: Filter) -> bytes:
        how = importlib.import_module("PIL.Image").Resampling(filter)
        wide = self._image.resize((width, self.height), how)
        return wide.resize((width, height), how).tobytes()

    def close(self) -> None:
        self._image = None


class _PagePicture:
    def __init__(self, decoded: Any) -> None:
        self._decoded = decoded
        self.width, self.height = decoded.width, decoded.height

    async def resize(self, height: int, width: int, filter: Filter) -> HostArray:
        module = await pyodide_host.load_module("page/fitting")
        pixels = module.resample(self._decoded, width, height, int(filter)).to_py()
        return HostArray("uint8", (height, width, 3), pixels)

    def close(self) -> None:
        self._decoded = None
