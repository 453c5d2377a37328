"""Kinds of layers: normalised, residual, deep and gated networks."""

from __future__ import annotations

import numpy as np

from tests.teach.corpus.classes import classified
from tests.teach.corpus.kinds import Generated, kind
from tests.teach.corpus.settings import Draw, between, text_of, training
from tests.teach.setup import of
from tests.teach.texts import dense

TRAINED = 0.7

RESIDUAL = (
    "unit:layers layerNorm(scale=g, bias=c), matmul(v), add(d), relu(shape=[24]),\n"
    "  matmul(u, shape=[24]), add(e), residual(to=input);\n"
)


def _rings(draw: Draw, layers: str, more: str = "", *, slow: bool = False) -> Generated:
    """Return rings around each other in several dimensions, and a model of these layers."""
    rows, classes = int(between(draw, 400, 1200)), 3
    features = int(draw.integers(2, 5))
    y = draw.permutation(np.arange(rows) % classes).astype("int32")
    way = draw.normal(0, 1, (rows, features))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    noise = between(draw, 0.1, 0.35)
    radius = 1 + y + draw.normal(0, noise, rows)
    best = float((np.clip(np.round(radius - 1), 0, classes - 1) == y).mean())
    x = (way * radius[:, None]).astype("float32")
    text = text_of(features, f"{layers}, {dense(classes, 'softmax')}", classes) + more
    train = training(draw, int(TRAINED * rows), slow=slow)
    return classified(of(x, y, standardize=True), text, train, rows, best, 1 / classes)


@kind
def batch_normalisation(draw: Draw) -> Generated:
    layer = "matmul({0}w, shape=[24]), batchNorm(scale={0}g, bias={0}b), relu()"
    return _rings(draw, ", ".join(layer.format(name) for name in "pq"))


@kind
def layer_normalisation(draw: Draw) -> Generated:
    layers = "matmul(w, shape=[32]), add(b), layerNorm(scale=g, bias=c), gelu(), " + dense(32)
    return _rings(draw, layers)


@kind
def residual_layers(draw: Draw) -> Generated:
    layers = f"{dense(24)}, unit(repeat={draw.integers(2, 7)})"
    return _rings(draw, layers, RESIDUAL, slow=True)


@kind
def gated_units(draw: Draw) -> Generated:
    layers = (
        "matmul(g, shape=[24]), add(c), sigmoid(name=gate), "
        "matmul(v, node=input, shape=[24]), add(d), tanh(name=value), mul([gate, value]), "
        + dense(24)
    )
    return _rings(draw, layers)


@kind
def wide_and_shallow(draw: Draw) -> Generated:
    return _rings(draw, dense(int(draw.integers(64, 200))))


@kind
def three_hidden_layers(draw: Draw) -> Generated:
    activation = str(draw.choice(["relu", "tanh", "gelu"]))
    return _rings(draw, ", ".join(dense(24, activation) for _ in range(3)))
