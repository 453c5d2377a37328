"""Losses in closed form, and what computes the graphs' own for comparison (spec D.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from webnnm import gradients
from webnnm.backends.reference import evaluate
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Operand
from webnnm.training.losses import LOSSES, LossSettings
from webnnm.training.output_activation import find_activation

np = pytest.importorskip("numpy")

Z = [[1.0, -2.0, 0.5], [3.0, 3.0, -1.0], [0.0, 0.0, 0.0], [-4.0, 2.0, 9.0]]
ONE_HOT = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
SOFT = [[0.0, 1.0, 0.0], [0.2, 0.5, 0.3], [0.5, 0.5, 0.5], [0.0, 0.1, 0.9]]
VALUES = [[0.4, -2.0, 8.0], [1.0, 3.5, -1.0], [0.3, -0.2, 0.1], [-1.0, 2.0, 3.0]]
SIGNS = [[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0], [1.0, 1.0, -1.0], [-1.0, 1.0, 1.0]]
CLASSES = [1, 0, 2, -1]
FLOOR = 1e-7

ACTIVATIONS: Mapping[str, Callable[[GraphBuilder, Operand], Operand]] = {
    "softmax": lambda b, z: b.softmax(z, axis=z.rank - 1),
    "logSoftmax": lambda b, z: b.log_softmax(z, axis=z.rank - 1),
    "sigmoid": lambda b, z: b.sigmoid(z),
    "linear": lambda b, z: z * 1.0,
}


def softmax(z: Any) -> Any:
    e = np.exp(z - np.max(z, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def sigmoid(z: Any) -> Any:
    return 1 / (1 + np.exp(-z))


def rows(
    loss: str,
    activation: str,
    y: Any,
    z: Any = Z,
    settings: LossSettings | None = None,
    *,
    sequence: bool = False,
    wide: bool = True,
) -> tuple[Any, Any, Any]:
    """Return (ℓ of the rows, which count or None, gradient of Σ counted·ℓ at the logits)."""
    graph, feeds = graph_of(loss, activation, y, z, settings, sequence=sequence)
    found = evaluate(graph, feeds, wide=wide)
    return found["l"], found.get("c"), found["g"]


def graph_of(
    loss: str,
    activation: str,
    y: Any,
    z: Any = Z,
    settings: LossSettings | None = None,
    *,
    sequence: bool = False,
) -> tuple[Graph, dict[str, Any]]:
    """Return a graph of "l", "c" where not all positions count, and "g"; and what to feed it."""
    b = GraphBuilder()
    integers = np.asarray(y).dtype.kind == "i"
    logits = b.input("z", "float32", np.shape(z))
    target = b.input("y", "int32" if integers else "float32", np.shape(y))
    found = find_activation(ACTIVATIONS[activation](b, logits))
    found = LOSSES[loss].rows(b, found, target, settings or LossSettings(), sequence)
    outputs = {"l": found.values}
    total = found.values
    if found.mask is not None:
        assert found.mask.type == found.values.type
        outputs["c"] = found.mask
        total = total * found.mask
    (outputs["g"],) = gradients(b.reduce_sum(total), [logits])
    return b.build(outputs), {"z": z, "y": y}
