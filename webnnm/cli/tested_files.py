"""Reads files in folders as a dataset by which a snapshot is tested."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from webnnm.cli.common import is_table
from webnnm.cli.rows import build_dataset, find_form
from webnnm.core.errors import DataError
from webnnm.data.binding.form import Form
from webnnm.data.dataset import Dataset
from webnnm.data.files.labelled_files import list_folder
from webnnm.data.pictures import fitting
from webnnm.data.pictures.images import ImageDataset
from webnnm.data.sounds import listening
from webnnm.data.sounds.sound_dataset import SoundDataset
from webnnm.data.tables.columns import Table
from webnnm.data.texts.labeled import read_text_files
from webnnm.model.nnmodel import NNModel
from webnnm.runtime.restored import Restored

ALL = (0, 0, 1)
"""All rows are tested."""


async def read_files(model: NNModel, path: str, split: Sequence[Any] | None) -> Dataset:
    """Return the files of a folder, an archive or a table of their names as the model takes them.

    Without `split`, those in folders named for subsets are in these, else all are tested. Raises
    `DataError` NNM702 for a model of other data, and the errors of the dataset.
    """
    facts, output = model.state.restored or Restored(), model.outputs()[0]
    form = find_form(model)
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
    answers = facts.answers.get(output)
    options: dict[str, Any] = {"class_names": answers and answers.names}
    if form.fit:
        options |= _list_picture_options(form)
        return await _read(ImageDataset, path, fitting.ENDINGS, split, options)
    options |= {"rate": form.rate, "seconds": form.field.shape[0] / form.rate}
    return await _read(SoundDataset, path, listening.ENDINGS, split, options)


def _list_picture_options(form: Form) -> dict[str, Any]:
    """Return how pictures were brought to the size of the training."""
    sizes = dict(zip(form.field.names, form.field.shape, strict=True))
    return {
        "size": (sizes["width"], sizes["height"]),
        "fit": form.fit,
        "mode": "rgb" if sizes.get("channels", 1) == 3 else "grey",
        "white": form.light and form.light.white,
    }


async def _read(
    kind: type[ImageDataset | SoundDataset],
    path: str,
    endings: Collection[str],
    split: Sequence[Any] | None,
    options: dict[str, Any],
) -> Dataset:
    if is_table(path):
        return await kind.from_csv(path, split=split or ALL, **options)
    if split or (await list_folder(path, endings)).split is None:
        options["split"] = split or ALL
    return await kind.from_folder(path, **options)
