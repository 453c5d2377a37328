"""What is suspicious about the rows that are left of a table, and about their weights."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any

from webnnm.expert.examination.rows import Rows
from webnnm.expert.facts.facts import Suspicion

MAX_LOST_SHARE = 0.5
"""With more rows than this share lacking a feature, it is not a matter of a few cells."""

MIN_EMPTY_SHARE = 0.1
"""Columns without a value in this share of the rows are named; others lack a cell now and then."""

MIN_WEIGHT_RATIO = 1.5
"""Rows of other classes weigh this many times those of the largest class, on average: they are
meant to count more."""


def find_lost_rows(rows: Rows) -> Suspicion | None:
    """Find that most rows of a table were left out for a feature that they lack."""
    report: Any = rows.report
    if not getattr(report, "columns", ()) or not report.dropped:
        return None
    *features, label = report.columns
    # Rows without a label have nothing to learn from, whatever is done with the others.
    labelled = report.rows - label.missing
    lost = report.dropped - label.missing
    if lost <= MAX_LOST_SHARE * labelled:
        return None
    empty = sorted(
        (column for column in features if column.missing), key=lambda column: -column.missing
    )
    main = [column for column in empty if column.missing > MIN_EMPTY_SHARE * report.rows]
    rest = sum(column.missing for column in empty if column not in main)
    named = (main or empty)[:5]
    cells = ", ".join(f"{column.name} in {column.missing:,}" for column in named)
    more = len(empty) - len(named)
    others = f" and {more} more column{'s' * (more > 1)}" * (more > 0)
    # If many columns lack a few cells each, none of them is to blame.
    alone = 0 < len(main) <= max(1, len(features) // 2) and rest < lost / 2
    least = f"at least {labelled - rest:,}" if rest else f"all {labelled:,}"
    saved = f"; without {main[0].name} {least} remain" * (len(main) == 1 and alone)
    remedy = "" if alone else "Fill in the cells with missing='mean'."
    return Suspicion(
        f"{lost:,} of {labelled:,} rows were left out for an empty cell: {cells}{others}{saved}",
        {"lost": lost, "rows": labelled, "columns": [column.name for column in named]},
        remedy,
    )


def find_class_weights(rows: Rows) -> Suspicion | None:
    """Measure how much rows of other classes weigh more than those of the largest one."""
    if rows.weights is None or rows.target is None:
        return None
    weights: defaultdict[float, float] = defaultdict(float)
    number: Counter[float] = Counter()
    for row in rows.training:
        weights[rows.target[row]] += rows.weights[row]
        number[rows.target[row]] += 1
    if len(number) < 2:
        return None
    largest, rows_of_largest = number.most_common(1)[0]
    others = math.fsum(weights.values()) - weights[largest]
    weight_of_largest = weights[largest] / rows_of_largest
    if others / (number.total() - rows_of_largest) < MIN_WEIGHT_RATIO * weight_of_largest:
        return None
    return Suspicion("weights of rows that lift other classes", {"share": 1.0})
