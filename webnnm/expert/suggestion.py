"""Suggests a dataset and a model for a table, with the reasons."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webnnm.core.errors import DataError
from webnnm.data.files.source_bytes import read_bytes
from webnnm.data.tables.column_choice import MAX_CATEGORIES, ColumnUse, choose_columns
from webnnm.data.tables.columns import Table, as_table
from webnnm.data.tables.csv_dataset import check_table
from webnnm.data.tables.description import ColumnDescription, describe_table
from webnnm.data.tables.suggestion import (
    choose_hidden_layers,
    has_long_tail,
    suggest_model,
)
from webnnm.data.tables.table_dataset import TableDataset
from webnnm.data.tables.table_files import read_table
from webnnm.expert.examination.columns import find_identifiers
from webnnm.expert.examination.rows import collect_rows

READING = (
    *("header", "delimiter", "encoding", "quote", "comment", "decimal", "missing_values"),
    "sheet",
)
"""Options of `read_table`."""
WIDTH = 98
MAX_LISTED = 6
"""Columns that a reason lists."""


@dataclass(frozen=True)
class Suggestion:
    """A dataset and the text of a model that suit data, with the reasons.

    Attributes: `source`, the text of the model, whose comments are the reasons; `dataset`;
    `options`, those with which the dataset was made; `call`, the Python that makes it; `reasons`,
    one sentence each.
    """

    source: str
    dataset: TableDataset
    options: Mapping[str, Any]
    call: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.call.rstrip()}\n\n{self.source.rstrip()}"


async def suggest(
    data: Any, target: str | int | None = None, *, name: str | None = None, **options: Any
) -> Suggestion:
    """Suggest a dataset and a model that predicts a column of a table from the others.

    >>> import asyncio
    >>> rows = {"row": [*range(40)], "width": [n % 7 for n in range(40)], "kind": ["a", "b"] * 20}
    >>> suggestion = asyncio.run(suggest(rows, target="kind"))
    >>> for reason in suggestion.reasons:
    ...     print(reason)
    kind is the target: 2 classes.
    row is left out: it numbers the rows or identifies them.
    width is the only input.
    Numbers are scaled to mean 0 and standard deviation 1, so that all weigh alike at first.
    One hidden layer of 8 units suits 28 training rows.
    >>> print(suggestion.call)
    dataset = TableDataset(table, label="kind", standardize=True, features=["width"])

    - `data`: a path or URL of a table in any format of `read_table`, bytes or an open file, or what
      `TableDataset` takes.
    - `target`: the name or number of the column to be predicted; by default the last one, unless
      the first one holds classes.
    - `name`: of the model; by default that of the file.
    - `options`: those of `read_table` and `TableDataset` that are to be as they are given.

    Raises the errors of `read_table` and `TableDataset`, and `DataError` NNM710 if no column can be
    predicted.
    """
    reading = {key: options.pop(key) for key in READING if key in options}
    path = str(data) if isinstance(data, (str, Path)) else ""
    if path:
        data = await read_bytes(path)
    if path or isinstance(data, (bytes, bytearray, memoryview)) or hasattr(data, "read"):
        data = read_table(data, **reading)
    table = as_table(data)
    check_table(table)
    stem = re.split(r"[\\/]", path)[-1].partition(".")[0] if path else ""
    return _suggest_for_table(table, target, path, reading, options, name or _as_name(stem))


def _suggest_for_table(
    table: Table,
    target: str | int | None,
    path: str,
    reading: Mapping[str, Any],
    wanted: Mapping[str, Any],
    name: str,
) -> Suggestion:
    described = describe_table(table)
    uses = choose_columns(table, described, wanted.get("label", target))
    if wanted.get("features") is not None:
        listed = {table.index(column) for column in wanted["features"]}
        uses = [
            use
            if use.use == "target"
            else ColumnUse(use.name, "input" if index in listed else "left out")
            for index, use in enumerate(uses)
        ]
    options, dataset = _make_dataset(table, described, uses, wanted)
    if wanted.get("features") is None:
        identifiers = {column.name for column in find_identifiers(collect_rows(dataset))}
        if identifiers and len(identifiers) < len(dataset.encoders):
            reason = "it numbers the rows or identifies them"
            uses = [
                ColumnUse(use.name, "left out", reason) if use.name in identifiers else use
                for use in uses
            ]
            options, dataset = _make_dataset(table, described, uses, wanted)
    reasons = (
        *_explain_columns(dataset, uses),
        *_explain_options(options),
        *_explain_model(dataset),
    )
    comments = "".join(f"{line}\n" for reason in reasons for line in _comment(reason))
    return Suggestion(
        comments + suggest_model(dataset, name),
        dataset,
        options,
        _write_call(path, {**reading, **options}),
        reasons,
    )


def _make_dataset(
    table: Table,
    described: Sequence[ColumnDescription],
    uses: Sequence[ColumnUse],
    wanted: Mapping[str, Any],
) -> tuple[dict[str, Any], TableDataset]:
    """Return the options of a dataset, those that are wanted among them, and the dataset."""
    inputs = [use.name for use in uses if use.use == "input"]
    [label] = [use.name for use in uses if use.use == "target"]
    if not inputs:
        reasons = "; ".join(f"{use.name}: {use.reason}" for use in uses if use.use == "left out")
        hint = "features=[…] names the columns to learn from"
        raise DataError(
            "NNM713", f"no column is left to predict {label} from: {reasons}", hint=hint
        )
    used = [column for column in described if column.name in {*inputs, label}]
    options: dict[str, Any] = {"label": label, "standardize": True}
    if len(inputs) < len(uses) - 1:
        options["features"] = inputs
    if any(column.missing for column in used):
        options["missing"] = "indicator"
    if any(len(column.values) > MAX_CATEGORIES for column in used if column.name != label):
        options["max_categories"] = MAX_CATEGORIES
    options |= wanted
    dataset = TableDataset(table, **options)
    if dataset.label_encoder is None and "standardize_targets" not in options:
        options["standardize_targets"] = True
        dataset = TableDataset(table, **options)
    return options, dataset


def _explain_columns(dataset: TableDataset, uses: Sequence[ColumnUse]) -> list[str]:
    [target] = [use.name for use in uses if use.use == "target"]
    inputs = [use.name for use in uses if use.use == "input"]
    encoder = dataset.label_encoder
    kind = "a quantity" if encoder is None else f"{len(encoder.classes)} classes"
    reasons = [f"{target} is the target: {kind}."]
    by_reason: dict[str, list[str]] = {}
    for use in uses:
        if use.use == "left out":
            by_reason.setdefault(use.reason, []).append(use.name)
    for reason, names in by_reason.items():
        text = f"{_list(names)} {'is' if len(names) == 1 else 'are'} left out"
        reasons.append(f"{text}: {reason}." if reason else f"{text}.")
    width = len(dataset.inputs["model"].features)
    features = f", as {width} features" if width != len(inputs) else ""
    if len(inputs) == 1:
        return [*reasons, f"{inputs[0]} is the only input{features}."]
    return [*reasons, f"{len(inputs)} columns are inputs{features}: {_list(inputs)}."]


def _explain_options(options: Mapping[str, Any]) -> list[str]:
    reasons = {
        "standardize": "Numbers are scaled to mean 0 and standard deviation 1, so that all weigh "
        "alike at first.",
        "standardize_targets": "So is the target; predictions are in its own units.",
        "missing": "Missing cells are filled with means, and a feature tells where they were.",
        "max_categories": f"Of more than {options.get('max_categories')} words, the rare ones "
        "share a feature.",
    }
    expected = {
        "standardize": True,
        "standardize_targets": True,
        "missing": "indicator",
        "max_categories": options.get("max_categories"),
    }
    return [
        text for key, text in reasons.items() if key in options and options[key] == expected[key]
    ]


def _explain_model(dataset: TableDataset) -> list[str]:
    hidden = choose_hidden_layers(dataset)
    layers = "One hidden layer" if len(hidden) == 1 else f"{len(hidden)} hidden layers"
    rows = dataset.size("training")
    suit = "suits" if len(hidden) == 1 else "suit"
    reasons = [f"{layers} of {hidden[0]} units {suit} {rows:,} training rows."]
    if has_long_tail(dataset):
        reasons.append(
            "The loss is the mean squared error, since a few targets are far above the others: a "
            "robust loss would take them for mistakes."
        )
    return reasons


def _write_call(path: str, options: Mapping[str, Any]) -> str:
    """Return the Python that makes a dataset."""
    start = f"await CSVDataset.create({_literal(path)}" if path else "TableDataset(table"
    arguments = [f"{key}={_literal(value)}" for key, value in options.items()]
    line = f"dataset = {', '.join([start, *arguments])})"
    if len(line) <= WIDTH:
        return line
    head, _, first = start.rpartition("(")
    lines = "".join(f"    {argument},\n" for argument in [first, *arguments])
    return f"dataset = {head}(\n{lines})"


def _literal(value: Any) -> str:
    """Return a value as Python with double quotes."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, str) and '"' not in value:
        return f'"{repr(value + chr(34))[1:-2]}"'
    return repr(value)


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MAX_LISTED])
    return shown if len(names) <= MAX_LISTED else f"{shown} … ({len(names)} in all)"


def _comment(text: str) -> list[str]:
    """Return a sentence as lines of comments; names from data may hold line breaks."""
    return [f"# {line}" for line in textwrap.wrap(" ".join(text.split()), WIDTH)]


def _as_name(text: str) -> str:
    """Return a name for a model, from that of a file."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")
    return name if re.match(r"[A-Za-z]", name) else "model"
