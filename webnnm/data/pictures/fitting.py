"""Pictures of any size, brought to the size and the channels of a dataset.

The policy is one, wherever a picture is read: turned upright (EXIF), over white where it is
transparent, 8 bits per channel, then cropped in the middle, padded with black or stretched, and
resized by a triangle filter that covers all pixels (J. Turkowski, "Filters for common resampling
tasks", Graphics Gems I, 1990). Here Pillow does it, in pages `js_bridge/page/fitting.js`, whose
numbers are those of Pillow; only decoders of JPEG may differ by rounding.
"""

from __future__ import annotations

import asyncio
import importlib
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, get_args

from webnnm.backends import pyodide_host
from webnnm.backends.drawing import find_picture_class
from webnnm.core.arrays import HostArray
from webnnm.core.errors import BackendError, DataError, suggestion
from webnnm.core.page_arrays import find_class
from webnnm.data.field import Field
from webnnm.data.files.labelled_files import load_file
from webnnm.data.pictures.pixels import rotate_upright, to_pixels

Fit = Literal["crop", "pad", "stretch"]

ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".avif", ".tif", ".tiff")
FILES = ("Blob", "File")
"""Classes of files in pages."""
MODES = {2: "LA", 3: "RGB", 4: "RGBA"}
"""Channels of an array → mode of a picture."""
SOME = 16
"""The number of files that are read at a time."""


@dataclass(frozen=True, slots=True)
class PictureFormat:
    """What pictures are brought to.

    >>> PictureFormat(64, 48, 3, "crop")
    PictureFormat(width=64, height=48, channels=3, fit='crop')

    Attributes: `width` and `height` in pixels; `channels`, 1 for grey or 3; `fit`, what is done to
    pictures of another shape: their middle is taken ("crop"), black is added ("pad"), or they are
    distorted ("stretch").
    """

    width: int
    height: int
    channels: int
    fit: Fit

    @classmethod
    def of(cls, field: Field, fit: Any) -> Self:
        """Return the format of the pictures of a dataset's input."""
        sizes = dict(zip(field.names, field.shape, strict=True))
        return cls(sizes["width"], sizes["height"], sizes.get("channels", 1), fit)


def check_fit(fit: Any) -> None:
    """Raise `DataError` NNM704 unless it names a way to bring pictures to a shape."""
    if fit not in get_args(Fit):
        hint = suggestion(str(fit), get_args(Fit)) or f"one of {', '.join(get_args(Fit))}"
        raise DataError("NNM704", f'fit is "{fit}"', hint=hint)


def is_picture(value: Any) -> bool:
    """Return whether something is a single picture: a file, its bytes, or an image object.

    >>> is_picture("photo.jpg"), is_picture([[0, 255]])
    (True, False)
    """
    if isinstance(value, (list, tuple, int, float)):
        return False
    if isinstance(value, HostArray) or hasattr(value, "dtype"):
        return "uint8" in str(value.dtype) and len(value.shape) in (2, 3)
    if hasattr(value, "js_id"):
        return find_class(value) in FILES or find_picture_class(value) is not None
    return True


async def fit_pictures(
    pictures: Sequence[Any], names: Sequence[str], form: PictureFormat
) -> list[HostArray | DataError]:
    """Return the pixels of each picture, uint8 `[height, width, channels]`, or why there are none.

    `pictures` are paths, addresses, files, their bytes, or image objects. Raises `BackendError`
    NNM709 if something is missing to read them.
    """
    results: list[HostArray | DataError] = []
    for start in range(0, len(pictures), SOME):
        calls = [
            fit_picture(picture, name, form)
            for picture, name in zip(
                pictures[start : start + SOME], names[start : start + SOME], strict=True
            )
        ]
        for result in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(result, BaseException) and not isinstance(result, DataError):
                raise result
            results.append(result)
    return results


async def fit_picture(picture: Any, name: str, form: PictureFormat) -> HostArray:
    """Return the pixels of a picture, uint8 `[height, width, channels]`.

    Raises `DataError` NNM715 if it cannot be read, NNM802 if it is no picture, `BackendError`
    NNM709 if something is missing to read it.
    """
    content = await load_file(picture)
    shape = (form.height, form.width, form.channels)
    if pyodide_host.in_browser():
        pixels = await call_page("fit", content, name, form)
        return HostArray("uint8", shape, pixels.to_py())
    return HostArray("uint8", shape, await asyncio.to_thread(_fit_by_pillow, content, name, form))


async def measure_picture(picture: Any, name: str) -> tuple[int, int]:
    """Return the width and the height of a picture as it is to be seen; errors as `fit_picture`."""
    content = await load_file(picture)
    if pyodide_host.in_browser():
        width, height = await call_page("measure", content, name)
        return width, height
    image = rotate_upright(open_picture(content, name))
    return image.size


async def call_page(function: str, content: Any, name: str, form: Any = None) -> Any:
    """Return what a function of `page/fitting.js` returns for a picture.

    `content` is what `load_file` returned. Raises `DataError` NNM802 if it is no picture.
    """
    module = await pyodide_host.load_module("page/fitting")
    size: list[int] = []
    if not hasattr(content, "js_id") and not isinstance(content, (bytes, bytearray, memoryview)):
        content, *size = _read_colours(content, name)
    options = json.dumps({**(asdict(form) if form else {}), "size": size})
    try:
        return await getattr(module, function)(content, options)
    except pyodide_host.js_error() as error:
        message = f"{name} cannot be read: {getattr(error, 'message', error)}"
        raise DataError("NNM802", message, hint="browsers read PNG, JPEG, WebP, GIF") from error


def _read_colours(image: Any, name: str) -> tuple[bytes, int, int]:
    """Return the RGBA pixels of an array, with its width and height."""
    pixels = to_pixels(image)
    height, width, depth = _get_sizes(pixels, name)
    data = bytes(pixels.data)
    colours = bytearray(b"\xff") * (4 * height * width)
    for colour in range(3):
        colours[colour::4] = data[colour if depth > 2 else 0 :: depth]
    if depth % 2 == 0:
        colours[3::4] = data[depth - 1 :: depth]
    return bytes(colours), width, height


def _get_sizes(pixels: HostArray, name: str) -> tuple[int, int, int]:
    height, width, *channels = pixels.shape if len(pixels.shape) > 1 else (0, 0)
    (depth,) = channels or (1,)
    if pixels.dtype != "uint8" or not height or depth not in (1, *MODES):
        raise DataError(
            "NNM702",
            f"{name} is {pixels.dtype}{[*pixels.shape]}",
            hint="arrays of pictures are bytes, [height, width] or [height, width, channels]",
        )
    return height, width, depth


def _fit_by_pillow(content: Any, name: str, form: PictureFormat) -> bytes:
    image = open_picture(content, name)
    try:
        image = flatten_picture(rotate_upright(image), name, form.channels)
    except (OSError, ValueError, SyntaxError) as error:
        raise refuse_picture(name, error) from error
    box, (width, height) = find_part(image.width, image.height, form)
    filter = importlib.import_module("PIL.Image").Resampling.BILINEAR
    # Which direction comes first is rounding, and differs between versions of Pillow.
    left, top, right, bottom = box
    image = image.resize((width, image.height), filter, box=(left, 0, right, image.height))
    image = image.resize((width, height), filter, box=(0, top, width, bottom))
    if (width, height) != (form.width, form.height):
        canvas = importlib.import_module("PIL.Image").new(image.mode, (form.width, form.height))
        canvas.paste(image, ((form.width - width) // 2, (form.height - height) // 2))
        image = canvas
    return image.tobytes()


def find_part(
    width: int, height: int, form: PictureFormat
) -> tuple[tuple[float, float, float, float], tuple[int, int]]:
    """Return the part of a picture that is taken (left, top, right, bottom), and its new size.

    >>> find_part(200, 100, PictureFormat(32, 32, 3, "crop"))
    ((50.0, 0.0, 150.0, 100.0), (32, 32))
    """
    whole = (0.0, 0.0, float(width), float(height))
    if form.fit == "crop":
        across = min(width, height * form.width / form.height)
        down = min(height, width * form.height / form.width)
        left, top = (width - across) / 2, (height - down) / 2
        return (left, top, left + across, top + down), (form.width, form.height)
    if form.fit == "pad":
        scale = min(form.width / width, form.height / height)
        return whole, (max(1, int(width * scale + 0.5)), max(1, int(height * scale + 0.5)))
    return whole, (form.width, form.height)


def open_picture(content: Any, name: str) -> Any:
    """Return an image object of Pillow; errors as `fit_picture`."""
    if hasattr(content, "mode") and hasattr(content, "getexif"):
        return content
    try:
        pillow: Any = importlib.import_module("PIL.Image")
    except ImportError as error:
        raise BackendError(
            "NNM709",
            "pictures of files and of other sizes need the package Pillow",
            hint="pip install 'webnnm[pictures]', or pass arrays of one size",
        ) from error
    if not isinstance(content, (bytes, bytearray, memoryview)):
        pixels = to_pixels(content)
        height, width, depth = _get_sizes(pixels, name)
        return pillow.frombytes(MODES.get(depth, "L"), (width, height), bytes(pixels.data))
    try:
        return pillow.open(io.BytesIO(content))
    except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError) as error:
        raise refuse_picture(name, error) from error


def refuse_picture(name: str, error: Exception) -> DataError:
    """Return NNM802, the error for a file that is no picture."""
    return DataError("NNM802", f"{name} is no picture: {error}", hint="check or remove the file")


def flatten_picture(image: Any, name: str, channels: int) -> Any:
    """Return an image of 8 bits, grey or RGB, over white where it is transparent."""
    if image.mode == "F":
        hint = "pass bytes: numpy.uint8(255 * numpy.asarray(image) / white)"
        raise DataError("NNM702", f'{name} has mode "F": which number is white?', hint=hint)
    if image.mode.startswith("I"):
        image = _reduce_depth(image)
    elif image.has_transparency_data:
        image = image.convert("RGBA")
        white = importlib.import_module("PIL.Image").new("RGBA", image.size, "white")
        white.alpha_composite(image)
        image = white
    mode = "L" if channels == 1 else "RGB"
    if image.mode not in ("L", "RGB", mode):
        image = image.convert("RGB")
    return image.convert(mode)


def _reduce_depth(image: Any) -> Any:
    """Return the high bytes of grey numbers of 16 bits."""
    data, wide = image.tobytes(), 4 if image.mode == "I" else 2
    high = data[0::2] if image.mode == "I;16B" else data[1::wide]
    return importlib.import_module("PIL.Image").frombytes("L", image.size, high)
