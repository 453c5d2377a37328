"""Rows for a model without its dataset: encoded as its snapshot says."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any

from webnnm.cli.common import as_command_error, dialect, say
from webnnm.core.errors import DataError
from webnnm.core.json_text import parse_json
from webnnm.data.dataset import Dataset
from webnnm.data.tables.columns import Table
from webnnm.data.tables.table_files import read_table
from webnnm.model.nnmodel import NNModel
from webnnm.model.prepared_data import Missing, find_form, prepare_dataset
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


def build_dataset(
    model: NNModel,
    table: Table,
    label: str | None,
    split: Sequence[Any] | None,
    *,
    missing: Missing = "error",
) -> Dataset:
    """Return a table as `NNModel.prepare_dataset` does, with errors of the command."""
    form = find_form(model.state)
    if label is not None and form is not None and form.series is not None:
        targets = [one.name for one in form.series.targets]
        if label not in targets:
            hint = f"leave it out: the model forecasts {', '.join(targets)}"
            raise DataError("NNM704", f"--label {label}", hint=hint)
    elif label is not None:
        with as_command_error("NNM710"):
            table.index(label)
    return prepare_dataset(model.state, table, label, split, missing, say)


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
