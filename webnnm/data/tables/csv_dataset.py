"""The dataset of a CSV file or text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from webnnm.core.awaiting import require_await_of_methods
from webnnm.core.errors import DataError
from webnnm.data.files.source_bytes import read_bytes
from webnnm.data.tables.columns import Table
from webnnm.data.tables.csv_table import Header
from webnnm.data.tables.table_dataset import Missing, TableDataset, Task, as_column_list
from webnnm.data.tables.table_files import read_table


@require_await_of_methods("dataset")
class CSVDataset(TableDataset):
    """A dataset from CSV: feature columns become one input, a label column the output (spec G.5).

    >>> import asyncio
    >>> data = asyncio.run(CSVDataset.create(text="width,kind\\n1,a\\n2,b\\n3,a\\n4,b"))
    >>> data.inputs["model"].features, data.labels(), data.size("full")
    (('width',), ['a', 'b'], 4)
    """

    @classmethod
    async def create(
        cls,
        url: str | Path | None = None,
        features: Sequence[str | int] | None = None,
        label: str | int | None = None,
        header: Header = "auto",
        delimiter: str = "auto",
        split: Sequence[Any] = (0.7, 0, 0.3),
        seed: int = 0,
        standardize: bool | Sequence[str] = False,
        task: Task = "auto",
        missing: Missing = "error",
        *,
        path: str | Path | None = None,
        text: Any = None,
        name: str | None = None,
        encoding: str = "auto",
        quote: str = "auto",
        comment: str = "auto",
        decimal: str = "auto",
        missing_values: Sequence[str] = (),
        sheet: str | int | None = None,
        **options: Any,
    ) -> CSVDataset:
        """Read a table from a `url`, a `path` or a `text`; give exactly one of them.

        `text` may also be bytes or an open file, and the file have any format of `read_table`,
        whose option `sheet` is. `header`, `delimiter`, `encoding`, `quote`, `comment`, `decimal`
        and `missing_values` are those of `read_csv`, all other options those of `TableDataset` and
        `Dataset`. `name` defaults to the file name. Raises the errors of
        `TableDataset`, and `DataError` NNM713 if the text is not a valid table, NNM715 if the
        source cannot be read or several sources are given.
        """
        sources = [source for source in (url, path, text) if source is not None]
        if len(sources) != 1:
            raise DataError(
                "NNM715", f"{len(sources)} of url, path and text", hint="give exactly one of them"
            )
        if text is None:
            text = await read_bytes(sources[0])
            name = name or PurePosixPath(str(sources[0])).stem
        required = [*as_column_list("features", features), *([] if label is None else [label])]
        table = read_table(
            text,
            sheet=sheet,
            delimiter=delimiter,
            header=header,
            known=required,
            encoding=encoding,
            quote=quote,
            comment=comment,
            decimal=decimal,
            missing_values=missing_values,
        )
        check_table(table)
        return cls(
            table,
            features,
            label,
            split=split,
            seed=seed,
            standardize=standardize,
            task=task,
            missing=missing,
            name=name or "csv",
            **options,
        )


def check_table(table: Table) -> None:
    """Refuse a table without rows, or with one column alone (NNM713)."""
    if not table.names:
        raise DataError("NNM713", "the table is empty", hint="is it the right file?")
    if len(table.names) == 1:
        raise DataError(
            "NNM713",
            f'row 1 has one column only, "{table.names[0]}": no features',
            hint="a table needs a label and at least one feature; delimiter= sets what separates "
            "them",
        )
