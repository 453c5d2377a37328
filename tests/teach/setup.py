"""What a case of this package is: a small program that makes, trains and tests a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from webnnm import Dataset, NNModel

Data = Callable[[int], Dataset | Awaitable[Dataset]]
"""Makes the dataset by a seed, which divides its rows."""


@dataclass(frozen=True)
class Setup:
    """A model, its data and how it is trained.

    Attributes: `text` in the notation; `data`, seed → dataset; `train`, settings of
    `NNModel.train`; `create`, further ones of `NNModel.create`; `score`, an attribute of the
    `TestResult` of `subset` where higher is better, as "block.attribute" of several outputs;
    `begin`, what happens to the model between its creation and its training.
    """

    text: str
    data: Data
    train: Mapping[str, Any] = field(default_factory=dict)
    create: Mapping[str, Any] = field(default_factory=dict)
    score: str = "accuracy"
    subset: str = "testing"
    begin: Callable[[NNModel], Awaitable[object]] | None = None

    def but(self, **changes: Any) -> Setup:
        """Return the same program with other attributes."""
        return replace(self, **changes)

    def saying(self, old: str, new: str) -> Setup:
        """Return the same program with other words in its text, which shall be there."""
        if old not in self.text:
            raise ValueError(f"{old!r} is not in the text")
        return replace(self, text=self.text.replace(old, new))

    def trained(self, **settings: Any) -> Setup:
        """Return the same program with these settings of the training; None takes one away."""
        merged = {**self.train, **settings}
        return replace(self, train={n: v for n, v in merged.items() if v is not None})


def of(inputs: Any, outputs: Any, **options: Any) -> Callable[[int], Dataset]:
    """Return what makes a `Dataset` of these arrays."""
    return lambda seed: Dataset(inputs, outputs, seed=seed, **options)


def augmented(make: Callable[[int], Dataset], change: Callable[[Any], Any]) -> Data:
    """Return what makes a dataset of which half of the pictures are changed in each epoch."""

    def half(inputs: Any, outputs: Any, stream: Any, epoch: int) -> Any:
        pictures = np.array(inputs["model"].tolist(), "float32")
        chance = np.array(stream.uniform(len(pictures)))[:, None, None, None]
        return {"model": np.where(chance < 0.5, change(pictures), pictures)}, outputs

    return lambda seed: make(seed).augment(half)
