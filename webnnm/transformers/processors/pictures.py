"""Pictures as the input of a model: resized, cropped, scaled and filled up as it was trained."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from webnnm.backends.base import Backend
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.data.pictures.decoded_picture import DecodedPicture, Filter, decode_picture
from webnnm.snapshots.foreign import permute
from webnnm.transformers.processors.picture_settings import PictureSettings, Size
from webnnm.transformers.processors.picture_sizes import find_cut

COLOURS = 3


class ProcessedPicture(NamedTuple):
    """A picture for a model.

    Attributes: `pixels`, float32 `[3, height, width]`; `size`, the height and width of the file;
    `resized`, those that it was resized to; `original`, the bytes `[height, width, 3]` of the file,
    if they are kept.
    """

    pixels: HostArray
    size: Size
    resized: Size
    original: HostArray | None = None


async def process_picture(
    picture: Any,
    name: str,
    settings: PictureSettings,
    model_size: Size | None = None,
    *,
    backend: Backend | None = None,
    keep: bool = False,
) -> ProcessedPicture:
    """Return a picture as a model takes it, before it is filled up to the size of others.

    A model whose pictures have one size, `model_size`, gets pictures of other shapes stretched to
    it, unless it can be told what is padding. Kinds that blur do so on the `backend`.
    With `keep`, the result has the pixels of the file, too.

    Raises what `decode_picture` raises.
    """
    decoded = await decode_picture(picture, name)
    try:
        size = decoded.height, decoded.width
        resized, cropped, turned, fitted = find_cut(size, settings)
        if model_size is not None and settings.varies and not _fits(cropped, model_size, settings):
            resized = cropped = model_size
            fitted = None
        if not all(fitted or resized):
            message = f"{name} has {size[1]} × {size[0]} pixels: a side of it would vanish"
            raise DataError("NNM702", message, hint="use a picture that is less narrow")
        original = await decoded.resize(*size, Filter.NEAREST) if keep else None
        if turned:
            decoded = await _turn(decoded, name)
        if settings.blurred and settings.resize:
            from webnnm.transformers.processors.blurring import resize_blurred

            assert backend is not None, "kinds that blur need a backend"
            pixels = await decoded.resize(*size, Filter.NEAREST)
            blurred = await resize_blurred(backend, pixels, resized, settings)
            return ProcessedPicture(blurred, size, resized, original)
        pixels = await decoded.resize(*resized, settings.filter)
    finally:
        decoded.close()
    if fitted is not None:  # as in transformers, which takes the filter 0 for none
        filter = settings.filter or Filter.BICUBIC
        resized, pixels = fitted, await resize_again(pixels, fitted, filter)
    if settings.sizing == "page" and (resized[0] > cropped[0] or resized[1] > cropped[1]):
        message = f"{name} has {show_size(resized)} pixels once it is resized"
        hint = f"the model is for {show_size(cropped)}: its processor needs do_thumbnail"
        raise DataError("NNM702", message, hint=hint)
    pixels = crop(
        pixels, cropped, odd_behind=settings.sizing == "page", rounds=settings.rounds_crop
    )
    numbers = _pad_sides(scale(pixels, settings), settings)
    return ProcessedPicture(numbers, size, resized, original)


async def resize_again(pixels: HostArray, size: Size, filter: Filter) -> HostArray:
    """Return bytes `[height, width, 3]` at another size."""
    decoded = await decode_picture(pixels, "the picture")
    try:
        return await decoded.resize(*size, filter)
    finally:
        decoded.close()


def show_size(size: Size) -> str:
    """Return a height and width as messages have them, width first.

    >>> show_size((480, 640))
    '640 × 480'
    """
    return f"{size[1]} × {size[0]}"


async def _turn(decoded: DecodedPicture, name: str) -> DecodedPicture:
    """Return a picture turned clockwise by 90°, and close it."""
    try:
        pixels = await decoded.resize(decoded.height, decoded.width, Filter.NEAREST)
    finally:
        decoded.close()
    return await decode_picture(turn_clockwise(pixels), name)


def turn_clockwise(pixels: HostArray) -> HostArray:
    """Return bytes `[height, width, 3]` turned by 90°: the first column becomes the first row.

    >>> turn_clockwise(HostArray("uint8", (2, 1, 3), bytes(range(6)))).tolist()
    [[[3, 4, 5], [0, 1, 2]]]
    """
    height, width, depth = pixels.shape
    data, result = bytes(pixels.data), bytearray(len(pixels.data))
    for colour in range(depth):
        plane = data[colour::depth]
        columns = (plane[column::width][::-1] for column in range(width))
        result[colour::depth] = b"".join(columns)
    return HostArray("uint8", (width, height, depth), bytes(result))


def _fits(size: Size, model_size: Size, settings: PictureSettings) -> bool:
    """Return whether a model takes a size, filled up or as it is."""
    if settings.pad_size is not None:
        return settings.pad_size == model_size
    smaller = size[0] <= model_size[0] and size[1] <= model_size[1]
    return size == model_size or (settings.masked and smaller)


def crop(
    pixels: HostArray, size: Size, *, odd_behind: bool = False, rounds: bool = False
) -> HostArray:
    """Return the middle of pixels `[height, width, 3]`, with black around it if it is larger.

    An odd number of black rows or columns has one more before the picture, or behind it.

    >>> crop(HostArray("uint8", (1, 3, 3), bytes(range(9))), (1, 1)).tolist()
    [[[3, 4, 5]]]

    A middle between two pixels begins at the first, or if it `rounds` at the even one.
    """
    height, width, _ = pixels.shape
    if (height, width) == size:
        return pixels
    starts = (_start(side, kept, rounds) for side, kept in zip((height, width), size, strict=True))
    top, left = starts
    if odd_behind:
        top, left = -_start(size[0], height, False), -_start(size[1], width, False)
    return crop_window(pixels, size, top, left)


def crop_window(pixels: HostArray, size: Size, top: int, left: int) -> HostArray:
    """Return a window of pixels `[height, width, 3]`, black where it lies outside.

    >>> crop_window(HostArray("uint8", (1, 3, 3), bytes(range(9))), (1, 1), 0, 2).tolist()
    [[[6, 7, 8]]]
    """
    height, width, depth = pixels.shape
    rows, columns = min(height, size[0]), min(width, size[1])
    line = bytearray(size[1] * depth)
    result = bytearray()
    for row in range(size[0]):
        source = row + top
        if 0 <= source < height:
            start = (source * width + max(0, left)) * depth
            at = max(0, -left) * depth
            line[at : at + columns * depth] = pixels.data[start : start + columns * depth]
            result += line
        else:
            result += bytes(len(line))
    assert rows
    return HostArray("uint8", (*size, depth), bytes(result))


def _start(length: int, size: int, rounds: bool) -> int:
    """Return where the middle of a side begins, below 0 if it is filled up in front."""
    if rounds and length > size:
        return round((length - size) / 2)
    return (length - size) // 2


def scale(pixels: HostArray, settings: PictureSettings) -> HostArray:
    """Return bytes `[height, width, 3]` as the numbers of a model, `[3, height, width]`.

    Each of 256 bytes has one number for a colour, whose 4 bytes are looked up one after the other:
    `bytes.translate` does that for all pixels at once.
    """
    height, width, _ = pixels.shape
    data, count = bytes(pixels.data), height * width
    result = bytearray(4 * COLOURS * count)
    order = reversed(range(COLOURS)) if settings.flip else range(COLOURS)
    for at, colour in enumerate(order):
        # Models that take blue first have no mean of their own: the statistics are those of RGB.
        table = _numbers(settings, colour)
        plane = data[colour::COLOURS]
        start = 4 * at * count
        for part in range(4):
            result[start + part : start + 4 * count : 4] = plane.translate(table[part::4])
    return HostArray("float32", (COLOURS, height, width), bytes(result))


def _numbers(settings: PictureSettings, colour: int) -> bytes:
    """Return the number of each byte of a colour, as float32."""
    mean, deviation = settings.mean[colour], settings.deviation[colour]
    values = [(byte * settings.factor + settings.offset - mean) / deviation for byte in range(256)]
    return struct.pack("<256f", *values)


def _pad_sides(pixels: HostArray, settings: PictureSettings) -> HostArray:
    """Return numbers with zeros around them, so that sides are multiples of a number."""
    if not settings.divisor:
        return pixels
    _, height, width = pixels.shape
    larger = tuple(-(-side // settings.divisor) * settings.divisor for side in (height, width))
    return pad(pixels, (larger[0], larger[1]), middle=True)


def pad(pixels: HostArray, size: Size, *, middle: bool = False) -> HostArray:
    """Return numbers `[3, height, width]`, filled up with zeros below and to the right.

    With `middle`, also above and to the left.

    >>> pad(HostArray.of([[[1.0]]]), (2, 2)).tolist()
    [[[1.0, 0.0], [0.0, 0.0]]]

    Raises `DataError` NNM702 if they are larger.
    """
    planes, height, width = pixels.shape
    if (height, width) == size:
        return pixels
    if height > size[0] or width > size[1]:
        message = f"a picture of {height} × {width} numbers does not fit into {size[0]} × {size[1]}"
        raise DataError("NNM702", message, hint="the model is for smaller pictures")
    top, left = ((size[0] - height) // 2, (size[1] - width) // 2) if middle else (0, 0)
    result = bytearray(4 * planes * size[0] * size[1])
    for plane in range(planes):
        for row in range(height):
            start = 4 * (plane * height + row) * width
            at = 4 * ((plane * size[0] + row + top) * size[1] + left)
            result[at : at + 4 * width] = pixels.data[start : start + 4 * width]
    return HostArray("float32", (planes, *size), bytes(result))


def join_pictures(
    pictures: Sequence[ProcessedPicture], settings: PictureSettings, size: Size | None = None
) -> Mapping[str, HostArray]:
    """Return the inputs for several pictures: `pixel_values`, and `pixel_mask` for some models.

    They are filled up to the size of the settings, else to `size` if the model is told what is
    padding, else to that of the largest.

    Models that take any number of patches get these in `pixel_values`, which of them are no padding
    in `pixel_attention_mask`, and how many there are down and across in `spatial_shapes`.

    Raises `DataError` NNM702 if pictures have different sizes and are not filled up.
    """
    if settings.patch:
        return _join_patches([picture.pixels for picture in pictures], settings)
    sizes = [(picture.pixels.shape[1], picture.pixels.shape[2]) for picture in pictures]
    largest = max(h for h, _ in sizes), max(w for _, w in sizes)
    larger = settings.pad_size or (size if size and settings.masked else largest)
    if not settings.pad and {*sizes} != {larger}:
        different = next(one for one in sizes if one != larger)
        message = (
            f"pictures have {different[0]} × {different[1]} and {larger[0]} × {larger[1]} rows"
        )
        raise DataError("NNM702", message, hint="batch_size=1")
    values = b"".join(bytes(pad(picture.pixels, larger).data) for picture in pictures)
    inputs = {"pixel_values": HostArray("float32", (len(pictures), COLOURS, *larger), values)}
    if settings.masked:
        masks = b"".join(_mask(own, larger) for own in sizes)
        inputs["pixel_mask"] = HostArray("int32", (len(pictures), *larger), masks)
    return inputs


def _join_patches(pictures: Sequence[HostArray], settings: PictureSettings) -> dict[str, HostArray]:
    """Return the inputs for pictures that are cut into patches: pixel by pixel, row by row."""
    patch, limit = settings.patch, settings.max_patches
    numbers = COLOURS * patch**2
    values, mask, shapes = list[bytes](), list[int](), list[int]()
    for pixels in pictures:
        down, across = (side // patch for side in pixels.shape[1:])
        count = down * across
        if not 0 < count <= limit or pixels.shape[1:] != (down * patch, across * patch):
            message = f"a picture of {show_size((pixels.shape[1], pixels.shape[2]))} pixels"
            hint = f"a picture has at most {limit} patches of {patch} × {patch}"
            raise DataError("NNM702", message, hint=hint)
        grid = (COLOURS, down, patch, across, patch)
        values.append(bytes(permute(grid, memoryview(pixels.data), 4, (1, 3, 2, 4, 0))))
        values.append(bytes(4 * numbers * (limit - count)))
        mask += [1] * count + [0] * (limit - count)
        shapes += [down, across]
    rows = len(pictures)
    return {
        "pixel_values": HostArray("float32", (rows, limit, numbers), b"".join(values)),
        "pixel_attention_mask": HostArray.of(mask, "int32", (rows, limit)),
        "spatial_shapes": HostArray.of(shapes, "int32", (rows, 2)),
    }


def _mask(size: Size, larger: Size) -> bytes:
    """Return 1 for the pixels of a picture, 0 for what it was filled up with."""
    one, zero = (1).to_bytes(4, "little"), bytes(4)
    line = one * size[1] + zero * (larger[1] - size[1])
    return line * size[0] + zero * (larger[1] * (larger[0] - size[0]))
