"""Reads ONNX models from where they are stored, with the weights stored next to them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webnnm.core.errors import DataError
from webnnm.formats.atomic import write_atomically
from webnnm.formats.kinds import BEGINNING, is_safetensors
from webnnm.formats.onnx import tensors
from webnnm.formats.onnx.exporting.file import write_model
from webnnm.formats.onnx.importing.importer import import_model
from webnnm.formats.onnx.importing.sizes import Shapes
from webnnm.formats.onnx.messages import GraphProto, ModelProto
from webnnm.formats.onnx.part import apart, weights_of
from webnnm.formats.onnx.reader import invalid, read_model
from webnnm.formats.safetensors import chunks
from webnnm.formats.stablehlo.lowering import graph_text


async def read_onnx(source: Any) -> tuple[ModelProto, tensors.External]:
    """Return the messages of a file, and a function that fetches the weights next to it."""
    if not isinstance(source, (str, Path)):
        return _snapshot(source) or (read_model(source), tensors.no_external)
    from webnnm.data.source_bytes import read_bytes

    data = await read_bytes(source)
    if kept := _snapshot(data):
        return kept
    model = read_model(data)
    files: dict[str, Any] = {}
    for location in sorted(_locations(model)):
        files[location] = memoryview(await read_bytes(beside(source, _inside(location))))
    return model, _external(files)


def _snapshot(data: Any) -> tuple[ModelProto, tensors.External] | None:
    """Return the contents of a snapshot, None for other bytes."""
    if not is_safetensors(bytes(memoryview(data)[:BEGINNING])):
        return None
    from webnnm.snapshots.onnx_snapshot import read_onnx_snapshot

    return read_onnx_snapshot(data)


def read_onnx_file(source: str | Path) -> tuple[ModelProto, tensors.External]:
    """Return what `read_onnx` returns, from a path, without awaiting."""
    model = read_model(Path(source).read_bytes())
    locations = sorted(_locations(model))
    files = {
        name: memoryview(Path(beside(source, _inside(name))).read_bytes()) for name in locations
    }
    return model, _external(files)


async def convert_onnx(source: str, target: str, shapes: Shapes) -> list[str]:
    """Write an ONNX model, or a snapshot of one, in another format; return its weights.

    The extension of the target decides: `.safetensors` is a snapshot that `load_onnx` opens,
    `.onnx` an ONNX file, `.mlir` StableHLO for the `shapes`. Raises `DataError` NNM704 for
    another extension.
    """
    model, external = await read_onnx(source)
    weights = weights_of(model, external)
    match Path(target).suffix:
        case ".safetensors":
            from webnnm.snapshots.onnx_snapshot import onnx_snapshot

            write_atomically(target, onnx_snapshot(model, external))
        case ".onnx":
            write_model(target, apart(model, external, {}))
        case ".mlir":
            found = import_model(model, shapes, external=external)
            write_atomically(target, [graph_text([found.graph], "graph").encode()])
        case ending:
            raise DataError(
                "NNM704",
                f'an ONNX model cannot be written as "{ending}"',
                hint="end --out in .safetensors, .onnx or .mlir",
            )
    return list(weights)


async def onnx_weights(source: str) -> bytes:
    """Return the weights of an ONNX model as a safetensors file."""
    return b"".join(chunks(weights_of(*await read_onnx(source)), {}))


def beside(source: str | Path, name: str) -> str | Path:
    """Return the location of a file that another file names.

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
    """Return the other files that hold weights of a model."""
    return {
        entry.value
        for tensor in (model.graph or GraphProto()).initializer
        if tensor.data_location == 1
        for entry in tensor.external_data
        if entry.key == "location"
    }


def _inside(location: str) -> str:
    """Return the name of a file with weights, which has to be in the folder of its model."""
    if location.startswith(("/", "\\")) or ".." in location.replace("\\", "/").split("/"):
        raise invalid(f'its weights are outside its folder, in "{location}"')
    return location
