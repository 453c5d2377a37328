"""Models of the tests of training, trained quietly, and graphs of numbers run step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from webnnm.backends.reference import evaluate
from webnnm.data.dataset import Dataset
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.vertices import Network
from webnnm.graph.node import Graph, Operand
from webnnm.model.nnmodel import NNModel
from webnnm.notation import parse

np = pytest.importorskip("numpy")

SLOPE = "m:input shape=[1]; m:output shape=[1]; m:loss MSE; m:layers matmul(w{});"
"""ŷ = w·x, whose gradient under MSE is 2·mean(x·(w·x − y))."""

PLAIN: Mapping[str, Any] = {
    "seeds": 0,
    "optimizer": "sgdm",
    "momentum_factor": 0,
    "weight_decay": 0,
    "schedule": "constant",
    "shuffle": False,
    "restore_best": False,
    "gradient_clipping": "off",
    "gradient_scaling": "off",
    "regularization": "off",
    "compute_type": "float32",
}
"""Plain gradient descent with nothing about it."""


async def create(text: str, dataset: Dataset, **settings: Any) -> NNModel:
    return await NNModel.create(
        source=text, dataset=dataset, backend="numpy", log=lambda _: None, **settings
    )


def values(model: NNModel) -> dict[str, Any]:
    """Return the parameters as NumPy arrays of float64."""
    return {p.name: np.array(p.value, dtype="float64") for p in model.params()}


def points(xs: Sequence[float], ys: Sequence[float], **settings: Any) -> Dataset:
    """Return rows of one number each, all of them for training and in this order."""
    return Dataset([[x] for x in xs], [[y] for y in ys], split=(1, 0, 0), **settings)


def regression(rows: int = 12, *, seed: int = 0, **settings: Any) -> Dataset:
    """Return rows of a linear relation of three inputs and two outputs, with noise."""
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(rows, 3))
    y = x @ draw.normal(size=(3, 2)) + 0.1 * draw.normal(size=(rows, 2))
    split = settings.pop("split", (1, 0, 0))
    return Dataset(
        x.astype("float32").tolist(), y.astype("float32").tolist(), split=split, **settings
    )


def classes(rows: int = 30, *, seed: int = 0, **settings: Any) -> Dataset:
    """Return rows of four features, and one of three classes each, one-hot."""
    draw = np.random.default_rng(seed)
    which = np.arange(rows) % 3
    x = draw.normal(size=(rows, 4)) + 1.5 * np.eye(3, 4)[which]
    split = settings.pop("split", (1, 0, 0))
    return Dataset(x.astype("float32").tolist(), np.eye(3)[which].tolist(), split=split, **settings)


def network(text: str) -> Network:
    return elaborate(parse(text))


def build(make: Callable[[GraphBuilder], Mapping[str, Operand]]) -> Graph:
    b = GraphBuilder()
    return b.build(dict(make(b)))


def run(graph: Graph, feeds: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs as Python numbers and lists."""
    found = evaluate(graph, {name: v for name, v in feeds.items() if name in graph.inputs})
    return {name: value.tolist() for name, value in found.items()}
