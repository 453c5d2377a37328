"""What an exported page needs to run a model on ONNX Runtime Web: the model as ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webnnm.backends.onnxruntime_web import build_onnx_model, map_output_names
from webnnm.compiler.plan import describe_type
from webnnm.core.arrays import HostArray
from webnnm.formats.onnx.writer import serialize
from webnnm.graph.node import Graph

FOLDER = "onnxruntime/"
FILES = ("ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
"""The files of ONNX Runtime Web for its provider wasm."""


def describe_onnx(graph: Graph, values: Mapping[str, HostArray]) -> tuple[dict[str, Any], bytes]:
    """Return what the manifest says of a graph as ONNX, and the ONNX model.

    Raises `ModelError` NNM901 for an operator without a counterpart in ONNX.
    """
    model, inputs = build_onnx_model(graph, values)
    names = map_output_names(graph, model)
    described = {
        "folder": FOLDER,
        "inputs": [{"name": name, **describe_type(type)} for name, type in inputs.items()],
        "outputs": [
            {"name": names[name], "result": name, **describe_type(operand.type)}
            for name, operand in graph.outputs.items()
        ],
    }
    return described, bytes(serialize(model))
