"""Writes a model of ONNX to disk, its weights beside it where one file cannot hold them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from webnnm.formats.atomic import write_atomically
from webnnm.formats.onnx.messages import ModelProto, StringStringEntryProto, TensorProto
from webnnm.formats.onnx.writer import chunks

MOST = 2**31 - 2**20
"""The bytes of weights that a file may have: Protocol Buffers end at 2 GB."""
ALIGNED = 4096
"""Weights of another file begin at multiples of this, so that they can be mapped into memory."""


def write_model(path: str | os.PathLike[str], model: ModelProto, most: int = MOST) -> Path:
    """Write a model, with weights above `most` bytes in `PATH.data`; return the path.

    Raises `DataError` NNM807 where writing fails.
    """
    assert model.graph is not None
    weights = [tensor for tensor in model.graph.initializer if tensor.raw_data is not None]
    if sum(len(tensor.raw_data or b"") for tensor in weights) > most:
        beside = Path(f"{os.fspath(path)}.data")
        write_atomically(beside, _moved(weights, beside.name))
    return write_atomically(path, chunks(model))


def _moved(weights: list[TensorProto], location: str) -> Iterator[bytes | memoryview[int]]:
    """Yield the bytes of tensors, which from then on say where they lie."""
    place = 0
    for tensor in weights:
        data = memoryview(tensor.raw_data or b"").cast("B")
        gap = -place % ALIGNED
        yield bytes(gap)
        yield data
        place_apart(tensor, location, place + gap)
        place += gap + len(data)


def place_apart(tensor: TensorProto, location: str, offset: int = 0) -> None:
    """Say of a tensor that its bytes lie in another file, or in memory called like one."""
    entries = {"location": location, "offset": offset, "length": len(tensor.raw_data or b"")}
    tensor.raw_data, tensor.data_location = None, 1
    tensor.external_data = [
        StringStringEntryProto(key, str(value)) for key, value in entries.items()
    ]
