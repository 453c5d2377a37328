"""Graphs of a `GraphBuilder`, and of imported models, as files for other programs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError, suggestion
from webnnm.formats.onnx.exporting.file import write_model
from webnnm.formats.onnx.exporting.lowering import graph_model
from webnnm.formats.stablehlo.lowering import graph_text
from webnnm.graph.node import Graph


def export_onnx(
    graph: Graph,
    path: str | os.PathLike[str],
    *,
    name: str = "graph",
    constants: Mapping[str, Any] | None = None,
) -> Path:
    """Write a graph as an ONNX file (opset 21), and return its path.

    >>> from webnnm import GraphBuilder, export_onnx
    >>> b = GraphBuilder()
    >>> x, w = b.input("x", "float32", [2, 3]), b.input("w", "float32", [3, 4])
    >>> graph = b.build({"y": b.matmul(x, w)})
    >>> path = export_onnx(graph, "net.onnx", constants={"w": [[0.5] * 4] * 3})  # doctest: +SKIP

    `graph` is what `GraphBuilder.build` or `OnnxModel.graph` return; `name` is its name in the
    file. Inputs that have values in `constants` become initializers. An output with the name of an
    input is written as `NAME/out`. Weights above 2 GB are written to a second file, `PATH.data`.

    Raises `ModelError` NNM901 for operators without an ONNX counterpart, `DataError` NNM710 and
    NNM702 for constants that do not fit an input, NNM807 if writing fails.
    """
    return write_model(
        path, graph_model([graph], name, constants=_convert_constants(graph, constants))
    )


def export_stablehlo(
    graph: Graph,
    *,
    name: str = "graph",
    constants: Mapping[str, Any] | None = None,
    chlo: bool = True,
    loops: bool = False,
) -> str:
    """Return a graph as a StableHLO module; see `export_onnx` and `NNModel.export_stablehlo`.

    >>> from webnnm import GraphBuilder, export_stablehlo
    >>> b = GraphBuilder()
    >>> module = export_stablehlo(b.build({"y": b.relu(b.input("x", "float32", [2]))}))
    >>> "stablehlo.maximum" in module
    True

    Raises `ModelError` NNM901 for operators without a mapping, `DataError` NNM710 and NNM702 for
    constants that do not fit an input.
    """
    fixed = _convert_constants(graph, constants)
    return graph_text([graph], name, constants=fixed, chlo=chlo, loops=loops)


def _convert_constants(graph: Graph, constants: Mapping[str, Any] | None) -> dict[str, HostArray]:
    """Return the values of inputs in their types."""
    arrays: dict[str, HostArray] = {}
    for name, value in (constants or {}).items():
        if name not in graph.inputs:
            hint = suggestion(name, graph.inputs)
            raise DataError("NNM710", f'the graph has no input "{name}"', hint=hint)
        arrays[name] = HostArray.of(value, *graph.inputs[name].type)
    return arrays
