"""Reads files of masks, in which the number or the colour of a pixel is its class."""

from __future__ import annotations

import asyncio
import importlib
import re
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

from webnnm.backends import pyodide_host
from webnnm.core.arrays import HostArray
from webnnm.core.errors import BackendError, DataError
from webnnm.core.shapes import is_integer
from webnnm.data.files.labelled_files import (
    LabelledFiles,
    index_files,
    list_folder,
    list_names,
    load_file,
)
from webnnm.data.pictures.fitting import (
    ENDINGS,
    PictureFormat,
    find_part,
    measure_picture,
    open_picture,
)
from webnnm.data.pictures.pixels import rotate_upright

Value = int | tuple[int, int, int]
"""What a pixel of a mask has: a number, that of a palette too, or a colour."""
Kind = Literal["number", "bit", "colour"]
"""What the pixels of a file are: numbers, black or white, or colours."""

NO_CLASS = -1
MAX_CLASSES = 256
NUMBERS = ("L", "P", "I", "I;16", "I;16B", "I;16L", "I;16N")
"""Modes of pictures whose pixels are numbers."""
OUTSIDE = -(2**31)
"""The code of a pixel that is outside of the mask."""
BIT_WHITE = 255
"""The number of a white pixel of a mask with one bit, unless 1 is a class and 255 is none."""


@dataclass(frozen=True, slots=True)
class ReadMasks:
    """Masks of files: `classes`, int32 `[rows, height, width]`, and the `names` of these."""

    classes: HostArray
    names: list[str]


async def list_pairs(folder: Any, images: str, masks: str) -> LabelledFiles:
    """Return the pictures of a folder, each with the file of its mask as its label.

    A mask has the path of its picture in the other folder, whatever its ending. Raises `DataError`
    NNM715 without such folders, NNM706 for a picture without a mask, a mask without a picture, and
    two files of the same name.
    """
    files = await list_folder(folder, ENDINGS)
    by_folder: dict[str, dict[str, int]] = {}
    for folder_name in (images, masks):
        rows = [row for row, label in enumerate(files.labels) if label == folder_name]
        keys = [_find_key(files.names[row], folder_name) for row in rows]
        numbers = index_files(keys, [files.names[row] for row in rows])
        by_folder[folder_name] = {key: rows[number] for key, number in numbers.items()}
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
    files: LabelledFiles,
    form: PictureFormat,
    classes: Mapping[Any, str] | None,
    ignore: Value | None,
) -> ReadMasks:
    """Return the classes of the pixels of masks, brought to the size of their pictures.

    `files` are pictures, whose labels are the files of their masks. `classes` names the number or
    the colour of each class, by default the ones that occur, in order; pixels that are to be
    ignored, and those that are added by padding, have none. Raises `BackendError` NNM709 in pages,
    `DataError` NNM706 for a pixel that is no class, a mask of another shape than its picture, and
    masks of numbers among masks of colours, NNM702 for too many classes, NNM704 for `classes` and
    `ignore` that are none, NNM715 and NNM802 for what cannot be read.
    """
    if pyodide_host.in_browser():
        hint = "pass arrays [rows, height, width] of class numbers"
        raise BackendError("NNM709", "masks of files are read on desktops only", hint=hint)
    _check_options(classes, ignore)
    masks: list[_Mask] = []
    for picture, name, source in zip(files.sources, files.names, files.labels, strict=True):
        size = await measure_picture(picture, name)
        content = await load_file(source)
        masks.append(await asyncio.to_thread(_read_mask, content, name, size, form))
    declared = [*(classes or ()), *([] if ignore is None else [ignore])]
    coloured = _find_coloured(masks, declared)
    if coloured is None:
        declared = [_to_number(value) for value in declared]
        if classes is not None:
            classes = {_to_number(value): name for value, name in classes.items()}
        ignore = None if ignore is None else _to_number(ignore)
    white = _find_white(masks, declared if classes else [], ignore)
    decoded = [
        {code: _decode(code, mask.kind, white, coloured is None) for code in {*mask.codes}}
        for mask in masks
    ]
    values = {value for by_code in decoded for value in by_code.values() if value is not None}
    present = sorted(values - {ignore}, key=_order)
    if classes is None and len(present) > MAX_CLASSES:
        hint = "save masks as PNG, as JPEG changes colours, or name them by classes={…}"
        raise DataError("NNM702", f"masks have {len(present)} numbers or colours", hint=hint)
    chosen = {value: _name(value) for value in present} if classes is None else {**classes}
    numbers: dict[Any, int] = {value: number for number, value in enumerate(chosen)}
    numbers |= {None: NO_CLASS, ignore: NO_CLASS}
    flat = array("i")
    for mask, by_code in zip(masks, decoded, strict=True):
        unknown = next((code for code in sorted(by_code) if by_code[code] not in numbers), None)
        if unknown is not None:
            message = (
                f"the mask of {mask.name}: {mask.codes.count(unknown)} pixels are "
                f"{_name(by_code[unknown])}, which is no class"
            )
            hint = "classes={…} names numbers and colours, ignore= one that has no class"
            raise DataError("NNM706", message, hint=hint)
        class_of = {code: numbers[value] for code, value in by_code.items()}
        flat.extend(map(class_of.__getitem__, mask.codes))
    shape = (len(masks), form.height, form.width)
    return ReadMasks(HostArray("int32", shape, flat), [*chosen.values()])


def parse_value(name: str) -> Value | None:
    """Return the number or the colour for which a class is named by default, None for other names.

    >>> parse_value("255"), parse_value("#ff0010"), parse_value("cell")
    (255, (255, 0, 16), None)
    """
    if re.fullmatch("#[0-9a-f]{6}", name):
        red, green, blue = bytes.fromhex(name[1:])
        return red, green, blue
    return int(name) if re.fullmatch(r"0|[1-9]\d*", name, re.ASCII) else None


class _Mask(NamedTuple):
    """A mask of a picture: a code for each of its pixels, and what codes stand for."""

    name: str
    kind: Kind
    codes: array[int]


def _find_key(name: str, folder: str) -> str:
    """Return the path of a file without one of its folders and without its ending."""
    parts = [*PurePosixPath(name).with_suffix("").parts]
    parts.remove(folder)
    return "/".join(parts)


def _check_options(classes: Any, ignore: Any) -> None:
    if classes is not None and not isinstance(classes, Mapping):
        shown = f"{str(classes)[:60]}, not numbers or colours with names"
        hint = 'classes={0: "background", 255: "cell"} or {(0, 0, 0): "background", …}'
        raise DataError("NNM704", f"classes is {shown}", hint=hint)
    keys: list[Any] = [*(classes or ())]
    for option, value in [*(("classes", key) for key in keys), ("ignore", ignore)]:
        is_colour = isinstance(value, tuple) and len(value) == 3 and all(map(is_integer, value))
        if value is not None and not is_integer(value) and not is_colour:
            hint = "pixels have numbers, such as 255, or colours, such as (255, 0, 0)"
            raise DataError("NNM704", f"{option} has {value!r}"[:80], hint=hint)


def _read_mask(content: Any, name: str, size: tuple[int, int], form: PictureFormat) -> _Mask:
    """Return a mask in the size of its picture's form, each pixel that of the nearest one."""
    image = rotate_upright(open_picture(content, f"the mask of {name}"))
    _check_size(name, image.size, size)
    kind: Kind = "bit" if image.mode == "1" else "number"
    if image.mode in ("LA", "La", "1"):
        image = image.convert("L")
    elif image.mode == "PA":
        image = image.getchannel(0)
    elif image.mode not in NUMBERS:
        kind = "colour"
        image = image.convert("RGB").convert("RGBA")
    box, (width, height) = find_part(image.width, image.height, form)
    nearest = importlib.import_module("PIL.Image").Resampling.NEAREST
    image = image.resize((width, height), nearest, box=box)
    if kind == "colour" or image.mode not in ("L", "P"):
        pixels = array("i", (image if kind == "colour" else image.convert("I")).tobytes())
    else:
        pixels = array("i", [*image.tobytes()])
    codes = array("i", [OUTSIDE]) * (form.width * form.height)
    left, top = (form.width - width) // 2, (form.height - height) // 2
    for row in range(height):
        start = (top + row) * form.width + left
        codes[start : start + width] = pixels[row * width : (row + 1) * width]
    return _Mask(name, kind, codes)


def _check_size(name: str, mask: tuple[int, int], picture: tuple[int, int]) -> None:
    """Raise `DataError` NNM706 unless a mask has the shape of its picture, up to rounding."""
    (width, height), (across, down) = mask, picture
    if abs(width * down - height * across) >= max(across, down):
        shown, expected = (" × ".join(map(str, some)) for some in (mask, picture))
        raise DataError(
            "NNM706",
            f"the mask of {name} has {shown} pixels, its picture {expected} as it is seen",
            hint="save both in one size; photographs may be turned by EXIF, their masks too then",
        )


def _find_coloured(masks: Iterable[_Mask], declared: Iterable[Value]) -> str | None:
    """Return what shows that masks of colours are not grey, None if they are.

    Raises `DataError` NNM706 if there are masks of numbers besides.
    """
    masks = [*masks]
    of_colours = [mask for mask in masks if mask.kind == "colour"]
    reason = next(
        (
            f"the mask of {mask.name} has {_name(colour)}"
            for mask in of_colours
            for colour in map(_to_colour, sorted({*mask.codes} - {OUTSIDE}))
            if not _is_grey(colour)
        ),
        None,
    )
    if reason is None:
        key = next((value for value in declared if not _is_grey(value)), None)
        reason = None if key is None else f"{_name(key)} is declared"
    other = next((mask.name for mask in masks if mask.kind != "colour"), None)
    if reason is not None and other is not None and of_colours:
        message = f"masks have numbers, as that of {other}, and colours: {reason}"
        hint = "save all masks in one mode: grey, indexed by a palette, or RGB"
        raise DataError("NNM706", message, hint=hint)
    return reason


def _find_white(masks: Iterable[_Mask], declared: Sequence[Value], ignore: Value | None) -> int:
    """Return the number of white in masks of one bit: 255, or 1 if only that is a class."""
    others = {*declared}
    if not others:
        for mask in masks:
            if mask.kind == "number":
                others |= {*mask.codes}
            elif mask.kind == "colour":
                others |= {_to_colour(code)[0] for code in {*mask.codes} - {OUTSIDE}}
    others -= {ignore}
    return 1 if 1 in others and BIT_WHITE not in others else BIT_WHITE


def _decode(code: int, kind: Kind, white: int, numbers: bool) -> Value | None:
    """Return the number or the colour that a code stands for, None outside of the mask."""
    if code == OUTSIDE:
        return None
    if kind == "colour":
        colour = _to_colour(code)
        return colour[0] if numbers else colour
    return white if kind == "bit" and code else code


def _to_colour(code: int) -> tuple[int, int, int]:
    """Return red, green and blue of a pixel, which stand in this order in memory."""
    red, green, blue, _ = code.to_bytes(4, sys.byteorder, signed=True)
    return red, green, blue


def _to_number(value: Value) -> int:
    """Return the number of a grey colour, a number as it is."""
    return value[0] if isinstance(value, tuple) else value


def _is_grey(value: Value) -> bool:
    return not isinstance(value, tuple) or len({*value}) == 1


def _order(value: Value) -> tuple[int, ...]:
    return value if isinstance(value, tuple) else (value,)


def _name(value: Value | None) -> str:
    return "#{:02x}{:02x}{:02x}".format(*value) if isinstance(value, tuple) else str(value)
