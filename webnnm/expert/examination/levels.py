"""Whether the level, or the spread, of a row as a whole tells the target."""

from __future__ import annotations

import math

from webnnm.core.shapes import count
from webnnm.data.preparation.standardize import compute_moments
from webnnm.expert.examination.permutations import P_VALUE, explain_by_targets, sample_rows
from webnnm.expert.examination.rows import Rows
from webnnm.expert.examination.statistics import normalise
from webnnm.expert.facts.facts import Suspicion

MIN_NUMBERS = 4
"""Fewer numbers have no level of their own."""

MIN_EXPLAINED = 0.3
"""The share of the variance of levels, or of spreads, that the targets explain."""


def find_levels(rows: Rows) -> Suspicion | None:
    """Find inputs whose rows differ with the target in their mean, or their deviation.

    What the targets explain of it is more than in any of 499 random orders, and 0.3 or more.
    """
    evidence: dict[str, str] = {}
    for block, values in rows.inputs.items():
        field, size = rows.fields[block], count(values.shape[1:])
        if field.kind != "continuous" or field.sequence or size < MIN_NUMBERS:
            continue
        sample, flat = sample_rows(rows, size), values.values()
        moments = [compute_moments(flat[row * size : (row + 1) * size]) for row in sample]
        levels = {
            "mean": [mean for mean, _ in moments],
            "deviation": [math.log(max(std, 1e-30)) for _, std in moments],
        }
        for name, numbers in levels.items():
            column = [[value] for value in normalise(numbers)] if numbers else []
            share = explain_by_targets(rows, sample, column)
            if share >= MIN_EXPLAINED:
                level = f"the {name} of a row tells the target"
                evidence[block] = f"{level} (R² {share:.2f}, p = {P_VALUE:g})"
                break
    return Suspicion("levels of rows tell the target", evidence) if evidence else None
