"""Pictures of a folder or an archive with the boxes that its other files hold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

from webnnm.core.errors import DataError
from webnnm.data.files.labelled_files import (
    SUBSETS,
    LabelledFiles,
    index_files,
    list_files,
    list_names,
    load_file,
    locate_files,
    read_columns,
    select_column,
)
from webnnm.data.files.references import Roots
from webnnm.data.pictures.annotations import (
    Annotation,
    parse_coco,
    parse_voc,
    parse_yolo,
)
from webnnm.data.pictures.boxes import Box, read_box, read_boxes
from webnnm.data.pictures.class_names import parse_class_names
from webnnm.data.pictures.fitting import ENDINGS

Source = Literal["COCO", "Pascal VOC", "YOLO", "CSV", ""]

CLASS_FILES = ("data.yaml", "data.yml", "dataset.yaml", "classes.txt", "obj.names", "names.txt")
"""Files with the names of the classes of YOLO."""
LABELS = ("label", "class", "name", "category")
"""The usual names of a column of labels."""
INSTANCES = "instances_"
OTHER_TASKS = re.compile("(person_keypoints|stuff|panoptic|captions)_")
"""Matches the names of files of COCO that annotate the pictures of "instances_…" otherwise."""
FOLDERS = ("images", "labels", "jpegimages", "annotations")
"""Folders of pictures and of the files that annotate them."""
OTHER_TEXTS = ("readme", "license", "train", "val", "valid", "test", "trainval", "requirements")
"""Texts that are no annotations: notes, and lists of files."""


class AnnotatedFiles(NamedTuple):
    """Pictures, whose labels are an `Annotation` each, and the format that these came in."""

    files: LabelledFiles
    source: Source


async def has_annotations(folder: Any) -> bool:
    """Return whether a folder or a zip archive has pictures with boxes.

    Raises `DataError` NNM802 for broken JSON.
    """
    files = await list_files(folder)
    pictures = {_find_stem(name) for name in files if _get_ending(name) in ENDINGS}
    texts = {_find_stem(name) for name in files if _get_ending(name) in (".txt", ".xml")}
    if pictures & texts:
        return True
    names = [name for name in files if _get_ending(name) == ".json"]
    return bool(pictures) and any(
        [
            parse_coco(name, await _read_text(files, name)) is not None
            for name in _select_instances(names)
        ]
    )


async def list_annotated_folder(folder: Any) -> AnnotatedFiles:
    """Return the pictures of a folder or a zip archive that have annotations.

    These are in JSON of COCO, in XML of Pascal VOC, or in texts of YOLO. Folders named train,
    validation and test, also with a year, are the subsets. Raises `DataError` NNM715 if there are
    no annotations or a picture is missing, NNM704 for several formats, and the errors of parsing.
    """
    files = await list_files(folder)
    where = f'"{folder}"' if isinstance(folder, (str, Path)) else "the archive"
    by_ending: dict[str, list[str]] = {}
    for name in files:
        by_ending.setdefault(_get_ending(name), []).append(name)
    pictures = _Pictures([name for ending in ENDINGS for name in by_ending.get(ending, ())])
    stems = {*map(_find_stem, pictures.names)}
    texts = by_ending.get(".txt", [])
    yolo = _index_by_stem([name for name in texts if _find_stem(name) in stems])
    if not pictures.names:
        hint = f"pictures end in {', '.join(ENDINGS)}"
        raise DataError("NNM715", f"{where} has no pictures", hint=hint)
    coco: dict[str, list[Annotation]] = {}
    for name in _select_instances(by_ending.get(".json", ())):
        annotations = parse_coco(name, await _read_text(files, name))
        if annotations is not None:
            coco[name] = annotations
    voc = by_ending.get(".xml", [])
    formats: dict[Source, int] = {"COCO": len(coco), "Pascal VOC": len(voc), "YOLO": len(yolo)}
    several = [f"{count} of {name}" for name, count in formats.items() if count]
    if not several:
        hint = (
            "expected: JSON of COCO, XML of Pascal VOC, or texts of YOLO beside the pictures; "
            "from_csv reads a table of boxes, ImageDataset.from_folder a folder for each class"
        )
        raise DataError("NNM715", f"{where} has no annotations with boxes", hint=hint)
    if len(several) > 1:
        hint = "move those of the other formats away"
        raise DataError("NNM704", f"{where} has annotations: {', '.join(several)}", hint=hint)
    if coco:
        listed = [(name, one) for name, annotations in coco.items() for one in annotations]
        return _collect("COCO", listed, pictures, files)
    if voc:
        listed = [(name, parse_voc(name, await _read_text(files, name))) for name in voc]
        return _collect("Pascal VOC", listed, pictures, files)
    _index_by_stem([name for name in pictures.names if _find_stem(name) in yolo])
    lost = [name for name in texts if _find_stem(name) not in yolo and not _is_other_text(name)]
    if lost:
        hint = "images/1.jpg belongs to labels/1.txt, or 1.jpg to 1.txt beside it"
        raise DataError("NNM715", f"there is no picture for {list_names(lost)}", hint=hint)
    names_file = next((name for name in files if _is_class_file(name)), None)
    classes: list[str] = []
    if names_file is not None:
        classes = parse_class_names(names_file, await _read_text(files, names_file))
    listed = []
    for name in pictures.names:
        text = yolo.get(_find_stem(name))
        content = "" if text is None else await _read_text(files, text)
        listed.append((name, parse_yolo(name, text or name, content, classes)))
    return _collect("YOLO", listed, pictures, files)


async def list_annotated_table(
    table: Any,
    file: str | None,
    label: str | None,
    corners: Sequence[str],
    folder: str | Path | None,
    references: Roots,
) -> AnnotatedFiles:
    """Return the pictures that a CSV table names, a box in each row, see `from_csv`.

    Rows with empty corners say that there is no object. Raises the errors of `read_columns`,
    `select_column` and `locate_files`, and `DataError` NNM713 for a corner that is no number,
    NNM710 for several columns that may be labels.
    """
    columns = await read_columns(table, [*filter(None, (file, label)), *corners])
    cells = [select_column(columns, name) for name in corners]
    file = next(iter(columns)) if file is None else file
    others = [name for name in columns if name not in (file, *corners)]
    if label is None:
        usual = [name for name in LABELS if name in others]
        if len(usual) > 1:
            hint = f'label="{usual[0]}" chooses one'
            message = f"the table has several columns of labels: {list_names(usual)}"
            raise DataError("NNM710", message, hint=hint)
        label = others[0] if len(others) == 1 else next(iter(usual), "label")
    names = [str(cell) for cell in select_column(columns, file)]
    labels = ["" if cell is None else str(cell) for cell in select_column(columns, label)]
    sources = dict(zip(names, locate_files(table, folder, names, references), strict=True))
    boxes: dict[str, list[tuple[Any, ...]]] = {name: [] for name in names}
    for number, (name, kind, numbers) in enumerate(
        zip(names, labels, zip(*cells, strict=True), strict=True), 1
    ):
        if all(one is None or not str(one).strip() for one in numbers):
            continue
        try:
            left, top, right, bottom = map(float, numbers)
        except (TypeError, ValueError) as error:
            shown = ", ".join(map(str, numbers))
            hint = f"{', '.join(corners)} are in pixels, all of them empty without an object"
            raise DataError("NNM713", f"row {number} of the table: {shown}", hint=hint) from error
        boxes[name].append((left, top, right - left, bottom - top, kind))
    annotations = [Annotation(name, some) for name, some in boxes.items()]
    return AnnotatedFiles(LabelledFiles([*boxes], [*sources.values()], annotations), "CSV")


def read_annotation(
    name: str, annotation: Annotation, size: tuple[int, int], skipped: list[str] | None
) -> list[Box]:
    """Return the boxes of a picture of this size, in pixels.

    Invalid ones and those outside are added to `skipped`; without it they raise `DataError` NNM706.
    Annotations of a picture of another size always do: its boxes are elsewhere.
    """
    width, height = size
    if annotation.size is not None and annotation.size != size:
        raise DataError(
            "NNM706",
            f'"{name}" has {width} × {height} pixels as it is seen, its annotation says '
            + " × ".join(map(str, annotation.size)),
            hint="annotate the picture as it is, or correct the size in the annotation",
        )
    if skipped is not None:
        skipped += [fault.message for fault in annotation.faults]
    if skipped is None and not annotation.relative:
        return read_boxes(f'"{name}"', annotation.boxes, width, height)
    boxes: list[Box] = []
    for number, value in enumerate(annotation.boxes):
        where = f'"{name}", box {number}'
        try:
            boxes.append(read_box(where, value, width, height, relative=annotation.relative))
        except DataError:
            if skipped is None:
                raise
            skipped.append(where)
    return boxes


class _Pictures:
    """The pictures of a folder, by their paths and by their names alone."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = sorted(names)
        self._all = {*names}
        self._by_name: dict[str, list[str]] = {}
        for name in self.names:
            self._by_name.setdefault(PurePosixPath(name).name, []).append(name)

    def find(self, owner: str, name: str) -> str:
        """Return the path of a picture that a file names, relative to it or anywhere.

        Raises `DataError` NNM715 if there is none, or if there are several.
        """
        own = PurePosixPath(name.replace("\\", "/"))
        beside = (PurePosixPath(owner).parent / own).as_posix()
        if beside in self._all:
            return beside
        paths = self._by_name.get(own.name, [])
        ending = [
            path for path in paths if PurePosixPath(path).parts[-len(own.parts) :] == own.parts
        ]
        subset = _find_subset(owner, of_file=True)
        for some in (ending, paths):
            chosen = [path for path in some if subset is None or _find_subset(path) == subset]
            if len(chosen) == 1:
                return chosen[0]
        which = f"of which there are {len(paths)}" if paths else "which is not in the folder"
        hint = (
            "name pictures by their path from the file" if paths else "add it, or remove the entry"
        )
        raise DataError("NNM715", f'"{owner}" names "{name}", {which}', hint=hint)


def _collect(
    source: Source,
    listed: Sequence[tuple[str, Annotation]],
    pictures: _Pictures,
    files: Mapping[str, Any],
) -> AnnotatedFiles:
    """Return the pictures that annotations name, in their order."""
    by_picture: dict[str, Annotation] = {}
    subsets: list[int | None] = []
    for owner, one in listed:
        path = one.picture if source == "YOLO" else pictures.find(owner, one.picture)
        if path in by_picture:
            hint = "keep one of them"
            raise DataError("NNM706", f'"{path}" is annotated twice, in "{owner}"', hint=hint)
        by_picture[path] = one
        subset = _find_subset(path)
        subsets.append(_find_subset(owner, of_file=True) if subset is None else subset)
    split = None
    if None not in subsets and len({*subsets}) > 1:
        parts = ([row for row, part in enumerate(subsets) if part == k] for k in range(3))
        training, validation, testing = parts
        split = training, validation, testing
    names = [*by_picture]
    ignored = tuple(name for name in pictures.names if name not in by_picture)
    labelled = LabelledFiles(
        names, [files[name] for name in names], [*by_picture.values()], split, ignored
    )
    return AnnotatedFiles(labelled, source)


def _find_subset(path: str, *, of_file: bool = False) -> int | None:
    """Return the number of the subset that a folder is named for, such as "train2017".

    With `of_file` also the file: "instances_train2017.json".
    """
    parts = PurePosixPath(path.lower())
    for part in (*parts.parts[:-1], *(parts.stem.split("_") if of_file else ())):
        subset = SUBSETS.get(re.sub(r"[_-]?\d+$", "", part))
        if subset is not None:
            return subset
    return None


def _get_ending(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def _find_stem(name: str) -> str:
    """Return a path without its ending, and without the folders of pictures and of labels."""
    path = PurePosixPath(name)
    folders = [part for part in path.parts[:-1] if part.lower() not in FOLDERS]
    return "/".join((*folders, path.stem))


def _index_by_stem(names: Sequence[str]) -> dict[str, str]:
    """Return files by stem; raises `DataError` NNM706 for two of the same."""
    return {stem: names[row] for stem, row in index_files([*map(_find_stem, names)], names).items()}


def _select_instances(names: Sequence[str]) -> list[str]:
    """Return files of JSON without those of other tasks of COCO beside "instances_…"."""
    siblings = {name: _find_instances(name) for name in names}
    return [name for name in names if siblings[name] not in siblings]


def _find_instances(name: str) -> str | None:
    """Return the file with the boxes of the pictures that a file annotates otherwise."""
    path = PurePosixPath(name)
    match = OTHER_TASKS.match(path.name)
    return None if match is None else str(path.with_name(INSTANCES + path.name[match.end() :]))


def _is_class_file(name: str) -> bool:
    return PurePosixPath(name).name.lower() in CLASS_FILES


def _is_other_text(name: str) -> bool:
    stem = PurePosixPath(name).stem.lower()
    return _is_class_file(name) or any(stem.split(".")[0] == other for other in OTHER_TEXTS)


async def _read_text(files: Mapping[str, Any], name: str) -> str:
    content = bytes(await load_file(files[name]))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError("NNM802", f'"{name}" is no text: {error}', hint="save as UTF-8") from error
