"""The problems that are used to choose defaults and measure quality: rows, networks, scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets  # type: ignore[reportMissingTypeStubs]
from sklearn.datasets import load_digits, load_iris  # type: ignore[reportMissingTypeStubs]

from webnnm import Dataset

DENSE = "dense:layers matmul(w), add(b), activation();"
TESTED = 1000
"""The number of test rows of problems whose rows are drawn."""

Floats = NDArray[np.float64]
Rows = tuple[Floats, Any]
Draw = Callable[[int], Rows]
"""Draws features and targets by a seed, or loads them."""


@dataclass(frozen=True)
class Problem:
    """Rows, and a network of dense layers for them.

    `draw` returns the rows for a seed; `outputs` is the number of classes, 1 for regression, 0 for
    binary classification; `hidden` are the sizes of the hidden layers; `training` is the number of
    training rows, None for 70 %; `scores` are measured on the test rows: "accuracy", "r2", "f1" and
    "average precision" of the rarer class, "mae" (lower is better).
    """

    name: str
    draw: Draw
    outputs: int
    hidden: tuple[int, ...] = (32, 32)
    activation: str = "relu"
    dropout: float = 0.0
    training: int | None = None
    scores: tuple[str, ...] = ("accuracy",)
    text: str = ""

    def rows(self, seed: int) -> tuple[Floats, Any, Floats, Any]:
        """Return training features and targets, then those of the test rows.

        Features, and targets of regression, are standardised on the training rows; targets with
        outliers are in units of the median absolute deviation, as a standard deviation would be
        that of the outliers.
        """
        data = self.data(seed)
        (x, y), (test_x, test_y) = (
            [np.asarray(next(iter(side.values())).tolist()) for side in data.arrays(part)]
            for part in ("training", "testing")
        )
        return x.reshape(len(x), -1), y, test_x.reshape(len(test_x), -1), test_y

    def data(self, seed: int) -> Dataset:
        """Return the rows as a dataset, the same rows for all contestants."""
        x, y = self.draw(seed)
        count = len(x)
        split = (0.7, 0, 0.3)
        if self.training is not None:
            split = (self.training, 0, min(TESTED, count - self.training))
        number = self.outputs == 1
        if self.outputs < 2:
            y = np.asarray(y, "float32").reshape(count, 1)
        return Dataset(
            np.asarray(x, "float32"),
            y if self.outputs < 2 else np.asarray(y, "int32"),
            name=self.name,
            split=split,
            seed=seed,
            standardize=True,
            standardize_targets=number and "mae" not in self.scores,
        )

    @property
    def source(self) -> str:
        """The model text of the network."""
        if self.text:
            return self.text
        width = self.draw(0)[0].shape[1]
        layers = [f"dense(shape=[{n}], activation={self.activation})" for n in self.hidden]
        if self.dropout:
            layers.append(f"dropout({self.dropout})")
        ending = {0: ", sigmoid()", 1: ""}.get(self.outputs, ", softmax()")
        count = max(1, self.outputs)
        return (
            f"model:input shape=[{width}]; model:output shape=[{count}];"
            f"model:layers {', '.join(layers)}, matmul(w), add(b){ending};{DENSE}"
        )


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(1000 + seed)


def _moons(seed: int) -> Rows:
    return datasets.make_moons(1200, noise=0.25, random_state=seed)


def _circles(seed: int) -> Rows:
    return datasets.make_circles(1200, noise=0.12, factor=0.5, random_state=seed)


def _spirals(seed: int) -> Rows:
    """Return two spirals of one and a half turns."""
    draw = _generator(seed)
    y = np.arange(1300) % 2
    turn = draw.uniform(0.5, 3.5, 1300) * np.pi
    x = np.stack([turn * np.cos(turn + np.pi * y), turn * np.sin(turn + np.pi * y)], axis=1) / 5
    return x + draw.normal(0, 0.06, x.shape), y


def _xor(seed: int) -> Rows:
    draw = _generator(seed)
    x = draw.uniform(-1, 1, (1200, 2))
    return x + draw.normal(0, 0.05, x.shape), (x[:, 0] * x[:, 1] > 0).astype(int)


def _sine(seed: int) -> Rows:
    draw = _generator(seed)
    x = draw.uniform(-2 * np.pi, 2 * np.pi, (1200, 1))
    return x, np.sin(x[:, 0]) + draw.normal(0, 0.1, 1200)


def _friedman(seed: int) -> Rows:
    return datasets.make_friedman1(1400, noise=1.0, random_state=seed)


def _linear(seed: int) -> Rows:
    return datasets.make_regression(1300, 20, n_informative=10, noise=20.0, random_state=seed)


def _rare(seed: int) -> Rows:
    """Return rows of which 5 % belong to the second class."""
    return datasets.make_classification(
        2000, 10, n_informative=5, weights=[0.95], flip_y=0.01, class_sep=1.2, random_state=seed
    )


def _outliers(seed: int) -> Rows:
    """Return a sum of six features, with one training target in thirty far off."""
    draw = _generator(seed)
    x = draw.normal(0, 1, (1180, 6))
    y = 1.5 * x[:, 0] - x[:, 1] + x[:, 2] * x[:, 3] + draw.normal(0, 0.3, 1180)
    return x, y


def _load(load: Callable[..., Any], _seed: int) -> Rows:
    dataset = load()
    return dataset.data, dataset.target


@dataclass(frozen=True)
class WithOutliers(Problem):
    """A problem in which one training target in thirty is too large by 100."""

    def data(self, seed: int) -> Dataset:
        """Return the rows as a dataset, the same rows for all contestants."""
        data = super().data(seed)
        wrong = data.rows("training")[::30]
        x, y = self.draw(seed)
        y[wrong] += 100
        return Dataset(
            np.asarray(x, "float32"),
            np.asarray(y, "float32")[:, None],
            name=self.name,
            split=tuple(data.rows(part) for part in ("training", "validation", "testing")),
            standardize=True,
        )


CNN = """
model:input shape={channel:1, height:8, width:8}; model:output shape=[10];
model:layers
  conv2d(f, filters=16, kernel=3, padding=same, bias=c), relu(),
  conv2d(f, filters=32, kernel=3, padding=same, bias=c), relu(),
  maxPool2d(windowDimensions={height:2, width:2}, strides={height:2, width:2}),
  dropout(0.25), flatten(),
  matmul(w, shape=[64]), add(b), relu(), dropout(0.25), matmul(w), add(b), softmax();
"""


@dataclass(frozen=True)
class Pictures(Problem):
    """A problem whose rows are pictures of 8 × 8; only this package's network is convolutional."""

    def draw_pictures(self, seed: int) -> Rows:
        """Return the pictures as rows of channel, height and width."""
        x, y = self.draw(seed)
        return x.reshape(-1, 1, 8, 8), y

    def data(self, seed: int) -> Dataset:
        """Return the rows as a dataset, the same rows for all contestants."""
        x, y = self.draw_pictures(seed)
        return Dataset(
            x.astype("float32"), y.astype("int32"), name=self.name, seed=seed, standardize=True
        )


_NUMBER = ("r2",)
PROBLEMS = (
    Problem("moons", _moons, 2, training=200),
    Problem("circles", _circles, 2, training=200),
    Problem("two spirals", _spirals, 2, training=300),
    Problem("XOR", _xor, 2, training=200),
    Problem("sine", _sine, 1, training=200, scores=_NUMBER),
    Problem("digits, 100 rows", partial(_load, load_digits), 10, (64,), training=100),
    Problem("digits", partial(_load, load_digits), 10, (128,), dropout=0.3),
    Problem("Iris", partial(_load, load_iris), 3),
    Problem("Iris 4-3-3", partial(_load, load_iris), 3, (3,)),
    Problem("wine", partial(_load, datasets.load_wine), 3, (16,)),
    Problem("breast cancer", partial(_load, datasets.load_breast_cancer), 2, (16,)),
    Problem("diabetes", partial(_load, datasets.load_diabetes), 1, (16,), scores=_NUMBER),
    Problem("friedman1", _friedman, 1, (64,), training=400, scores=_NUMBER),
    Problem("make_regression", _linear, 1, training=300, scores=_NUMBER),
    Problem("95:5", _rare, 0, training=1000, scores=("f1", "average precision")),
    WithOutliers("outliers", _outliers, 1, training=180, scores=("mae",)),
)
PICTURES = Pictures("digits CNN", partial(_load, load_digits), 10, text=CNN)
