"""Suggests how to learn the labels of files in folders: pictures, sounds, texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset
from webnnm.data.pictures import fitting
from webnnm.data.pictures.annotated_files import has_annotations
from webnnm.data.pictures.detection_dataset import DetectionDataset
from webnnm.data.pictures.detection_suggestion import suggest_detection_model
from webnnm.data.pictures.images import ImageDataset
from webnnm.data.pictures.model_suggestion import suggest_image_model
from webnnm.data.sounds import listening
from webnnm.data.sounds.model_suggestion import suggest_sound_model
from webnnm.data.sounds.sound_dataset import SoundDataset
from webnnm.data.texts.labeled import ENDINGS as TEXTS
from webnnm.data.texts.labeled import LabeledTextDataset
from webnnm.data.texts.model_suggestion import suggest_text_model
from webnnm.expert.suggesting.options import check_options
from webnnm.expert.suggesting.suggestion import (
    Suggestion,
    list_names,
    write_call,
    write_literal,
    write_source,
)
from webnnm.expert.suggesting.texts import explain_texts, list_token_options

BOX_PICTURES = 6_000
"""How many pictures a training for boxes reads, limited to so many epochs:"""
MIN_BOX_EPOCHS, MAX_BOX_EPOCHS = 20, 100


async def suggest_for_files(
    folder: str, endings: Counter[str], wanted: Mapping[str, Any], name: str
) -> Suggestion:
    """Return a dataset and a model for the files of a folder, whose `endings` are counted.

    `wanted` are options that are given. Raises the errors of the dataset, and `DataError` NNM715 if
    the folder has no pictures, sounds or texts.
    """
    by_kind = {
        kind: sum(endings[ending] for ending in endings_of_kind)
        for kind, endings_of_kind in (
            ("pictures", fitting.ENDINGS),
            ("sounds", listening.ENDINGS),
            ("texts", TEXTS),
        )
    }
    kind = max(by_kind, key=lambda kind: by_kind[kind])
    if not by_kind[kind]:
        counts = [f"{times} {ending or 'others'}" for ending, times in endings.most_common(3)]
        others = ", ".join(counts) or "nothing"
        message = f'"{folder}" has no pictures, sounds or texts, but {others}'
        hint = "folders are named for the labels of the files in them: cats/1.jpg, dogs/2.jpg"
        raise DataError("NNM715", message, hint=hint)
    if by_kind["pictures"] and await has_annotations(folder):
        kind = "boxes"
    makers = {
        "boxes": (DetectionDataset.from_files, DetectionDataset.__init__),
        "pictures": (ImageDataset.from_files, ImageDataset.__init__),
        "sounds": (SoundDataset.from_files, SoundDataset.__init__),
        "texts": (LabeledTextDataset.from_folder, LabeledTextDataset.__init__),
    }[kind]
    files = "pictures with boxes" if kind == "boxes" else kind
    check_options(f"a folder of {files}", (*makers, Dataset.__init__), wanted)
    if kind == "boxes":
        boxed = await DetectionDataset.from_folder(folder, **wanted)
        dataset: Dataset = boxed
        text, reasons = suggest_detection_model(boxed, name), _explain_boxes(boxed)
        call = f"await DetectionDataset.from_folder({write_literal(folder)}"
        example = "PICTURE.png"
    elif kind == "pictures":
        dataset = await ImageDataset.from_folder(folder, **wanted)
        text, reasons = suggest_image_model(dataset, name), _explain_pictures(dataset)
        call, example = f"await ImageDataset.from_folder({write_literal(folder)}", "PICTURE.png"
    elif kind == "sounds":
        dataset = await SoundDataset.from_folder(folder, **wanted)
        text, reasons = suggest_sound_model(dataset, name), _explain_sounds(dataset)
        call, example = f"await SoundDataset.from_folder({write_literal(folder)}", "SOUND.wav"
    else:
        choosing: dict[str, Any] = {"tokens": "auto", **wanted}
        dataset = await LabeledTextDataset.from_folder(folder, **choosing)
        wanted = {**wanted, **list_token_options(dataset)}
        text, reasons = suggest_text_model(dataset, name), explain_texts(dataset, "Each file")
        call, example = f"await LabeledTextDataset.from_folder({write_literal(folder)}", "ROWS.csv"
    return Suggestion(
        write_source(reasons, text),
        dataset,
        wanted,
        write_call(call, wanted),
        reasons,
        example,
        epochs=_find_box_epochs(dataset) if kind == "boxes" else None,
    )


def _explain_pictures(dataset: Dataset) -> tuple[str, ...]:
    [field] = dataset.inputs.values()
    sizes = dict(zip(field.names, field.shape, strict=True))
    colours = "in colour" if sizes.get("channels", 1) == 3 else "in grey"
    return (
        _explain_labels(dataset),
        f"Pictures are brought to {sizes['width']} × {sizes['height']} pixels {colours}.",
        _explain_sizes(dataset, "Pictures"),
        "Convolutions look for the same small patterns everywhere, at several sizes.",
    )


def _find_box_epochs(dataset: Dataset) -> int:
    """Return the epochs of a training for boxes: a picture teaches many cells, and takes long."""
    return max(
        MIN_BOX_EPOCHS, min(MAX_BOX_EPOCHS, BOX_PICTURES // max(1, dataset.size("training")))
    )


def _explain_boxes(dataset: DetectionDataset) -> tuple[str, ...]:
    report, grid = dataset.file_report, dataset.grid
    assert report is not None
    hidden = (
        f" {dataset.hidden_boxes} boxes share their cell with a smaller one and cannot be found; "
        "a smaller stride parts them."
    )
    return (
        f"{report.boxes:,} boxes ({report.source}) are around objects of {grid.classes} "
        f"{'class' if grid.classes == 1 else 'classes'}: {list_names(report.classes)}.",
        f"Pictures are brought to {grid.width:g} × {grid.height:g} pixels.",
        _explain_sizes(dataset, "Pictures"),
        f"A grid of {grid.columns} × {grid.rows} cells tells where the centers of objects are, and "
        f"how large their boxes are (CenterNet).{hidden * bool(dataset.hidden_boxes)}",
        f"Training reads all pictures {_find_box_epochs(dataset)} times, unless epochs are given.",
    )


def _explain_sounds(dataset: SoundDataset) -> tuple[str, ...]:
    [field] = dataset.inputs.values()
    return (
        _explain_labels(dataset),
        f"Sounds are brought to {field.shape[0] / dataset.rate:g} seconds of {dataset.rate:,} "
        "samples: the loudest part of longer ones.",
        _explain_sizes(dataset, "Sounds"),
        "Convolutions look for patterns in the power of mel bands over time.",
    )


def _explain_labels(dataset: Dataset) -> str:
    labels = dataset.labels() or []
    return f"The folders are {len(labels)} classes: {list_names(labels)}."


def _explain_sizes(dataset: Dataset, what: str) -> str:
    training, testing = dataset.size("training"), dataset.size("testing")
    return f"{what}: {training:,} for training, {testing:,} for testing."
