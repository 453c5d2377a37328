"""Pixels of the pictures of a page: anything that a canvas can draw."""

from __future__ import annotations

from typing import Any

from webnnm.backends.pyodide_host import js_error, page
from webnnm.core.errors import DataError
from webnnm.core.page_arrays import find_class

DRAWABLE = (
    "HTMLCanvasElement HTMLImageElement HTMLVideoElement ImageBitmap OffscreenCanvas VideoFrame"
)
"""JavaScript classes that a canvas can draw; it takes ImageData in another way."""


def find_picture_class(picture: Any) -> str | None:
    """Return the JavaScript class of what a canvas can draw, None for anything else.

    Raises `DataError` NNM702 if there is nothing to draw yet.
    """
    name = find_class(picture)
    if name not in (*DRAWABLE.split(), "ImageData"):
        return None
    if getattr(picture, "readyState", 2) < 2 or not getattr(picture, "naturalWidth", 1):
        raise DataError(
            "NNM702", f"the {name} has no image data yet", hint="wait until it is loaded"
        )
    return name


def draw_pixels(picture: Any, width: int, height: int) -> memoryview[int] | None:
    """Return the RGBA pixels of what a canvas can draw, at this size; None for anything else.

    Raises `DataError` NNM702 if there is nothing to draw yet, or if the page may not read it.
    """
    kind = find_picture_class(picture)
    if kind is None:
        return None
    if kind == "ImageData" and (picture.width, picture.height) == (width, height):
        return picture.data.to_py()
    make = page().OffscreenCanvas.new
    canvas = make(width, height).getContext("2d", willReadFrequently=True)
    canvas.imageSmoothingQuality = "high"
    try:
        if kind == "ImageData":
            source = make(picture.width, picture.height)
            source.getContext("2d").putImageData(picture, 0, 0)
            picture = source
        canvas.drawImage(picture, 0, 0, width, height)
        return canvas.getImageData(0, 0, width, height).data.to_py()
    except js_error() as error:
        raise DataError("NNM702", f"the {kind} cannot be read: {error}") from error
