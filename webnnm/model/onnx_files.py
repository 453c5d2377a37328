"""Reading models of ONNX from where they lie, with the weights that lie beside them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webnnm.formats.onnx import tensors
from webnnm.formats.onnx.messages import GraphProto, ModelProto
from webnnm.formats.onnx.reader import invalid, read_model


async def read_onnx(source: Any) -> tuple[ModelProto, tensors.External]:
    """Return the messages of a file, and what fetches the weights that lie beside it."""
    if not isinstance(source, str | Path):
        return read_model(source), tensors.no_external
    from webnnm.data.source_bytes import read_bytes

    model = read_model(await read_bytes(source))
    files: dict[str, Any] = {}
    for location in sorted(_locations(model)):
        files[location] = memoryview(await read_bytes(beside(source, _inside(location))))
    return model, _external(files)


def read_onnx_file(source: str | Path) -> tuple[ModelProto, tensors.External]:
    """Return what `read_onnx` does, from a path, without waiting."""
    model = read_model(Path(source).read_bytes())
    locations = sorted(_locations(model))
    files = {
        name: memoryview(Path(beside(source, _inside(name))).read_bytes()) for name in locations
    }
    return model, _external(files)


def beside(source: str | Path, name: str) -> str | Path:
    """Return where a file lies that is named from another one.

    >>> beside("https://example.org/models/net.nnm", "net.onnx")
    'https://example.org/models/net.onnx'
    """
    if "://" in name:
        return name
    if isinstance(source, str) and "://" in source:
        return f"{source.rpartition('/')[0]}/{name}"
    return Path(source).parent / name


def _external(files: Mapping[str, Any]) -> tensors.External:
    def external(location: str, offset: int, length: int | None) -> Any:
        data = files.get(location)
        if data is None:
            return tensors.no_external(location, offset, length)
        return data[offset : len(data) if length is None else offset + length]

    return external


def _locations(model: ModelProto) -> set[str]:
    """Return the other files in which a model has weights."""
    return {
        entry.value
        for tensor in (model.graph or GraphProto()).initializer
        if tensor.data_location == 1
        for entry in tensor.external_data
        if entry.key == "location"
    }


def _inside(location: str) -> str:
    """Return the name of a file with weights, which shall lie in the folder of its model."""
    if location.startswith(("/", "\\")) or ".." in location.replace("\\", "/").split("/"):
        raise invalid(f'its weights lie outside of its folder, in "{location}"')
    return location
