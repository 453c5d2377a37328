"""Chooses what the columns of a table are used for: the target, inputs, or nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from webnnm.core.errors import DataError
from webnnm.data.preparation.standardize import compute_moments
from webnnm.data.tables.column_reading import read_column
from webnnm.data.tables.columns import Table
from webnnm.data.tables.description import ColumnDescription
from webnnm.data.tables.table_dataset import Task, read_label

Use = Literal["input", "target", "left out"]

MIN_WORDS = 4
"""Texts of so many words on average are remarks or sentences, not names."""
EAST_ASIAN = "\u2e80"
"""The first character of scripts that are written without spaces between words."""
MAX_CATEGORIES = 64
"""Of a column with more words than this, the most frequent ones become features."""
MAX_SKEWNESS = 2.0
"""That of an exponential distribution: of numbers beyond it, most are alike once standardised."""
MIN_DISTINCT = 10
"""Fewer different numbers are levels, which need no quantiles."""
MIN_HASHED = 0.25
"""Hashes spread the words that are not among them where more than this share of the rows has one:
products, customers, aeroplanes."""
BUCKETS = (64, 128, 256, 512, 1024)
"""So many features share them: one for two words, while they are few enough for the rows."""
MAX_CELLS = 4_000_000
"""Hashes of a column take so many cells at most, beyond the smallest number of features: 16 MB."""


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """What a column is used for, and why it is left out, if it is."""

    name: str
    use: Use
    reason: str = ""


def choose_columns(
    table: Table, described: Sequence[ColumnDescription], target: str | int | None = None
) -> list[ColumnUse]:
    """Return the use of each column, with the `target` that is named, or else a likely one.

    >>> from webnnm.data.tables.columns import as_table
    >>> from webnnm.data.tables.description import describe_table
    >>> table = as_table({"id": ["a7", "b3"], "age": [31, 45], "price": [2.5, 3.5]})
    >>> for column in choose_columns(table, describe_table(table)):
    ...     print(f"{column.name}: {column.use} {column.reason}".strip())
    id: left out 2 different words in 2 rows
    age: input
    price: target

    Raises `DataError` NNM710 if there is no column of that name, or none that could be the target,
    NNM713 if it holds names or remarks, or nothing.
    """
    if target is None:
        chosen = choose_target(described)
        if chosen is None:
            hint = "a column of numbers, or of words that repeat"
            raise DataError("NNM710", "no column can be predicted", hint=hint)
    else:
        chosen = described[table.index(target)]
        if chosen.content in ("text", "empty") and (
            reason := find_reason_to_leave_out(chosen, table.row_count)
        ):
            hint = "name a column of numbers, or of words that repeat"
            raise DataError("NNM713", f"{chosen.name} cannot be predicted: {reason}", hint=hint)
    return [
        ColumnUse(column.name, "target")
        if column is chosen
        else ColumnUse(column.name, "left out" if reason else "input", reason)
        for column in described
        for reason in [find_reason_to_leave_out(column, table.row_count)]
    ]


def choose_target(described: Sequence[ColumnDescription]) -> ColumnDescription | None:
    """Return the column that somebody most likely wants to predict: the last, or first category.

    >>> from webnnm.data.tables.description import describe_table
    >>> choose_target(describe_table({"kind": ["a", "b", "a", "b"], "size": [1, 2, 3, 4]})).name
    'kind'
    """
    usable = [column for column in described if column.content in ("number", "date", "category")]
    usable = [column for column in usable if not column.problem]
    ends = [column for column in (*usable[-1:], *usable[:1]) if column.content == "category"]
    possible = [column for column in usable if column.content != "date"]
    return next(iter((*ends, *possible[-1:])), None)


def find_reason_to_leave_out(column: ColumnDescription, row_count: int) -> str:
    """Return why a model would learn nothing from a column, "" if it may.

    >>> find_reason_to_leave_out(ColumnDescription("a", "number", low=1.0, high=1.0), 9)
    '1 in all rows'
    """
    if column.problem:
        return column.problem
    if column.content == "number" and column.low == column.high and not column.missing:
        return f"{column.low:g} in all rows"
    if column.content == "category" and len(column.values) == 1 and not column.missing:
        return f'"{column.values[0][0]}" in all rows'
    if column.content == "text" and not repeats(column):
        return f"{len(column.values):,} different words in {row_count:,} rows"
    if column.content == "text" and count_words(column) >= MIN_WORDS:
        return f"remarks of {count_words(column):.0f} words on average"
    return ""


def choose_hash_buckets(described: Sequence[ColumnDescription]) -> dict[str, int]:
    """Return the number of hash buckets for each column of which many rows have a rare word.

    >>> shops = ColumnDescription("shop", "text", values=tuple((f"s{n}", 5) for n in range(900)))
    >>> choose_hash_buckets([shops, ColumnDescription("age", "number")])
    {'shop': 256}
    """
    counts = {column.name: [times for _, times in column.values] for column in described}
    return {
        name: _choose_buckets(len(times) - MAX_CATEGORIES, sum(times))
        for name, times in counts.items()
        if sum(times[MAX_CATEGORIES:]) > MIN_HASHED * sum(times)
    }


def _choose_buckets(words: int, rows: int) -> int:
    """Return how many features share so many words of so many rows."""
    return max(
        size
        for size in BUCKETS
        if size == BUCKETS[0] or (size <= words / 2 and size * rows <= MAX_CELLS)
    )


def repeats(column: ColumnDescription) -> bool:
    """Return whether most words of a column occur in several rows.

    >>> repeats(ColumnDescription("shop", "text", values=(("a", 2), ("b", 1))))
    True
    """
    counts = [times for _, times in column.values]
    return sum(times for times in counts if times > 1) > sum(counts) / 2


def choose_input_scale(
    table: Table, columns: Sequence[str], target: str, task: Task = "auto"
) -> dict[str, Literal["quantiles"]]:
    """Return the columns of numbers that quantiles should scale: those that crowd at one end.

    >>> from webnnm.data.tables.columns import as_table
    >>> rows = {"height": [n**9 for n in range(50)], "age": [*range(50)], "kind": [*"ab"] * 25}
    >>> choose_input_scale(as_table(rows), ["height", "age"], "kind")
    {'height': 'quantiles'}

    None if the numbers of the `target` crowd so too: its few large ones follow from those of the
    inputs, whose distances quantiles would take away.
    """
    quantities = read_label(table, table.index(target), task).numbers
    if quantities and abs(compute_skewness(quantities)) > MAX_SKEWNESS:
        return {}
    return {
        name: "quantiles"
        for name in columns
        if (numbers := read_column(table, table.index(name)).numbers)
        and len({*numbers}) > MIN_DISTINCT
        and abs(compute_skewness(numbers)) > MAX_SKEWNESS
    }


def compute_skewness(numbers: Sequence[float]) -> float:
    """Return the third standardised moment of numbers without NaN, 0 if they are all equal.

    >>> compute_skewness([1, 2, 3]), round(compute_skewness([0, 0, 0, 0, 1]), 2)
    (0.0, 1.5)
    """
    numbers = [number for number in numbers if number == number]
    mean, std = compute_moments(numbers)
    return std and math.fsum([((number - mean) / std) ** 3 for number in numbers]) / len(numbers)


def count_words(column: ColumnDescription) -> float:
    """Return how many words the texts of a column have on average.

    Chinese and Japanese have no spaces between words, but a word for every few characters.
    """
    texts = [text for text, _ in column.values]
    words = sum(len(text.split()) for text in texts)
    characters = sum(letter >= EAST_ASIAN for text in texts for letter in text)
    return (words + characters / 2) / max(1, len(texts))
