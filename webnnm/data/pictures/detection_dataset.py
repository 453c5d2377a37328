"""Datasets of pictures with boxes around their objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from webnnm.core.arrays import HostArray
from webnnm.core.awaiting import require_await_of_methods
from webnnm.core.errors import DataError
from webnnm.core.shapes import is_integer
from webnnm.data.dataset import Dataset
from webnnm.data.files.labelled_files import MAX_NAMED, LabelledFiles, number_labels
from webnnm.data.pictures.annotations import CORNERS
from webnnm.data.pictures.augmentations import MovesBoxes, PictureChange
from webnnm.data.pictures.box_grid import BoxGrid
from webnnm.data.pictures.boxed_change import BoxedChange
from webnnm.data.pictures.boxes import Box, Placement, clip_boxes, name_boxes, read_boxes
from webnnm.data.pictures.images import read_images, resolve_layout
from webnnm.data.pictures.pixel_scale import Light, to_unit
from webnnm.data.pictures.pixels import LAYOUTS

if TYPE_CHECKING:
    from webnnm.data.files.references import Roots
    from webnnm.data.pictures.annotated_files import AnnotatedFiles
    from webnnm.data.pictures.fitting import Fit
    from webnnm.data.pictures.picture_files import Mode, PictureReport, Unreadable
    from webnnm.data.preparation.augment import Augmentation

STRIDE = 4
"""The pixels of a cell, in each direction."""
LONGER = 96
"""The longer side of large pictures of files, in pixels: objects are smaller than pictures."""


@dataclass(frozen=True, slots=True)
class BoxReport:
    """What was read from files.

    Attributes: `pictures`, as `ImageDataset.file_report`; `source`, the format of the boxes, or "";
    `boxes`, their number; `classes`, their names; `crowds`, the regions of many objects (COCO) that
    are left out; `broken`, the invalid boxes that are left out.
    """

    pictures: PictureReport
    source: str
    boxes: int
    classes: tuple[str, ...]
    crowds: int = 0
    broken: tuple[str, ...] = ()

    def __str__(self) -> str:
        source = f" ({self.source})" if self.source else ""
        boxes = _count(self.boxes, "box", "boxes")
        classes = _count(len(self.classes), "class", "classes")
        lines = [str(self.pictures), f"{boxes} of {classes}{source}"]
        if self.crowds:
            lines.append(f"{_count(self.crowds, 'crowd', 'crowds')} left out")
        if self.broken:
            skipped = _count(len(self.broken), "invalid box", "invalid boxes")
            lines.append(f"{skipped} skipped: {'; '.join(self.broken[:MAX_NAMED])}")
        return "; ".join(lines)


@require_await_of_methods("dataset")
class DetectionDataset(Dataset):
    """A dataset of pictures with boxes around their objects, for object detection.

    >>> boxes = [[(1, 2, 3, 4, "cat")], []]
    >>> data = DetectionDataset(bytes(128), boxes, shape=(8, 8), split=(1, 0, 0))
    >>> data.labels(), data.outputs["model"].shape, data.boxes("training")[1]
    (['cat'], (2, 2, 5), [])

    - `images`: as in `ImageDataset`.
    - `boxes`: for each image a list of (x, y, width, height, label), in pixels from its upper left
      corner, empty without objects; `Box` does as well. Labels are names, or class numbers.
    - `stride`: the width and the height of a cell in pixels, which divides those of images. Each
      cell has the center of at most one box, see `hidden_boxes`.
    - `layout`, `shape`, `white`, `class_names`: as in `ImageDataset`.

    The output is a grid of cells, `[rows, columns, classes + 4]`, as CenterNet has it (Zhou, Wang &
    Krähenbühl 2019): for each class how likely the center of a box is here, then the offset of the
    center in its cell, width and height of the box. `suggest_detection_model` writes a model.

    Further options are those of `Dataset`. Raises its errors, those of `ImageDataset`, and
    `DataError` NNM704 for a stride that does not divide the size, NNM706 for an invalid box or one
    outside of its picture, and if there are no boxes.

    Attributes, besides those of `Dataset`: `light`, `fit` and `file_report` as of `ImageDataset`;
    `grid`; `hidden_boxes`, how many have their center in the same cell as a smaller one.
    """

    fit: Fit | str = ""
    file_report: BoxReport | None = None

    def __init__(
        self,
        images: Any,
        boxes: Sequence[Any],
        *,
        stride: int = STRIDE,
        layout: str | None = None,
        shape: Sequence[int] | None = None,
        white: float | None = None,
        class_names: Sequence[str] | None = None,
        name: str = "images",
        **options: Any,
    ) -> None:
        pixels = read_images(images, shape)
        layout = resolve_layout(pixels.shape[1:], layout)
        sizes = dict(zip(LAYOUTS[layout], pixels.shape[1:], strict=True))
        width, height = sizes["width"], sizes["height"]
        _check_stride(stride, width, height)
        if len(boxes) != len(pixels):
            hint = "give a list of boxes for each image, [] without objects"
            counts = f"{len(pixels)} images, {len(boxes)} lists of boxes"
            raise DataError("NNM702", counts, hint=hint)
        by_row = [read_boxes(f"image {row}", some, width, height) for row, some in enumerate(boxes)]
        self._boxes, names, classes = _number_boxes(by_row, class_names)
        self._boxes = [clip_boxes(some, width, height) for some in self._boxes]
        self.grid = BoxGrid(height // stride, width // stride, classes, width, height)
        self.hidden_boxes = sum(map(self.grid.count_hidden, self._boxes))
        numbers = b"".join([bytes(self.grid.encode(some)) for some in self._boxes])
        targets = HostArray(
            "float32", (len(pixels), self.grid.rows, self.grid.columns, self.grid.depth), numbers
        )
        self.light = Light.measure(pixels, white)
        super().__init__(
            to_unit(pixels, self.light.white),
            targets,
            name=name,
            labels=names,
            names={"model": LAYOUTS[layout]},
            kinds={"model": "boxes"},
            **options,
        )

    @classmethod
    async def from_folder(cls, folder: Any, **options: Any) -> Self:
        """Read the pictures of a folder or a zip archive, and the annotations beside them.

        >>> async def load():
        ...     return await DetectionDataset.from_folder("traffic", size=(128, 96))

        - `folder`: a path; of an archive also its address, its bytes or an open file. It has JSON
          of COCO ("images", "annotations", "categories"), or a file of XML for each picture as
          Pascal VOC has it, or a text as YOLO has it, with the names of classes in data.yaml or
          classes.txt. Folders named train, validation and test are the subsets.

        Pictures that no file of COCO or Pascal VOC names are ignored; those without a text of YOLO
        have no objects. All other options are those of `from_files`. Raises its errors, and
        `DataError` NNM715 if there are no annotations or a picture is missing, NNM706 and NNM802
        for broken annotations, NNM704 for those of several formats.
        """
        from webnnm.data.pictures.annotated_files import list_annotated_folder

        if isinstance(folder, (str, Path)):
            options.setdefault("name", Path(folder).stem)
        return await cls._read(await list_annotated_folder(folder), **options)

    @classmethod
    async def from_csv(
        cls,
        table: Any,
        *,
        file: str | None = None,
        label: str | None = None,
        corners: Sequence[str] = CORNERS,
        folder: str | Path | None = None,
        references: Roots = None,
        **options: Any,
    ) -> Self:
        """Read the pictures that a CSV table names, with a box in each row.

        - `table`: its path or address, its bytes or an open file.
        - `file` and `label`: names of columns, by default the first one, and that called label,
          class, name or category, or the only other one.
        - `corners`: the columns of left, top, right and bottom in pixels. A row in which they are
          empty says that its picture has no objects.
        - `folder` and `references`: as in `ImageDataset.from_csv`.

        All other options are those of `from_files`. Raises its errors, those of `read_csv`, and
        `DataError` NNM710 for an unknown column, NNM713 for a corner that is no number, NNM809 for
        names that lead elsewhere.
        """
        from webnnm.data.pictures.annotated_files import list_annotated_table

        listed = await list_annotated_table(table, file, label, corners, folder, references)
        return await cls._read(listed, **options)

    @classmethod
    async def from_files(
        cls,
        files: Sequence[Any],
        boxes: Sequence[Any] | Callable[[str], Any],
        *,
        size: tuple[int, int] | int | None = None,
        fit: Fit = "pad",
        mode: Mode | None = None,
        stride: int = STRIDE,
        unreadable: Unreadable = "error",
        **options: Any,
    ) -> Self:
        """Read pictures of any size, and bring them and their boxes to one.

        - `files`: as in `ImageDataset.from_files`.
        - `boxes`: for each file a list of (x, y, width, height, label) in pixels of the picture, or
          a function that returns it for a file's name.
        - `size`: (width, height) in pixels, or both at once. By default the size that all pictures
          have, up to 128 × 128, else their median shape, with a longer side of at most 96.
        - `fit`: what is done to pictures of another shape: black is added ("pad"), their middle is
          taken ("crop"), or they are distorted ("stretch"). Boxes are cut at the border; those that
          are hardly visible, less than a quarter, are left out.
        - `unreadable`: "error", or "skip" for files that are no pictures and invalid boxes, among
          them outlines in texts of YOLO; `file_report` names them. A size in an annotation that is
          not that of its picture remains an error.

        All other options are those of `DetectionDataset` and `ImageDataset.from_files`. Raises
        their errors.
        """
        from webnnm.data.pictures.annotated_files import AnnotatedFiles
        from webnnm.data.pictures.annotations import Annotation

        names = [
            str(one) if isinstance(one, (str, Path)) else f"picture {row}"
            for row, one in enumerate(files)
        ]
        by_row = [*map(boxes, names)] if callable(boxes) else boxes
        annotations = [Annotation(name, some) for name, some in zip(names, by_row, strict=False)]
        if len(by_row) != len(names):
            counts = f"{len(names)} files, {len(by_row)} lists of boxes"
            raise DataError("NNM702", counts, hint="give a list of boxes for each file")
        listed = AnnotatedFiles(LabelledFiles(names, files, annotations), "")
        return await cls._read(
            listed,
            size=size,
            fit=fit,
            mode=mode,
            stride=stride,
            unreadable=unreadable,
            **options,
        )

    @classmethod
    async def _read(
        cls,
        listed: AnnotatedFiles,
        *,
        size: tuple[int, int] | int | None = None,
        fit: Fit = "pad",
        mode: Mode | None = None,
        stride: int = STRIDE,
        unreadable: Unreadable = "error",
        **options: Any,
    ) -> Self:
        from webnnm.data.pictures.annotated_files import read_annotation
        from webnnm.data.pictures.fitting import PictureFormat, measure_picture
        from webnnm.data.pictures.picture_files import read_picture_files

        if unreadable != "skip":
            for annotation in listed.files.labels:
                for fault in annotation.faults:
                    raise fault
        pictures = await read_picture_files(
            listed.files,
            size,
            fit,
            mode,
            unreadable,
            longer=LONGER,
            multiple=max(1, stride),
            enlarge=False,
        )
        files, report = pictures.files, pictures.report
        form = PictureFormat(report.width, report.height, 1, fit)
        by_row: list[list[Box]] = []
        broken: list[str] = []
        for name, source, annotation in zip(files.names, files.sources, files.labels, strict=True):
            picture_size = await measure_picture(source, name)
            skipped = broken if unreadable == "skip" else None
            boxes = read_annotation(name, annotation, picture_size, skipped)
            placement = Placement.find(*picture_size, form)
            fitted = [placement.to_fitted(box) for box in boxes]
            by_row.append(clip_boxes(fitted, report.width, report.height))
        if files.split is not None:
            options.setdefault("split", files.split)
        dataset = cls(pictures.pixels, by_row, layout=pictures.layout, stride=stride, **options)
        dataset.fit = fit
        dataset.file_report = BoxReport(
            report,
            listed.source,
            sum(map(len, by_row)),
            tuple(map(str, dataset.labels() or range(dataset.grid.classes))),
            sum(annotation.crowds for annotation in files.labels),
            tuple(broken),
        )
        return dataset

    def boxes(self, subset: str) -> list[list[Box]]:
        """Return the boxes of each row of a subset, in pixels of the dataset's pictures."""
        return name_boxes([self._boxes[row] for row in self.rows(subset)], self.labels())

    def augment(self, *functions: Augmentation | None) -> Self:
        """Return the same data with changes that are made anew for each training batch.

        Boxes move with the pictures of `Flip` and `Shift`, and stay where they are with `Brighten`
        and `Erase`; see `Dataset.augment` for functions. Raises `DataError` NNM704 for changes that
        boxes cannot follow, such as `Rotate`.
        """
        changes: list[Augmentation | None] = []
        for function in functions:
            if isinstance(function, MovesBoxes):
                changes.append(BoxedChange(function, self.grid))
            elif isinstance(function, PictureChange) and function.moves:
                name = type(function).__name__
                hint = "Flip and Shift move boxes, Brighten and Erase leave them"
                raise DataError("NNM704", f"boxes cannot follow {name}", hint=hint)
            else:
                changes.append(function)
        return cast("Self", super().augment(*changes))

    def decode(self, block: str | None, values: Any) -> Any:
        """Return the boxes that outputs `[rows, …]` predict, in pixels of the dataset's pictures.

        Raises `DataError` NNM702 for outputs of another shape.
        """
        return name_boxes(self.grid.decode_rows(HostArray.of(values)), self.labels(block))


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def _check_stride(stride: Any, width: int, height: int) -> None:
    if not is_integer(stride) or stride < 1:
        hint = "an integer from 1 on, such as 4"
        raise DataError("NNM704", f"stride is {stride!r}"[:60], hint=hint)
    if width % stride or height % stride:
        sides = " × ".join(str(max(1, round(side / stride)) * stride) for side in (width, height))
        raise DataError(
            "NNM704",
            f"cells of {stride} × {stride} pixels do not fill pictures of {width} × {height}",
            hint=f"bring them to {sides} pixels, or choose another stride",
        )


def _number_boxes(
    by_row: Sequence[Sequence[Box]], class_names: Sequence[str] | None
) -> tuple[list[list[Box]], Sequence[str] | None, int]:
    """Return boxes with class numbers, the names of the classes, and how many there are."""
    labels = [box.label for boxes in by_row for box in boxes]
    if not labels:
        hint = "give (x, y, width, height, label) for objects"
        raise DataError("NNM706", "no picture has a box", hint=hint)
    numbers, names = number_labels(labels, class_names)
    for label, number in zip(labels, numbers, strict=True):
        if not is_integer(number) or number < 0:
            hint = "labels are names, or class numbers from 0 on"
            raise DataError("NNM706", f"a box has the label {label!r}"[:80], hint=hint)
    classes = max(max(numbers) + 1, len(names or ()))
    remaining = iter(numbers)
    numbered = [[box._replace(label=next(remaining)) for box in boxes] for boxes in by_row]
    return numbered, names, classes
