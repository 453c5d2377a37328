"""The size that a processor resizes a picture to, and the part of it that is taken."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from webnnm.transformers.processors.picture_settings import PictureSettings, Size

CONVNEXT_WHOLE = 384
"""From this side on, ConvNeXt takes whole pictures, as squares."""
LEVIT_MARGIN = 256 / 224
YOLOS_MULTIPLE = 16
SCALES, SCALE_STEP = (1e-6, 100.0), 1e-5
"""The scales among which that of a picture is found, and how near the result is."""


class Cut(NamedTuple):
    """What is done to a picture: resized to a size, then cropped or filled up to another one.

    Sizes are height and width. `turned` says that it is turned clockwise before; `fitted` is the
    size that it is resized to after `resized`, None if it is resized once.
    """

    resized: Size
    cropped: Size
    turned: bool = False
    fitted: Size | None = None


def find_cut(picture: Size, settings: PictureSettings) -> Cut:
    """Return how a picture of a size is brought to that of the model.

    >>> from webnnm.transformers.processors.picture_settings import read_picture_settings
    >>> file = {"image_processor_type": "CLIPImageProcessor"}
    >>> find_cut((100, 200), read_picture_settings(file))
    Cut(resized=(224, 448), cropped=(224, 224), turned=False, fitted=None)
    """
    size, share = settings.size, settings.crop_share
    if settings.sizing == "page":
        return _fit_page(picture, settings)
    if not settings.resize:
        return Cut(picture, settings.crop or picture)
    if settings.patch:
        resized = _fit_patches(picture, settings.patch, settings.max_patches)
        return Cut(resized, resized)
    if settings.sizing == "convnext":
        side = size["shortest_edge"]
        if side >= CONVNEXT_WHOLE:
            return Cut((side, side), settings.crop or (side, side))
        assert share is not None
        resized = _fit_shorter(picture, int(side / share))
        return Cut(resized, settings.crop or (side, side))
    resized = _find_size(picture, settings)
    if settings.sizing == "rounded_up":
        height, width = (-(-side // settings.multiple) * settings.multiple for side in resized)
        resized = height, width
    return Cut(resized, settings.crop or resized)


def find_model_size(picture: Size, settings: PictureSettings) -> Size | None:
    """Return what a picture is filled up to after its cut, None if all sizes stay as they are.

    >>> from webnnm.transformers.processors.picture_settings import read_picture_settings
    >>> file = {"image_processor_type": "DetrImageProcessor"}
    >>> find_model_size((100, 100), read_picture_settings(file))
    (800, 800)
    """
    if settings.pad_size is not None:
        return settings.pad_size
    if not settings.resize and settings.crop is None:
        return None
    height, width = find_cut(picture, settings).cropped
    multiple = settings.divisor or 1
    return -(-height // multiple) * multiple, -(-width // multiple) * multiple


def _find_size(picture: Size, settings: PictureSettings) -> Size:
    """Return the size that a picture is resized to."""
    size, share = settings.size, settings.crop_share
    if settings.sizing == "divisible":
        return _fit_divisible(picture, settings)
    if "longest_edge" in size and "shortest_edge" not in size:
        scale = size["longest_edge"] / max(picture)
        return int(picture[0] * scale + 0.5), int(picture[1] * scale + 0.5)
    if "longest_edge" in size:
        multiple = YOLOS_MULTIPLE if settings.sizing == "multiple_of_16" else 1
        fitted = _fit_between(picture, size["shortest_edge"], size["longest_edge"])
        return fitted[0] - fitted[0] % multiple, fitted[1] - fitted[1] % multiple
    if "max_height" in size:
        scale = min(size["max_height"] / picture[0], size["max_width"] / picture[1])
        return int(picture[0] * scale), int(picture[1] * scale)
    if "shortest_edge" in size:
        side = size["shortest_edge"]
        if settings.sizing == "levit":
            side = int(LEVIT_MARGIN * side)
        if settings.sizing == "poolformer" and share is not None:
            side = int(side / share)
        return _fit_shorter(picture, side)
    height, width = size["height"], size["width"]
    if settings.sizing == "poolformer" and share is not None:
        if height == width:
            return _fit_shorter(picture, int(height / share))
        return int(height / share), int(width / share)
    if settings.sizing == "multiple":
        return _fit_multiple(picture, (height, width), settings)
    return height, width


def _fit_patches(picture: Size, patch: int, limit: int) -> Size:
    """Return the largest size with a picture's shape and at most a number of whole patches.

    Sides are rounded up. As in `transformers`, the scale is found by bisection.
    """

    def scale_sides(scale: float) -> Size:
        height, width = (max(1, ceil(side * scale / patch)) * patch for side in picture)
        return height, width

    low, high = SCALES
    while high - low >= SCALE_STEP:
        middle = (low + high) / 2
        height, width = scale_sides(middle)
        if (height // patch) * (width // patch) <= limit:
            low = middle
        else:
            high = middle
    return scale_sides(low)


def _fit_page(picture: Size, settings: PictureSettings) -> Cut:
    """Return how a page is brought to the size of a model: whole, with black around it.

    Source: G. Kim et al., "OCR-free document understanding transformer", arXiv:2111.15664 (2021).
    """
    height, width = settings.size["height"], settings.size["width"]
    turned = settings.align_long_axis and (height - width) * (picture[1] - picture[0]) > 0
    if turned:
        picture = picture[1], picture[0]
    resized = _fit_shorter(picture, min(height, width)) if settings.resize else picture
    fitted = _fit_within(resized, (height, width)) if settings.thumbnail else resized
    return Cut(resized, settings.crop or fitted, turned, fitted if fitted != resized else None)


def _fit_within(picture: Size, size: Size) -> Size:
    """Return the size at which the longer side of a picture is at most that of a size."""
    height, width = min(picture[0], size[0]), min(picture[1], size[1])
    if (height, width) != picture:
        if picture[0] > picture[1]:
            width = int(picture[1] * height / picture[0])
        elif picture[1] > picture[0]:
            height = int(picture[0] * width / picture[1])
    return height, width


def _fit_shorter(picture: Size, side: int) -> Size:
    """Return the size at which the shorter side has a length; the other one is rounded down."""
    height, width = picture
    longer = int(side * max(picture) / min(picture))
    return (longer, side) if width <= height else (side, longer)


def _fit_between(picture: Size, shorter: int, longer: int) -> Size:
    """Return the size at which the shorter side has a length, unless the longer gets too long."""
    height, width = picture
    exact = float(shorter)
    if max(picture) / min(picture) * shorter > longer:
        exact = longer * float(min(picture)) / max(picture)
    side = round(exact)
    if min(picture) == side:
        return picture
    other = int(exact * max(picture) / min(picture))
    return (other, side) if width < height else (side, other)


def _fit_divisible(picture: Size, settings: PictureSettings) -> Size:
    """Return the size of transformers.js for processors that it has no class for."""
    size, multiple = settings.size, settings.multiple
    if "height" in size:
        fitted = float(size["height"]), float(size["width"])
    else:
        scale = size["shortest_edge"] / min(picture) if "shortest_edge" in size else 1.0
        if "longest_edge" in size:
            scale *= min(1.0, size["longest_edge"] / (scale * max(picture)))
        fitted = picture[0] * scale, picture[1] * scale
    height, width = (max(int(round(side, 2)) // multiple, 1) * multiple for side in fitted)
    return height, width


def _fit_multiple(picture: Size, size: Size, settings: PictureSettings) -> Size:
    """Return a size with sides that are multiples of a number, scaled as little as possible.

    Source: R. Ranftl et al., arXiv:2103.13413 (2021).
    """
    scales = size[0] / picture[0], size[1] / picture[1]
    if settings.keep_aspect_ratio:
        scale = scales[1] if abs(1 - scales[1]) < abs(1 - scales[0]) else scales[0]
        scales = scale, scale
    multiple = settings.multiple
    height, width = (
        max(round(scale * side / multiple) * multiple, multiple)
        for scale, side in zip(scales, picture, strict=True)
    )
    return height, width
