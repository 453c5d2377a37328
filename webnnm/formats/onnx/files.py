"""Reads ONNX models from where they are stored, with the weights stored next to them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from webnnm.core.errors import DataError
from webnnm.data.files.references import Reference, Roots, read_path, read_reference, refer
from webnnm.formats.onnx import tensors
from webnnm.formats.onnx.messages import GraphProto, ModelProto
from webnnm.formats.onnx.reader import read_model
from webnnm.snapshots.kinds import BEGINNING_BYTES, is_safetensors


async def read_onnx(source: Any, references: Roots = None) -> tuple[ModelProto, tensors.External]:
    """Return the messages of a file, and a function that fetches the weights next to it.

    `references` is what the file may refer to, see `refer`. Raises `DataError` NNM715 for what is
    neither a place nor a model.
    """
    if isinstance(source, Reference):
        data, source = await read_reference(source), source.location
    elif isinstance(source, (str, Path)):
        from webnnm.data.files.source_bytes import read_bytes

        data = await read_bytes(source)
    else:
        data = _take_bytes(source)
        return _snapshot(data) or (read_model(data), tensors.no_external)
    owner: str | Path = source

    async def fetch(location: str) -> Any:
        return await read_reference(refer(owner, location, references))

    return await open_onnx_data(data, fetch)


def _take_bytes(source: Any) -> Any:
    """Return the bytes of a model in memory, which may be a `ModelProto` of the package onnx."""
    if hasattr(source, "SerializeToString"):
        return source.SerializeToString()
    try:
        memoryview(source)
    except TypeError as error:
        message = f"a {type(source).__name__} is not an ONNX model"
        hint = "give a path, a URL, the bytes of a file or a ModelProto"
        raise DataError("NNM715", message, hint=hint) from error
    return source


async def open_onnx_data(
    data: Any, fetch: Callable[[str], Awaitable[Any]]
) -> tuple[ModelProto, tensors.External]:
    """Return what `read_onnx` returns, from the bytes of a file.

    `fetch` returns the bytes of the files with weights that it names.
    """
    if snapshot := _snapshot(data):
        return snapshot
    model = read_model(data)
    return model, _external({name: await fetch(name) for name in sorted(_locations(model))})


def _snapshot(data: Any) -> tuple[ModelProto, tensors.External] | None:
    """Return the contents of a snapshot, None for other bytes."""
    if not is_safetensors(bytes(memoryview(data)[:BEGINNING_BYTES])):
        return None
    from webnnm.formats.onnx.snapshot import read_onnx_snapshot

    return read_onnx_snapshot(data)


def read_onnx_file(source: str | Path) -> tuple[ModelProto, tensors.External]:
    """Return what `read_onnx` returns, from a path, without awaiting."""
    model = read_model(read_path(Path(source)))
    paths = {name: Path(refer(source, name).location) for name in sorted(_locations(model))}
    return model, _external({name: read_path(path) for name, path in paths.items()})


def _external(files: Mapping[str, Any]) -> tensors.External:
    def external(location: str, offset: int, length: int | None) -> Any:
        data = files.get(location)
        if data is None:
            return tensors.no_external(location, offset, length)
        return data[offset : len(data) if length is None else offset + length]

    return external


def _locations(model: ModelProto) -> set[str]:
    """Return the other files that hold weights of a model."""
    return {
        entry.value
        for tensor in (model.graph or GraphProto()).initializer
        if tensor.data_location == 1
        for entry in tensor.external_data
        if entry.key == "location"
    }
