"""Reads tables of several formats: CSV, Excel workbooks, Parquet, Arrow, JSON."""

from __future__ import annotations

import codecs
import importlib
import io
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from webnnm.core.errors import BackendError, DataError, suggestion
from webnnm.core.json_text import parse_json
from webnnm.data.tables.columns import Table, as_table, find_duplicates
from webnnm.data.tables.csv_table import read_csv, read_source
from webnnm.data.tables.table_bytes import MAX_BYTES

SUFFIXES = (".csv", ".tsv", ".txt", ".data", ".xlsx", ".parquet", ".feather", ".arrow", ".jsonl")
"""How names of files end that are tables."""


def read_table(source: Any, *, sheet: str | int | None = None, **options: Any) -> Table:
    r"""Return the columns of a table, whatever the format of its file.

    >>> read_table(b'{"width": 1, "kind": "a"}\n{"width": 2, "kind": "b"}').names
    ('width', 'kind')

    - `source`: a `Path`, bytes, an open file, or the text of a table in CSV or JSON.
    - `sheet`: of a workbook, by name or by number from 0; by default the first one.
    - `options`: those of `read_csv`, for CSV.

    The content decides the format: CSV; Excel workbooks (xlsx), whose first row names the columns;
    Parquet and Arrow (Feather) files; JSON, a list of objects or one object on each line. Workbooks
    need the package openpyxl, Parquet and Arrow pyarrow: `pip install "webnnm[tables]"`.

    Raises the errors of `read_csv`, `BackendError` NNM709 without such a package, and `DataError`
    NNM713 for a file that is damaged or has no such sheet.
    """
    source = read_source(source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        if is_workbook(data):
            return _read_workbook(data, sheet)
        if data.startswith(b"PAR1"):
            return _read_by_pyarrow(data, "a Parquet file", _import_parquet)
        if data.startswith(b"ARROW1"):
            return _read_by_pyarrow(data, "an Arrow file", _import_feather)
        if _OBJECTS.match(data[:_BEGINNING].removeprefix(codecs.BOM_UTF8).decode("latin-1")):
            source = _decode_json(data)
    if sheet is not None:
        hint = "only workbooks have sheets: leave it out"
        raise DataError("NNM704", f"sheet={sheet!r} of a file that is no workbook", hint=hint)
    rows = _read_objects(source) if isinstance(source, str) else None
    return read_csv(source, **options) if rows is None else as_table(rows)


_OBJECTS = re.compile(r'\ufeff?\s*(\[\s*\{|\{\s*"(?:[^"\\\n]|\\.)*"\s*:)')
"""The beginning of a JSON text that may be a table."""
_BEGINNING = 4096
"""So many bytes show whether a file may be JSON."""


def is_workbook(data: bytes) -> bool:
    """Return whether bytes are an Excel workbook (xlsx): a zip archive with a folder xl."""
    return data.startswith(b"PK\x03\x04") and b"xl/" in data[:4096] + data[-65536:]


def _import_openpyxl() -> Any:
    return importlib.import_module("openpyxl")


def _import_parquet() -> Any:
    return importlib.import_module("pyarrow.parquet")


def _import_feather() -> Any:
    return importlib.import_module("pyarrow.feather")


def _import(kind: str, package: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except (ImportError, OSError) as error:
        raise BackendError(
            "NNM709",
            f"{kind} needs the package {package}",
            hint="pip install 'webnnm[tables]', or save the table as CSV",
        ) from error


def _read(kind: str, read: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call what reads a file; whatever it raises is an error in the file."""
    try:
        return read(*arguments, **options)
    except Exception as error:  # the packages have no common base class for their exceptions
        message = f"{kind} cannot be read: {str(error)[:200]}"
        raise DataError("NNM713", message, hint="is it complete? Save it again") from error


def _read_by_pyarrow(data: bytes, kind: str, load: Callable[[], Any]) -> Table:
    reader = _import(kind, "pyarrow", load)
    return as_table(_read(kind, reader.read_table, io.BytesIO(data)))


def _read_workbook(data: bytes, sheet: str | int | None) -> Table:
    kind = "an Excel workbook"
    openpyxl = _import(kind, "openpyxl", _import_openpyxl)
    check_unpacked_size(kind, data)
    book = _read(kind, openpyxl.load_workbook, io.BytesIO(data), read_only=True, data_only=True)
    names: list[str] = book.sheetnames
    if sheet is None:
        sheet = 0
    elif isinstance(sheet, str):
        if sheet not in names:
            hint = suggestion(sheet, names) or f"one of {', '.join(names)}"
            raise DataError("NNM713", f'the workbook has no sheet "{sheet}"', hint=hint)
        sheet = names.index(sheet)
    elif not 0 <= sheet < len(names):
        raise DataError("NNM713", f"sheet {sheet} of 0 … {len(names) - 1}")
    rows = _read(kind, lambda: [*book.worksheets[sheet].iter_rows(values_only=True)])
    return _build_table(rows, names[sheet])


def check_unpacked_size(kind: str, data: bytes, limit: int = MAX_BYTES) -> None:
    """Refuse a zip archive whose files would not fit in memory (NNM713)."""
    import zipfile  # which takes a page a while

    with _read(kind, zipfile.ZipFile, io.BytesIO(data)) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > limit:
        raise DataError("NNM713", f"{kind} unpacks to {size:,} bytes, more than {limit:,}")


def _build_table(rows: Sequence[Sequence[Any]], sheet: str) -> Table:
    """Return the rows of a sheet as a table; empty rows around it and columns beside it go."""
    lines = [number for number, row in enumerate(rows, 1) if any(cell is not None for cell in row)]
    if not lines:
        raise DataError("NNM713", f'sheet "{sheet}" is empty', hint="sheet= names another one")
    header = rows[lines[0] - 1]
    width = max(
        i + 1 for number in lines for i, cell in enumerate(rows[number - 1]) if cell is not None
    )
    names = [
        str(header[index]).strip() if header[index] is not None else f"column_{index + 1}"
        for index in range(width)
    ]
    if twice := find_duplicates(names):
        raise DataError("NNM713", f'two columns of sheet "{sheet}" are called "{twice[0]}"')
    columns = tuple([rows[number - 1][index] for number in lines[1:]] for index in range(width))
    return Table(tuple(names), columns, 1, tuple(lines[1:]))


def _decode_json(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError("NNM713", f"the JSON is not UTF-8: {error}") from error


def _read_objects(text: str) -> dict[str, list[Any]] | None:
    """Return the columns of objects in a JSON text, None for any other text.

    Names that an object lacks are missing cells.
    """
    if not _OBJECTS.match(text):
        return None
    hint = "a list of objects, or one object on each line"
    text = text.removeprefix("\ufeff").strip()
    try:
        lines = [text] if text.startswith("[") else filter(str.strip, text.splitlines())
        values: list[Any] = [parse_json(line, math.inf) for line in lines]
    except ValueError as error:
        raise DataError("NNM713", f"the JSON is no table: {error}", hint=hint) from error
    rows: list[Any] = values[0] if text.startswith("[") else values
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise DataError("NNM713", f"row {number} of the JSON is {row!r:.60}", hint=hint)
        cells = cast("dict[str, Any]", row)
        if nested := [name for name, cell in cells.items() if isinstance(cell, (dict, list))]:
            message = f'row {number} of the JSON, column "{nested[0]}" is a list or an object'
            raise DataError("NNM713", message, hint="a cell is a text, a number, true or null")
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}
