"""Estimates how long NumPy in a page would take for an ONNX model."""

from __future__ import annotations

from webnnm.core.shapes import count
from webnnm.formats.onnx.messages import ModelProto
from webnnm.model.work import seconds_of_inferences

USES, USES_IN_PICTURES = 20, 64 * 64
"""How often a run uses a weight if sizes are open, and a weight of an image filter."""


def onnx_seconds_on_numpy(model: ModelProto) -> float:
    """Estimate how long NumPy would take for 100 runs of an ONNX model, from its weights."""
    graph = model.graph
    if graph is None:
        return 0.0
    products = sum(
        count(tensor.dims) * (USES_IN_PICTURES if len(tensor.dims) == 4 else USES)
        for tensor in graph.initializer
    )
    return seconds_of_inferences(len(graph.node), products)
