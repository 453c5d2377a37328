"""Texts that annotate pictures with boxes, in the formats of COCO, Pascal VOC and YOLO.

Sources: the formats' own pages, https://cocodataset.org/#format-data,
http://host.robots.ox.ac.uk/pascal/VOC/voc2012/htmldoc/devkit_doc.html (coordinates count from 1),
https://docs.ultralytics.com/datasets/detect/ (centers, in shares of the picture).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from webnnm.core.errors import DataError
from webnnm.core.json_text import parse_json

MAX_VALUES = 20_000_000
"""How many values a file of COCO may hold: outlines have many."""
COCO = ("images", "annotations", "categories")
"""The lists that make JSON a file of COCO."""
CORNERS = ("xmin", "ymin", "xmax", "ymax")
ROUNDING = 0.01
"""By how much shares of YOLO may exceed 0 … 1, as the loader of Ultralytics has it."""


class Annotation(NamedTuple):
    """The boxes of a picture, (x, y, width, height, label) each, its name, and its size if told.

    `relative` says that coordinates are shares of the width and the height of the picture.
    `crowds` counts regions of many objects, which are left out; `faults` are the errors of boxes
    that could not be read.
    """

    picture: str
    boxes: Sequence[tuple[Any, ...]]
    size: tuple[int, int] | None = None
    relative: bool = False
    crowds: int = 0
    faults: tuple[DataError, ...] = ()


def parse_coco(name: str, text: str) -> list[Annotation] | None:
    """Return the pictures of a file of COCO, None for other JSON.

    >>> parse_coco("a.json", '{"images": [{"id": 1, "file_name": "1.png"}], "annotations":'
    ...     ' [{"id": 7, "image_id": 1, "category_id": 2, "bbox": [1, 2, 3, 4]}],'
    ...     ' "categories": [{"id": 2, "name": "cat"}]}')[0].boxes
    [(1, 2, 3, 4, 'cat')]

    Raises `DataError` NNM802 for broken JSON, NNM706 for an annotation of no picture or class.
    """
    try:
        content: Any = parse_json(text, MAX_VALUES)
    except ValueError as error:
        raise DataError("NNM802", f'"{name}" is no JSON: {error}') from error
    if not all(isinstance(_get(content, part), list) for part in COCO):
        return None
    try:
        labels: dict[Any, str] = {one["id"]: str(one["name"]) for one in content["categories"]}
        images: dict[Any, Any] = {one["id"]: one for one in content["images"]}
        boxes: dict[Any, list[tuple[Any, ...]]] = {image: [] for image in images}
        crowds = dict.fromkeys(images, 0)
        faults: dict[Any, list[DataError]] = {image: [] for image in images}
    except (KeyError, TypeError) as error:
        hint = 'each has an "id", categories a "name", images a "file_name"'
        raise DataError(
            "NNM706", f'"{name}": its images or categories lack {error}', hint=hint
        ) from error
    for number, one in enumerate(content["annotations"]):
        where = f'"{name}", annotation {number}'
        image, category = _get(one, "image_id"), _get(one, "category_id")
        box = _get(one, "bbox")
        wrong = [
            f"{what} {number}"
            for what, number, entries in (("image", image, images), ("category", category, labels))
            if not isinstance(number, (int, str)) or number not in entries
        ]
        if wrong:
            hint = f"correct it, or remove the annotation (id {_get(one, 'id')})"
            raise DataError("NNM706", f"{where}: there is no {wrong[0]}", hint=hint)
        if not isinstance(box, list) or len(box) != 4:
            hint = f'"bbox" is [x, y, width, height] in pixels (id {_get(one, "id")})'
            message = f"{where}: its box is {str(box)[:60]}"
            faults[image].append(DataError("NNM706", message, hint=hint))
        elif _get(one, "iscrowd"):
            crowds[image] += 1
        else:
            boxes[image].append((*box, labels[category]))
    return [
        Annotation(
            str(_get(one, "file_name")),
            boxes[image],
            _read_size(one),
            crowds=crowds[image],
            faults=(*faults[image],),
        )
        for image, one in images.items()
    ]


def _get(entry: Any, name: str) -> Any:
    return entry.get(name) if isinstance(entry, dict) else None


def _read_size(entry: Mapping[str, Any]) -> tuple[int, int] | None:
    width, height = entry.get("width"), entry.get("height")
    return (width, height) if isinstance(width, int) and isinstance(height, int) else None


def parse_voc(name: str, text: str) -> Annotation:
    """Return the boxes of a picture from its file of Pascal VOC.

    >>> parse_voc("1.xml", "<annotation><filename>1.png</filename><object><name>cat</name>"
    ...     "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>8</xmax><ymax>6</ymax></bndbox></object>"
    ...     "</annotation>")
    Annotation(picture='1.png', boxes=[(0.0, 0.0, 8.0, 6.0, 'cat')], size=None, relative=False, \
crowds=0, faults=())

    Raises `DataError` NNM802 for broken XML.
    """
    from xml.etree import ElementTree

    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise DataError("NNM802", f'"{name}" is no XML: {error}') from error
    picture = (root.findtext("filename") or PurePosixPath(name).stem).strip()
    boxes: list[tuple[Any, ...]] = []
    faults: list[DataError] = []
    for number, one in enumerate(root.findall("object")):
        label = (one.findtext("name") or "").strip()
        try:
            left, top, right, bottom = (
                float(one.findtext(f"bndbox/{corner}") or "") for corner in CORNERS
            )
        except ValueError:
            hint = f"<bndbox> has {', '.join(CORNERS)} in pixels, <name> the class"
            faults.append(DataError("NNM706", f'"{name}", object {number} has no box', hint=hint))
            continue
        # The first pixel is 1, and the last one is part of the box.
        boxes.append((left - 1, top - 1, right - left + 1, bottom - top + 1, label))
    size = (root.findtext("size/width") or "", root.findtext("size/height") or "")
    is_known = all(side.strip().isdecimal() and int(side) for side in size)
    sides = (int(size[0]), int(size[1])) if is_known else None
    return Annotation(picture, boxes, sides, faults=(*faults,))


def parse_yolo(picture: str, name: str, text: str, classes: Sequence[str]) -> Annotation:
    """Return the boxes of a picture from its text of YOLO, in shares of the picture.

    >>> parse_yolo("1.png", "1.txt", "1 0.5 0.5 0.25 0.5", ["cat", "dog"]).boxes
    [(0.375, 0.25, 0.25, 0.5, 'dog')]

    `classes` are their names, () if they have none. Raises `DataError` NNM706 for a class without
    a name.
    """
    boxes: list[tuple[Any, ...]] = []
    faults: list[DataError] = []
    for number, line in enumerate(text.splitlines(), 1):
        where = f'"{name}", line {number}'
        values = line.split()
        if not values:
            continue
        try:
            kind, shares = int(values[0]), [float(share) for share in values[1:]]
        except ValueError:
            kind, shares = -1, list[float]()
        hint = "class number, then x and y of the center, width and height in shares of 1"
        if kind >= 0 and len(shares) >= 6 and len(shares) % 2 == 0:
            hint = f"an outline of {len(shares) // 2} points is no box; a box is {hint}"
        elif kind >= 0 and len(shares) == 4:
            hint = "shares of the width and the height of the picture are 0 … 1"
        if (
            kind < 0
            or len(shares) != 4
            or not all(-ROUNDING <= share <= 1 + ROUNDING for share in shares)
        ):
            faults.append(DataError("NNM706", f"{where}: {line[:60]}", hint=hint))
            continue
        if classes and kind >= len(classes):
            hint = f"{len(classes)} classes have names: {', '.join(classes[:5])}"
            raise DataError("NNM706", f"{where}: class {kind}", hint=hint)
        across, down = shares[2:]
        left, top = shares[0] - across / 2, shares[1] - down / 2
        boxes.append((left, top, across, down, classes[kind] if classes else str(kind)))
    return Annotation(picture, boxes, relative=True, faults=(*faults,))
