"""Reads the file of a folder that says how inputs are prepared."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from webnnm.core.errors import DataError
from webnnm.transformers.config import read_object
from webnnm.transformers.pretrained import CONFIG, DATA_OF_TIMM
from webnnm.transformers.processors.picture_settings import (
    FILE,
    PictureSettings,
    read_picture_settings,
)
from webnnm.transformers.processors.sound_settings import SoundSettings, read_sound_settings

JOINT_FILE = "processor_config.json"
"""The file of models that take several kinds of input: it has a part for each."""
PICTURES, SOUNDS = "image_processor", "feature_extractor"

ReadFile = Callable[[str], Awaitable[str]]


class ProcessorFile(NamedTuple):
    """The values of a processor, and for messages the file and the path in it."""

    values: Mapping[str, Any]
    file: str
    path: str


async def read_processor_file(read: ReadFile, part: str) -> ProcessorFile:
    """Return the values of a processor: those of its own file, or its part of the joint one.

    Raises `DataError` NNM715 if there is neither, NNM818 if one of them is damaged.
    """
    values = await _read_values(read, FILE)
    if values is not None:
        return ProcessorFile(values, FILE, "")
    values = await _read_values(read, JOINT_FILE)
    if values is None or part not in values:
        hint = "a pipeline needs the file that says how inputs are prepared"
        raise DataError("NNM715", f"there is no {FILE} next to config.json", hint=hint)
    fields = read_object(await read(JOINT_FILE), JOINT_FILE)
    return ProcessorFile(fields.object(part), JOINT_FILE, f"{part}.")


async def _read_values(read: ReadFile, file: str) -> Mapping[str, Any] | None:
    try:
        text = await read(file)
    except DataError as error:
        if error.code != "NNM715":
            raise
        return None
    return read_object(text, file).given


async def read_picture_processor(read: ReadFile) -> PictureSettings:
    """Return how a model takes pictures; raises what `read_processor_file` raises.

    Folders of timm have no file for it: their config says it.
    """
    try:
        file = await read_processor_file(read, PICTURES)
    except DataError as error:
        config = await _read_values(read, CONFIG) if error.code == "NNM715" else None
        if config is None or DATA_OF_TIMM not in config:
            raise
        from webnnm.transformers.processors.timm_settings import read_timm_settings

        return read_timm_settings(config)
    return read_picture_settings(*file)


async def read_sound_processor(read: ReadFile) -> SoundSettings:
    """Return how a model takes sounds; raises what `read_processor_file` raises."""
    return read_sound_settings(*await read_processor_file(read, SOUNDS))
