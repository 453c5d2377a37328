"""Datasets: arrays in memory divided into subsets, tables, images, texts, streams."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from webnnm.data.batch import Batch as Batch
    from webnnm.data.dataset import Dataset as Dataset
    from webnnm.data.examples.iris import IrisDataset as IrisDataset
    from webnnm.data.field import Field as Field
    from webnnm.data.pictures.detection_dataset import DetectionDataset as DetectionDataset
    from webnnm.data.pictures.images import ImageDataset as ImageDataset
    from webnnm.data.preparation.standardize import Standardization as Standardization
    from webnnm.data.series.series_dataset import SeriesDataset as SeriesDataset
    from webnnm.data.sounds.sound_dataset import SoundDataset as SoundDataset
    from webnnm.data.streams.stream import StreamDataset as StreamDataset
    from webnnm.data.tables.csv_dataset import CSVDataset as CSVDataset
    from webnnm.data.tables.table_dataset import TableDataset as TableDataset
    from webnnm.data.texts.labeled import LabeledTextDataset as LabeledTextDataset
    from webnnm.data.texts.text import TextDataset as TextDataset

_HOME = {
    "Batch": "batch",
    "CSVDataset": "tables.csv_dataset",
    "Dataset": "dataset",
    "DetectionDataset": "pictures.detection_dataset",
    "Field": "field",
    "ImageDataset": "pictures.images",
    "IrisDataset": "examples.iris",
    "SeriesDataset": "series.series_dataset",
    "LabeledTextDataset": "texts.labeled",
    "Standardization": "preparation.standardize",
    "SoundDataset": "sounds.sound_dataset",
    "StreamDataset": "streams.stream",
    "TableDataset": "tables.table_dataset",
    "TextDataset": "texts.text",
}
"""Public name → module. Names are imported on first use: a page pays only for what it touches."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'webnnm.data' has no attribute {name!r}")
    return getattr(importlib.import_module(f"webnnm.data.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOME)
