"""Places that Florence-2 writes as tokens, such as `<loc_17>`: boxes and polygons in pixels.

Source: the processor of Florence-2 in `transformers`; a place counts from 0 to 999, from the left
edge of the picture to the right one, or from the top to the bottom.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from webnnm.transformers.task_prompts import TASKS, Task

BINS = 1000
"""The places along a side."""
PLACE = re.compile(r"<loc_(\d+)>")
BOX = re.compile(r"<loc_(\d+)><loc_(\d+)><loc_(\d+)><loc_(\d+)>")
NAMED_BOXES, BOXES = r"[^<]+(?:<loc_\d+>){4,}", r"(?:<loc_\d+>){4,}"
LABEL = re.compile(r"\s*(.*?)(?=</?od>|</?box>|</?bbox>|<loc_|<poly>)")
QUADRILATERAL = re.compile(r"(.+?)" + r"<loc_(\d+)>" * 8)
MARKS = r"<loc_\d+>|<sep>|<poly>|</poly>"
NAMED_POLYGONS, POLYGONS = rf"[^<]+(?:{MARKS}){{4,}}", rf"(?:{MARKS}){{4,}}"
POLYGON = re.compile(r"((?:<loc_\d+>)+)(?:<sep>|$)")
CONTROL = re.compile(r"</?s>|<pad>")
"""Tokens that begin and end texts."""
Size = tuple[int, int]
"""Height and width."""


def read_answer(text: str, mark: str, size: Size, banned: Sequence[str] = ()) -> Any:
    """Return what a text says, in the form of its task, for a picture of a height and width.

    >>> read_answer("car<loc_0><loc_250><loc_500><loc_999>", "<OD>", (400, 200))
    {'bboxes': [[0, 100, 100, 399]], 'labels': ['car']}

    `mark` is the word for the task, one of `TASKS`, "" for a text without places. `banned` are
    phrases that are left out where phrases of a caption are located.
    """
    task = TASKS.get(mark, Task(""))
    if task.answer == "text":
        return text.replace("<s>", "").replace("</s>", "").strip()
    text = CONTROL.sub("", text)
    if task.answer == "quadrilaterals":
        matches = [*QUADRILATERAL.finditer(text)]
        corners = [_scale(map(int, match.groups()[1:]), size) for match in matches]
        return {"quad_boxes": corners, "labels": [match[1].strip() for match in matches]}
    if task.answer == "polygons":
        shapes = [*_find_polygons(text, task.has_labels, size)]
        return {"polygons": [own for _, own in shapes], "labels": [label for label, _ in shapes]}
    if task.answer == "boxes or polygons":
        has_polygons = "<poly>" in text
        shapes = [*_find_polygons(text, True, size)] if has_polygons else []
        boxes = () if has_polygons else [*_find_boxes(text, True, size)]
        return {
            "bboxes": [box for _, box in boxes],
            "bboxes_labels": [label for label, _ in boxes],
            "polygons": [own for _, own in shapes],
            "polygons_labels": [label for label, _ in shapes],
        }
    left_out = banned if task.answer == "phrases" else ()
    boxes = [*_find_boxes(text, task.has_labels, size, left_out)]
    return {"bboxes": [box for _, box in boxes], "labels": [label for label, _ in boxes]}


def _scale(places: Iterable[int], size: Size) -> list[int]:
    """Return the pixels of places, from left to right and from top to bottom in turn.

    They are computed in float32, as by `transformers`: so they are the same where they are whole.
    """
    steps = array("f", [size[1] / BINS, size[0] / BINS])
    pixels = array("f", [(number + 0.5) * steps[n % 2] for n, number in enumerate(places)])
    return [int(pixel) for pixel in pixels]


def _find_boxes(
    text: str, has_labels: bool, size: Size, banned: Sequence[str] = ()
) -> Iterator[tuple[str, list[int]]]:
    """Yield labels and boxes, a label for each of the boxes that follow it."""
    for part in re.findall(NAMED_BOXES if has_labels else BOXES, text):
        label = _read_label(part)
        if label is None or label in banned:
            continue
        for match in BOX.finditer(part):
            yield label.encode("ascii", "ignore").decode(), _scale(map(int, match.groups()), size)


def _find_polygons(
    text: str, has_labels: bool, size: Size
) -> Iterator[tuple[str, list[list[int]]]]:
    """Yield labels and the polygons of what they name."""
    for part in re.findall(NAMED_POLYGONS if has_labels else POLYGONS, text):
        label = _read_label(re.sub(r"^<loc_\d+>", "", part, count=1))
        if label is None:
            continue
        is_marked = "<poly>" in part and "</poly>" in part
        for group in re.findall(r"<poly>(.*?)</poly>", part) if is_marked else [part]:
            polygons = [_read_polygon(match[1], size) for match in POLYGON.finditer(group)]
            if polygons:
                yield label, polygons


def _read_polygon(places: str, size: Size) -> list[int]:
    """Return the corners of a polygon; a last place without another one is dropped."""
    numbers = [int(digits) for digits in PLACE.findall(places)]
    return _scale(numbers[: len(numbers) // 2 * 2], size)


def _read_label(part: str) -> str | None:
    """Return the words before places, None if there are no places after them."""
    match = LABEL.match(part.replace("<ground>", "", 1).replace("<obj>", "", 1))
    return None if match is None else match[1].strip()
