"""The datasets and models by which defaults are chosen and quality is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn import datasets  # type: ignore[reportMissingTypeStubs]

from webnnm import Dataset

DENSE = "dense:layers matmul(w), add(b), activation();"


@dataclass(frozen=True)
class Problem:
    """A dataset of scikit-learn with a model for it, and the score that defaults shall reach.

    `metric` is "accuracy" or "r2", of the testing rows.
    """

    name: str
    load: Any
    text: str
    target: float
    metric: str = "accuracy"
    image: bool = False

    def data(self, seed: int) -> Dataset:
        """Return the dataset, split 70/30 by a seed, standardised on its training rows."""
        found = self.load()
        x, y = found.data, found.target
        if self.image:
            x = x.reshape(-1, 1, 8, 8)
        regression = self.metric == "r2"
        return Dataset(
            x.astype("float32"),
            y.astype("float32")[:, None] if regression else y.astype("int32"),
            name=self.name,
            seed=seed,
            standardize=True,
            standardize_targets=regression,
        )


def mlp(inputs: int, hidden: str, outputs: int, head: str = "softmax") -> str:
    """Return the text of a network with these hidden layers."""
    last = f"dense(shape=[{outputs}], activation={head})" if head else "matmul(w), add(b)"
    return (
        f"model:input shape=[{inputs}]; model:output shape=[{outputs}];"
        f"model:layers {hidden}, {last};{DENSE}"
    )


def relu(units: int) -> str:
    """Return a hidden layer of so many units."""
    return f"dense(shape=[{units}], activation=relu)"


CNN = """
model:input shape={channel:1, height:8, width:8}; model:output shape=[10];
model:layers
  conv2d(f, filters=16, kernel=3, padding=same, bias=c), relu(),
  conv2d(f, filters=32, kernel=3, padding=same, bias=c), relu(),
  maxPool2d(windowDimensions={height:2, width:2}, strides={height:2, width:2}),
  dropout(0.25), flatten(),
  matmul(w, shape=[64]), add(b), relu(), dropout(0.25), matmul(w), add(b), softmax();
"""

PROBLEMS = (
    Problem("Iris", datasets.load_iris, mlp(4, f"{relu(32)}, {relu(32)}", 3), 0.95),
    Problem("wine", datasets.load_wine, mlp(13, relu(16), 3), 0.97),
    Problem("breast cancer", datasets.load_breast_cancer, mlp(30, relu(16), 2), 0.96),
    Problem("digits MLP", datasets.load_digits, mlp(64, f"{relu(128)}, dropout(0.3)", 10), 0.97),
    Problem("digits CNN", datasets.load_digits, CNN, 0.985, image=True),
    Problem("diabetes", datasets.load_diabetes, mlp(10, relu(16), 1, ""), 0.40, "r2"),
)
