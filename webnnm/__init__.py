"""Neural networks in a few lines of text, trained and run on WebNN."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from webnnm.answers import Prediction as Prediction
    from webnnm.autodiff import gradients as gradients
    from webnnm.backends.probe import probe as probe
    from webnnm.backends.selection import backend as backend
    from webnnm.data.csv_dataset import CSVDataset as CSVDataset
    from webnnm.data.dataset import Dataset as Dataset
    from webnnm.data.images import ImageDataset as ImageDataset
    from webnnm.data.iris import IrisDataset as IrisDataset
    from webnnm.data.stream import StreamDataset as StreamDataset
    from webnnm.data.table_dataset import TableDataset as TableDataset
    from webnnm.data.text import TextDataset as TextDataset
    from webnnm.epoch import EpochRecord as EpochRecord
    from webnnm.errors import BackendError as BackendError
    from webnnm.errors import ContextLost as ContextLost
    from webnnm.errors import DataError as DataError
    from webnnm.errors import ModelError as ModelError
    from webnnm.errors import NotationError as NotationError
    from webnnm.errors import WebNNMError as WebNNMError
    from webnnm.evaluation import TestResult as TestResult
    from webnnm.expert.finding import Finding as Finding
    from webnnm.expert.review import Review as Review
    from webnnm.graph.builder import GraphBuilder as GraphBuilder
    from webnnm.history import History as History
    from webnnm.model import NNModel as NNModel
    from webnnm.notation import parse as parse
    from webnnm.ops.composite import composite as composite
    from webnnm.parts import concatenate as concatenate
    from webnnm.parts import replace_head as replace_head
    from webnnm.parts import split as split
    from webnnm.reviewing import review as review
    from webnnm.session import Training as Training
    from webnnm.texts import check as check
    from webnnm.texts import format_model as format_model

__version__ = "0.1.0"

_HOME = {
    "BackendError": "errors",
    "CSVDataset": "data.csv_dataset",
    "ContextLost": "errors",
    "DataError": "errors",
    "Dataset": "data.dataset",
    "EpochRecord": "epoch",
    "Finding": "expert.finding",
    "GraphBuilder": "graph.builder",
    "History": "history",
    "ImageDataset": "data.images",
    "IrisDataset": "data.iris",
    "ModelError": "errors",
    "NNModel": "model",
    "NotationError": "errors",
    "Prediction": "answers",
    "Review": "expert.review",
    "StreamDataset": "data.stream",
    "TableDataset": "data.table_dataset",
    "TestResult": "evaluation",
    "TextDataset": "data.text",
    "Training": "session",
    "WebNNMError": "errors",
    "backend": "backends.selection",
    "check": "texts",
    "composite": "ops.composite",
    "concatenate": "parts",
    "format_model": "texts",
    "gradients": "autodiff",
    "parse": "notation",
    "probe": "backends.probe",
    "replace_head": "parts",
    "review": "reviewing",
    "split": "parts",
}
"""Public name → module. Names are imported on first use: a page pays only for what it touches."""

__all__ = tuple(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'webnnm' has no attribute {name!r}")
    return getattr(importlib.import_module(f"webnnm.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted((*_HOME, "__version__"))
