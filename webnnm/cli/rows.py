"""Rows for a model without its dataset: encoded as its snapshot says."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from webnnm.cli.common import as_command_error, dialect, say
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.json_text import parse_json
from webnnm.data.binding.form import Form, is_table
from webnnm.data.dataset import Dataset
from webnnm.data.series.series_dataset import SPLIT, SeriesDataset
from webnnm.data.tables.column_reading import Column, read_column
from webnnm.data.tables.columns import Table, as_table
from webnnm.data.tables.encoding import (
    Encoder,
    LabelEncoder,
    NumberEncoder,
    encode_rows,
    read_as_fitted,
)
from webnnm.data.tables.table_files import read_table
from webnnm.model.nnmodel import NNModel
from webnnm.runtime.inference.entries import by_name
from webnnm.runtime.restored import Restored


def csv_table(source: Any, arguments: argparse.Namespace, facts: Restored, block: str) -> Table:
    """Read a table in the dialect of the training's, unless options or the text differ.

    A first row with the names of all features names the columns.
    """
    form = facts.form(block)
    columns = () if form is None else (form.series or form).columns
    table = read_table(source, known=columns, like=facts.dialect, **dialect(arguments))
    if not table.row_count:
        raise DataError("NNM705", "the table has no rows")
    return table


def inputs_of(model: NNModel, rows: Any) -> dict[str, Any]:
    """Return the rows by input, as `model.predict` takes them.

    `rows` is a `Table`, a list of rows, one row or several columns by their names, or input → rows.
    Raises `DataError` NNM702, NNM710, NNM713 for rows that do not fit.
    """
    block = model.inputs()[0]
    form = find_form(model)
    if isinstance(rows, Mapping):
        cells = cast("Mapping[str, Any]", rows)
        if by_name(cells, dict.fromkeys(model.inputs()), model.state.restored):
            return dict(cells)
        rows = cells if any(isinstance(cell, list) for cell in cells.values()) else [cells]
    if form is not None and form.reader is not None:
        return {block: form.reader.encode("rows", rows)}
    return {block: _encode(rows, () if form is None else form.encoders)}


def find_form(model: NNModel) -> Form | None:
    """Return what the dataset of the training accepted for the first input, None if not known."""
    return (model.state.restored or Restored()).form(model.inputs()[0])


def _encode(rows: Any, encoders: Sequence[Encoder]) -> Any:
    if is_table(rows):
        rows = as_table(rows)
    if not encoders:
        if isinstance(rows, Table):
            return encode_rows([NumberEncoder(name) for name in rows.names], rows)
        return cast("Any", rows)
    if isinstance(rows, Table) and not rows.has_header:
        return encode_rows(encoders, list(zip(*rows.columns, strict=True)))
    return encode_rows(encoders, rows)


def json_rows(text: str | bytes) -> Any:
    """Return rows of a JSON text: a list of lists, numbers or objects, or input → such a list."""
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8-sig")
        rows = parse_json(decoded, math.inf)
    except ValueError as error:
        raise DataError("NNM713", f"the rows are not JSON: {error}") from error
    if not isinstance(rows, (list, dict)) or not rows:
        raise DataError("NNM713", "the JSON holds no rows", hint="[[1, 2], [3, 4]]")
    return rows


def build_dataset(
    model: NNModel,
    table: Table,
    label: str | None,
    split: Sequence[Any] | None,
    *,
    missing: str = "error",
) -> Dataset:
    """Return a table as a dataset, scaled and encoded as in the training of the model.

    `label` names the column of the labels; by default that of the training, else the last column.
    Rows without a label are left out; so are those with another empty cell if `missing` is "drop".
    Without `split` all rows are tested, of series the last fifth of the steps.
    """
    facts = model.state.restored or Restored()
    block, output = model.inputs()[0], model.outputs()[0]
    form = find_form(model)
    if form is not None and form.series is not None:
        targets = [one.name for one in form.series.targets]
        if label is not None and label not in targets:
            hint = f"leave it out: the model forecasts {', '.join(targets)}"
            raise DataError("NNM704", f"--label {label}", hint=hint)
        scales = facts.inputs.get(block), facts.targets.get(output)
        return SeriesDataset.from_encoder(
            table, form.series, *scales, split=SPLIT if split is None else split, name="rows"
        )
    reader = None if form is None else form.reader
    default = facts.label if facts.label in table.names else -1
    with as_command_error("NNM710"):
        target = table.index(default if label is None else label)
    answers, scale = facts.answers.get(output), facts.targets.get(output)
    is_number = answers is None
    goal = read_column(table, target, is_number, facts.label_format if is_number else None)
    encoders = form.encoders if form is not None and missing == "drop" else ()
    columns = [read_as_fitted(table, table.index(encoder.name), encoder) for encoder in encoders]
    rows = _select_rows(table.row_count, goal, columns)
    if len(rows) < table.row_count:
        table, goal = table.take(rows), goal.take(rows)
    others = [index for index in range(len(table.names)) if index != target]
    features = Table(
        tuple(table.names[index] for index in others),
        tuple(table.columns[index] for index in others),
        table.first_row,
        table.lines,
        table.dialect,
    )
    inputs = inputs_of(model, features)[block]
    if block in facts.inputs:
        inputs = facts.inputs[block].apply(inputs)
    labels: tuple[str, ...] | None = None
    if answers is None:
        values = HostArray.of(list(goal.numbers or ()), "float64")
        outputs = values if scale is None else scale.apply(values)
    else:
        labels = answers.names or tuple(map(str, range(answers.classes)))
        words = goal.get_words(range(table.row_count))
        numbers = LabelEncoder(table.names[target], labels).encode(words)
        outputs = HostArray.of(numbers, "int32")
    dataset = Dataset(
        {block: inputs},
        {output: outputs},
        name="rows",
        split=(0, 0, 1) if split is None else split,
        labels=None if labels is None else {output: labels},
        kinds=None if labels is None else {output: "classes"},
        length={block: reader.length} if reader else None,
    )
    if scale is not None:
        dataset.target_standardization = {output: scale}  # reports are in the units of the table
    return dataset


def _select_rows(row_count: int, goal: Column, columns: Sequence[Column]) -> Sequence[int]:
    """Return the rows that have a label and values in all other columns; say how many do not."""
    empty = {row for column in columns for row in column.missing}
    unlabelled = set(goal.missing)
    for what, gone in ((goal.name, unlabelled), ("a value in each column", empty - unlabelled)):
        if gone:
            say(
                f"1 row without {what} is left out"
                if len(gone) == 1
                else f"{len(gone)} rows without {what} are left out"
            )
    rows = [row for row in range(row_count) if row not in empty | unlabelled]
    if not rows:
        raise DataError("NNM705", f"no rows are left: all {row_count} have an empty cell")
    return rows
