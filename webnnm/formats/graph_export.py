"""Exports the graph of a `GraphBuilder`, or of an imported model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.awaiting import require_await
from webnnm.core.errors import DataError, suggestion
from webnnm.formats.graph_files import ExportedGraph, graph_format, write_graph
from webnnm.graph.node import Graph


@require_await
async def export_graph(
    graph: Graph,
    path: str | os.PathLike[str] | None = None,
    *,
    format: str | None = None,
    name: str = "graph",
    constants: Mapping[str, Any] | None = None,
    **options: bool,
) -> Any:
    """Write a graph for other programs, as ONNX (".onnx") or StableHLO (".mlir").

    >>> import asyncio
    >>> from webnnm import GraphBuilder, export_graph
    >>> b = GraphBuilder()
    >>> graph = b.build({"y": b.relu(b.input("x", "float32", [2]))})
    >>> "stablehlo.maximum" in asyncio.run(export_graph(graph, format="stablehlo"))
    True
    >>> asyncio.run(export_graph(graph, "relu.onnx"))  # doctest: +SKIP
    PosixPath('relu.onnx')

    `graph` is what `GraphBuilder.build` or `OnnxModel.graph` return; `name` is its name in the
    file. Inputs that have values in `constants` become constants. `path`, `format`, `options` and
    the result are those of `NNModel.export`.

    Raises `ModelError` NNM901 for operators without a counterpart, `DataError` NNM710 and NNM702
    for constants that do not fit an input, NNM703 and NNM704 for other arguments, NNM807 if writing
    fails.
    """
    written = graph_format(path, format)
    values = _convert_constants(graph, constants)
    exported = ExportedGraph(graphs=[graph], name=name, constants=values)
    return await write_graph(exported, path, written, options)


def _convert_constants(graph: Graph, constants: Mapping[str, Any] | None) -> dict[str, HostArray]:
    """Return the values of inputs in their types."""
    arrays: dict[str, HostArray] = {}
    for name, value in (constants or {}).items():
        if name not in graph.inputs:
            hint = suggestion(name, graph.inputs)
            raise DataError("NNM710", f'the graph has no input "{name}"', hint=hint)
        arrays[name] = HostArray.of(value, *graph.inputs[name].type)
    return arrays
