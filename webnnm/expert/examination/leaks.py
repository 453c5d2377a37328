"""What is suspicious about columns that predict the target alone, or by being filled in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import eq, ne

from webnnm.core.readable import show_number
from webnnm.expert.examination.columns import MIN_ROWS, find_identifiers
from webnnm.expert.examination.neighbours import find_three_nearest, make_points, vote_accuracy
from webnnm.expert.examination.rows import Column, Rows
from webnnm.expert.examination.statistics import correlation, ranks, residuals
from webnnm.expert.facts.facts import Suspicion

MAX_ERROR = 0.02
"""A column gives the class away if it is wrong at most this often, relative to guessing by the
shares of the classes: one row in a hundred of two equal classes. Good features of real tables are
wrong more often than that."""

MIN_RANK_CORRELATION = 0.9995
"""A column gives a quantity away if their ranks correlate this much: only a change of units or
rounding is left."""

EASY_ACCURACY = 0.95
"""If all other columns predict the class of this share of the rows as well, the task is easy."""

MIN_SHARE_IN_CLASS, MAX_SHARE_ELSEWHERE = 0.95, 0.1
"""At least this share of the rows of some classes has the value, and at most this share of the
others: a few are late, or entered for the wrong row."""

WHOLE_CLASS, MAX_SHARE_BESIDE_WHOLE, MIN_ROWS_OF_WHOLE = 1.0, 0.4, 100
"""Or all of this many rows of some classes have another value, and at most this share of the
others: it is recorded whenever the answer is yes, and for other reasons too."""

MIN_VALUES = 5
"""A quantity has so many other values; yes and no may be a feature like any other."""

MIN_MARKED_ROWS = 10
"""Rows on either side from which on shares are not due to chance."""

MIN_ERROR_RATIO, MIN_ERROR_RATIO_OF_WHOLE = 3.0, 1.25
"""All other columns together are wrong this many times as often: otherwise the task is easy, and
the column is one of several good ones. The second number is for columns that are never missing,
which hardly happens by chance."""

MAX_TRIED_ROWS = 200
"""Rows on which the other columns are tried."""

REMEDY = (
    "Check whether it is known before the target is; leave it out if it is filled in afterwards."
)


def find_predictors(rows: Rows) -> Suspicion | None:
    """Find columns that alone predict the target; not those that number the rows, even if
    sorted."""
    target, sample = rows.target, rows.sample
    if target is None or len(rows.columns) < 2 or len(sample) < MIN_ROWS:
        return None
    labels = [target[row] for row in sample]
    if len(set(labels)) < 2:
        return None
    excluded = {column.name for column in find_identifiers(rows)}
    columns = [column for column in rows.columns if column.name not in excluded]
    if rows.classes:
        wrong = {column.name: _prediction_error(column.take(sample), labels) for column in columns}
        leaks = [
            column for column in columns if wrong[column.name] <= MAX_ERROR * _guess_error(labels)
        ]
        if leaks and _score_of_others(rows, leaks, labels) >= EASY_ACCURACY:
            return None
        messages = [
            f"{column.name} alone predicts the class of {1 - wrong[column.name]:.1%} of the rows"
            for column in leaks
        ]
    else:
        places = ranks(labels)
        orders = {
            column.name: abs(correlation(ranks(column.take(sample)), places)) for column in columns
        }
        messages = [
            f"{name} alone gives the target (rank correlation {order:.4f})"
            for name, order in orders.items()
            if order >= MIN_RANK_CORRELATION
        ]
    if not messages or len(messages) > len(columns) / 2:
        return None
    return Suspicion("; ".join(messages[:5]), {"columns": len(messages), "rows": len(sample)})


def find_markers(rows: Rows) -> Suspicion | None:
    """Find quantities that have one value in nearly all rows of some classes, and others elsewhere.

    An example is the days for which the last bill has been open, 0 for all who did not leave.
    """
    target, sample = rows.target, rows.sample
    if target is None or not rows.classes or len(rows.columns) < 2 or len(sample) < MIN_ROWS:
        return None
    labels = [target[row] for row in sample]
    left_out = {column.name for column in find_identifiers(rows)}
    texts: list[str] = []
    for column in rows.columns:
        values = column.take(sample)
        most_common = Counter(values).most_common(1)[0][0]
        marked = [value != most_common for value in values]
        classes, worse = _classes(marked, labels), MIN_ERROR_RATIO
        if not classes and most_common == min(values):
            classes, worse = (
                _classes(marked, labels, WHOLE_CLASS, MAX_SHARE_BESIDE_WHOLE, MIN_ROWS_OF_WHOLE),
                MIN_ERROR_RATIO_OF_WHOLE,
            )
        if not classes or column.name in left_out or len({*values}) <= MIN_VALUES:
            continue
        targets = [float(label in classes) for label in labels]
        right = sum(map(eq, marked, targets)) / len(targets)
        others = _score_of_others(rows, [column], targets)
        if not others or 1 - others < worse * (1 - right):
            continue
        kind = "the class" if len({*labels}) == 2 else "which of two groups of classes it is of"
        texts.append(
            f"{column.name} is {show_number(column.raw(most_common))} or not, and that alone "
            f"predicts {kind} in {right:.0%} of the rows, all other columns together in "
            f"{others:.0%}"
        )
    return Suspicion("; ".join(texts), {"marks": len(texts)}, REMEDY) if texts else None


def _classes(
    marked: Sequence[bool],
    labels: Sequence[float],
    high: float = 1 - MAX_SHARE_ELSEWHERE,
    low: float = 1 - MIN_SHARE_IN_CLASS,
    rows: int = MIN_MARKED_ROWS,
) -> set[float]:
    """Return the classes with enough marked rows, if all others have few enough."""
    total, marked_rows = Counter(labels), Counter[float]()
    for label, mark in zip(labels, marked, strict=True):
        marked_rows[label] += mark
    shares = {label: marked_rows[label] / number for label, number in total.items()}
    classes = {label for label, share in shares.items() if share >= high}
    clear = all(share <= low for label, share in shares.items() if label not in classes)
    number = sum([total[label] for label in classes])
    return classes if clear and rows <= number <= len(labels) - rows else set()


def _guess_error(labels: Sequence[float]) -> float:
    """Return how often a guess by the shares of the classes is wrong."""
    return 1 - sum((n / len(labels)) ** 2 for n in Counter(labels).values())


def _prediction_error(values: Sequence[float], labels: Sequence[float]) -> float:
    """Return the share of rows whose class a column does not predict, by its value or its order."""
    groups: dict[float, Counter[float]] = {}
    for value, label in zip(values, labels, strict=True):
        groups.setdefault(value, Counter())[label] += 1
    right = sum(max(group.values()) for group in groups.values())
    if len(groups) <= len(values) / 10:
        return 1 - right / len(values)
    ordered = [groups[value].most_common(1)[0][0] for value in sorted(groups)]
    changes = sum(map(ne, ordered, ordered[1:]))
    return 1 - (right - max(0, changes - len(set(labels)) + 1)) / len(values)


def _score_of_others(rows: Rows, left_out: Sequence[Column], labels: Sequence[float]) -> float:
    """Return the share of rows whose class the other columns predict, by nearest rows, or for two
    classes by a line; 0 if there are too many."""
    sample = rows.sample
    points = make_points(rows, sample, MAX_TRIED_ROWS)
    indices = [index for index, column in enumerate(rows.columns) if column not in left_out]
    if points is None or len(points[0]) != len(rows.columns) or 2 * len(indices) > len(labels):
        return 0.0
    by_line = 0.0
    if {*labels} == {0, 1}:
        others = [rows.columns[index].take(sample) for index in indices]
        remainders = residuals(labels, others, len(labels))
        by_line = sum([abs(value) < 0.5 for value in remainders]) / len(remainders)
    rest = [[point[index] for index in indices] for point in points]
    tried = range(0, len(rest), -(-len(rest) // MAX_TRIED_ROWS))
    near, _ = find_three_nearest(rest, tried)
    return max(by_line, vote_accuracy(tried, near, labels))
