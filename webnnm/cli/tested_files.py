"""Reads files in folders as a dataset by which a snapshot is tested."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from webnnm.cli.common import as_command_error, is_table
from webnnm.cli.rows import build_dataset
from webnnm.core.errors import DataError
from webnnm.data.binding.form import Form
from webnnm.data.dataset import Dataset
from webnnm.data.files.labelled_files import LabelledFiles, list_folder, read_columns
from webnnm.data.pictures import fitting
from webnnm.data.pictures.annotated_files import list_annotated_folder
from webnnm.data.pictures.detection_dataset import DetectionDataset
from webnnm.data.pictures.images import ImageDataset
from webnnm.data.pictures.mask_files import list_pairs, parse_value
from webnnm.data.sounds import listening
from webnnm.data.sounds.sound_dataset import SoundDataset
from webnnm.data.tables.columns import Table
from webnnm.data.texts.labeled import read_text_files
from webnnm.model.nnmodel import NNModel
from webnnm.model.prepared_data import ALL, find_form
from webnnm.runtime.inference.answers import Answers
from webnnm.runtime.restored import Restored


async def read_files(
    model: NNModel, path: str, label: str | None, split: Sequence[Any] | None
) -> Dataset:
    """Return the files of a folder, an archive or a table of their names as the model takes them.

    `label` is the column of a table with the labels, its name or number. Without `split`, those in
    folders named for subsets are in these, else all are tested. Raises `DataError` NNM702 for a
    model of other data, NNM704 for a label of a folder, and the errors of the dataset.
    """
    facts, output = model.state.restored or Restored(), model.outputs()[0]
    form = find_form(model.state)
    if label is not None and not is_table(path):
        hint = "leave it out: the files of a folder have no columns"
        raise DataError("NNM704", f"--label {label}", hint=hint)
    if form is not None and form.reader is not None:
        files, texts = await read_text_files(path, "utf-8")
        names = (form.reader.column, facts.label or "label")
        table = Table(names, (texts, [*map(str, files.labels)]), 2)
        return build_dataset(model, table, names[1], split or files.split or ALL)
    if form is None or not (form.fit or form.rate):
        hint = "--data names a table with the columns of the training"
        raise DataError("NNM702", "the model takes no files", hint=hint)
    if facts.inputs:
        hint = "await model.test() in Python, with the dataset of the training"
        raise DataError("NNM702", "its pictures were standardised in training", hint=hint)
    kind, options = _choose_kind(form, facts.answers.get(output))
    if is_table(path):
        if label is not None:
            options[kind.label] = await _find_column(path, label)
        return await kind.read_table(path, split=split or ALL, **options)
    if split or (await kind.list_files(path)).split is None:
        options["split"] = split or ALL
    return await kind.read_folder(path, **options)


class _Kind(NamedTuple):
    """How files of a kind are read: those of a folder, of a table, and the option of its labels."""

    list_files: Callable[[Any], Awaitable[LabelledFiles]]
    read_folder: Callable[..., Awaitable[Dataset]]
    read_table: Callable[..., Awaitable[Dataset]]
    label: str = "label"


def _choose_kind(form: Form, answers: Answers | None) -> tuple[_Kind, dict[str, Any]]:
    """Return how the files of a model are read, and with which options."""
    names = answers and answers.names
    options: dict[str, Any] = {"class_names": names}
    if not form.fit:
        options |= {"rate": form.rate, "seconds": form.field.shape[0] / form.rate}
        sounds = partial(list_folder, endings=listening.ENDINGS)
        return _Kind(sounds, SoundDataset.from_folder, SoundDataset.from_csv), options
    options |= _list_picture_options(form)
    if answers is not None and answers.kind == "boxes":
        options["stride"] = options["size"][1] // answers.shape[0]
        return _Kind(_list_boxes, DetectionDataset.from_folder, DetectionDataset.from_csv), options
    if answers is not None and answers.kind == "classes" and len(answers.shape) > 1:
        del options["class_names"]
        options["classes"] = _find_mask_classes(answers)
        masks = partial(list_pairs, images="images", masks="masks")
        return _Kind(masks, ImageDataset.from_masks, ImageDataset.from_masks, "mask"), options
    pictures = partial(list_folder, endings=fitting.ENDINGS)
    return _Kind(pictures, ImageDataset.from_folder, ImageDataset.from_csv), options


async def _list_boxes(folder: Any) -> LabelledFiles:
    return (await list_annotated_folder(folder)).files


def _find_mask_classes(answers: Answers) -> dict[Any, str]:
    """Return the number or the colour of each class, which its name tells.

    Raises `DataError` NNM702 for classes with names of their own.
    """
    names = answers.names or tuple(map(str, range(answers.classes)))
    values = {parse_value(name): name for name in names}
    if None in values:
        unknown = next(name for name in names if parse_value(name) is None)
        message = f'which number or colour of a mask is "{unknown}"? Snapshots do not keep it'
        hint = "await model.test() in Python, with ImageDataset.from_masks(…, classes={…})"
        raise DataError("NNM702", message, hint=hint)
    return values


async def _find_column(path: str, label: str) -> str:
    """Return the name of a column of a table that is given by its name or its number."""
    columns = await read_columns(path, [])
    table = Table((*columns,), (*columns.values(),), 2)
    with as_command_error("NNM710"):
        return table.names[table.index(label)]


def _list_picture_options(form: Form) -> dict[str, Any]:
    """Return how pictures were brought to the size of the training."""
    sizes = dict(zip(form.field.names, form.field.shape, strict=True))
    return {
        "size": (sizes["width"], sizes["height"]),
        "fit": form.fit,
        "mode": "rgb" if sizes.get("channels", 1) == 3 else "grey",
        "white": form.light and form.light.white,
    }
