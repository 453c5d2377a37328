"""Suggests how to classify texts in a column of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webnnm.core.errors import DataError
from webnnm.data.tables.column_choice import choose_columns
from webnnm.data.tables.columns import Table
from webnnm.data.tables.description import describe_table
from webnnm.data.texts.labeled import LabeledTextDataset
from webnnm.data.texts.model_suggestion import suggest_text_model
from webnnm.expert.suggesting.suggestion import (
    Suggestion,
    TableSource,
    write_call,
    write_source,
)

MIN_WORDS = 4
"""Cells that have so many words on average are remarks or sentences, not names."""
EAST_ASIAN = "\u2e80"
"""The first character of scripts that are written without spaces between words."""


def find_text_column(table: Table, target: str | int | None) -> str | None:
    """Return the column of texts of a table that has no other inputs, None for other tables.

    >>> from webnnm.data.tables.columns import as_table
    >>> rows = {"text": [f"this is remark {n}" for n in range(9)], "good": [0, 1, 1] * 3}
    >>> find_text_column(as_table(rows), "good")
    'text'
    """
    described = describe_table(table)
    try:
        uses = choose_columns(table, described, target)
    except DataError:
        return None
    if any(use.use == "input" for use in uses):
        return None
    texts = [
        column.name
        for column, use in zip(described, uses, strict=True)
        if use.use != "target"
        and column.content == "text"
        and _count_words(table, column.name) >= MIN_WORDS
    ]
    return max(texts, key=lambda name: _count_words(table, name), default=None)


def suggest_for_texts(
    source: TableSource,
    target: str | int | None,
    text: str | int,
    wanted: Mapping[str, Any],
    name: str,
) -> Suggestion:
    """Return a `LabeledTextDataset` and a model that tells the label of a text.

    `wanted` are options that are given. Raises the errors of `LabeledTextDataset`.
    """
    table = source.table
    if target is None:
        others = [index for index in range(len(table.names)) if index != table.index(text)]
        target = table.names[others[-1]] if others else None
    options: dict[str, Any] = {"text": table.names[table.index(text)]}
    options |= {} if target is None else {"label": target}
    gaps = any(
        column.missing for column in describe_table(table) if column.name in options.values()
    )
    options |= {"missing": "drop"} if gaps else {}
    options |= wanted
    dataset = LabeledTextDataset(table, **options)
    reasons = _explain(dataset, options["text"])
    return Suggestion(
        write_source(reasons, suggest_text_model(dataset, name)),
        dataset,
        options,
        write_call(f"LabeledTextDataset({source.expression}", options),
        reasons,
    )


def _explain(dataset: LabeledTextDataset, text: str) -> tuple[str, ...]:
    report, rows = dataset.report, dataset.size("training")
    reasons = [
        f"{dataset.label} is the target: {report.label}.",
        f"{text} is read up to {report.length} tokens, of {report.vocabulary:,} that occur in "
        f"{rows:,} training texts.",
    ]
    if report.dropped:
        reasons.append(f"{report.dropped} rows without a text or a label are left out.")
    return (
        *reasons,
        "The model weights each token for each class, whatever their order: that is hard to beat "
        "with less than ten thousand texts.",
    )


def _count_words(table: Table, name: str) -> float:
    """Return how many words the cells of a column have on average.

    Chinese and Japanese have no spaces between words, but a word for every few characters.
    """
    cells = [str(cell) for cell in table.columns[table.index(name)] if cell not in (None, "")]
    words = sum(len(cell.split()) for cell in cells)
    characters = sum(letter >= EAST_ASIAN for cell in cells for letter in cell)
    return (words + characters / 2) / max(1, len(cells))
