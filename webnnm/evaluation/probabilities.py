"""Scores as probabilities: softmax, sigmoid or exp of an output."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from webnnm.data.classes import SUM_TOLERANCE
from webnnm.training.losses import LOSSES, PROBABILITY_FLOOR

Scale = Literal["probability", "logit", "logProbability"]
"""What a model outputs: p itself, the logits of softmax or sigmoid, or ln p."""

THRESHOLDS: dict[Scale, float] = {
    "probability": 0.5,
    "logit": 0.0,
    "logProbability": math.log(0.5),
}
"""The threshold from which a single score means yes: where p = 0.5."""


def scale_of(activation: str, loss: str) -> Scale:
    """Return what an output is under a loss.

    `activation` is "softmax", "logSoftmax", "sigmoid" or "linear".

    >>> scale_of("sigmoid", "BCE"), scale_of("linear", "SCE"), scale_of("linear", "MSE")
    ('probability', 'logit', 'probability')
    """
    if activation == "linear" and loss in LOSSES and LOSSES[loss].logits:
        return "logit"
    return "logProbability" if activation == "logSoftmax" else "probability"


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of the valid rows, and the class of each.

    >>> scores = Scores((1, 0), (2.0, -1.0), 1, "logit")
    >>> [round(p, 4) for p in scores.of_class(0)]
    [0.1192, 0.7311]

    Attributes: `actual` class numbers; `values`, flat, of `columns` per row: one per class, or a
    single one for class 1 of two; `scale`. On the scale "probability" numbers are clipped to
    0 … 1, and rows that do not sum to 1 (as with sigmoids) are divided by their sum.
    """

    actual: Sequence[int]
    values: Sequence[float]
    columns: int
    scale: Scale

    @property
    def classes(self) -> int:
        """The number of classes."""
        return max(self.columns, 2)

    @cached_property
    def probabilities(self) -> Sequence[float]:
        """The probabilities, in the layout of the values."""
        if self.scale == "probability":
            return self._normalize_rows()
        if self.scale == "logit" and self.columns == 1:
            return list(map(sigmoid, self.values))
        return [
            math.exp(min(value - total, 0.0))
            for row, total in zip(self.rows(self.values), self._totals, strict=True)
            for value in row
        ]

    @cached_property
    def surprise(self) -> Sequence[float]:
        """−ln p of the actual class of each row; directly from logits if there are logits.

        A probability counts as at least 1e-7 (spec D.2), because a value rounded to 0 is not a
        certainty.
        """
        if self.scale == "logit" and self.columns == 1:
            signed = zip(self.values, self.actual, strict=True)
            return [_softplus(-value if number else value) for value, number in signed]
        if self.scale == "probability" or self.columns == 1:
            return [-math.log(max(p, PROBABILITY_FLOOR)) for p in self.of_actual()]
        rows = zip(self.actual, self._totals, strict=True)
        width = self.columns
        return [total - self.values[r * width + c] for r, (c, total) in enumerate(rows)]

    def predict(self, threshold: float | None = None) -> list[int]:
        """Return the class of the largest score of each row, or 1 where a single one reaches a
        threshold, by default that of p = 0.5.

        >>> Scores((1, 0), (2.0, -1.0), 1, "logit").predict()
        [1, 0]
        """
        if self.columns == 1:
            limit = THRESHOLDS[self.scale] if threshold is None else threshold
            return [int(value >= limit) for value in self.values]
        return [row.index(max(row)) for row in self.rows(list(self.values))]

    def rows(self, flat: Sequence[float]) -> Iterator[Sequence[float]]:
        """Yield the values of each row."""
        width = self.columns
        return (flat[first : first + width] for first in range(0, len(flat), width))

    def of_class(self, number: int) -> Sequence[float]:
        """Return the probability of one class in every row."""
        if self.columns > 1:
            return self.probabilities[number :: self.columns]
        return self.probabilities if number else [1 - p for p in self.probabilities]

    def of_actual(self) -> list[float]:
        """Return the probability of the actual class of each row."""
        flat, width = self.probabilities, self.columns
        if width == 1:
            return [p if c else 1 - p for p, c in zip(flat, self.actual, strict=True)]
        return [flat[row * width + number] for row, number in enumerate(self.actual)]

    @cached_property
    def _totals(self) -> Sequence[float]:
        """ln Σ e^value per row; for logarithms of probabilities, 0 except for rounding."""
        if self.scale == "logProbability":
            return [0.0] * len(self.actual)
        totals: list[float] = []
        for row in self.rows(self.values):
            top = max(row)
            totals.append(top + math.log(sum([math.exp(value - top) for value in row])))
        return totals

    def _normalize_rows(self) -> Sequence[float]:
        clipped = [0.0 if value < 0 else 1.0 if value > 1 else value for value in self.values]
        if self.columns == 1:
            return clipped
        for start, row in enumerate(self.rows(clipped)):
            total = sum(row)
            if abs(total - 1) > SUM_TOLERANCE:
                even = 1 / self.columns
                new = [value / total if total else even for value in row]
                clipped[start * self.columns : (start + 1) * self.columns] = new
        return clipped


def sigmoid(value: float) -> float:
    """1/(1 + e^−value) without overflow."""
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    power = math.exp(value)
    return power / (1 + power)


def _softplus(value: float) -> float:
    """ln(1 + e^value) without overflow."""
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))
