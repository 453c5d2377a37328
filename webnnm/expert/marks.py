"""What is suspicious about columns that are filled in for one class alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from webnnm.expert.columns import SURE, identifiers
from webnnm.expert.facts import Suspicion
from webnnm.expert.neighbours import points_of, three_nearest, voted
from webnnm.expert.rows import Column, Rows
from webnnm.expert.statistics import left_over

SAME, OTHER = 0.95, 0.1
"""So many rows of some classes have the one value at least, of the others at most: a few come late,
or are entered for the wrong row."""

ALWAYS, SELDOM, SURE_OF_IT = 1.0, 0.4, 100
"""Or all of so many rows of some classes have another value, and at most so many of the others: it
is written down whenever the answer is yes, and for other reasons too."""

VALUES = 5
"""A quantity has so many other values; yes and no may be a feature like any other."""

FEWEST = 10
"""Rows on either side, of which the shares are not chance."""

WORSE, BEHIND = 3.0, 1.25
"""All other columns together are wrong so many times as often: otherwise the task is easy, and the
column one of several good ones. The latter where it is never missing, which chance hardly does."""

TRIED = 200
"""Rows that the other columns are tried on."""

KNOWN = (
    "See whether it is known before the answer is; what is filled in afterwards is to be left out."
)


def marking(rows: Rows) -> Suspicion | None:
    """Find quantities that have one value in nearly all rows of some classes, and others elsewhere.

    Such as the days for which the last bill is open, 0 for all who did not leave.
    """
    target, sample = rows.target, rows.sample
    if target is None or not rows.classes or len(rows.columns) < 2 or len(sample) < SURE:
        return None
    labels = [target[row] for row in sample]
    left_out = {column.name for column in identifiers(rows)}
    texts: list[str] = []
    for column in rows.columns:
        values = column.of(sample)
        usual = Counter(values).most_common(1)[0][0]
        marked = [value != usual for value in values]
        classes, worse = _classes(marked, labels), WORSE
        if not classes and usual == min(values):
            classes, worse = _classes(marked, labels, ALWAYS, SELDOM, SURE_OF_IT), BEHIND
        if not classes or column.name in left_out or len({*values}) <= VALUES:
            continue
        wanted = [label in classes for label in labels]
        right = sum(map(bool.__eq__, marked, wanted)) / len(wanted)
        others = _by_others(rows, column, wanted)
        if not others or 1 - others < worse * (1 - right):
            continue
        told = "the class" if len({*labels}) == 2 else "which of two groups of classes it is of"
        texts.append(
            f"{column.name} is {column.raw(usual):.6g} or not, and tells by that alone {told} "
            f"in {right:.0%} of the rows, all other columns together in {others:.0%}"
        )
    return Suspicion("; ".join(texts), {"marks": len(texts)}, KNOWN) if texts else None


def _classes(
    marked: Sequence[bool],
    labels: Sequence[float],
    most: float = 1 - OTHER,
    least: float = 1 - SAME,
    rows: int = FEWEST,
) -> set[float]:
    """Return the classes of which so many rows are marked, if of all others at most so many are."""
    total, some = Counter(labels), Counter[float]()
    for label, mark in zip(labels, marked, strict=True):
        some[label] += mark
    shares = {label: some[label] / number for label, number in total.items()}
    found = {label for label, share in shares.items() if share >= most}
    clear = all(share <= least for label, share in shares.items() if label not in found)
    number = sum([total[label] for label in found])
    return found if clear and rows <= number <= len(labels) - rows else set()


def _by_others(rows: Rows, column: Column, wanted: Sequence[bool]) -> float:
    """Return the share of rows that the other columns tell, by a line or by the nearest rows; 0 if
    there are too many to tell."""
    sample = rows.sample
    known = points_of(rows, sample, TRIED)
    others = [each for each in rows.columns if each is not column]
    if known is None or len(known[0]) != len(rows.columns) or 2 * len(others) > len(wanted):
        return 0.0
    target = [float(one) for one in wanted]
    left = left_over(target, [each.of(sample) for each in others], len(target))
    by_line = sum([abs(value) < 0.5 for value in left]) / len(left)
    place = rows.columns.index(column)
    rest = [(*point[:place], *point[place + 1 :]) for point in known]
    tried = range(0, len(rest), -(-len(rest) // TRIED))
    near, _ = three_nearest(rest, tried)
    return max(by_line, voted(tried, near, target))
