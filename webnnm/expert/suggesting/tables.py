"""Suggests a dataset and a model for a table, with the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset
from webnnm.data.tables.column_choice import (
    MAX_CATEGORIES,
    ColumnUse,
    choose_columns,
    choose_hash_buckets,
    choose_input_scale,
    repeats,
)
from webnnm.data.tables.column_reading import read_column
from webnnm.data.tables.columns import Table
from webnnm.data.tables.csv_dataset import check_table
from webnnm.data.tables.description import ColumnDescription, describe_column
from webnnm.data.tables.model_suggestion import (
    choose_hidden_layers,
    has_long_tail,
    suggest_model,
)
from webnnm.data.tables.table_dataset import TableDataset, as_column_list
from webnnm.expert.examination.columns import has_identifying_name, is_identifier, is_row_number
from webnnm.expert.examination.rows import Column
from webnnm.expert.suggesting.options import check_options
from webnnm.expert.suggesting.suggestion import (
    Suggestion,
    TableSource,
    list_names,
    write_call,
    write_source,
)

DIVIDING = ("groups", "order_by", "sample_weight")
"""Options that name columns which are no inputs."""
IDENTIFIES = "numbers or identifiers of rows: new rows have others"
FEW_ROWS = (200, 3000)
VALIDATED = (0.6, 0.1, 0.3)
"""So many rows are soon learnt by heart: some of them choose the epoch. Of more rows, `train` holds
back a tenth by itself."""
CATEGORY_ROWS = 40
"""So many training rows there are for each category that a column may have."""
MIN_CATEGORIES = 8


def suggest_for_table(
    source: TableSource, target: str | int | None, wanted: Mapping[str, Any], name: str
) -> Suggestion:
    """Return a `TableDataset` and a model that predicts one column from others.

    `wanted` are options that are given. Raises the errors of `TableDataset`, and `DataError` NNM710
    and NNM713 if no column can be predicted, or none is left to predict it from.
    """
    check_options("a table", (TableDataset.__init__, Dataset.__init__), wanted)
    table = source.table
    check_table(table)
    described = source.described
    uses = choose_columns(table, described, target)
    if wanted.get("features") is not None:
        listed = {table.index(column) for column in wanted["features"]}
        uses = [
            use
            if use.use == "target"
            else ColumnUse(use.name, "input" if index in listed else "left out")
            for index, use in enumerate(uses)
        ]
    else:
        uses = _leave_out_identifiers(table, described, uses)
        dividing = [wanted.get(option) for option in DIVIDING]
        names = {table.names[table.index(c)] for c in dividing if isinstance(c, (str, int))}
        uses = [
            ColumnUse(use.name, "left out", "it divides or weights the rows")
            if use.name in names and use.use == "input"
            else use
            for use in uses
        ]
    identifiers = _find_repeated_identifiers(table, described, uses)
    described = [identifiers.get(column.name, column) for column in described]
    options, dataset = _make_dataset(table, described, uses, wanted, [*identifiers])
    reasons = (
        *_explain_columns(dataset, uses, chosen=target is None),
        *_explain_identifiers([*identifiers]),
        *_explain_options(options),
        *_explain_model(dataset),
    )
    start = f"await CSVDataset.create({source.literal}" if source.path else "TableDataset(table"
    return Suggestion(
        write_source(reasons, suggest_model(dataset, name)),
        dataset,
        options,
        write_call(start, {**source.reading, **options}),
        reasons,
        reading=source.reading,
    )


def _leave_out_identifiers(
    table: Table, described: Sequence[ColumnDescription], uses: Sequence[ColumnUse]
) -> list[ColumnUse]:
    """Leave out the columns that number the rows, or whose names say that they identify them and of
    which most rows have one of their own, unless there are no others."""
    inputs = [use.name for use in uses if use.use == "input"]
    identifiers: list[str] = []
    for column in described:
        if column.name not in inputs or column.content != "number" or column.missing:
            continue
        numbers = read_column(table, table.index(column.name)).numbers or ()
        identifier = Column(column.name, numbers)
        if is_row_number(identifier) or (
            is_identifier(identifier) and not repeats(_describe_as_words(table, column))
        ):
            identifiers.append(column.name)
    if len(identifiers) == len(inputs):
        return [*uses]
    return [
        ColumnUse(use.name, "left out", IDENTIFIES) if use.name in identifiers else use
        for use in uses
    ]


def _describe_as_words(table: Table, column: ColumnDescription) -> ColumnDescription:
    return describe_column(table, table.index(column.name), as_words=True)


def _find_repeated_identifiers(
    table: Table, described: Sequence[ColumnDescription], uses: Sequence[ColumnUse]
) -> dict[str, ColumnDescription]:
    """Return the inputs whose names say that their numbers identify something, such as users and
    products, if most occur in several rows; with their numbers as words."""
    inputs = {use.name for use in uses if use.use == "input"}
    return {
        column.name: words
        for column in described
        if column.name in inputs
        and column.content == "number"
        and has_identifying_name(column.name)
        and repeats(words := _describe_as_words(table, column))
    }


def _list_indices(table: Table, columns: Any) -> list[int]:
    return [table.index(column) for column in as_column_list("categorical", columns)]


def _make_dataset(
    table: Table,
    described: Sequence[ColumnDescription],
    uses: Sequence[ColumnUse],
    wanted: Mapping[str, Any],
    categories: Sequence[str],
) -> tuple[dict[str, Any], TableDataset]:
    """Return the options of a dataset, those that are wanted among them, and the dataset; the
    numbers of `categories` are words."""
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
    if FEW_ROWS[0] <= table.row_count < FEW_ROWS[1]:
        options["split"] = VALIDATED
    if any(column.missing for column in used if column.name != label):
        options["missing"] = "indicator"
    elif any(column.missing for column in used):
        options["missing"] = "drop"
    limit = min(MAX_CATEGORIES, max(MIN_CATEGORIES, table.row_count // CATEGORY_ROWS))
    if any(len(column.values) > limit for column in used if column.name != label):
        options["max_categories"] = limit
        buckets = choose_hash_buckets([column for column in used if column.name != label])
        if buckets and limit == MAX_CATEGORIES:
            options["hash_buckets"] = buckets
    if wanted.get("standardize", True) is True and "scale" not in wanted:
        others = {label, *(table.names[i] for i in _list_indices(table, wanted.get("categorical")))}
        numbers = [c.name for c in used if c.name not in others and c.content == "number"]
        scales = choose_input_scale(table, numbers, label, wanted.get("task", "auto"))
        options |= {"input_scale": scales} if scales else {}
    options |= {"standardize_targets": True, **wanted}
    hashed = options.get("hash_buckets")
    hashed = hashed if isinstance(hashed, Mapping) else {}
    if others := [name for name in categories if name not in hashed]:
        options.setdefault("categorical", others)
    dataset = TableDataset(table, **options)
    if dataset.label_encoder is not None and "standardize_targets" not in wanted:
        del options["standardize_targets"]  # which says nothing about classes
    return options, dataset


def _explain_columns(
    dataset: TableDataset, uses: Sequence[ColumnUse], *, chosen: bool
) -> list[str]:
    """Return what columns are used for; the target is `chosen` if nobody named it."""
    [target] = [use.name for use in uses if use.use == "target"]
    inputs = [use.name for use in uses if use.use == "input"]
    encoder = dataset.label_encoder
    kind = "a quantity" if encoder is None else f"{len(encoder.classes)} classes"
    named = ", since no other is named" if chosen else ""
    reasons = [f"{target} is the target{named}: {kind}."]
    by_reason: dict[str, list[str]] = {}
    for use in uses:
        if use.use == "left out":
            by_reason.setdefault(use.reason, []).append(use.name)
    for reason, names in by_reason.items():
        text = f"{list_names(names)} {'is' if len(names) == 1 else 'are'} left out"
        reasons.append(f"{text}: {reason}." if reason else f"{text}.")
    if dropped := dataset.report.dropped:
        reasons.append(f"{dropped:,} rows without {target} are left out.")
    width = len(dataset.inputs["model"].features)
    features = f", as {width} features" if width != len(inputs) else ""
    if len(inputs) == 1:
        return [*reasons, f"{inputs[0]} is the only input{features}."]
    return [*reasons, f"{len(inputs)} columns are inputs{features}: {list_names(inputs)}."]


def _explain_identifiers(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    verb = "identifies" if len(names) == 1 else "identify"
    return [f"{list_names(names)} {verb} what several rows are about: the numbers are categories."]


def _explain_options(options: Mapping[str, Any]) -> list[str]:
    buckets = options.get("hash_buckets")
    hashed = list_names([*buckets]) if isinstance(buckets, Mapping) else ""
    scales = options.get("input_scale")
    scales = scales if isinstance(scales, Mapping) else {}
    reasons = {
        "standardize": "Numbers are scaled to mean 0 and standard deviation 1, so that all weigh "
        "alike at first.",
        "input_scale": f"{list_names([*scales])} {'has' if len(scales) == 1 else 'have'} most "
        "numbers at one end: quantiles spread them as a normal distribution.",
        "standardize_targets": "So is the target; predictions are in its own units.",
        "split": "A tenth of the rows choose the best epoch: few rows are soon learnt by heart.",
        "missing": "Missing cells are filled with means, and a feature tells where they were.",
        "max_categories": f"Of more than {options.get('max_categories')} words, the rare ones "
        "share a feature.",
        "hash_buckets": f"Those of {hashed} are in many rows: hashes spread them "
        "over several features.",
    }
    expected = {
        "standardize": True,
        "input_scale": options.get("input_scale") if scales else None,
        "standardize_targets": True,
        "split": VALIDATED,
        "missing": "indicator",
        "max_categories": options.get("max_categories"),
        "hash_buckets": buckets if hashed else None,
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
