"""Runs models in ONNX Runtime, and compares them with what the reference backend computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from webnnm.backends.reference import evaluate
from webnnm.formats.onnx.exporting.lowering import graph_model
from webnnm.formats.onnx.messages import ModelProto
from webnnm.formats.onnx.writer import serialize
from webnnm.graph.node import Graph

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx", reason="checks ONNX models")
runtime = pytest.importorskip("onnxruntime", reason="runs ONNX models")


def check(model: ModelProto) -> bytes:
    """Return the bytes of a model that ONNX's own checker accepts, shapes included."""
    data = serialize(model)
    onnx.checker.check_model(onnx.load_from_string(data), full_check=True)
    return data


def run(data: bytes, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ONNX Runtime makes of inputs."""
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, dict(inputs)), strict=True))


def arrays(graph: Graph, feeds: Mapping[str, Any]) -> dict[str, Any]:
    """Return values for the inputs of a graph in their types, as ONNX Runtime takes them."""
    return {
        name: np.asarray(feeds[name]).astype(o.dtype).reshape(o.shape)
        for name, o in graph.inputs.items()
        if name in feeds
    }


def agrees(graph: Graph, feeds: Mapping[str, Any], tolerance: float = 1e-5) -> None:
    """Check that ONNX Runtime computes a graph as the reference backend does."""
    data = check(graph_model([graph]))
    given = arrays(graph, feeds)
    expected = evaluate(graph, given)
    found = run(data, given)
    for name, value in expected.items():
        assert found[name].dtype == value.dtype, name
        limits = {"rtol": tolerance, "atol": tolerance, "err_msg": name}
        np.testing.assert_allclose(found[name], value, **limits)
