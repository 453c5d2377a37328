"""Rows and tables for a trained model, encoded and scaled as the data of its training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast, get_args

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.data.binding.form import Form, is_table
from webnnm.data.dataset import Dataset
from webnnm.data.preparation.standardize import Standardization
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
from webnnm.runtime.inference.entries import by_name
from webnnm.runtime.state import ModelState

Missing = Literal["error", "drop"]
MISSING: tuple[Missing, ...] = get_args(Missing)
ALL = (0, 0, 1)
"""All rows are tested."""
NAME = "rows"
"""Of the datasets."""


def find_form(state: ModelState) -> Form | None:
    """Return what the dataset of the training accepted for the first input, None if not known."""
    return state.data_facts().form(_first_input(state))


def encode_inputs(state: ModelState, rows: Any) -> dict[str, Any]:
    """Return the rows by input, as `model.predict` takes them.

    `rows` is a `Table`, a list of rows, one row or several columns by their names, or input → rows.
    Raises `DataError` NNM702, NNM710, NNM713 for rows that do not fit.
    """
    block, form = _first_input(state), find_form(state)
    if isinstance(rows, Mapping):
        cells = cast("Mapping[str, Any]", rows)
        inputs = {vertex.block: None for vertex in state.network.inputs}
        if by_name(cells, inputs, state.data_facts()):
            return dict(cells)
        rows = cells if any(isinstance(cell, list) for cell in cells.values()) else [cells]
    if form is not None and form.reader is not None:
        return {block: form.reader.encode("rows", rows)}
    return {block: _encode(rows, () if form is None else form.encoders)}


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


def prepare_dataset(
    state: ModelState,
    table: Any,
    label: str | int | None = None,
    split: Sequence[Any] | None = None,
    missing: Missing = "error",
    log: Callable[[str], None] | None = None,
) -> Dataset:
    """Return a table as a dataset of the form of the training's, see `NNModel.prepare_dataset`."""
    if missing not in MISSING:
        raise DataError("NNM704", f'missing="{missing}"', hint=f"one of {', '.join(MISSING)}")
    facts, block = state.data_facts(), _first_input(state)
    output, form = state.network.outputs[0].name, find_form(state)
    if form is not None and form.series is not None:
        scales = facts.inputs.get(block), facts.targets.get(output)
        return SeriesDataset.from_encoder(
            table, form.series, *scales, split=SPLIT if split is None else split, name=NAME
        )
    table = as_table(table)
    default = facts.label if facts.label in table.names else -1
    target = table.index(default if label is None else label)
    answers, scale = facts.answers.get(output), facts.targets.get(output)
    is_number = answers is None
    goal = read_column(table, target, is_number, facts.label_format if is_number else None)
    encoders = () if form is None else form.encoders
    fitted = encoders if missing == "drop" else ()
    columns = [read_as_fitted(table, table.index(encoder.name), encoder) for encoder in fitted]
    rows = _select_rows(table.row_count, goal, columns, log or state.log)
    if len(rows) < table.row_count:
        table, goal = table.take(rows), goal.take(rows)
    inputs = encode_inputs(state, _leave_out(table, target))[block]
    if block in facts.inputs:
        inputs = facts.inputs[block].apply(inputs)
    names = None if answers is None else answers.names or tuple(map(str, range(answers.classes)))
    dataset = Dataset(
        {block: inputs},
        {output: _encode_targets(goal, len(rows), names, scale)},
        name=NAME,
        split=ALL if split is None else split,
        labels=None if names is None else {output: names},
        kinds=None if names is None else {output: "classes"},
        features={block: form.field.features} if form is not None and form.field.features else None,
        length={block: form.reader.length} if form is not None and form.reader else None,
    )
    if block in facts.inputs:
        dataset.standardization = {block: facts.inputs[block]}
    if scale is not None:
        dataset.target_standardization = {output: scale}
    kept: Any = dataset  # what a snapshot says of the data
    kept.encoders, kept.label, kept.reader = encoders, facts.label, form and form.reader
    kept.dialect, kept.label_format = facts.dialect, facts.label_format
    return dataset


def _first_input(state: ModelState) -> str:
    return state.network.inputs[0].block


def _leave_out(table: Table, target: int) -> Table:
    """Return a table without a column."""
    others = [index for index in range(len(table.names)) if index != target]
    return Table(
        tuple(table.names[index] for index in others),
        tuple(table.columns[index] for index in others),
        table.first_row,
        table.lines,
        table.dialect,
    )


def _encode_targets(
    goal: Column, row_count: int, names: Sequence[str] | None, scale: Standardization | None
) -> HostArray:
    """Return the numbers of classes, or quantities as they were scaled."""
    if names is not None:
        words = goal.get_words(range(row_count))
        return HostArray.of(LabelEncoder(goal.name, tuple(names)).encode(words), "int32")
    values = HostArray.of(list(goal.numbers or ()), "float64")
    return values if scale is None else scale.apply(values)


def _select_rows(
    row_count: int, goal: Column, columns: Sequence[Column], log: Callable[[str], None]
) -> Sequence[int]:
    """Return the rows that have a label and values in all other columns; log how many do not."""
    empty = {row for column in columns for row in column.missing}
    unlabelled = set(goal.missing)
    for what, gone in ((goal.name, unlabelled), ("a value in each column", empty - unlabelled)):
        if gone:
            log(
                f"1 row without {what} is left out"
                if len(gone) == 1
                else f"{len(gone)} rows without {what} are left out"
            )
    rows = [row for row in range(row_count) if row not in empty | unlabelled]
    if not rows:
        raise DataError("NNM705", f"no rows are left: all {row_count} have an empty cell")
    return rows
