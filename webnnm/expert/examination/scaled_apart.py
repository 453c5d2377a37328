"""Finds testing rows, or validation rows, that were scaled by their own mean and deviation."""

from __future__ import annotations

from itertools import accumulate

from webnnm.data.preparation.places import EXACT, is_standardized
from webnnm.data.preparation.standardize import compute_moments
from webnnm.expert.examination.rows import Column, Rows
from webnnm.expert.examination.subsets import SCALE_HINT
from webnnm.expert.facts.facts import Suspicion

MIN_ROWS = 20
MIN_DISTINCT = 0.5
"""The share of rows with different numbers: −1 and 1, equally often, have mean 0 and deviation 1 as
well."""

TOLERANCE = 0.2
"""How far the mean of training rows is from 0, and their deviation from 1, if these were scaled
too."""


def find_subsets_scaled_apart(rows: Rows) -> Suspicion | None:
    """Find columns whose mean is 0, and whose deviation is 1, in testing or validation alone."""
    if rows.series or min(len(rows.subsets["testing"]), len(rows.training)) < MIN_ROWS:
        return None
    for name in ("testing", "validation"):
        numbers = rows.subsets[name]
        if len(numbers) < MIN_ROWS:
            continue
        scaled = [
            column
            for column in rows.columns
            if _is_scaled(column.take_raw(numbers)) and _is_nearly_scaled(column, rows)
        ]
        if scaled and not _are_groups_scaled(scaled, rows):
            names = [column.name for column in scaled]
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            return Suspicion(
                f"{', '.join(names[:5])}{more}: mean 0 and deviation 1 exactly in {name} "
                f"({len(numbers)} rows), as of numbers that were scaled by themselves",
                {"columns": len(scaled)},
                SCALE_HINT.replace("testing", name),
            )
    return None


def _is_scaled(values: list[float]) -> bool:
    """Return whether various numbers have mean 0 and deviation 1."""
    return len({*values}) >= MIN_DISTINCT * len(values) and is_standardized(values)


def _is_nearly_scaled(column: Column, rows: Rows) -> bool:
    """Return whether training rows are scaled too, and not all rows together."""
    mean, std = compute_moments(column.take_raw(rows.training))
    everything = column.take_raw(rows.subsets["full"])
    alone = not is_standardized(everything) or is_standardized(column.take_raw(rows.training))
    return alone and abs(mean) < TOLERANCE and abs(std - 1) < TOLERANCE


def _are_groups_scaled(columns: list[Column], rows: Rows) -> bool:
    """Return whether rows before some training row have mean 0 in all columns: where each person,
    say, was scaled alone, so is every set of persons."""
    ordered = sorted(rows.training)
    sums = [list(accumulate(column.take_raw(ordered))) for column in columns]
    return any(
        all(abs(total[row]) < EXACT * (row + 1) for total in sums)
        for row in range(4, len(ordered) - 5)
    )
