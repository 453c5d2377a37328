"""The result of a cross-validation: the test of every fold, and their summary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from webnnm.evaluation.history import plain
from webnnm.evaluation.result import TestResult

if TYPE_CHECKING:
    from webnnm.core.markup import Markup

SCORES = ("accuracy", "macro_f1", "r2", "mae", "map", "map_50")
"""The scores shown for folds, if their reports have them."""


@dataclass(frozen=True)
class Score:
    """A score over all folds.

    >>> score = Score((0.9, 1.0, 0.95))
    >>> f"{score.mean:.3f} ± {score.error:.3f}"
    '0.950 ± 0.029'
    """

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over the folds."""
        return math.fsum(self.values) / len(self.values)

    @property
    def error(self) -> float:
        """The standard error of the mean; folds share rows, so it is a little too small."""
        mean, count = self.mean, len(self.values)
        squares = math.fsum((value - mean) ** 2 for value in self.values)
        return math.sqrt(squares / (count - 1) / count)

    def __str__(self) -> str:
        return f"{self.mean:.4f} ± {self.error:.4f}"


@dataclass(frozen=True)
class CrossValidation:
    """The result of `NNModel.cross_validate`.

    >>> folds = [TestResult(loss, {"model": loss}, 10, "testing", {}) for loss in (0.25, 0.75)]
    >>> print(CrossValidation(tuple(folds)))
    2 folds
    loss  0.5000 ± 0.2500  0.2500 0.7500

    `results` has the test of every fold. `score(name)` collects one score of these, with its mean
    and standard error.
    """

    results: tuple[TestResult, ...]

    def score(self, name: str) -> Score:
        """Return a score of the tests, such as "loss" or "accuracy", over all folds.

        Raises `AttributeError` if the tests do not have it.
        """
        return Score(tuple(float(getattr(result, name)) for result in self.results))

    @property
    def scores(self) -> dict[str, Score]:
        """The loss, and whichever of accuracy, macro F1, R² and mean absolute error exist."""
        result = {"loss": self.score("loss")}
        if len(self.results[0].outputs) == 1:
            has = [name for name in SCORES if hasattr(self.results[0], name)]
            result |= {name: self.score(name) for name in has}
        return result

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        scores = {
            name: {"mean": score.mean, "error": score.error, "values": score.values}
            for name, score in self.scores.items()
        }
        return plain({"scores": scores, "results": [result.to_dict() for result in self.results]})

    def to_html(self) -> Markup:
        """Return the scores as an HTML table, as shown in notebooks."""
        from webnnm.core.markup import html_table

        folds = [f"fold {number}" for number in range(1, len(self.results) + 1)]
        rows = [
            (name, str(score), *_format_values(score.values)) for name, score in self.scores.items()
        ]
        return html_table([("score", "mean", *folds), *rows], head=True)

    _repr_html_ = to_html

    def __str__(self) -> str:
        scores = self.scores
        width = max(map(len, scores))
        rows = [
            f"{name:{width}}  {score}  {' '.join(_format_values(score.values))}"
            for name, score in scores.items()
        ]
        return "\n".join([f"{len(self.results)} folds", *rows])


def _format_values(values: Sequence[float]) -> list[str]:
    return [f"{value:.4f}" for value in values]
