"""Converts ONNX models to other formats."""

from __future__ import annotations

from pathlib import Path

from webnnm.core.atomic import write_atomically
from webnnm.core.errors import DataError
from webnnm.data.files.references import Roots
from webnnm.formats.onnx.exporting.file import write_model
from webnnm.formats.onnx.files import read_onnx
from webnnm.formats.onnx.importing.importer import import_model
from webnnm.formats.onnx.importing.sizes import Shapes
from webnnm.formats.onnx.part import move_to_external_data, weights_of
from webnnm.formats.stablehlo.lowering import graph_text
from webnnm.snapshots.safetensors import chunks


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
