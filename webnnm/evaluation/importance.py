"""The result of a permutation importance: how important each column is to a model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from webnnm.evaluation.history import plain
from webnnm.evaluation.table import Tabular


@dataclass(frozen=True)
class PermutationImportance(Tabular):
    """How much worse the score of a model becomes when a column is shuffled.

    >>> found = PermutationImportance(
    ...     ("width", "colour"), ((0.25, 0.75), (0.0, 0.0)), "accuracy", 0.875, 8, "testing"
    ... )
    >>> found.importances_mean, found.importances_std
    ((0.5, 0.0), (0.25, 0.0))
    >>> print(found)
    testing: 8 samples, accuracy 0.8750, each column shuffled 2 times
    column    mean     std
    width   0.5000  0.2500
    colour  0.0000  0.0000

    Attributes: `columns`, the names; `importances`, for each column the loss of score at every
    repeat; `scoring` and `score`, the name of the score and its value with all columns intact;
    `samples`, the number of rows; `subset`. For errors, such as "mae", the importance is their
    increase. A column that the model does not use has 0; values below 0 are due to chance.
    """

    columns: tuple[str, ...]
    importances: tuple[tuple[float, ...], ...]
    scoring: str
    score: float
    samples: int
    subset: str

    @property
    def importances_mean(self) -> tuple[float, ...]:
        """The mean over the repeats, for each column."""
        return tuple(math.fsum(drops) / len(drops) for drops in self.importances)

    @property
    def importances_std(self) -> tuple[float, ...]:
        """The standard deviation over the repeats, for each column."""
        pairs = zip(self.importances, self.importances_mean, strict=True)
        return tuple(
            math.sqrt(math.fsum((value - mean) ** 2 for value in drops) / len(drops))
            for drops, mean in pairs
        )

    def ranked(self) -> list[tuple[str, float, float]]:
        """Return name, mean and standard deviation of each column, the most important first.

        >>> PermutationImportance(
        ...     ("a", "b"), ((0.0,), (0.5,)), "r2", 0.9, 8, "testing"
        ... ).ranked()
        [('b', 0.5, 0.0), ('a', 0.0, 0.0)]
        """
        rows = zip(self.columns, self.importances_mean, self.importances_std, strict=True)
        return sorted(rows, key=lambda row: -row[1])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        names = ("columns", "importances", "importances_mean", "importances_std")
        names += ("scoring", "score", "samples", "subset")
        return plain({name: getattr(self, name) for name in names})

    def _describe(self) -> tuple[list[str], list[list[str]]]:
        repeats = len(self.importances[0])
        head = (
            f"{self.subset}: {self.samples} samples, {self.scoring} {self.score:.4f}, "
            f"each column shuffled {repeats} time{'s' * (repeats > 1)}"
        )
        rows = [[name, f"{mean:.4f}", f"{std:.4f}"] for name, mean, std in self.ranked()]
        return [head], [["column", "mean", "std"], *rows]
