"""Graphs imported from ONNX have gradients, and their weights can be trained."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.formats.onnx_models import constant, graph, info, model, node
from webnnm import gradients
from webnnm.backends.reference import evaluate
from webnnm.core.arrays import HostArray
from webnnm.formats.onnx.importing.importer import Imported, import_model
from webnnm.formats.onnx.messages import ModelProto
from webnnm.graph.builder import GraphBuilder

np = pytest.importorskip("numpy")


def classifier() -> ModelProto:
    """Return two layers, as an exporter writes them."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(0, 0.5, (4, 8)), rng.normal(0, 0.5, (3, 8))
    nodes = [
        node("h = MatMul(x, w1)"),
        node("i = Add(h, b1)"),
        node("j = Relu(i)"),
        node("y = Gemm(j, w2, b2)", transB=1),
    ]
    weights = [
        constant("w1", first.tolist(), "float32"),
        constant("b1", [0.0] * 8, "float32"),
        constant("w2", second.tolist(), "float32"),
        constant("b2", [0.0] * 3, "float32"),
    ]
    return model(graph(nodes, [info("x", "batch", 4)], ["y"], *weights))


def step(found: Imported, target: list[int]) -> tuple[Any, dict[str, Any]]:
    """Return the graph of a loss and its gradients, and the weights."""
    scores = found.graph.outputs["y"]
    b = scores.builder
    assert isinstance(b, GraphBuilder)
    hot = np.eye(scores.shape[1], dtype="float32")[target]
    picked = b.mul(b.log_softmax(scores, axis=1), b.constant(hot))
    loss = b.neg(b.reduce_mean(b.reduce_sum(picked, axes=[1])))
    weights = {name: np.asarray(array) for name, array in found.parameters.items()}
    found_gradients = gradients(loss, [found.graph.inputs[name] for name in weights])
    outputs = {"loss": loss}
    for name, gradient in zip(weights, found_gradients, strict=True):
        assert gradient is not None
        outputs[f"d{name}"] = gradient
    return b.build(outputs), weights


def test_weights_of_an_imported_model_are_trained() -> None:
    rng = np.random.default_rng(1)
    target = [k % 3 for k in range(30)]
    centres = rng.normal(0, 2, (3, 4))
    data = (centres[target] + rng.normal(0, 0.3, (30, 4))).astype("float32")
    found = import_model(classifier(), {"batch": 30})
    graph_, weights = step(found, target)
    losses: list[float] = []
    for _ in range(60):
        results = evaluate(graph_, weights | {"x": data})
        losses.append(float(results["loss"]))
        weights = {name: value - 0.5 * results[f"d{name}"] for name, value in weights.items()}
    assert losses[-1] < 0.05 * losses[0]
    scores = evaluate(found.graph, weights | {"x": data})["y"]
    assert np.mean(scores.argmax(axis=1) == target) >= 0.95


def test_gradients_are_those_of_differences() -> None:
    found = import_model(classifier(), {"batch": 2})
    graph_, weights = step(found, [0, 2])
    data = np.random.default_rng(2).normal(0, 1, (2, 4)).astype("float32")
    results = evaluate(graph_, weights | {"x": data}, wide=True)
    for name, place in (("w1", (1, 2)), ("b2", (1,))):
        moved = []
        for sign in (1, -1):
            value = weights[name].astype("float64")
            value[place] += sign * 1e-5
            found_loss = evaluate(graph_, weights | {"x": data, name: value}, wide=True)["loss"]
            moved.append(float(found_loss))
        slope = (moved[0] - moved[1]) / 2e-5
        assert results[f"d{name}"][place] == pytest.approx(slope, rel=1e-4, abs=1e-8)


def test_scalars_are_constants() -> None:
    of = graph([node("y = Mul(x, s)")], [info("x", 2)], ["y"], constant("s", 2.0, "float32"))
    found = import_model(model(of))
    assert not found.parameters
    assert evaluate(found.graph, {"x": HostArray.of([1.0, 2.0])})["y"].tolist() == [2.0, 4.0]
