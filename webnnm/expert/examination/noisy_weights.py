"""Finds weights of rows that are larger where targets have more noise."""

from __future__ import annotations

import math

from webnnm.core.thinning import thin
from webnnm.expert.examination.columns import MIN_ROWS
from webnnm.expert.examination.rows import Rows
from webnnm.expert.examination.statistics import correlation, ranks, residuals
from webnnm.expert.facts.facts import Suspicion

MAX_ROWS, MAX_COLUMNS = 600, 32
MIN_RELATION, MIN_ERRORS = 0.15, 5.0
"""The rank correlation of weights with the size of residuals, and standard errors of none."""

MAX_RELATION_TO_ROWS = 0.5
"""Weights that follow the target, or a column, as much as this share of that, are importance:
expensive rows count more, and have larger errors."""

MIN_RATIO = 3.0
"""The weights of the heaviest and lightest tenth differ by this factor."""


def find_weights_of_noise(rows: Rows) -> Suspicion | None:
    """Find weights that grow with the residuals of a linear model, and not with what is known of
    the rows."""
    weights = rows.weights
    if weights is None or rows.quantity is None or not 0 < len(rows.columns) <= MAX_COLUMNS:
        return None
    numbers = [row for row in thin(rows.training, MAX_ROWS) if weights[row] > 0]
    if len(numbers) < max(MIN_ROWS, 8 * len(rows.columns)):
        return None
    own = sorted([weights[row] for row in numbers])
    tenth = len(own) // 10
    if own[-1 - tenth] < MIN_RATIO * own[tenth]:
        return None
    target = rows.quantity.take(numbers)
    columns = [column.take(numbers) for column in rows.columns]
    # Rows with little weight, and noise, if weights are right, tell most of the line.
    rest = residuals(target, columns, len(numbers))
    weight_ranks = ranks([weights[row] for row in numbers])
    sizes = ranks([abs(value) for value in rest])
    relation = correlation(weight_ranks, sizes)
    if relation < MIN_RELATION or relation * math.sqrt(len(numbers)) < MIN_ERRORS:
        return None
    explained = max(abs(correlation(weight_ranks, ranks(values))) for values in [target, *columns])
    if explained > MAX_RELATION_TO_ROWS * relation:
        return None
    middle = len(rest) / 2
    pairs = [(abs(value), rank >= middle) for value, rank in zip(rest, weight_ranks, strict=True)]
    heavy = [size for size, is_heavy in pairs if is_heavy]
    light = [size for size, is_heavy in pairs if not is_heavy]
    ratio = sum(heavy) / len(heavy) / (sum(light) / len(light)) if light and any(light) else 0.0
    return Suspicion(
        "rows with larger weights have larger errors, "
        f"{ratio:.1f} times those of other rows about a linear model (rank correlation "
        f"{relation:.2f}), and are like others in all columns",
        {"correlation": relation},
    )
