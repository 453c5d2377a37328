"""Datasets of images: pixels from arrays, scaled to 0 … 1, with named dimensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from webnnm.core.arrays import HostArray
from webnnm.core.awaiting import require_await_of_methods
from webnnm.core.errors import DataError, suggestion
from webnnm.core.shapes import count, show
from webnnm.data.dataset import Dataset
from webnnm.data.intake import ONLY_BLOCK
from webnnm.data.pictures.pixel_scale import Light, to_unit
from webnnm.data.pictures.pixels import LAYOUTS, concatenate_pictures, to_pixels
from webnnm.data.tables.endings import ZIPPED

if TYPE_CHECKING:
    from webnnm.data.files.labelled_files import LabelledFiles
    from webnnm.data.files.references import Roots
    from webnnm.data.pictures.fitting import Fit
    from webnnm.data.pictures.picture_files import Mode, PictureReport, Unreadable


@require_await_of_methods("dataset")
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

    Pictures of files are read by `from_folder`, `from_files` and `from_csv`, those with masks by
    `from_masks`. Attributes, besides those of `Dataset`: `light`, how pixels were scaled; of files
    also `fit`, how pictures of any size are brought to that of the dataset ("" for arrays), and
    `file_report`, what was read.
    """

    fit: Fit | str = ""
    file_report: PictureReport | None = None

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
        pixels = read_images(images, shape)
        names = LAYOUTS[resolve_layout(pixels.shape[1:], layout)]
        self.light = Light.measure(pixels, white)
        super().__init__(
            to_unit(pixels, self.light.white),
            labels,
            name=name,
            labels=class_names,
            names={"model": names},
            **options,
        )

    @classmethod
    async def from_folder(cls, folder: Any, **options: Any) -> Self:
        """Read the pictures `label/name.jpg` of a folder or a zip archive.

        >>> async def load():
        ...     return await ImageDataset.from_folder("flowers", size=(64, 64), fit="crop")

        - `folder`: a path; of an archive also its address, its bytes or an open file. Folders named
          train, validation and test, each with folders of labels, are the subsets. Hidden files
          and those with endings of other kinds are ignored.

        All other options are those of `from_files`. Raises its errors, and `DataError` NNM706 for a
        picture that is in no folder, NNM715 if there are no pictures.
        """
        from webnnm.data.files.labelled_files import list_folder
        from webnnm.data.pictures.fitting import ENDINGS

        files = await list_folder(folder, ENDINGS)
        if isinstance(folder, (str, Path)):
            options.setdefault("name", Path(folder).stem)
        return await cls._read(files, **options)

    @classmethod
    async def from_csv(
        cls,
        table: Any,
        *,
        file: str | None = None,
        label: str | None = None,
        folder: str | Path | None = None,
        references: Roots = None,
        **options: Any,
    ) -> Self:
        """Read the pictures that a column of a CSV table names.

        - `table`: its path or address, its bytes or an open file.
        - `file` and `label`: names of columns, by default the first and the last one.
        - `folder`: what the names are relative to, by default the folder of the table.
        - `references`: "anywhere" or another folder, for names that lead out of this one.

        All other options are those of `from_files`. Raises its errors, those of `read_csv`, and
        `DataError` NNM710 for an unknown column, NNM809 for names that lead elsewhere.
        """
        from webnnm.data.files.labelled_files import list_table

        files = await list_table(table, file, label, folder, references)
        return await cls._read(files, **options)

    @classmethod
    async def from_masks(
        cls,
        data: Any,
        *,
        image: str | None = None,
        mask: str | None = None,
        classes: Mapping[Any, str] | None = None,
        ignore: int | tuple[int, int, int] | None = None,
        folder: str | Path | None = None,
        references: Roots = None,
        size: tuple[int, int] | int | None = None,
        fit: Fit = "crop",
        mode: Mode | None = None,
        **options: Any,
    ) -> Self:
        """Read pictures with masks, which have a class for each pixel (segmentation).

        >>> async def load():
        ...     return await ImageDataset.from_masks("cells", classes={0: "none", 255: "cell"})

        - `data`: a folder or zip archive with folders of pictures and of masks, whose files have
          the same names, also below train, validation and test; or a CSV table with the paths.
        - `image` and `mask`: the names of these folders, by default images and masks, or of the
          columns, by default image and mask.
        - `classes`: the number, or the colour (red, green, blue), of each class → its name, in the
          order of class numbers; of indexed pictures the number in the palette. By default all that
          occur, in ascending order. Colours are numbers if all of them are grey; white of masks
          with one bit is 255, or 1 if only that is a class.
        - `ignore`: the number or colour of pixels that have no class, often 255.

        Masks take the part of their picture that `size` and `fit` choose, each pixel that of the
        nearest one; pixels that "pad" adds have no class. They may be smaller or larger than their
        picture as it is seen (EXIF), but have its shape. `folder` and `references` are those of
        `from_csv`, all other options those of `from_files`. Desktops read masks with Pillow.

        Raises the errors of `from_files`, and `DataError` NNM706 for pictures without a mask, masks
        of another shape, of numbers among those of colours, and pixels without a class, NNM715
        without these folders, `BackendError` NNM709 in pages.
        """
        from webnnm.data.files.labelled_files import list_table
        from webnnm.data.pictures.fitting import PictureFormat
        from webnnm.data.pictures.mask_files import list_pairs, read_masks
        from webnnm.data.pictures.picture_files import read_picture_files

        if isinstance(data, (str, Path)) and str(data).endswith(ZIPPED):
            columns = image or "image", mask or "mask"
            files = await list_table(data, *columns, folder, references)
            masks = await list_table(data, *columns[::-1], folder, references)
            files = files._replace(labels=masks.sources)
        else:
            files = await list_pairs(data, image or "images", mask or "masks")
        pictures = await read_picture_files(files, size, fit, mode, "error")
        if files.split is not None:
            options.setdefault("split", files.split)
        report = pictures.report
        form = PictureFormat(report.width, report.height, 1, fit)
        read = await read_masks(files, form, classes, ignore)
        dataset = cls(
            pictures.pixels,
            read.classes,
            layout=pictures.layout,
            class_names=read.names,
            kinds={ONLY_BLOCK: "classes"},
            **options,
        )
        dataset.fit, dataset.file_report = fit, report
        return dataset

    @classmethod
    async def from_files(
        cls,
        files: Sequence[Any],
        labels: Sequence[Any] | Callable[[str], Any],
        *,
        size: tuple[int, int] | int | None = None,
        fit: Fit = "crop",
        mode: Mode | None = None,
        unreadable: Unreadable = "error",
        **options: Any,
    ) -> Self:
        """Read pictures of any size, and bring them to one.

        - `files`: paths, addresses, bytes of files, PIL images, or in pages what a canvas can draw.
        - `labels`: one per file, or a function that returns the label for a file's name.
        - `size`: (width, height) in pixels, or both at once. By default the size that all pictures
          have, up to 128 × 128, else their median shape, with a longer side of 64.
        - `fit`: what is done to pictures of another shape: their middle is taken ("crop"), black is
          added ("pad"), or they are distorted ("stretch").
        - `mode`: "rgb" or "grey", by default "grey" if all pictures are.
        - `unreadable`: "error", or "skip" for files that are no pictures; `file_report` names them.

        Photographs are turned upright; transparent pixels are white; numbers of 16 bits keep the
        upper 8. All other options are those of `ImageDataset`. What is done to pictures is kept
        with the model, so that `predict` takes files and pictures of any size.

        Raises `DataError` NNM704 for invalid options, NNM715 and NNM802 for files that cannot be
        read, `BackendError` NNM709 if a package is missing that reads them (on desktops Pillow),
        and the errors of `ImageDataset`.
        """
        from webnnm.data.files.labelled_files import LabelledFiles

        names = [
            str(one) if isinstance(one, (str, Path)) else f"picture {row}"
            for row, one in enumerate(files)
        ]
        texts = [labels(name) for name in names] if callable(labels) else labels
        listed = LabelledFiles(names, files, texts)
        return await cls._read(
            listed, size=size, fit=fit, mode=mode, unreadable=unreadable, **options
        )

    @classmethod
    async def _read(
        cls,
        files: LabelledFiles,
        *,
        size: tuple[int, int] | int | None = None,
        fit: Fit = "crop",
        mode: Mode | None = None,
        unreadable: Unreadable = "error",
        **options: Any,
    ) -> Self:
        from webnnm.data.files.labelled_files import number_labels
        from webnnm.data.pictures.picture_files import read_picture_files

        pictures = await read_picture_files(files, size, fit, mode, unreadable)
        if pictures.files.split is not None:
            options.setdefault("split", pictures.files.split)
        labels, names = number_labels(pictures.files.labels, options.pop("class_names", None))
        dataset = cls(pictures.pixels, labels, layout=pictures.layout, class_names=names, **options)
        dataset.fit, dataset.file_report = fit, pictures.report
        return dataset


def read_images(images: Any, shape: Sequence[int] | None) -> HostArray:
    """Return the pixels of images, as `ImageDataset` takes them, `[rows, …]`."""
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


def resolve_layout(shape: Sequence[int], layout: str | None) -> str:
    """Return the layout of images of a shape, by default the one with at most 4 channels."""
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
