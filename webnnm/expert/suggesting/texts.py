"""Suggests how to classify texts in a column of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset
from webnnm.data.tables.column_choice import choose_columns, count_words
from webnnm.data.texts.labeled import LabeledTextDataset
from webnnm.data.texts.model_suggestion import suggest_text_model
from webnnm.expert.suggesting.options import check_options
from webnnm.expert.suggesting.suggestion import (
    Suggestion,
    TableSource,
    write_call,
    write_source,
)

MIN_ROWS = 20
"""Of fewer texts nothing is learnt."""


def find_text_column(source: TableSource, target: str | int | None) -> str | None:
    """Return the column of most words of a table without inputs of other kinds, else None.

    >>> from webnnm.data.tables.columns import as_table
    >>> rows = {"text": [f"this is remark {n}" for n in range(30)], "good": [0, 1, 1] * 10}
    >>> find_text_column(TableSource(as_table(rows), "", {}), "good")
    'text'
    """
    table, described = source.table, source.described
    try:
        uses = choose_columns(table, described, target)
    except DataError:
        return None
    if any(use.use == "input" for use in uses):
        return None
    texts = [
        column
        for column, use in zip(described, uses, strict=True)
        if use.use != "target" and column.content == "text" and table.row_count >= MIN_ROWS
    ]
    longest = max(texts, key=count_words, default=None)
    return None if longest is None else longest.name


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
    check_options("a dataset of texts", (LabeledTextDataset.__init__, Dataset.__init__), wanted)
    table = source.table
    if target is None:
        others = [index for index in range(len(table.names)) if index != table.index(text)]
        target = table.names[others[-1]] if others else None
    options: dict[str, Any] = {"text": table.names[table.index(text)]}
    options |= {} if target is None else {"label": target}
    gaps = any(column.missing for column in source.described if column.name in options.values())
    options |= {"missing": "drop"} if gaps else {}
    options |= wanted
    choosing: dict[str, Any] = {"tokens": "auto", **options}
    dataset = LabeledTextDataset(table, **choosing)
    options |= list_token_options(dataset)
    reasons = explain_texts(dataset, options["text"])
    return Suggestion(
        write_source(reasons, suggest_text_model(dataset, name)),
        dataset,
        options,
        write_call(f"LabeledTextDataset({source.expression}", options),
        reasons,
    )


def list_token_options(dataset: LabeledTextDataset) -> dict[str, Any]:
    """Return the options by which a dataset has tokens that it was free to choose."""
    choice = dataset.token_choice
    return {} if choice is None or choice.unit == "words" else {"tokens": choice.unit}


def explain_texts(dataset: LabeledTextDataset, text: str) -> tuple[str, ...]:
    """Return how texts are read; `text` is the column that holds them."""
    report, rows = dataset.report, dataset.size("training")
    reasons = [
        f"{dataset.label} is the target: {report.label}.",
        f"{text} is read up to {report.length} tokens, of {report.vocabulary:,} that occur in "
        f"{rows:,} training texts.",
    ]
    if report.dropped:
        reasons.append(f"{report.dropped} rows without a text or a label are left out.")
    if dataset.token_choice:
        reasons.append(str(dataset.token_choice))
    return (
        *reasons,
        "The model weights each token for each class, whatever their order: that is hard to beat "
        "with less than ten thousand texts.",
    )
