"""Writes an ONNX model to disk, with its weights in a second file if one cannot hold them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.atomic import write_atomically
from webnnm.core.errors import DataError
from webnnm.formats.onnx.messages import ModelProto, StringStringEntryProto, TensorProto
from webnnm.formats.onnx.tensors import host_array
from webnnm.formats.onnx.writer import chunks
from webnnm.snapshots.storage import BROWSER, DOWNLOAD, store

MAX_INLINE_BYTES = 2**31 - 2**20
"""The bytes of weights that a file may have: Protocol Buffers are limited to 2 GB."""
ALIGNMENT = 4096
"""Weights in the second file begin at multiples of this, so that they can be memory-mapped."""


async def store_model(
    path: str | os.PathLike[str] | None, model: ModelProto, limit: int = MAX_INLINE_BYTES
) -> Any:
    """Write a model where `store` does, or return its bytes.

    Raises `DataError` NNM807 if writing fails, and for weights above `limit` bytes that have no
    file next to which a second one could be.
    """
    if path is not None and not os.fspath(path).startswith((BROWSER, DOWNLOAD)):
        return write_model(path, model, limit)
    if (size := _weight_bytes(_inline_weights(model))) > limit:
        message = f"{size:,} bytes of weights are too many for one ONNX file ({limit:,})"
        hint = "give the path of a file: the weights are written next to it"
        raise DataError("NNM807", message, hint=hint)
    return await store(path, chunks(model))


def write_model(
    path: str | os.PathLike[str], model: ModelProto, limit: int = MAX_INLINE_BYTES
) -> Path:
    """Write a model, with weights above `limit` bytes in `PATH.data`; return the path.

    Raises `DataError` NNM807 if writing fails.
    """
    weights = _inline_weights(model)
    if _weight_bytes(weights) > limit:
        data_file = Path(f"{os.fspath(path)}.data")
        write_atomically(data_file, _write_external_data(weights, data_file.name))
    return write_atomically(path, chunks(model))


def _inline_weights(model: ModelProto) -> list[TensorProto]:
    """Return the initializers whose values are in the model."""
    assert model.graph is not None
    return [tensor for tensor in model.graph.initializer if tensor.raw_data is not None]


def _weight_bytes(weights: list[TensorProto]) -> int:
    return sum(len(tensor.raw_data or b"") for tensor in weights)


def _write_external_data(
    weights: list[TensorProto], location: str
) -> Iterator[bytes | memoryview[int]]:
    """Yield the bytes of tensors for a second file, and point the tensors to them."""
    offset = 0
    for tensor in weights:
        data = memoryview(tensor.raw_data or b"").cast("B")
        padding = -offset % ALIGNMENT
        yield bytes(padding)
        yield data
        set_external_data(tensor, location, offset + padding)
        offset += padding + len(data)


def detach_weights(model: ModelProto, min_bytes: int) -> dict[str, HostArray]:
    """Take the initializers of at least so many bytes out of a model; return them by name."""
    assert model.graph is not None
    weights: dict[str, HostArray] = {}
    for tensor in model.graph.initializer:
        if tensor.raw_data is not None and len(tensor.raw_data) >= min_bytes:
            weights[tensor.name] = host_array(tensor)
            set_external_data(tensor, "beside")
    return weights


def set_external_data(tensor: TensorProto, location: str, offset: int = 0) -> None:
    """Mark a tensor as stored in another file, or in memory under a file's name."""
    entries = {"location": location, "offset": offset, "length": len(tensor.raw_data or b"")}
    tensor.raw_data, tensor.data_location = None, 1
    tensor.external_data = [
        StringStringEntryProto(key, str(value)) for key, value in entries.items()
    ]
