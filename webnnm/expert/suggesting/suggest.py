"""Suggests a dataset and a model for whatever data there are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from webnnm.core.errors import DataError
from webnnm.data.files.existing import is_folder
from webnnm.data.files.labelled_files import count_endings
from webnnm.data.files.source_bytes import read_bytes
from webnnm.data.tables.columns import as_table
from webnnm.data.tables.table_bytes import JSON
from webnnm.data.tables.table_files import READING_OPTIONS, is_workbook, read_table
from webnnm.expert.suggesting.files import suggest_for_files
from webnnm.expert.suggesting.series import suggest_for_series
from webnnm.expert.suggesting.suggestion import Suggestion, TableSource, name_model
from webnnm.expert.suggesting.tables import suggest_for_table
from webnnm.expert.suggesting.texts import find_text_column, suggest_for_texts

BYTES = (bytes, bytearray, memoryview)


async def suggest(
    data: Any,
    target: str | int | None = None,
    *,
    text: str | int | None = None,
    horizon: int | None = None,
    name: str | None = None,
    **options: Any,
) -> Suggestion:
    """Suggest a dataset and a model for a table, a series, texts, pictures or sounds.

    >>> import asyncio
    >>> rows = {"row": [*range(40)], "width": [n % 7 for n in range(40)], "kind": ["a", "b"] * 20}
    >>> suggestion = asyncio.run(suggest(rows, target="kind"))
    >>> for reason in suggestion.reasons:
    ...     print(reason)
    kind is the target: 2 classes.
    row is left out: numbers or identifiers of rows: new rows have others.
    width is the only input.
    Numbers are scaled to mean 0 and standard deviation 1, so that all weigh alike at first.
    One hidden layer of 8 units suits 28 training rows.
    >>> print(suggestion.call)
    dataset = TableDataset(table, label="kind", standardize=True, features=["width"])

    - `data`: a path or URL of a table in any format of `read_table`, its text, which has several
      lines or is JSON, bytes or an open file, or what `TableDataset` takes; or a folder or zip
      archive of files in folders that name their labels: pictures, sounds or texts.
    - `target`: the name or number of the column to be predicted; by default the last one, unless
      the first one holds classes.
    - `text`: the column of texts that are classified. By default a table without numbers, dates and
      words that repeat is one of texts.
    - `horizon`: how many steps to forecast, for a table whose rows follow one another in time.
    - `name`: of the model; by default that of the file.
    - `options`: those of `read_table` and of the dataset that are to be as they are given.

    Raises the errors of `read_table` and of the dataset, and `DataError` NNM704 for options that
    exclude one another, NNM710 if no column can be predicted, NNM715 if a folder has no pictures,
    sounds or texts.
    """
    if text is not None and horizon is not None:
        raise DataError("NNM704", "text and horizon at once", hint="texts have no next step")
    if "label" in options:
        target = options.pop("label")
    is_text = isinstance(data, str) and _is_table_text(data)
    path = str(data) if isinstance(data, (str, Path)) and not is_text else ""
    name = name or name_model(path)
    columns = {"target": target, "text": text, "horizon": horizon}
    of_tables = [option for option, value in columns.items() if value is not None]
    if path and "://" not in path and is_folder(path):
        _refuse_options(of_tables, "a folder: the names of folders in it are the labels")
        return await suggest_for_files(path, await count_endings(path), options, name)
    reading = {key: options.pop(key) for key in READING_OPTIONS if key in options}
    if path:
        data = await read_bytes(path)
        if data[:4] == b"PK\x03\x04" and not is_workbook(data):
            _refuse_options(of_tables, "an archive: the names of folders in it are the labels")
            return await suggest_for_files(path, await count_endings(data), options, name)
    if path or is_text or isinstance(data, BYTES) or hasattr(data, "read"):
        data = read_table(data, **reading)
    else:
        _refuse_options(list(reading), "data that are in memory already")
    source = TableSource(as_table(data), path, reading)
    if horizon is not None:
        return suggest_for_series(source, target, horizon, options, name)
    if text is None and "features" not in options:
        text = find_text_column(source, target)
    if text is not None:
        return suggest_for_texts(source, target, text, options, name)
    return suggest_for_table(source, target, options, name)


def _is_table_text(text: str) -> bool:
    """Return whether a text is a table rather than where one is: it has lines, or is JSON."""
    return any(end in text.strip() for end in "\n\r") or JSON.match(text) is not None


def _refuse_options(options: Sequence[str], what: str) -> None:
    if options:
        raise DataError("NNM704", f"{options[0]} is no option of {what}")
