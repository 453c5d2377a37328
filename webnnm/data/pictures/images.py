"""Datasets of images: pixels from arrays, scaled to 0 … 1, with named dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError, suggestion
from webnnm.core.shapes import count, show
from webnnm.data.dataset import Dataset
from webnnm.data.pictures.pixel_scale import Light, to_unit
from webnnm.data.pictures.pixels import LAYOUTS, concatenate_pictures, to_pixels


class ImageDataset(Dataset):
    """A dataset of images with labels, for classification or any other output.

    >>> data = ImageDataset(bytes(range(8)), [0, 1], shape=(2, 2), split=(1, 0, 0))
    >>> data.inputs["model"].names, data.inputs["model"].shape
    (('height', 'width'), (2, 2))

    - `images`: an array `[rows, height, width]`, `[rows, height, width, channels]` or `[rows,
      channels, height, width]`, or a list of single images, which can also be PIL images or the
      ImageData of a canvas (4 channels).
    - `labels`: one per image: class numbers, class names (numbered in alphabetical order), or any
      output that `Dataset` accepts.
    - `layout`: "hw", "hwc" or "chw"; by default the one with at most 4 channels.
    - `shape`: the shape of an image, if the images are flat, such as the bytes of a file.
    - `white`: the pixel value that is scaled to 1; by default 255 for bytes, else the smallest of
      1, 255 and 65535 that no pixel exceeds.

    Further options are those of `Dataset`: `standardize=True` works per channel, and `class_names`
    are its `labels`. Raises the errors of `Dataset`, and `DataError` NNM702 for images of different
    shapes or of an unknown layout.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        *,
        layout: str | None = None,
        shape: Sequence[int] | None = None,
        white: float | None = None,
        class_names: Sequence[str] | None = None,
        name: str = "images",
        **options: Any,
    ) -> None:
        pixels = _to_pixels(images, shape)
        names = LAYOUTS[_resolve_layout(pixels.shape[1:], layout)]
        self.light = Light.measure(pixels, white)
        super().__init__(
            to_unit(pixels, self.light.white),
            labels,
            name=name,
            labels=class_names,
            names={"model": names},
            **options,
        )


def _to_pixels(images: Any, shape: Sequence[int] | None) -> HostArray:
    try:
        values = concatenate_pictures(images) if isinstance(images, (list, tuple)) else None
        if values is None:
            values = to_pixels(images)
    except DataError as error:
        raise DataError(error.code, f"images: {error.message}", hint=error.hint) from error
    if shape is None:
        return values
    size = count(values.shape)
    if not count(shape) or size % count(shape):
        raise DataError("NNM702", f"{size} pixels do not divide into images of {show(shape)}")
    return HostArray.of(values, shape=(size // count(shape), *shape))


def _resolve_layout(shape: Sequence[int], layout: str | None) -> str:
    if layout is not None and layout not in LAYOUTS:
        hint = suggestion(layout, LAYOUTS) or f"one of {', '.join(LAYOUTS)}"
        raise DataError("NNM704", f'unknown layout "{layout}"', hint=hint)
    rank = len(shape)
    if layout is None and rank == 2:
        layout = "hw"
    if layout is None and rank == 3:
        first, _, last = shape
        layout = "hwc" if last <= 4 < first else "chw" if first <= 4 < last else None
    if layout is None or len(LAYOUTS[layout]) != rank:
        problem = f'are not "{layout}"' if layout else "have an ambiguous layout"
        raise DataError(
            "NNM702",
            f"images of {show(shape)} {problem}",
            hint='layout="hw", "hwc" or "chw" names the dimensions of one image',
        )
    return layout
