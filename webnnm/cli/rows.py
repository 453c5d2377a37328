"""Rows for a model without its dataset: encoded as its snapshot says."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from webnnm.cli.common import as_command_error, dialect
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.json_text import parse_json
from webnnm.data.binding.form import Form
from webnnm.data.dataset import Dataset
from webnnm.data.series.series_dataset import SPLIT, SeriesDataset
from webnnm.data.tables.column_reading import read_column
from webnnm.data.tables.columns import Table, as_table
from webnnm.data.tables.encoding import Encoder, LabelEncoder, NumberEncoder, encode_rows
from webnnm.data.tables.table_files import read_table
from webnnm.model.nnmodel import NNModel
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

    `rows` is a `Table`, a list of rows, or input → rows. Raises `DataError` NNM702, NNM710, NNM713
    for rows that do not fit.
    """
    if isinstance(rows, Mapping):
        return dict(cast("Mapping[str, Any]", rows))
    block = model.inputs()[0]
    form = find_form(model)
    if form is not None and form.reader is not None:
        return {block: form.reader.encode("rows", rows)}
    return {block: _encode(rows, () if form is None else form.encoders)}


def find_form(model: NNModel) -> Form | None:
    """Return what the dataset of the training accepted for the first input, None if not known."""
    return (model.state.restored or Restored()).form(model.inputs()[0])


def _encode(rows: Any, encoders: Sequence[Encoder]) -> Any:
    if isinstance(rows, list) and isinstance(cast("list[Any]", rows)[0], dict):
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
    model: NNModel, table: Table, label: str | None, split: Sequence[Any] | None
) -> Dataset:
    """Return a table as a dataset, scaled and encoded as in the training of the model.

    `label` names the column of the labels; by default that of the training, else the last column.
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
    answers, scale = facts.answers.get(output), facts.targets.get(output)
    labels: tuple[str, ...] | None = None
    if answers is None:
        numbers = read_column(table, target, True, facts.label_format)
        if numbers.missing:
            raise DataError("NNM713", f"{table.place(numbers.missing[0], target)} is empty")
        values = HostArray.of(list(numbers.numbers or ()), "float64")
        outputs = values if scale is None else scale.apply(values)
    else:
        labels = answers.names or tuple(map(str, range(answers.classes)))
        words = read_column(table, target, False).get_words(range(table.row_count))
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
