"""The chart of permutation importance, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from webnnm.charts.chart import Chart

MAX_COLUMNS = 30
"""The maximum number of columns drawn, the most important ones."""
STEP = 26
"""Pixels from one bar to the next."""
MAX_NAMED = 3
"""The maximum number of columns in the description."""


class Importance(Protocol):
    """The importance of each column, as `permutation_importance` returns it."""

    @property
    def scoring(self) -> str:
        """The name of the score."""
        ...

    @property
    def score(self) -> float:
        """The score with all columns intact."""
        ...

    def ranked(self) -> Sequence[tuple[str, float, float]]:
        """Return name, mean and standard deviation of each column, the most important first."""
        ...


def permutation_importance(importance: Importance) -> Chart:
    """Return bars of the loss of score without each column, with standard deviations.

    >>> from webnnm.evaluation.importance import PermutationImportance
    >>> found = PermutationImportance(
    ...     ("width", "colour"), ((0.25, 0.75), (0.0, 0.0)), "accuracy", 0.875, 8, "testing"
    ... )
    >>> permutation_importance(found).description
    'Permutation importance of 2 columns, accuracy 0.875. width 0.5 ± 0.25, colour 0 ± 0.'

    `importance` is what `await permutation_importance(model)` returns. The 30 most important
    columns are drawn; error bars extend one standard deviation to each side.
    """
    ranked = importance.ranked()
    rows = [
        {"column": name, "mean": mean, "std": std, "low": mean - std, "high": mean + std}
        for name, mean, std in ranked[:MAX_COLUMNS]
    ]
    listed = ", ".join(f"{name} {mean:.3g} ± {std:.2g}" for name, mean, std in ranked[:MAX_NAMED])
    title = f"loss of {importance.scoring}"
    y = {"field": "column", "type": "nominal", "sort": None, "title": None}
    x = {"type": "quantitative", "title": f"{title} when the column is shuffled"}
    tooltip = [
        {"field": "column", "type": "nominal"},
        {"field": "mean", "type": "quantitative", "title": title, "format": ".4f"},
        {"field": "std", "type": "quantitative", "title": "standard deviation", "format": ".4f"},
    ]
    return Chart(
        {
            "description": f"Permutation importance of {len(ranked)} columns, "
            f"{importance.scoring} {importance.score:.3g}. {listed}.",
            "data": {"name": "columns", "values": rows},
            "height": {"step": STEP},
            "encoding": {"y": y, "tooltip": tooltip},
            "layer": [
                {"mark": {"type": "bar"}, "encoding": {"x": {"field": "mean", **x}}},
                {
                    "mark": {"type": "rule", "strokeWidth": 2, "stroke": {"expr": "text"}},
                    "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}},
                },
            ],
        }
    )
