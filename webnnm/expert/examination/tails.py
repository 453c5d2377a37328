"""Whether inputs explain that some targets are far from the others."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count
from webnnm.core.thinning import thin
from webnnm.data.preparation.standardize import compute_moments
from webnnm.expert.examination.neighbours import find_three_nearest, make_points
from webnnm.expert.examination.rows import Rows
from webnnm.expert.examination.statistics import ranks
from webnnm.expert.facts.facts import Suspicion

MAX_ROWS, MAX_WORDS, MIN_FAR = 300, 5000, 3
"""The number of rows that are examined, of rows of words, and of those whose targets are far from
the others."""

FAR = 3 * 1.4826
"""Targets this many median deviations from the median, three σ, are far from the others."""

ONE_SIDED = 1.64
"""Standard errors that chance exceeds in 5% of cases, on one side."""


def find_explained_tails(rows: Rows) -> Suspicion | None:
    """Find that targets far from the others belong to rows whose neighbours have such targets too,
    or that row weights lower their influence already.

    Mistyped targets are anywhere: the ranks of the deviations of their neighbours are those of any
    rows. A sum or product of inputs has its extremes in the same corner: there neighbours deviate
    as well. Tokens have no distances; the rows that share one are compared. Of data with targets
    mistyped at random, 5% are taken for such ones by chance (one-sided test).
    """
    if rows.quantity is None or rows.target is None:
        return None
    if rows.weights is not None and len({*rows.weights}) > 1:
        return Suspicion("row weights differ")
    max_rows = MAX_WORDS if all(not is_float(v.dtype) for v in rows.inputs.values()) else MAX_ROWS
    sample = thin(rows.training, max_rows)
    targets = [rows.target[row] for row in sample]
    middle = median(targets)
    deviations = [abs(value - middle) for value in targets]
    limit = FAR * median(deviations)
    far = [n for n, value in enumerate(deviations) if value > limit]
    if not MIN_FAR <= len(far) < len(sample) / 2:
        return None
    around = _average_similar(rows, sample, ranks(deviations))
    if around is None:
        return None
    mean, std = compute_moments(around)
    excess = sum([around[n] for n in far]) / len(far) - mean
    if excess <= ONE_SIDED * std / math.sqrt(len(far)):
        return None
    return Suspicion("similar rows have such targets too", {"far": len(far)})


def _average_similar(
    rows: Rows, sample: Sequence[int], values: Sequence[float]
) -> list[float] | None:
    """Return for each row of a sample the mean value of those like it, None if that is unknown."""
    points = make_points(rows, sample, MAX_ROWS)
    if points is not None:
        near, _ = find_three_nearest(points, range(len(sample)))
        return [sum([values[n] for n in others]) / len(others) for others in near]
    if any(is_float(v.dtype) or count(v.shape[1:]) != 1 for v in rows.inputs.values()):
        return None
    sums, sizes = [0.0] * len(sample), [0] * len(sample)
    for tokens in rows.inputs.values():
        flat = tokens.values()
        members: dict[float, list[int]] = defaultdict(list)
        for index, row in enumerate(sample):
            members[flat[row]].append(index)
        for group in members.values():
            total = sum([values[index] for index in group])
            for index in group:
                sums[index] += total - values[index]
                sizes[index] += len(group) - 1
    usual = sum(values) / len(values)
    return [total / size if size else usual for total, size in zip(sums, sizes, strict=True)]
