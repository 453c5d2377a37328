"""Finds cells that were filled in such a way that they tell the target, or hide what it depends on.

A number that is far more frequent than all others of a continuous column was written into cells
that were empty.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from operator import mul
from typing import NamedTuple

from webnnm.core.readable import show_number
from webnnm.data.preparation.standardize import compute_moments
from webnnm.expert.examination.rows import Column, Rows
from webnnm.expert.examination.statistics import combination, normalise, orthonormalise
from webnnm.expert.facts.facts import Suspicion

MIN_ROWS, MIN_CELLS, MIN_SHARE = 100, 12, 0.02
"""Rows that are examined, and those that have a number which was filled in."""

MIN_DISTINCT = 20
MIN_EXCESS = 5
"""Other numbers of a continuous column: so many, each of which is so many times less frequent."""

MAX_FILLED = 0.8
MAX_COLUMNS = 64

MAX_CHANCE = 1e-6
"""How often rows with a number would be of one class by chance."""

NEAR, ERRORS = 0.02, 3.0
"""Deviations, and standard errors, by which a number may be off the mean or the median."""

MIN_RELATION, MIN_PARTIAL = 0.1, 0.1
MIN_ERRORS = 5.0
"""What cells that were empty tell of the target: a correlation, also beyond what all columns tell,
and five standard errors of none: once in two million columns."""

INDICATOR = (
    "Let the model see which cells were empty: missing='indicator', or a column of 0 and 1 for it."
)


class _Filled(NamedTuple):
    """A frequent number of a column, and whether each row of the sample has it."""

    column: Column
    value: float
    cells: Sequence[bool]


def find_filled_by_class(rows: Rows) -> Suspicion | None:
    """Find columns whose empty cells were filled with the mean, or the median, of the class."""
    if rows.target is None or not rows.classes or len(rows.sample) < MIN_ROWS:
        return None
    labels = [rows.target[row] for row in rows.sample]
    texts: list[str] = []
    for column in rows.columns[:MAX_COLUMNS]:
        values = column.take(rows.sample)
        numbers = {
            label: value
            for value in _list_frequent(values)
            if (label := _find_only_class(values, labels, value)) is not None
            and _is_usual([v for v, y in zip(values, labels, strict=True) if y == label], value)
        }
        if len(numbers) < 2:
            continue
        examples = " and ".join(
            f"{show_number(column.raw(value))} in class {label:g}"
            for label, value in sorted(numbers.items())[:2]
        )
        texts.append(f"{column.name} has {examples} alone")
    if not texts:
        return None
    return Suspicion(
        f"{'; '.join(texts[:5])}: empty cells were filled with the mean of their class, which "
        "tells the class",
        {"columns": len(texts)},
    )


def find_hidden_gaps(rows: Rows) -> Suspicion | None:
    """Find columns with cells that were filled with the mean or the median, where their having been
    empty tells something of the target that no column does."""
    target = rows.target
    if target is None or len(rows.sample) < MIN_ROWS or not 0 < len(rows.columns) <= MAX_COLUMNS:
        return None
    filled = [*_list_filled(rows)]
    if not filled:
        return None
    basis = orthonormalise(column.take(rows.sample) for column in rows.columns)
    responses = [*_list_responses(rows, target)]
    residuals = [normalise(combination(response, basis)[1]) for response in responses]
    texts: list[str] = []
    for one in filled:
        cells = normalise([float(cell) for cell in one.cells])
        rest = normalise(combination(cells, basis)[1])
        relation, partial = max(
            (abs(math.fsum(map(mul, cells, response))), abs(math.fsum(map(mul, rest, residual))))
            for response, residual in zip(responses, residuals, strict=True)
        )
        errors = min(relation, partial) * math.sqrt(len(cells))
        if relation < MIN_RELATION or partial < MIN_PARTIAL or errors < MIN_ERRORS:
            continue
        share = sum(one.cells) / len(cells)
        raw = show_number(one.column.raw(one.value))
        texts.append(f"{one.column.name} ({share:.0%} are {raw}, correlation {relation:.2f})")
    if not texts:
        return None
    return Suspicion(
        f"empty cells were filled with a usual number, and that they were empty tells something of "
        f"the target: {', '.join(texts[:5])}",
        {"columns": len(texts)},
        INDICATOR,
    )


def _list_frequent(values: Sequence[float]) -> list[float]:
    """Return the numbers that are far more frequent than others of a continuous column."""
    counts = Counter(values)
    least = max(MIN_CELLS, MIN_SHARE * len(values))
    frequent = [value for value, number in counts.items() if number >= least]
    others = [number for value, number in counts.items() if number < least]
    if len(others) < MIN_DISTINCT or not frequent:
        return []
    if sum([counts[value] for value in frequent]) > MAX_FILLED * len(values):
        return []
    usual = max(others)
    return [value for value in frequent if counts[value] >= MIN_EXCESS * usual]


def _find_only_class(
    values: Sequence[float], labels: Sequence[float], value: float
) -> float | None:
    """Return the class that all rows with a number have, beyond chance."""
    owners = [label for one, label in zip(values, labels, strict=True) if one == value]
    if len({*owners}) > 1:
        return None
    share = labels.count(owners[0]) / len(labels)
    return owners[0] if share ** len(owners) < MAX_CHANCE else None


def _is_usual(values: Sequence[float], value: float) -> bool:
    """Return whether a number is the mean, or the median, of all other ones."""
    others = sorted([other for other in values if other != value])
    if len(others) < MIN_CELLS:
        return False
    tenth = len(others) // 10
    if not others[tenth] < value < others[-1 - tenth]:
        return False  # a floor or a limit, in a column with a long tail
    mean, deviation = compute_moments(others)
    near = deviation * max(NEAR, ERRORS / math.sqrt(len(others)))
    return min(abs(value - mean), abs(value - others[len(others) // 2])) <= near


def _list_filled(rows: Rows) -> Iterator[_Filled]:
    """Yield the columns with a single frequent number that is usual, and no indicator of it."""
    columns = [column.take(rows.sample) for column in rows.columns]
    indicators = {tuple(values) for values in columns if len({*values}) == 2}
    marked = {tuple([value == max(values) for value in values]) for values in indicators}
    by_cells: defaultdict[tuple[bool, ...], list[_Filled]] = defaultdict(list)
    for column, values in zip(rows.columns, columns, strict=True):
        frequent = _list_frequent(values)
        if len(frequent) != 1 or not _is_usual(values, frequent[0]):
            continue
        cells = tuple([value == frequent[0] for value in values])
        if cells in marked or tuple([not cell for cell in cells]) in marked:
            continue
        by_cells[cells].append(_Filled(column, frequent[0], cells))
    yield from (group[0] for group in by_cells.values())


def _list_responses(rows: Rows, target: Sequence[float]) -> Iterator[list[float]]:
    """Yield what may depend on empty cells: the target, or whether a row has a class."""
    labels = [float(target[row]) for row in rows.sample]
    if not rows.classes:
        yield normalise(labels)
        return
    kinds = [kind for kind, _ in Counter(labels).most_common(5)]
    for kind in kinds[: 1 if len(kinds) == 2 else 5]:
        yield normalise([float(label == kind) for label in labels])
