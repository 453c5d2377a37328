"""Texts that annotate pictures with boxes, in the formats of COCO, Pascal VOC and YOLO.

Sources: the formats' own pages, https://cocodataset.org/#format-data,
http://host.robots.ox.ac.uk/pascal/VOC/voc2012/htmldoc/devkit_doc.html (coordinates count from 1),
https://docs.ultralytics.com/datasets/detect/ (centers, in shares of the picture).
"""

from __future__ import annotations

import re
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
_NAME = re.compile(r"""\s*(?:-|(\d+)\s*:)\s*["']?(.+?)["']?\s*(?:#.*)?$""")
"""Matches a line of a list of names in YAML: "- cat" or "0: cat"."""


class Annotation(NamedTuple):
    """The boxes of a picture, (x, y, width, height, label) each, its name, and its size if told.

    `relative` says that coordinates are shares of the width and the height of the picture.
    `crowds` counts regions of many objects, which are left out.
    """

    picture: str
    boxes: Sequence[tuple[Any, ...]]
    size: tuple[int, int] | None = None
    relative: bool = False
    crowds: int = 0


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
            raise DataError("NNM706", f"{where}: its box is {str(box)[:60]}", hint=hint)
        if _get(one, "iscrowd"):
            crowds[image] += 1
        else:
            boxes[image].append((*box, labels[category]))
    return [
        Annotation(str(_get(one, "file_name")), boxes[image], _read_size(one), crowds=crowds[image])
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
crowds=0)

    Raises `DataError` NNM802 for broken XML, NNM706 for an object without a name or a box.
    """
    from xml.etree import ElementTree

    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise DataError("NNM802", f'"{name}" is no XML: {error}') from error
    picture = (root.findtext("filename") or PurePosixPath(name).stem).strip()
    boxes: list[tuple[Any, ...]] = []
    for number, one in enumerate(root.findall("object")):
        label = (one.findtext("name") or "").strip()
        try:
            left, top, right, bottom = (
                float(one.findtext(f"bndbox/{corner}") or "") for corner in CORNERS
            )
        except ValueError as error:
            hint = f"<bndbox> has {', '.join(CORNERS)} in pixels, <name> the class"
            raise DataError("NNM706", f'"{name}", object {number} has no box', hint=hint) from error
        # The first pixel is 1, and the last one is part of the box.
        boxes.append((left - 1, top - 1, right - left + 1, bottom - top + 1, label))
    size = (root.findtext("size/width") or "", root.findtext("size/height") or "")
    is_known = all(side.strip().isdecimal() and int(side) for side in size)
    return Annotation(picture, boxes, (int(size[0]), int(size[1])) if is_known else None)


def parse_yolo(name: str, text: str, classes: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the boxes of a text of YOLO, in shares of the picture.

    >>> parse_yolo("1.txt", "1 0.5 0.5 0.25 0.5", ["cat", "dog"])
    [(0.375, 0.25, 0.25, 0.5, 'dog')]

    `classes` are their names, () if they have none. Raises `DataError` NNM706 for a line that is
    none.
    """
    boxes: list[tuple[Any, ...]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            label, x, y, width, height = line.split()
            kind = int(label)
            shares = [float(share) for share in (x, y, width, height)]
        except ValueError as error:
            hint = "class number, then x and y of the center, width and height in shares of 1"
            raise DataError("NNM706", f'"{name}", line {number}: {line[:60]}', hint=hint) from error
        if not all(0 <= share <= 1 for share in shares) or kind < 0:
            hint = "shares of the width and the height of the picture are 0 … 1"
            raise DataError("NNM706", f'"{name}", line {number}: {line[:60]}', hint=hint)
        if classes and kind >= len(classes):
            hint = f"{len(classes)} classes have names: {', '.join(classes[:5])}"
            raise DataError("NNM706", f'"{name}", line {number}: class {kind}', hint=hint)
        across, down = shares[2:]
        left, top = shares[0] - across / 2, shares[1] - down / 2
        boxes.append((left, top, across, down, classes[kind] if classes else str(kind)))
    return boxes


def parse_class_names(name: str, text: str) -> list[str]:
    """Return the names of classes: one a line, or under `names` of a file of YAML.

    >>> parse_class_names("data.yaml", "nc: 2\\nnames: ['cat', 'dog']")
    ['cat', 'dog']
    >>> parse_class_names("data.yaml", "names:\\n  0: cat\\n  1: dog\\npath: .")
    ['cat', 'dog']

    Raises `DataError` NNM706 for YAML without them.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not name.endswith((".yaml", ".yml")):
        return [line.strip() for line in lines]
    start = next((at for at, line in enumerate(lines) if line.startswith("names:")), None)
    names: list[str] = []
    if start is not None:
        inline = lines[start].partition(":")[2].strip()
        if inline.startswith("[") and inline.endswith("]"):
            names = [part.strip().strip("'\"") for part in inline[1:-1].split(",")]
        for line in lines[start + 1 :] if not inline else []:
            match = _NAME.match(line)
            if match is None or (match[1] is not None and int(match[1]) != len(names)):
                break
            names.append(match[2])
    if not names:
        hint = "such as names: [cat, dog], in the order of their numbers"
        raise DataError("NNM706", f'"{name}" has no names of classes', hint=hint)
    return names
