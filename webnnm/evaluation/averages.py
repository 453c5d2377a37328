"""Means of precision, recall and F1 over classes or labels."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence

from webnnm.evaluation.table import Tabular

MAX_LISTED = 20
"""How many classes or labels a text lists."""


def share(part: float, total: float) -> float:
    """Return a quotient in which 0/0 is 0 (spec H)."""
    return part / total if total else 0.0


def mean(values: Sequence[float]) -> float:
    """Return the mean of the values that are not nan; nan if there are none."""
    defined = [value for value in values if value == value]
    return math.fsum(defined) / len(defined) if defined else math.nan


class Averaged(Tabular):
    """Precision, recall, F1 and their means, from the hits, predictions and rows of each class.

    "Macro" is the unweighted mean, "weighted" the mean weighted by the rows of each class.
    """

    @property
    @abstractmethod
    def support(self) -> tuple[int, ...]:
        """How many rows each class has."""

    @property
    @abstractmethod
    def _guessed(self) -> Sequence[int]:
        """How many rows were predicted as each class."""

    @property
    @abstractmethod
    def _hits(self) -> Sequence[int]:
        """How many of these correctly."""

    @property
    def precision(self) -> tuple[float, ...]:
        """The share of the rows predicted as a class that have it, per class."""
        return tuple(map(share, self._hits, self._guessed))

    @property
    def recall(self) -> tuple[float, ...]:
        """The share of the rows of a class that are predicted as it, per class."""
        return tuple(map(share, self._hits, self.support))

    @property
    def f1(self) -> tuple[float, ...]:
        """The harmonic mean of precision and recall, per class."""
        pairs = zip(self.precision, self.recall, strict=True)
        return tuple(share(2 * p * r, p + r) for p, r in pairs)

    @property
    def macro_precision(self) -> float:
        """The mean of `precision`."""
        return mean(self.precision)

    @property
    def macro_recall(self) -> float:
        """The mean of `recall`; the balanced accuracy if every class has rows."""
        return mean(self.recall)

    @property
    def macro_f1(self) -> float:
        """The mean of `f1`."""
        return mean(self.f1)

    @property
    def weighted_precision(self) -> float:
        """The mean of `precision`, weighted by `support`."""
        return self._weight_by_support(self.precision)

    @property
    def weighted_recall(self) -> float:
        """The mean of `recall`, weighted by `support`."""
        return self._weight_by_support(self.recall)

    @property
    def weighted_f1(self) -> float:
        """The mean of `f1`, weighted by `support`."""
        return self._weight_by_support(self.f1)

    @property
    def micro_precision(self) -> float:
        """The precision of all decisions together."""
        return share(sum(self._hits), sum(self._guessed))

    @property
    def micro_recall(self) -> float:
        """The recall of all decisions together."""
        return share(sum(self._hits), sum(self.support))

    @property
    def micro_f1(self) -> float:
        """The F1 of all decisions together; for classes it is the accuracy."""
        return share(2 * sum(self._hits), sum(self._guessed) + sum(self.support))

    def _select_listed(self) -> Sequence[int]:
        """Return the classes that the text lists: all, or of many those with the lowest F1."""
        support, f1 = self.support, self.f1
        if len(f1) <= MAX_LISTED:
            return range(len(f1))
        return sorted(range(len(f1)), key=lambda c: (not support[c], f1[c]))[:MAX_LISTED]

    def _weight_by_support(self, values: Sequence[float]) -> float:
        parts = (value * rows for value, rows in zip(values, self.support, strict=True))
        return share(math.fsum(parts), sum(self.support))


AVERAGES = tuple(
    f"{how}_{what}"
    for how in ("macro", "weighted", "micro")
    for what in ("precision", "recall", "f1")
)
"""The names of all means."""
