"""The report on an output of measurements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from webnnm.core.readable import show_number
from webnnm.evaluation.averages import mean
from webnnm.evaluation.history import plain
from webnnm.evaluation.table import Tabular, decimals

MAX_ELEMENTS = 20
"""With more elements than this, the text has only their means."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """The deviation of one element of the output from its target.

    Attributes: `mae` and `mse`, mean absolute and mean squared error; `r2`, the coefficient of
    determination 1 − (squared error)/(squared distance from the mean); for a constant element 1
    if the predictions are exact, otherwise 0.
    """

    mae: float
    mse: float
    r2: float

    @property
    def rmse(self) -> float:
        """The root mean squared error, in the units of the data."""
        return math.sqrt(self.mse)


def deviation(outputs: Sequence[float], targets: Sequence[float]) -> Deviation:
    """Compare one or more numbers with their targets.

    >>> deviation([1.0, 2.0], [1.0, 3.0])
    Deviation(mae=0.5, mse=0.5, r2=0.5)
    """
    errors = [abs(x - y) for x, y in zip(outputs, targets, strict=True)]
    squares = math.fsum([error * error for error in errors])
    middle = math.fsum(targets) / len(targets)
    spread = math.fsum([(y - middle) ** 2 for y in targets])
    r2 = 1 - squares / spread if spread else float(squares == 0)
    return Deviation(math.fsum(errors) / len(errors), squares / len(errors), r2)


@dataclass(frozen=True)
class RegressionReport(Tabular):
    """The deviations of predictions from the actual values (spec H).

    >>> print(RegressionReport((Deviation(mae=0.5, mse=0.5625, r2=0.9),), ("0",)))
    MAE 0.5, RMSE 0.75, R² 0.9000

    Attributes: `elements`, a `Deviation` for every element of a row; `labels`, their names;
    `pairs`, the predicted and the actual values, flat, if they are known. The overall errors are in
    the units of the data, averaged over all elements.
    """

    elements: tuple[Deviation, ...]
    labels: tuple[str, ...]
    pairs: tuple[Sequence[float], Sequence[float]] | None = field(
        default=None, repr=False, compare=False
    )

    @cached_property
    def mae(self) -> float:
        """The mean absolute error."""
        return mean([element.mae for element in self.elements])

    @cached_property
    def mse(self) -> float:
        """The mean squared error."""
        return mean([element.mse for element in self.elements])

    @property
    def rmse(self) -> float:
        """The root mean squared error over all elements."""
        return math.sqrt(self.mse)

    @cached_property
    def r2(self) -> float:
        """The coefficient of determination, averaged over the elements."""
        return mean([element.r2 for element in self.elements])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON.

        >>> RegressionReport((Deviation(0.5, 0.25, 0.9),), ("height",)).to_dict()["mae_per_element"]
        [0.5]
        """
        names = ("mae", "mse", "rmse", "r2")
        means = {name: getattr(self, name) for name in names}
        per_element = {f"{n}_per_element": [getattr(e, n) for e in self.elements] for n in names}
        return plain({"kind": "regression", **means, "labels": self.labels, **per_element})

    def _describe(self) -> tuple[list[str], list[list[str]]]:
        title = f"MAE {show_number(self.mae)}, RMSE {show_number(self.rmse)}, R² {self.r2:.4f}"
        if not 1 < len(self.elements) <= MAX_ELEMENTS:
            return [title], []
        rows = [
            [label, show_number(element.mae), show_number(element.rmse), *decimals([element.r2], 4)]
            for label, element in zip(self.labels, self.elements, strict=True)
        ]
        return [title], [["element", "MAE", "RMSE", "R²"], *rows]
