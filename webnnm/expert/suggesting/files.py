"""Suggests how to learn the labels of files in folders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from webnnm.core.errors import DataError
from webnnm.data.pictures.fitting import ENDINGS
from webnnm.data.pictures.images import ImageDataset
from webnnm.data.pictures.model_suggestion import suggest_image_model
from webnnm.expert.suggesting.suggestion import (
    Suggestion,
    list_names,
    write_call,
    write_literal,
    write_source,
)


async def suggest_for_files(
    folder: str, endings: Counter[str], wanted: Mapping[str, Any], name: str
) -> Suggestion:
    """Return a dataset and a model for the files of a folder, whose `endings` are counted.

    `wanted` are options that are given. Raises the errors of the dataset, and `DataError` NNM715 if
    the folder has no pictures.
    """
    if not any(endings[ending] for ending in ENDINGS):
        kinds = ", ".join(
            f"{times} {ending or 'without an ending'}" for ending, times in endings.most_common(3)
        )
        hint = "folders are named for the labels of the pictures in them: cats/1.jpg, dogs/2.jpg"
        message = f'"{folder}" has no pictures, but {kinds or "nothing"}'
        raise DataError("NNM715", message, hint=hint)
    dataset = await ImageDataset.from_folder(folder, **wanted)
    reasons = _explain_pictures(dataset)
    return Suggestion(
        write_source(reasons, suggest_image_model(dataset, name)),
        dataset,
        wanted,
        write_call(f"await ImageDataset.from_folder({write_literal(folder)}", wanted),
        reasons,
        "PICTURE.png",
    )


def _explain_pictures(dataset: ImageDataset) -> tuple[str, ...]:
    [field] = dataset.inputs.values()
    sizes = dict(zip(field.names, field.shape, strict=True))
    colours = "in colour" if sizes.get("channels", 1) == 3 else "in grey"
    labels = dataset.labels()
    what = f"{len(labels)} classes: {list_names(labels)}" if labels else "a quantity"
    return (
        f"The folders are {what}.",
        f"Pictures are brought to {sizes['width']} × {sizes['height']} pixels {colours}; their "
        "shape is kept, and what does not fit is cut off."
        if dataset.fit == "crop"
        else f"Pictures are brought to {sizes['width']} × {sizes['height']} pixels {colours}.",
        f"Pictures: {dataset.size('training'):,} for training, {dataset.size('testing'):,} for "
        "testing.",
        "Convolutions look for the same small patterns everywhere, at several sizes.",
    )
