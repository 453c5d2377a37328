"""Reads files of pictures as the pixels of a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any, Literal, NamedTuple, get_args

from webnnm.core.arrays import HostArray, concatenate
from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.data.files.labelled_files import LabelledFiles, list_names
from webnnm.data.pictures.fitting import (
    Fit,
    PictureFormat,
    check_fit,
    fit_pictures,
    measure_picture,
)

Mode = Literal["rgb", "grey"]
Unreadable = Literal["error", "skip"]

MAX_OWN = 128
"""The longest side, in pixels, of pictures that keep the size that all of them have."""
LONGER = 64
"""The longer side of others, in pixels."""
MEASURED = 100
"""The number of pictures, evenly spaced, whose size decides."""
MAX_SIDE = 8192


@dataclass(frozen=True, slots=True)
class PictureReport:
    """What was read from files.

    >>> print(PictureReport(2, 64, 48, "rgb", "crop", "the median shape"))
    2 pictures, 64 × 48 rgb (the median shape), cropped in the middle

    Attributes: `pictures`, their number; `width` and `height` in pixels; `mode`; `fit`;
    `why`, the reason for the size, "" if it was chosen; `skipped`, the files that are no pictures;
    `ignored`, files whose names end otherwise.
    """

    pictures: int
    width: int
    height: int
    mode: Mode
    fit: Fit
    why: str = ""
    skipped: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def __str__(self) -> str:
        how = {"crop": "cropped in the middle", "pad": "padded with black", "stretch": "stretched"}
        size = f"{self.width} × {self.height} {self.mode}" + (f" ({self.why})" if self.why else "")
        lines = [f"{self.pictures} pictures, {size}, {how[self.fit]}"]
        if self.skipped:
            lines.append(f"{len(self.skipped)} skipped: {list_names(self.skipped)}")
        if self.ignored:
            lines.append(f"{len(self.ignored)} of other kinds: {list_names(self.ignored)}")
        return "; ".join(lines)


class ReadPictures(NamedTuple):
    """Pictures of files: their `pixels`, the `layout` of these, the `files` that were read."""

    pixels: HostArray
    layout: str
    files: LabelledFiles
    report: PictureReport


async def read_picture_files(
    files: LabelledFiles,
    size: Any,
    fit: Fit,
    mode: Mode | None,
    unreadable: Unreadable,
    *,
    longer: int = LONGER,
    multiple: int = 1,
    enlarge: bool = True,
) -> ReadPictures:
    """Return the pixels of files, those that are no pictures left out or refused.

    See `ImageDataset.from_files`. A size that is not chosen has the `longer` side, or is smaller if
    pictures are not to be enlarged; its sides are multiples of a number.
    """
    check_fit(fit)
    for name, value, choices in (
        ("mode", mode, (None, *get_args(Mode))),
        ("unreadable", unreadable, get_args(Unreadable)),
    ):
        if value not in choices:
            hint = f"one of {', '.join(map(str, choices))}"
            raise DataError("NNM704", f'{name} is "{value}"', hint=hint)
    if len(files.sources) != len(files.labels):
        counts = f"{len(files.sources)} files, {len(files.labels)} labels"
        raise DataError("NNM702", counts, hint="give one label per file")
    if not files.sources:
        raise DataError("NNM705", "there are no files", hint="give at least one")
    (width, height), why = (
        (_read_size(size), "")
        if size is not None
        else await _find_size(files, longer, multiple, enlarge)
    )
    form = PictureFormat(width, height, 1 if mode == "grey" else 3, fit)
    results = await fit_pictures(files.sources, files.names, form)
    kept, arrays, skipped = list[int](), list[HostArray](), list[str]()
    for row, result in enumerate(results):
        if isinstance(result, DataError):
            if unreadable == "error":
                hint = 'remove it, or leave it out by unreadable="skip"'
                raise DataError(result.code, result.message, hint=hint) from result
            skipped.append(files.names[row])
        else:
            kept.append(row)
            arrays.append(HostArray("uint8", (1, *result.shape), result.data))
    if not arrays:
        raise DataError("NNM802", f"none of {len(results)} files is a picture that can be read")
    pixels = concatenate(arrays)
    if mode is None and _is_grey(pixels):
        pixels = HostArray("uint8", (*pixels.shape[:3], 1), bytes(pixels.data)[::3])
    grey = pixels.shape[3] == 1
    if grey:
        pixels = HostArray("uint8", pixels.shape[:3], pixels.data)
    report = PictureReport(
        len(kept), width, height, "grey" if grey else "rgb", fit, why, tuple(skipped), files.ignored
    )
    return ReadPictures(pixels, "hw" if grey else "hwc", files.select(kept), report)


def _read_size(size: Any) -> tuple[int, int]:
    """Return the width and the height that are chosen."""
    sides: list[Any] = [size, size] if is_integer(size) else [*size]
    if len(sides) != 2 or not all(is_integer(side) and 1 <= side <= MAX_SIDE for side in sides):
        hint = f"(width, height) in pixels, each 1 … {MAX_SIDE}"
        raise DataError("NNM704", f"size is {size!r}"[:60], hint=hint)
    width, height = sides
    return width, height


async def _find_size(
    files: LabelledFiles, longer: int, multiple: int, enlarge: bool
) -> tuple[tuple[int, int], str]:
    """Return a size for pictures, and why."""
    step = max(1, len(files.sources) // MEASURED)
    sizes: list[tuple[int, int]] = []
    for source, name in zip(files.sources[::step], files.names[::step], strict=True):
        try:
            sizes.append(await measure_picture(source, name))
        except DataError:
            continue  # who reads all of them reports it
    if not sizes:
        return (longer, longer), "no picture can be read"
    fits = not any(side % multiple for side in sizes[0])
    if len({*sizes}) == 1 and max(sizes[0]) <= MAX_OWN and fits:
        return sizes[0], "as all pictures are"
    width, height = (median(side) for side in zip(*sizes, strict=True))
    largest = max(width, height)
    scale = (longer if enlarge else min(longer, largest)) / largest / multiple
    smaller = (max(1, round(width * scale)) * multiple, max(1, round(height * scale)) * multiple)
    return smaller, f"their median shape is {width:g} × {height:g}"


def _is_grey(pixels: HostArray) -> bool:
    data = bytes(pixels.data)
    return data[::3] == data[1::3] == data[2::3]
