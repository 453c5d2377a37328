"""Imported models as snapshots: the graph, and its weights as tensors readable elsewhere."""

from __future__ import annotations

from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.formats.onnx import tensors
from webnnm.formats.onnx.messages import ModelProto
from webnnm.formats.onnx.part import move_to_external_data, weights_of
from webnnm.formats.onnx.reader import read_model
from webnnm.formats.onnx.writer import serialize
from webnnm.snapshots.model_files import FILE, beside
from webnnm.snapshots.safetensors import chunks, header, read
from webnnm.snapshots.snapshot import (
    CHECKSUM,
    FORMAT,
    KEY,
    PARAMETER,
    check_integrity,
    compute_checksum,
)

ONNX = KEY + "onnx"
"""Metadata that such a snapshot has instead of a text: the name of the file in it."""
NAME = "model.onnx"


def is_onnx_snapshot(data: Any) -> bool:
    """Return whether a safetensors file is such a snapshot."""
    return ONNX in read(data).metadata


def onnx_snapshot(model: ModelProto, external: tensors.External) -> list[Any]:
    """Return the parts of a snapshot: safetensors that `read_onnx_snapshot` reads."""
    arrays = weights_of(model, external, as_stored=True)
    weights = {PARAMETER + name: array for name, array in arrays.items()}
    data = serialize(
        move_to_external_data(
            model, external, {name.removeprefix(PARAMETER): name for name in weights}
        )
    )
    stored = {**weights, FILE + NAME: HostArray("uint8", [len(data)], data)}
    metadata = {KEY + "format": str(FORMAT), ONNX: NAME}
    body = (tensor.data for tensor in stored.values())
    metadata[CHECKSUM] = compute_checksum(body, header(stored, metadata))
    return list(chunks(stored, metadata))


def read_onnx_snapshot(data: Any) -> tuple[ModelProto, tensors.External]:
    """Return the messages in a snapshot, and a function that fetches its weights.

    Raises `DataError` NNM801 … NNM804 if it is damaged, or is a snapshot of a model text.
    """
    file = read(data)
    if ONNX not in file.metadata or FILE + NAME not in file.tensors:
        raise DataError(
            "NNM804",
            "the file is not a snapshot of an ONNX model",
            hint="use NNModel.load for snapshots of model texts",
        )
    check_integrity(file)
    return read_model(file.tensors[FILE + NAME].data), beside(file)
