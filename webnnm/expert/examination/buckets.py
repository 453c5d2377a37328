"""Finds categories that share too few hash buckets, though their targets differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from webnnm.data.preparation.standardize import compute_moments
from webnnm.expert.examination.rows import Rows
from webnnm.expert.facts.facts import Suspicion

MIN_RATIO = 4
"""So many categories share one bucket, on average."""

MIN_ROWS, MIN_CATEGORIES = 100, 8
MIN_TIMES = 5
"""A category that is as frequent could have a column of its own."""

MIN_F = 5.0
"""F statistic of the categories: with 7 and 60 degrees of freedom it is as high once in six
thousand columns by chance."""


def find_shared_buckets(rows: Rows) -> Suspicion | None:
    """Find hashed columns with many frequent categories for each bucket, which tell the target."""
    report: Any = rows.report
    if rows.target is None or len(rows.training) < MIN_ROWS:
        return None
    sizes = {column.name: column.buckets for column in getattr(report, "columns", ())}
    texts: list[str] = []
    needed: list[int] = []
    for name, numbers in rows.merged_words.items():
        words = numbers.values()
        counts = Counter(words[row] for row in rows.training if words[row])
        categories, buckets = len(counts), sizes.get(name, 0)
        frequent = sum([times >= MIN_TIMES for times in counts.values()])
        few = categories < max(MIN_CATEGORIES, MIN_RATIO * buckets)
        if not buckets or few or 2 * frequent < categories:
            continue
        if _compare_means(rows, {row: float(words[row]) for row in rows.training}) < MIN_F:
            continue
        texts.append(f"{categories} categories of {name} share {buckets} hash buckets")
        needed.append(categories)
    if not texts:
        return None
    return Suspicion(
        f"{'; '.join(texts[:5])}, though their targets differ",
        {"columns": len(texts)},
        f"Leave hash_buckets out, which gives each category a column; or set it to "
        f"{max(needed)} or more.",
    )


def _compare_means(rows: Rows, words: dict[int, float]) -> float:
    """Return the F statistic of the targets of categories, of classes the largest one."""
    assert rows.target is not None
    labels = [float(rows.target[row]) for row in words]
    kinds = Counter(labels).most_common(3) if rows.classes else []
    responses = [[float(label == kind) for label in labels] for kind, _ in kinds] or [labels]
    statistics: list[float] = []
    for response in responses:
        groups: defaultdict[float, list[float]] = defaultdict(list)
        for category, value in zip(words.values(), response, strict=True):
            groups[category].append(value)
        within = sum([len(group) * compute_moments(group)[1] ** 2 for group in groups.values()])
        total = len(response) * compute_moments(response)[1] ** 2
        freedom = len(response) - len(groups)
        if freedom > 0 and within > 0:
            statistics.append((total - within) / (len(groups) - 1) / (within / freedom))
    return max(statistics, default=0.0)
