"""Reads ONNX models from where they are stored, with the weights stored next to them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webnnm.core.atomic import write_atomically
from webnnm.core.errors import DataError
from webnnm.data.files.references import Reference, Roots, read_path, read_reference, refer
from webnnm.formats.onnx import tensors
from webnnm.formats.onnx.exporting.file import write_model
from webnnm.formats.onnx.importing.importer import import_model
from webnnm.formats.onnx.importing.sizes import Shapes
from webnnm.formats.onnx.messages import GraphProto, ModelProto
from webnnm.formats.onnx.part import move_to_external_data, weights_of
from webnnm.formats.onnx.reader import read_model
from webnnm.formats.stablehlo.lowering import graph_text
from webnnm.snapshots.kinds import BEGINNING_BYTES, is_safetensors
from webnnm.snapshots.safetensors import chunks


async def read_onnx(source: Any, references: Roots = None) -> tuple[ModelProto, tensors.External]:
    """Return the messages of a file, and a function that fetches the weights next to it.

    `references` is what the file may refer to, see `refer`.
    """
    if isinstance(source, Reference):
        data, source = await read_reference(source), source.location
    elif isinstance(source, (str, Path)):
        from webnnm.data.files.source_bytes import read_bytes

        data = await read_bytes(source)
    else:
        return _snapshot(source) or (read_model(source), tensors.no_external)
    if kept := _snapshot(data):
        return kept
    model = read_model(data)
    files: dict[str, Any] = {}
    for location in sorted(_locations(model)):
        files[location] = await read_reference(refer(source, location, references))
    return model, _external(files)


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


async def convert_onnx(
    source: str, target: str, shapes: Shapes, references: Roots = None
) -> list[str]:
    """Write an ONNX model, or a snapshot of one, in another format; return its weights.

    The extension of the target decides: `.safetensors` is a snapshot that `load_onnx` opens,
    `.onnx` an ONNX file, `.mlir` StableHLO for the `shapes`. Raises `DataError` NNM704 for
    another extension.
    """
    model, external = await read_onnx(source, references)
    weights = weights_of(model, external)
    match Path(target).suffix:
        case ".safetensors":
            from webnnm.formats.onnx.snapshot import onnx_snapshot

            write_atomically(target, onnx_snapshot(model, external))
        case ".onnx":
            write_model(target, move_to_external_data(model, external, {}))
        case ".mlir":
            imported = import_model(model, shapes, external=external)
            write_atomically(target, [graph_text([imported.graph], "graph").encode()])
        case ending:
            raise DataError(
                "NNM704",
                f'an ONNX model cannot be written as "{ending}"',
                hint="end --out in .safetensors, .onnx or .mlir",
            )
    return list(weights)


async def onnx_weights(source: str, references: Roots = None) -> bytes:
    """Return the weights of an ONNX model as a safetensors file."""
    return b"".join(chunks(weights_of(*await read_onnx(source, references)), {}))


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
