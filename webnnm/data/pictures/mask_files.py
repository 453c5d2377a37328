"""Reads files of masks, in which the number or the colour of a pixel is its class."""

from __future__ import annotations

import asyncio
import importlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from webnnm.backends import pyodide_host
from webnnm.core.arrays import HostArray
from webnnm.core.errors import BackendError, DataError
from webnnm.data.files.labelled_files import LabelledFiles, list_folder, list_names, load_file
from webnnm.data.pictures.fitting import ENDINGS, PictureFormat, find_part, open_picture
from webnnm.data.pictures.pixels import rotate_upright

Value = int | tuple[int, int, int]
"""What a pixel of a mask has: a number, that of a palette too, or a colour."""

NO_CLASS = -1
MAX_CLASSES = 256


@dataclass(frozen=True, slots=True)
class ReadMasks:
    """Masks of files: `classes`, int32 `[rows, height, width]`, and the `names` of these."""

    classes: HostArray
    names: list[str]


async def list_pairs(folder: Any, images: str, masks: str) -> LabelledFiles:
    """Return the pictures of a folder, each with the file of its mask as its label.

    A mask has the path of its picture in the other folder, whatever its ending. Raises `DataError`
    NNM715 without such folders, NNM706 for a picture without a mask and a mask without a picture.
    """
    files = await list_folder(folder, ENDINGS)
    by_folder: dict[str, dict[str, int]] = {images: {}, masks: {}}
    for row, (name, label) in enumerate(zip(files.names, files.labels, strict=True)):
        if label in by_folder:
            path = PurePosixPath(name)
            own = list(path.with_suffix("").parts)
            own.remove(label)
            by_folder[label]["/".join(own)] = row
    missing = [label for label, rows in by_folder.items() if not rows]
    if missing:
        where = f'"{folder}"' if isinstance(folder, (str, Path)) else "the archive"
        labels = list_names(sorted({*map(str, files.labels)}))
        hint = f"pictures and masks are in {images}/ and {masks}/; it has {labels}"
        raise DataError("NNM715", f"{where} has no files in {missing[0]}/", hint=hint)
    alone = sorted({*by_folder[images]} ^ {*by_folder[masks]})
    if alone:
        lacking = masks if alone[0] in by_folder[images] else images
        message = f"{list_names(alone)} {'is' if len(alone) == 1 else 'are'} not in {lacking}/"
        raise DataError("NNM706", message, hint="a mask has the name of its picture")
    rows = [by_folder[images][name] for name in by_folder[images]]
    sources = [files.sources[by_folder[masks][name]] for name in by_folder[images]]
    return files.select(rows)._replace(labels=sources)


async def read_masks(
    sources: Sequence[Any],
    names: Sequence[str],
    form: PictureFormat,
    classes: Mapping[Any, str] | None,
    ignore: Value | None,
) -> ReadMasks:
    """Return the classes of the pixels of masks, brought to the size of their pictures.

    `classes` names the number or the colour of each class, by default the ones that occur, in
    order; pixels that are to be ignored, and those that are added by padding, have none. Raises
    `BackendError` NNM709 in pages, `DataError` NNM706 for a pixel that is no class, NNM702 for too
    many, NNM715 and NNM802 for what cannot be read.
    """
    if pyodide_host.in_browser():
        hint = "pass arrays [rows, height, width] of class numbers"
        raise BackendError("NNM709", "masks of files are read on desktops only", hint=hint)
    read: list[Sequence[Value | None]] = []
    for source, name in zip(sources, names, strict=True):
        content = await load_file(source)
        read.append(await asyncio.to_thread(_read_values, content, f"the mask of {name}", form))
    values = {value for one in read for value in {*one} if value is not None}
    present = sorted(values - {ignore}, key=_order)
    if classes is None and len(present) > MAX_CLASSES:
        hint = "save masks as PNG, as JPEG changes colours, or name them by classes={…}"
        raise DataError("NNM702", f"masks have {len(present)} numbers or colours", hint=hint)
    chosen = {value: _name(value) for value in present} if classes is None else {**classes}
    numbers: dict[Any, int] = {value: number for number, value in enumerate(chosen)}
    numbers |= {None: NO_CLASS, ignore: NO_CLASS}
    flat = array("i")
    for name, values in zip(names, read, strict=True):
        unknown = next((value for value in {*values} if value not in numbers), None)
        if unknown is not None:
            count = sum(value == unknown for value in values)
            message = f"the mask of {name}: {count} pixels are {_name(unknown)}, which is no class"
            hint = "classes={…} names numbers and colours, ignore= one that has no class"
            raise DataError("NNM706", message, hint=hint)
        flat.extend(numbers[value] for value in values)
    shape = (len(read), form.height, form.width)
    return ReadMasks(HostArray("int32", shape, flat), [*chosen.values()])


def _read_values(content: Any, name: str, form: PictureFormat) -> Sequence[Value | None]:
    """Return the number or the colour of each pixel, of the nearest one where sizes differ."""
    image = rotate_upright(open_picture(content, name))
    if image.mode not in ("1", "L", "P", "I", "I;16"):
        image = image.convert("RGB")
    if image.mode == "1":
        image = image.convert("L")
    box, (width, height) = find_part(image.width, image.height, form)
    nearest = importlib.import_module("PIL.Image").Resampling.NEAREST
    image = image.resize((width, height), nearest, box=box)
    if image.mode == "RGB":
        data = image.tobytes()
        pixels: list[Value] = [*zip(data[::3], data[1::3], data[2::3], strict=True)]
    elif image.mode in ("L", "P"):
        pixels = [*image.tobytes()]
    else:
        pixels = [*array("i", image.convert("I").tobytes())]
    values: list[Value | None] = [None] * (form.width * form.height)
    left, top = (form.width - width) // 2, (form.height - height) // 2
    for row in range(height):
        start = (top + row) * form.width + left
        values[start : start + width] = pixels[row * width : (row + 1) * width]
    return values


def _order(value: Value) -> tuple[int, ...]:
    return value if isinstance(value, tuple) else (value,)


def _name(value: Value) -> str:
    return "#{:02x}{:02x}{:02x}".format(*value) if isinstance(value, tuple) else str(value)
