"""Neural networks in a few lines of text, trained and run on WebNN."""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING, Any

from webnnm.core.plugins import register

if TYPE_CHECKING:
    from webnnm import charts as charts
    from webnnm.backends.base import Backend as Backend
    from webnnm.backends.probe import probe as probe
    from webnnm.backends.reference import ReferenceBackend as ReferenceBackend
    from webnnm.backends.selection import backend as backend
    from webnnm.core.arrays import HostArray as HostArray
    from webnnm.core.errors import BackendError as BackendError
    from webnnm.core.errors import ContextLost as ContextLost
    from webnnm.core.errors import DataError as DataError
    from webnnm.core.errors import ModelError as ModelError
    from webnnm.core.errors import NotationError as NotationError
    from webnnm.core.errors import WebNNMError as WebNNMError
    from webnnm.core.finding import Finding as Finding
    from webnnm.data.dataset import Dataset as Dataset
    from webnnm.data.examples.iris import IrisDataset as IrisDataset
    from webnnm.data.examples.plane import make_circles as make_circles
    from webnnm.data.examples.plane import make_moons as make_moons
    from webnnm.data.examples.plane import make_spirals as make_spirals
    from webnnm.data.examples.plane import make_xor as make_xor
    from webnnm.data.examples.plane import plane_features as plane_features
    from webnnm.data.files.downloads import forget_downloads as forget_downloads
    from webnnm.data.pictures.augmentations import Brighten as Brighten
    from webnnm.data.pictures.augmentations import Erase as Erase
    from webnnm.data.pictures.augmentations import Flip as Flip
    from webnnm.data.pictures.augmentations import Rotate as Rotate
    from webnnm.data.pictures.augmentations import Shift as Shift
    from webnnm.data.pictures.boxes import Box as Box
    from webnnm.data.pictures.detection_dataset import DetectionDataset as DetectionDataset
    from webnnm.data.pictures.detection_suggestion import (
        suggest_detection_model as suggest_detection_model,
    )
    from webnnm.data.pictures.images import ImageDataset as ImageDataset
    from webnnm.data.pictures.model_suggestion import suggest_image_model as suggest_image_model
    from webnnm.data.series.model_suggestion import suggest_series_model as suggest_series_model
    from webnnm.data.series.series_dataset import SeriesDataset as SeriesDataset
    from webnnm.data.sounds.augmentations import Delay as Delay
    from webnnm.data.sounds.augmentations import Gain as Gain
    from webnnm.data.sounds.augmentations import Noise as Noise
    from webnnm.data.sounds.model_suggestion import suggest_sound_model as suggest_sound_model
    from webnnm.data.sounds.sound import Microphone as Microphone
    from webnnm.data.sounds.sound import Sound as Sound
    from webnnm.data.sounds.sound import load_sound as load_sound
    from webnnm.data.sounds.sound_dataset import SoundDataset as SoundDataset
    from webnnm.data.sounds.wav import encode_wav as encode_wav
    from webnnm.data.streams.stream import StreamDataset as StreamDataset
    from webnnm.data.tables.csv_dataset import CSVDataset as CSVDataset
    from webnnm.data.tables.csv_table import read_csv as read_csv
    from webnnm.data.tables.description import describe_table as describe_table
    from webnnm.data.tables.model_suggestion import suggest_model as suggest_model
    from webnnm.data.tables.table_dataset import TableDataset as TableDataset
    from webnnm.data.tables.table_files import read_table as read_table
    from webnnm.data.texts.labeled import LabeledTextDataset as LabeledTextDataset
    from webnnm.data.texts.model_suggestion import suggest_text_model as suggest_text_model
    from webnnm.data.texts.text import TextDataset as TextDataset
    from webnnm.diagram.plotting import plot_model as plot_model
    from webnnm.eager import random as random
    from webnnm.eager import xp as xp
    from webnnm.eager.composites import composite as composite
    from webnnm.eager.control_flow import cond as cond
    from webnnm.eager.control_flow import fori_loop as fori_loop
    from webnnm.eager.control_flow import scan as scan
    from webnnm.eager.control_flow import while_loop as while_loop
    from webnnm.eager.differentiation import grad as grad
    from webnnm.eager.differentiation import hessian as hessian
    from webnnm.eager.differentiation import jacfwd as jacfwd
    from webnnm.eager.differentiation import jacrev as jacrev
    from webnnm.eager.differentiation import jvp as jvp
    from webnnm.eager.differentiation import value_and_grad as value_and_grad
    from webnnm.eager.differentiation import vjp as vjp
    from webnnm.eager.gradient_check import check_gradients as check_gradients
    from webnnm.eager.gradient_rules import custom_gradient as custom_gradient
    from webnnm.eager.gradient_rules import recompute as recompute
    from webnnm.eager.jitted import jit as jit
    from webnnm.eager.mapping import vmap as vmap
    from webnnm.eager.optimizers import optimizer as optimizer
    from webnnm.eager.schedules import schedule as schedule
    from webnnm.eager.trees import tree_leaves as tree_leaves
    from webnnm.eager.trees import tree_map as tree_map
    from webnnm.editing.ensembling import MemberPredictions as MemberPredictions
    from webnnm.editing.ensembling import predict_members as predict_members
    from webnnm.editing.ensembling import train_ensemble as train_ensemble
    from webnnm.editing.parts import join_models as join_models
    from webnnm.editing.parts import replace_head as replace_head
    from webnnm.editing.parts import split_model as split_model
    from webnnm.evaluation.epoch import EpochRecord as EpochRecord
    from webnnm.evaluation.history import History as History
    from webnnm.evaluation.result import TestResult as TestResult
    from webnnm.expert.reviewer import review as review
    from webnnm.expert.suggesting.suggest import suggest as suggest
    from webnnm.formats.graph_export import export_graph as export_graph
    from webnnm.formats.onnx.onnx_model import OnnxModel as OnnxModel
    from webnnm.formats.onnx.onnx_model import load_onnx as load_onnx
    from webnnm.graph.builder import GraphBuilder as GraphBuilder
    from webnnm.graph.elaboration.elaborate import elaborate as elaborate
    from webnnm.graph.transforms.autodiff import gradients as gradients
    from webnnm.language.problems import diagnose as diagnose
    from webnnm.model.cross_validating import cross_validate as cross_validate
    from webnnm.model.finding_lr import find_lr as find_lr
    from webnnm.model.graph_text import graph_text as graph_text
    from webnnm.model.nnmodel import NNModel as NNModel
    from webnnm.model.quantizing import quantize as quantize
    from webnnm.model.report import view as view
    from webnnm.model.searching import search as search
    from webnnm.model.texts import check as check
    from webnnm.model.texts import format_model as format_model
    from webnnm.notation import parse as parse
    from webnnm.runtime.inference.answers import Prediction as Prediction
    from webnnm.runtime.inference.detections import Detections as Detections
    from webnnm.runtime.inference.forecasting import Forecast as Forecast
    from webnnm.runtime.inference.occlusion import token_importance as token_importance
    from webnnm.runtime.inference.painting import Painter as Painter
    from webnnm.runtime.inference.painting import open_painter as open_painter
    from webnnm.runtime.testing.importance import permutation_importance as permutation_importance
    from webnnm.tasks.pipeline import pipeline as pipeline
    from webnnm.trainer.inspection import inspect_model as inspect_model
    from webnnm.trainer.review import Review as Review
    from webnnm.trainer.training import Training as Training
    from webnnm.transformers.choice import Sampling as Sampling
    from webnnm.transformers.generator import Generator as Generator
    from webnnm.transformers.hub_model import HubModel as HubModel
    from webnnm.transformers.log_mel import log_mel as log_mel
    from webnnm.transformers.onnx_hub_model import PretrainedOnnxModel as PretrainedOnnxModel
    from webnnm.transformers.pretrained_model import PretrainedModel as PretrainedModel
    from webnnm.transformers.pretrained_model import from_pretrained as from_pretrained
    from webnnm.transformers.text_head import train_text_head as train_text_head
    from webnnm.transformers.text_inspection import TextInspector as TextInspector
    from webnnm.transformers.transcription import TranscriptionThresholds as TranscriptionThresholds

__version__ = "0.1.0"

_OFFERED = {
    "backends.base": "Backend",
    "backends.probe": "probe",
    "backends.selection": "backend",
    "charts": "charts",
    "backends.reference": "ReferenceBackend",
    "core.arrays": "HostArray",
    "core.errors": "BackendError ContextLost DataError ModelError NotationError WebNNMError",
    "core.finding": "Finding",
    "data.tables.csv_dataset": "CSVDataset",
    "data.tables.csv_table": "read_csv",
    "data.dataset": "Dataset",
    "data.tables.description": "describe_table",
    "data.files.downloads": "forget_downloads",
    "data.pictures.augmentations": "Brighten Erase Flip Rotate Shift",
    "data.pictures.boxes": "Box",
    "data.pictures.detection_dataset": "DetectionDataset",
    "data.pictures.detection_suggestion": "suggest_detection_model",
    "data.pictures.images": "ImageDataset",
    "data.pictures.model_suggestion": "suggest_image_model",
    "data.examples.iris": "IrisDataset",
    "data.examples.plane": "make_circles make_moons make_spirals make_xor plane_features",
    "data.sounds.augmentations": "Delay Gain Noise",
    "data.sounds.model_suggestion": "suggest_sound_model",
    "data.sounds.sound": "Microphone Sound load_sound",
    "data.sounds.sound_dataset": "SoundDataset",
    "data.sounds.wav": "encode_wav",
    "data.streams.stream": "StreamDataset",
    "data.series.model_suggestion": "suggest_series_model",
    "data.series.series_dataset": "SeriesDataset",
    "data.tables.model_suggestion": "suggest_model",
    "data.tables.table_dataset": "TableDataset",
    "data.tables.table_files": "read_table",
    "data.texts.labeled": "LabeledTextDataset",
    "data.texts.model_suggestion": "suggest_text_model",
    "data.texts.text": "TextDataset",
    "diagram.plotting": "plot_model",
    "eager": """check_gradients recompute composite cond custom_gradient fori_loop grad hessian
        jacfwd jacrev jit jvp optimizer random scan schedule tree_leaves tree_map value_and_grad vjp
        vmap while_loop xp""",
    "evaluation.epoch": "EpochRecord",
    "evaluation.history": "History",
    "evaluation.result": "TestResult",
    "expert.reviewer": "review",
    "expert.suggesting.suggest": "suggest",
    "snapshots.foreign": "Part Permuted Reshaped Transposed",
    "snapshots.name_map": "read_name_map",
    "snapshots.safetensors": "pack_safetensors unpack_safetensors",
    "graph.elaboration.elaborate": "elaborate",
    "graph.transforms.autodiff": "gradients",
    "language.problems": "diagnose",
    "graph.builder": "GraphBuilder",
    "model.cross_validating": "cross_validate",
    "model.finding_lr": "find_lr",
    "model.graph_text": "graph_text",
    "model.quantizing": "quantize",
    "model.report": "view",
    "formats.graph_export": "export_graph",
    "model.nnmodel": "NNModel",
    "formats.onnx.onnx_model": "OnnxModel load_onnx",
    "editing.ensembling": "MemberPredictions predict_members train_ensemble",
    "editing.parts": "join_models replace_head split_model",
    "transformers.hub_model": "HubModel",
    "transformers.onnx_hub_model": "PretrainedOnnxModel",
    "transformers.pretrained_model": "PretrainedModel from_pretrained",
    "transformers.text_head": "train_text_head",
    "tasks.pipeline": "pipeline",
    "tasks.english": "EnglishPhonemes",
    "tasks.listing": "list_tasks",
    "model.searching": "search",
    "model.texts": "check format_model",
    "notation": "parse",
    "runtime.inference.answers": "Prediction",
    "runtime.inference.detections": "Detections",
    "runtime.inference.forecasting": "Forecast",
    "runtime.inference.painting": "Painter open_painter",
    "trainer.review": "Review",
    "runtime.inference.occlusion": "token_importance",
    "runtime.testing.importance": "permutation_importance",
    "trainer.inspection": "inspect_model",
    "trainer.training": "Training",
    "transformers.choice": "Sampling",
    "transformers.generator": "Generator",
    "transformers.log_mel": "log_mel",
    "transformers.text_inspection": "TextInspector",
    "transformers.transcription": "TranscriptionThresholds",
}
"""Module → public names. They are imported on first use: a page pays only for what it touches."""
_PLUGINS = {
    "eager": "xp",
    "eager.applying": "NetworkFunction param_arrays",
    "eager.own_losses": "own_losses",
    "expert.reviewer": "Reviewer",
    "formats.exporting": "export_model",
    "formats.onnx.exporting.file": "detach_weights",
    "formats.onnx.exporting.lowering": "expressible graph_model",
    "formats.onnx.part": "open_onnx",
    "formats.onnx.text_files": "with_files with_local_files",
    "formats.onnx.writer": "serialize",
}
"""Module → names of outer packages that the core uses, by `core.plugins`."""
_HOME = {name: module for module, names in _OFFERED.items() for name in names.split()}


__all__ = tuple(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'webnnm' has no attribute {name!r}")
    module = importlib.import_module(f"webnnm.{_HOME[name]}")
    return module if _HOME[name] == name else getattr(module, name)


def _load(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"webnnm.{module}"), name)


for _module, _names in _PLUGINS.items():
    for _name in _names.split():
        register(_name, partial(_load, _module, _name))


def __dir__() -> list[str]:
    return sorted((*_HOME, "__version__"))
