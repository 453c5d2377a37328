"""What is suspicious about single columns of a table, and about how they are related."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from webnnm.core.readable import show_number
from webnnm.core.thinning import thin
from webnnm.data.preparation.standardize import compute_moments
from webnnm.data.tables.columns import as_number
from webnnm.expert.examination.placeholders import find_placeholders
from webnnm.expert.examination.rows import Column, Rows
from webnnm.expert.examination.statistics import DEPENDENT, combination, correlation, normalise
from webnnm.expert.facts.facts import Suspicion

MIN_ROWS = 50
"""With fewer rows a column may predict the label by chance."""
MIN_CELLS = 30
"""Among fewer cells none counts as far from the others."""

MIN_CODE_DISTANCE = 2.0
"""A repeated value is a code if its distance from all others is this many of their ranges."""

MIN_DISTANCE_OF_ZERO = 1.0
"""0 and −1 may be a measurement: a code only if as far off as nine tenths of the others spread."""

MIN_CODE_SHARE = 0.005
"""At least this share of the rows has a code for missing values; fewer are cells gone wrong."""

MIN_STRAY_DISTANCE = 100
"""Cells gone wrong lie this many spreads of nine tenths of the rows away: a heavy tail does not."""

MIN_FLOAT32_STEPS = 50
"""A deviation of fewer steps of float32 than this loses what the column says."""

MAX_COMPARED_COLUMNS = 64
MAX_COMPARED_ROWS = 400
"""Columns and rows whose linear dependence is looked for: 0.1 s."""

MAX_SHARE_OF_ONE_VALUE = 0.9
"""Columns of which more rows have one value are too sparse to call them dependent."""

MAX_CLASSES = 10
MAX_COLUMNS = 16
"""The most classes examined one by one, in tables with at most this many columns: it takes time."""

MIN_WORD_COLUMNS_AND_IDS = (5, 12)
"""At least this many columns of whole numbers up to this or more may be words, if they are
alike."""

MIN_WORD_DEVIATION = 1 / 6
"""Numbers of words spread over their range: evenly drawn ones by 0.29 of it, counts by less."""

MAX_WORD_CORRELATION = 0.2
"""Mean correlation of words that stand next to each other; pixels have 0.5 and more."""

EMBEDDING_HINT = (
    "If these are ids of words or categories, look them up: int32 input, embedding(table, size={})"
)

CATEGORY_VALUES = (5, 50)
MIN_EXPLAINED = 0.2
"""A category as a number: so many values, whose means explain this much more than a line."""

SCALE_TOLERANCE = 0.05
"""How far at most means and deviations of scaled columns are from 0 and 1."""

MIN_NUMERIC_SHARE = 0.8
"""More than this share of the categories are numbers: a measurement, with a word or two."""

MIN_ROWS_PER_CATEGORY = 10
"""Training rows per category; names of things that look like numbers occur more often."""

IDENTIFIER = re.compile(r"(?i)^(p?id|index|uuid|guid|row|rownames)$|[_ -]id$|(?-i:[a-z]Id$)")


def find_row_numbers(rows: Rows) -> Suspicion | None:
    """Find columns that number the rows, or whose names say that they are identifiers."""
    texts: list[str] = []
    has_groups = False
    for column in find_identifiers(rows):
        name, size = column.name, len(column.values)
        if is_row_number(column):
            first, last = (column.raw(column.values[row]) for row in (0, -1))
            texts.append(
                f"{name} numbers the rows, from {show_number(first)} to {show_number(last)}"
            )
        else:
            training_values = set(column.take(rows.training))
            tested = column.take(rows.subsets["testing"])
            shared = sum([value in training_values for value in tested])
            if shared and len({*column.values}) < size:
                has_groups = True
                texts.append(f"{name}: {shared} of {len(tested)} testing rows have one of training")
            else:
                texts.append(f"{name} is an identifier by its name")
    remedy = (
        "Split the rows by it, split=(rows of some, [], rows of others), and drop the column."
        * has_groups
    )
    return Suspicion("; ".join(texts[:5]), {"columns": len(texts)}, remedy) if texts else None


def find_identifiers(rows: Rows) -> list[Column]:
    """Return the columns that identify rows; none where the rows are split in order."""
    if len(rows.columns) < 2 or rows.method == "sequential":
        return []
    return [
        column
        for column in rows.columns
        if column.name not in rows.days  # days go up with the rows, and go on
        and is_identifier(column)
    ]


def is_identifier(column: Column) -> bool:
    """Return whether a column numbers the rows, or its name says that it identifies them."""
    return is_row_number(column) or has_identifying_name(column.name)


def has_identifying_name(name: str) -> bool:
    """Return whether the name of a column says that its cells identify something."""
    return IDENTIFIER.search(name) is not None


def is_row_number(column: Column) -> bool:
    """Return whether a column grows by the same step from row to row."""
    values = column.values
    step = (values[-1] - values[0]) / max(1, len(values) - 1)
    slack = 0.05 * abs(step) + 1e-6 * max(abs(values[0]), abs(values[-1]))
    return (
        len(values) >= 20
        and abs(step) > slack
        and all(abs(value - values[0] - step * row) <= slack for row, value in enumerate(values))
    )


def find_numeric_categories(rows: Rows) -> Suspicion | None:
    """Find measurements that were made categorical, number by number."""
    texts: list[str] = []
    for name, categories in rows.categories.items():
        words = [category for category in categories if as_number(category) is None]
        numeric = len(categories) - len(words)
        many = numeric >= max(CATEGORY_VALUES[0], MIN_NUMERIC_SHARE * len(categories))
        if many and len(rows.training) < MIN_ROWS_PER_CATEGORY * len(categories):
            others = f", the others {', '.join(words[:3])}" if words else ""
            texts.append(
                f"{name}: {numeric} of {len(categories)} categories are numbers{others}; each has "
                f"{len(rows.training) / len(categories):.1f} training rows"
            )
    return Suspicion("; ".join(texts[:5]), {"columns": len(texts)}) if texts else None


def find_far_cells(rows: Rows) -> Suspicion | None:
    """Find cells far from all others: codes for missing values, and typing errors; and codes that
    are not."""
    texts: list[str] = []
    unsure = True
    far: list[Column] = []
    for column in rows.columns:
        ordered = sorted(column.take(rows.subsets["full"]))
        if len(ordered) >= MIN_CELLS:
            for values, sign in ((ordered, 1), ([-v for v in reversed(ordered)], -1)):
                report = _describe_far_cells(values, column, sign)
                if report:
                    text, certain = report
                    texts.append(text)
                    far.append(column)
                    unsure &= not certain
    placed = [one.describe() for one in find_placeholders(rows) if one.column not in far]
    texts += placed
    if not texts:
        return None
    confidence = None if not unsure else 0.7 if placed else 0.5
    return Suspicion("; ".join(texts[:5]), {"columns": len(texts)}, confidence=confidence)


def _describe_far_cells(values: list[float], column: Column, sign: int) -> tuple[str, bool] | None:
    """Return the message about the smallest of sorted values, and whether it is certain."""
    size, lowest = len(values), values[0]
    number = values.count(lowest)
    rest = values[number:]
    if len(set(rest)) < 5:
        return None
    inner = rest[len(rest) // 20], rest[-1 - len(rest) // 20]
    spread, gap = inner[1] - inner[0], rest[0] - lowest
    raw = column.raw(sign * lowest)
    lows, highs = (column.raw(sign * value) for value in (rest[0], rest[-1]))
    others = f"the others lie from {min(lows, highs):.4g} to {max(lows, highs):.4g}"
    if number >= max(2, MIN_CODE_SHARE * size) and gap > MIN_CODE_DISTANCE * (rest[-1] - rest[0]):
        return f"{number} cells of {column.name} are {show_number(raw)}, {others}", True
    close = 1e-5 * max(abs(lows), abs(highs))
    is_sentinel = sign > 0 and (abs(raw) <= close or abs(raw + 1) <= close)
    is_frequent = number >= max(2, 2 * MIN_CODE_SHARE * size) and len(set(rest)) >= 20
    if (
        is_sentinel
        and is_frequent
        and inner[0] - lowest > MIN_DISTANCE_OF_ZERO * spread
        and gap > 0.2 * spread
    ):
        return f"{number} cells of {column.name} are {raw:.2g}, {others}", False
    if (
        spread > 0
        and gap + inner[0] - rest[0] > MIN_STRAY_DISTANCE * spread
        and gap > (rest[-1] - rest[0]) / 2
    ):
        return f"{number} cells of {column.name} are {show_number(raw)}, {others}", True
    return None


def find_rounded_columns(rows: Rows) -> Suspicion | None:
    """Find columns that lose values as float32, or whose differences it could not represent."""
    texts: list[str] = []
    for where, columns in rows.lost.items():
        side, _, block = where.partition(" ")
        field = rows.fields.get(block) if side == "input" else None
        for index, loss in columns.items():
            name = field.features[index] if field and field.features else f"column {index}"
            texts.append(
                f"{name if field else 'the target'}: {_describe_steps(loss.largest, loss.step)}, "
                f"which leaves {loss.kept} of {loss.distinct} values"
            )
    for column in rows.columns:
        if column.block not in rows.came_as_float32:
            continue
        mean, std = compute_moments(column.take(rows.sample))
        raw, std = column.raw(mean), abs(column.scale) * std
        if not std or not raw:
            continue
        step = 2.0 ** (math.frexp(raw)[1] - 24)
        if std < MIN_FLOAT32_STEPS * step:
            texts.append(f"{column.name}: {_describe_steps(raw, step)}")
    return Suspicion("; ".join(texts[:5]), {"columns": len(texts)}) if texts else None


def _describe_steps(number: float, step: float) -> str:
    return f"numbers around {show_number(number)} have steps of {show_number(step)}"


def find_redundant_columns(rows: Rows) -> Suspicion | None:
    """Find columns that are the same, up to scale, or combinations of others of the same input.

    What one input has of another one is meant for another purpose, such as a formula that is only
    added to the result.
    """
    sample = thin(rows.training, MAX_COMPARED_ROWS)
    if rows.target is None:  # a model that learns the inputs themselves relies on their dependence
        return None
    if (
        not 1 < len(rows.columns) <= MAX_COMPARED_COLUMNS
        or len(sample) < 2 * len(rows.columns) + 10
    ):
        return None
    texts = [text for block in rows.inputs for text in _name_redundant(rows, block, sample)]
    return Suspicion("; ".join(texts[:5]), {"columns": len(texts)}) if texts else None


def _name_redundant(rows: Rows, block: str, sample: Sequence[int]) -> Iterator[str]:
    """Yield which columns of an input are combinations of those before them."""
    independent: list[tuple[Column, list[float], list[float]]] = []
    basis: list[list[float]] = []
    for column in rows.columns:
        if column.block != block:
            continue
        values = column.take(sample)
        common = Counter(values)
        if max(common.values()) > MAX_SHARE_OF_ONE_VALUE * len(values):
            continue
        vector = normalise(values)
        parts, rest, residual = combination(vector, basis)
        if residual > DEPENDENT:
            independent.append((column, vector, [*parts, residual]))
            basis.append([value / residual for value in rest])
        # Columns of yes and no are the categories of one; so are those that add up to 1, of which
        # rows with a missing cell have shares.
        elif len(common) > 2 or any(
            _is_same_direction(vector, other) for _, other, _ in independent
        ):
            twin = next(
                (c.name for c, other, _ in independent if abs(_dot(vector, other)) > 1 - 1e-6), ""
            )
            names = [twin] if twin else _names_in_combination(parts, independent)
            if _add_up_to_one([column, *(c for c, *_ in independent if c.name in names)], sample):
                continue
            how = "is the same as" if twin else "is a combination of"
            yield f"{column.name} {how} {', '.join(names)}"


def _add_up_to_one(columns: Sequence[Column], sample: Sequence[int]) -> bool:
    """Return whether columns are the shares of categories in every row."""
    return all(
        abs(1 - sum([column.raw(column.values[row]) for column in columns])) < 1e-6
        for row in sample
    )


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _is_same_direction(one: Sequence[float], other: Sequence[float]) -> bool:
    return _dot(one, other) > 1 - 1e-6


def _names_in_combination(
    parts: Sequence[float], independent: Sequence[tuple[Column, list[float], list[float]]]
) -> list[str]:
    """Return the columns that a combination uses: its parts, solved for these columns."""
    weights = list(parts)
    for last in reversed(range(len(independent))):
        triangle = independent[last][2]
        weights[last] /= triangle[last]
        for earlier in range(last):
            weights[earlier] -= weights[last] * triangle[earlier]
    return [independent[n][0].name for n, weight in enumerate(weights) if abs(weight) > 1e-3][:5]


def find_categories(rows: Rows) -> Suspicion | None:
    """Find whole numbers whose effect on the target goes up and down: categories."""
    target = rows.target
    if target is None:
        return None
    labels = [float(target[row]) for row in rows.sample]
    targets = [labels]
    if rows.classes and len(classes := set(labels)) > 2:
        if len(classes) > MAX_CLASSES or len(rows.columns) > MAX_COLUMNS:
            return None
        targets = [[float(label == one) for label in labels] for one in sorted(classes)]
    texts: list[str] = []
    for column in rows.columns:
        messages = (_describe_ups_and_downs(rows, column, values) for values in targets)
        if text := next(filter(None, messages), ""):
            texts.append(text)
    if not texts:
        return None
    remedy = ""
    if words := _vocabulary_size(rows.columns):
        remedy = f"{EMBEDDING_HINT.format(words)}."
    return Suspicion("; ".join(texts[:5]), {"columns": len(texts)}, remedy)


def _vocabulary_size(columns: Sequence[Column]) -> int:
    """Return how many words there are if all columns may be words, of the same ones; else 0."""
    is_whole = all(
        (raw := column.raw(value)) > -0.5 and abs(raw - round(raw)) < 1e-3
        for column in columns
        for value in islice(column.values, MIN_CELLS)
    )
    if len(columns) < MIN_WORD_COLUMNS_AND_IDS[0] or not is_whole:
        return 0
    highest = [column.raw(max(column.values)) for column in columns]
    alike = min(highest) > max(highest) / 2 >= MIN_WORD_COLUMNS_AND_IDS[1] / 2
    return round(max(highest)) + 1 if alike else 0


def find_vocabulary(rows: Rows) -> Suspicion | None:
    """Find columns that look like words of one vocabulary: alike, of many values, unrelated.

    Pixels and counts are alike too, but go up and down with their neighbours, or are mostly small.
    """
    size = _vocabulary_size(rows.columns)
    if not size:
        return None
    selected = thin(rows.columns, MAX_COLUMNS)
    columns = [[column.raw(value) for value in column.take(rows.sample)] for column in selected]
    figures = list(map(compute_moments, columns))
    middle = math.fsum(mean for mean, _ in figures) / len(figures)
    alike = all(
        std > MIN_WORD_DEVIATION * size and abs(mean - middle) < std / 2 for mean, std in figures
    )
    is_whole = all(abs(value - round(value)) < 1e-3 for values in columns for value in values)
    various = min([len({*values}) for values in columns]) >= MIN_WORD_COLUMNS_AND_IDS[1]
    related = math.fsum(abs(correlation(*pair)) for pair in pairwise(columns)) / (len(columns) - 1)
    if (
        not (alike and is_whole and various)
        or related > MAX_WORD_CORRELATION
        or len(rows.sample) < MIN_ROWS
    ):
        return None
    return Suspicion("words of one vocabulary", {"size": size})


def _describe_ups_and_downs(rows: Rows, column: Column, labels: Sequence[float]) -> str:
    """Return the message about a column of whole numbers if its effect goes up and down."""
    values = column.take(rows.sample)
    groups: dict[float, list[float]] = {}
    for value, label in zip(values, labels, strict=True):
        groups.setdefault(value, []).append(label)
    if not CATEGORY_VALUES[0] <= len(groups) <= CATEGORY_VALUES[1] or len(groups) > len(values) / 5:
        return ""
    if any(abs(column.raw(v) - round(column.raw(v))) > 1e-3 for v in groups):
        return ""
    means = [math.fsum(groups[value]) / len(groups[value]) for value in sorted(groups)]
    least = (max(means) - min(means)) / 4
    steps = [b - a for a, b in pairwise(means) if abs(b - a) > least]
    turns = sum(a * b < 0 for a, b in pairwise(steps))
    explained = _between(groups) - correlation(values, labels) ** 2
    many = turns >= min(3, max(2, (len(means) - 2) / 2)) and 2 * turns >= len(steps)
    if not many or explained <= MIN_EXPLAINED:
        return ""
    times = f"{turns + 1} times"
    return f"{column.name}: {len(groups)} whole numbers, whose targets go up and down {times}"


def _between(groups: dict[float, list[float]]) -> float:
    """Return the share of the variance between groups, minus what chance gives."""
    labels = [label for group in groups.values() for label in group]
    mean = math.fsum(labels) / len(labels)
    total = math.fsum((label - mean) ** 2 for label in labels)
    between = math.fsum(
        len(group) * (math.fsum(group) / len(group) - mean) ** 2 for group in groups.values()
    )
    return between / total - (len(groups) - 1) / len(labels) if total else 0.0


def is_standardised_by_hand(rows: Rows) -> bool:
    """Return whether most training columns are standardised though nothing here scaled them."""
    if rows.standardization or not rows.columns:
        return False
    scaled = 0
    for column in rows.columns:
        mean, std = compute_moments(column.take(rows.training))
        scaled += abs(mean) < SCALE_TOLERANCE and abs(std - 1) < SCALE_TOLERANCE
    return scaled > len(rows.columns) / 2


def find_shifts(
    rows: Rows, far: float, columns: Sequence[Column]
) -> list[tuple[Column, float, float, float]]:
    """Return columns whose mean in testing is off by this many deviations, with both means.

    Deviations are those of the training rows, and half of them those of all rows: a category that
    few of these have varies little there.
    """
    shifts: list[tuple[Column, float, float, float]] = []
    for column in columns:
        if is_row_number(column):
            continue
        trained, std = compute_moments(column.take(rows.training))
        tested, _ = compute_moments(column.take(rows.subsets["testing"]))
        if not std or abs(tested - trained) <= far * std:
            continue
        _, pooled = compute_moments(column.take([*rows.training, *rows.subsets["testing"]]))
        if abs(tested - trained) > far / 2 * pooled:
            distance = abs(tested - trained) / std
            shifts.append((column, column.raw(trained), column.raw(tested), distance))
    return shifts
