"""Datasets of images: pixels from arrays, in 0 … 1, with names of their dimensions."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from webnnm.arrays import HostArray, joined
from webnnm.data.dataset import Dataset
from webnnm.dtypes import is_float
from webnnm.errors import DataError, suggestion
from webnnm.shapes import count, show

LAYOUTS = {
    "hw": ("height", "width"),
    "hwc": ("height", "width", "channels"),
    "chw": ("channels", "height", "width"),
}
"""Order of dimensions → their names; a model that uses the same names gets its own order."""

CHANNELS = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}
"""Modes of image objects of one byte per channel."""

FULL_SCALES = (1.0, 255.0, 65535.0)


class ImageDataset(Dataset):
    """Images with labels, for classification or other outputs.

    >>> data = ImageDataset(bytes(range(8)), [0, 1], shape=(2, 2), split=(1, 0, 0))
    >>> data.inputs["model"].names, data.inputs["model"].shape
    (('height', 'width'), (2, 2))

    - `images`: an array `[rows, height, width]`, `[rows, height, width, channels]` or
      `[rows, channels, height, width]`, or a list of such images without the rows. An image may
      also be an object of PIL, or a canvas' ImageData (4 channels).
    - `labels`: one per image: class numbers, class names (numbered in alphabetical order), or any
      output that `Dataset` takes.
    - `layout`: "hw", "hwc" or "chw"; by default the one whose channels are at most 4.
    - `shape`: of one image, where the images are flat, such as bytes of a file.
    - `white`: the number that becomes 1; by default 255 for bytes, else the first of 1, 255 and
      65535 that no pixel exceeds.

    Further options are those of `Dataset`: `standardize=True` is per channel, `class_names` are its
    `labels`. Raises `DataError` NNM702 for images of unequal shapes or of no known layout, and all
    that `Dataset` raises.
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
        pixels = _pixels(images, shape)
        names = LAYOUTS[_layout(pixels.shape[1:], layout)]
        if class_names is None and isinstance(labels, list | tuple) and _all_words(labels):  # type: ignore[reportUnknownArgumentType]
            class_names = sorted(set(labels))  # type: ignore[reportUnknownArgumentType]
            number = {word: index for index, word in enumerate(class_names)}
            labels = [number[word] for word in labels]  # type: ignore[reportUnknownVariableType]
        super().__init__(
            to_unit(pixels, white),
            labels,
            name=name,
            labels=class_names,
            names={"model": names},
            **options,
        )


def to_unit(pixels: HostArray, white: float | None = None) -> HostArray:
    """Return pixels in 0 … 1, float32.

    >>> to_unit(HostArray.of([[0, 51, 255]], "uint8")).tolist()[0][1] == HostArray.of(0.2).tolist()
    True

    `white` is the number that becomes 1, see `ImageDataset`. Raises `DataError` NNM704 for one that
    is not positive.
    """
    flat = pixels.values()
    if pixels.dtype == "uint8" and white is None:
        white = 255.0
    if white is None:
        highest = max(flat, default=0)
        white = next((full for full in FULL_SCALES if highest <= full), 1.0)
    if not white > 0:
        raise DataError("NNM704", f"white is {white}", hint="the number that stands for full light")
    if white == 1 and is_float(pixels.dtype):
        return HostArray.of(pixels, "float32")
    if pixels.dtype == "uint8":
        light = [value / white for value in range(256)]
        return HostArray("float32", pixels.shape, array("f", map(light.__getitem__, flat)))
    return HostArray("float32", pixels.shape, array("f", [value / white for value in flat]))


def _pixels(images: Any, shape: Sequence[int] | None) -> HostArray:
    try:
        values = _joined(images) if isinstance(images, list | tuple) else None  # type: ignore[reportUnknownArgumentType]
        if values is None:
            values = HostArray.of(images)
    except DataError as error:
        raise DataError(error.code, f"images: {error.message}", hint=error.hint) from error
    if shape is None:
        return values
    size = count(values.shape)
    if not count(shape) or size % count(shape):
        raise DataError("NNM702", f"{size} pixels do not divide into images of {show(shape)}")
    return HostArray.of(values, shape=(size // count(shape), *shape))


def _joined(images: Sequence[Any]) -> HostArray | None:
    """Return a list of arrays or image objects as rows, None for nested lists of numbers."""
    if not images or isinstance(images[0], list | tuple | int | float):
        return None
    rows = [_image(row, image) for row, image in enumerate(images)]
    for row, values in enumerate(rows):
        if (values.dtype, values.shape) != (rows[0].dtype, rows[0].shape):
            found = [f"{some.dtype}{show(some.shape[1:])}" for some in (values, rows[0])]
            raise DataError(
                "NNM702",
                f"image {row} is {found[0]}, image 0 {found[1]}",
                hint="bring all images to one size and mode",
            )
    return joined(rows)


def _image(row: int, image: Any) -> HostArray:
    """Return an array or an image object as one row."""
    if hasattr(image, "width") and hasattr(image, "data") and not hasattr(image, "mode"):
        data = image.data.to_py() if hasattr(image.data, "to_py") else image.data
        return HostArray("uint8", (1, image.height, image.width, 4), data)
    if not hasattr(image, "mode"):
        values = HostArray.of(image)
        return HostArray(values.dtype, (1, *values.shape), values.data)
    channels = CHANNELS.get(image.mode)
    if channels is None:
        raise DataError(
            "NNM702",
            f'image {row} has mode "{image.mode}", known are {", ".join(CHANNELS)}',
            hint='image.convert("RGB") or image.convert("L")',
        )
    width, height = image.size
    depth = () if channels == 1 else (channels,)
    return HostArray("uint8", (1, height, width, *depth), image.tobytes())


def _layout(shape: Sequence[int], wanted: str | None) -> str:
    if wanted is not None and wanted not in LAYOUTS:
        hint = suggestion(wanted, LAYOUTS) or f"one of {', '.join(LAYOUTS)}"
        raise DataError("NNM704", f'unknown layout "{wanted}"', hint=hint)
    rank = len(shape)
    if wanted is None and rank == 2:
        wanted = "hw"
    if wanted is None and rank == 3:
        first, _, last = shape
        wanted = "hwc" if last <= 4 < first else "chw" if first <= 4 < last else None
    if wanted is None or len(LAYOUTS[wanted]) != rank:
        problem = f'are not "{wanted}"' if wanted else "have no clear layout"
        raise DataError(
            "NNM702",
            f"images of {show(shape)} {problem}",
            hint='layout="hw", "hwc" or "chw" names the dimensions of one image',
        )
    return wanted


def _all_words(values: Sequence[Any]) -> bool:
    return bool(values) and all(isinstance(value, str) for value in values)
