"""Pictures as arrays of pixels: arrays, image objects, canvases, in the layout of a field."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, cast

from webnnm.backends.drawing import draw_pixels
from webnnm.core.arrays import HostArray, concatenate
from webnnm.core.errors import DataError
from webnnm.core.shapes import count, show
from webnnm.data.binding.matching import Slot, bind_field
from webnnm.data.field import Field
from webnnm.data.shaped import as_rows

LAYOUTS = {
    "hw": ("height", "width"),
    "hwc": ("height", "width", "channels"),
    "chw": ("channels", "height", "width"),
}
"""Layout → names of the dimensions; a model that uses the same names gets its own order."""

CHANNELS = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}
"""Modes of image objects with one byte per channel."""

WIDE = {"I;16": "H", "I;16L": "H", "I;16B": "H", "I;16N": "H", "I": "i", "F": "f"}
"""Modes with one grey number per pixel that is no byte → its format."""

UPRIGHT = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}
"""EXIF orientation of a photograph → how `transpose` of PIL turns it upright."""
ORIENTATION = 0x0112

WHITE8, WHITE16 = 255, 65535


def read_pictures(where: str, values: Any, field: Field) -> HostArray:
    """Return new pictures as rows of a field, with their pixels unchanged.

    >>> grey = Field((2, 2), "float32", names=("height", "width"))
    >>> read_pictures("input", bytes(8), grey)
    HostArray(uint8[2, 2, 2], [[[0, 0], [0, 0]], [[0, 0], [0, 0]]])

    `values` are what `ImageDataset` takes, or a single picture; in a page also anything a canvas
    can draw (a canvas, a video, an image, an ImageBitmap or VideoFrame) and ImageData of any size.
    Raises `DataError` NNM702 for pictures of another size, mode or layout.
    """
    if isinstance(values, (list, tuple)) and values and _is_picture(values[0]):  # pyrefly: ignore[unknown-argument-type]
        items = cast("Sequence[Any]", values)
        arrays = [
            _read_rows(f"{where}, picture {row}", one, field) for row, one in enumerate(items)
        ]
        kinds = {values.dtype for values in arrays}
        if len(kinds) > 1:
            raise DataError("NNM702", f"{where}: pictures with {' and '.join(sorted(kinds))}")
        return concatenate(arrays)
    return _read_rows(where, values, field)


def _read_rows(where: str, value: Any, field: Field) -> HostArray:
    """Return a picture, or an array of one or more, in the order of the field."""
    value = rotate_upright(value)
    size_of = dict(zip(field.names, field.shape, strict=True))
    height, width, channels = size_of["height"], size_of["width"], size_of.get("channels", 1)
    pixels = draw_pixels(value, width, height)
    if pixels is not None:
        picture = HostArray("uint8", (1, height, width, 4), pixels)
    elif not _is_object(value):
        return _reshape_rows(where, to_pixels(value), field)
    else:
        picture = _read_image(where, value)
    if picture.shape[1:3] != (height, width):
        raise DataError(
            "NNM702",
            f"{where} has {picture.shape[2]} × {picture.shape[1]} pixels, the dataset's pictures "
            f"{width} × {height} (width × height)",
            hint=f"image.resize(({width}, {height}))",
        )
    if not hasattr(value, "mode"):
        picture = _with_channels(where, picture, channels)
    elif _count_channels(value) != channels:
        mode = next((mode for mode, n in CHANNELS.items() if n == channels), "RGB")
        raise DataError(
            "NNM702",
            f'{where} has mode "{value.mode}", {_count_channels(value)} channels, the dataset\'s '
            f"pictures {channels}",
            hint=f'image.convert("{mode}")',
        )
    channels_last = Field((height, width, channels), "float32", names=LAYOUTS["hwc"])
    extra = () if "channels" in size_of else (("channels", 1),)
    names, sizes = zip(*size_of.items(), *extra, strict=True)
    permuted = bind_field(where, "", channels_last, Slot(sizes, picture.dtype, names)).apply(
        picture
    )
    return HostArray(picture.dtype, (len(picture), *field.shape), permuted.data)


def _reshape_rows(where: str, pixels: HostArray, field: Field) -> HostArray:
    if len(pixels.shape) != 1:
        return as_rows(where, pixels, field.shape, field.names)
    pictures, rest = divmod(len(pixels), count(field.shape))
    if rest or not pictures:
        raise DataError(
            "NNM702",
            f"{where}: {len(pixels)} pixels do not divide into pictures of {show(field.shape)}",
        )
    return HostArray(pixels.dtype, (pictures, *field.shape), pixels.data)


def rotate_upright(image: Any) -> Any:
    """Return a photograph as it is to be seen, whatever way the camera was held (EXIF).

    Browsers turn pictures so when they draw them. Anything else is returned unchanged.
    """
    if not hasattr(image, "getexif") or not hasattr(image, "transpose"):
        return image
    how = UPRIGHT.get(image.getexif().get(ORIENTATION, 1))
    return image if how is None else image.transpose(how)


def to_pixels(value: Any) -> HostArray:
    """Return pixels as an array; those that are true or false are white or black."""
    pixels = HostArray.of(value)
    if pixels.dtype != "uint8" or not _is_boolean(value):
        return pixels
    return HostArray("uint8", pixels.shape, bytes(pixels.data).translate(_BLACK_OR_WHITE))


_BLACK_OR_WHITE = bytes([0, *[255] * 255])


def _is_boolean(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        return str(dtype) == "bool"
    try:
        return memoryview(value).format == "?"
    except TypeError:
        return False


def _count_channels(image: Any) -> int:
    """Return how many channels the pixels of an image object have."""
    return CHANNELS.get(image.mode, 1)


def _read_wide(where: str, image: Any) -> array[float]:
    """Return the grey numbers of an image object as 0 … 1, those of mode F as they are."""
    values = array(WIDE[image.mode], image.tobytes())
    if image.mode == "F":
        return array("f", values)
    if image.mode == "I;16B":
        values.byteswap()
    if values and not 0 <= min(values) <= max(values) <= WHITE16:
        raise DataError(
            "NNM702",
            f"{where} has pixels from {min(values)} to {max(values)}, which are not of 16 bits",
            hint="divide them by the number that is white: numpy.asarray(image) / white",
        )
    if image.mode == "I" and values and 0 < max(values) <= WHITE8:
        raise DataError(
            "NNM702",
            f'{where} has mode "I" and pixels up to {max(values)}: is {WHITE8} or {WHITE16} white?',
            hint=f'image.convert("L") for {WHITE8}, numpy.asarray(image) / {WHITE16} for {WHITE16}',
        )
    return array("f", [value / WHITE16 for value in values])


def _is_picture(value: Any) -> bool:
    """Return whether an element of a list is a picture, not a list of numbers."""
    return not isinstance(value, (list, tuple, int, float))


def _is_object(value: Any) -> bool:
    """Return whether something is a PIL image or the ImageData of a canvas."""
    sized = hasattr(value, "width") and hasattr(value, "data") and hasattr(value, "height")
    return hasattr(value, "mode") or sized


def _with_channels(where: str, pixels: HostArray, channels: int) -> HostArray:
    """Return RGBA as grey (1), grey with alpha (2), RGB (3), or as it is (4).

    Grey is the luma of ITU-R BT.601, as PIL computes it. Raises `DataError` NNM702 for transparent
    pixels if the dataset has no alpha: their background is unknown.
    """
    if channels == 4:
        return pixels
    red, green, blue, alpha = (bytes(pixels.data[channel::4]) for channel in range(4))
    if channels in (1, 3) and alpha.count(255) < len(alpha):
        raise DataError(
            "NNM702",
            f"{where} has transparent pixels, the dataset's pictures {channels} channels",
            hint="fill the canvas with a colour before drawing on it",
        )
    planes = [red, green, blue]
    if channels < 3:
        colours = zip(red, green, blue, strict=True)
        luma = [(r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16 for r, g, b in colours]
        planes = [bytes(luma), alpha][:channels]
    data = bytearray(channels * len(red))
    for channel, plane in enumerate(planes):
        data[channel::channels] = plane
    return HostArray("uint8", (*pixels.shape[:3], channels), data)


def concatenate_pictures(images: Sequence[Any]) -> HostArray | None:
    """Return a list of arrays or image objects as rows, None for nested lists of numbers."""
    if not images or not _is_picture(images[0]):
        return None
    rows = [_read_image(f"image {row}", rotate_upright(image)) for row, image in enumerate(images)]
    for row, values in enumerate(rows):
        if (values.dtype, values.shape) != (rows[0].dtype, rows[0].shape):
            types = [f"{some.dtype}{show(some.shape[1:])}" for some in (values, rows[0])]
            raise DataError(
                "NNM702",
                f"image {row} is {types[0]}, image 0 {types[1]}",
                hint="bring all images to one size and mode",
            )
    return concatenate(rows)


def _read_image(where: str, image: Any) -> HostArray:
    """Return an array or an image object as one row."""
    if hasattr(image, "width") and hasattr(image, "data") and not hasattr(image, "mode"):
        data = image.data.to_py() if hasattr(image.data, "to_py") else image.data
        return HostArray("uint8", (1, image.height, image.width, 4), data)
    if not hasattr(image, "mode"):
        values = to_pixels(image)
        return HostArray(values.dtype, (1, *values.shape), values.data)
    width, height = image.size
    if image.mode == "1":  # a bit per pixel: black and white
        image = image.convert("L")
    if image.mode in WIDE:
        return HostArray("float32", (1, height, width), _read_wide(where, image))
    channels = CHANNELS.get(image.mode)
    if channels is None:
        raise DataError(
            "NNM702",
            f'{where} has mode "{image.mode}", known modes: {", ".join((*CHANNELS, *WIDE, "1"))}',
            hint='image.convert("RGB")',
        )
    depth = () if channels == 1 else (channels,)
    return HostArray("uint8", (1, height, width, *depth), image.tobytes())
