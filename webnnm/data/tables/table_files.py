"""Reads tables of several formats: CSV, Excel workbooks, Parquet, Arrow, JSON."""

from __future__ import annotations

import importlib
import io
import math
from collections.abc import Callable, Iterable
from typing import Any, cast

from webnnm.core.errors import DataError, suggestion
from webnnm.core.json_text import parse_json
from webnnm.core.shapes import is_integer
from webnnm.data.tables.columns import Table, as_table, find_duplicates
from webnnm.data.tables.csv_table import read_csv, read_source, refuse_file_name
from webnnm.data.tables.endings import TABLES
from webnnm.data.tables.exchange import import_package
from webnnm.data.tables.table_bytes import GZIP, JSON, MAX_BYTES, decode_text, decompress

READING_OPTIONS = (
    *("header", "delimiter", "encoding", "quote", "comment", "decimal", "missing_values"),
    "sheet",
)
"""The options of `read_table`."""

MAX_CELLS = 50_000_000
"""A sheet with more is one with a lost cell far from its table."""
MAX_SHEET_ROWS = 1 << 20
"""Excel's own limit."""
EXCEL_ERRORS = frozenset(
    {"#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!"}
    | {"#GETTING_DATA", "#FIELD!", "#BLOCKED!", "#CONNECT!", "#BUSY!", "#UNKNOWN!"}
)
"""What cells hold whose formula has no value."""


def read_table(source: Any, *, sheet: str | int | None = None, **options: Any) -> Table:
    r"""Return the columns of a table, whatever the format of its file.

    >>> read_table(b'{"width": 1, "kind": "a"}\n{"width": 2, "kind": "b"}').names
    ('width', 'kind')

    - `source`: a `Path`, bytes, an open file, or the text of a table in CSV or JSON.
    - `sheet`: of a workbook, by name or by number from 0; by default the first one.
    - `options`: those of `read_csv`, for CSV, and `encoding` for JSON.

    The content decides the format: CSV; Excel workbooks (xlsx), whose first row names the columns;
    Parquet and Arrow (Feather) files; JSON, a list of objects or one object on each line; each of
    them may be packed by gzip. Cells of a workbook with an error, such as #N/A, are missing.
    Workbooks need the package openpyxl, Parquet and Arrow pyarrow: `pip install "webnnm[tables]"`.

    Raises the errors of `read_csv`, `BackendError` NNM709 without such a package, and `DataError`
    NNM713 for a file that is damaged or has no such sheet.
    """
    refuse_file_name(source, TABLES, "read_table")
    source = read_source(source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        if data.startswith(GZIP) and not _is_csv(_unpack_beginning(data)):
            data = decompress(data)
        if is_workbook(data):
            return _read_workbook(data, sheet)
        if data.startswith(b"PAR1"):
            # Its read_table does not read columns of the same name, which as_table refuses by name.
            return _read_by_pyarrow(
                data,
                "a Parquet file",
                _import_parquet,
                lambda pq, file: pq.ParquetFile(file).read(),
            )
        if data.startswith(b"ARROW1"):
            return _read_by_pyarrow(
                data,
                "an Arrow file",
                _import_feather,
                lambda feather, file: feather.read_table(file),
            )
        if is_json(data):
            source, _ = decode_text(data, options.get("encoding", "auto"))
    if sheet is not None:
        hint = "only workbooks have sheets: leave it out"
        raise DataError("NNM704", f"sheet={sheet!r} of a file that is no workbook", hint=hint)
    rows = _read_objects(source) if isinstance(source, str) else None
    return read_csv(source, **options) if rows is None else as_table(rows)


_BEGINNING = 4096
"""So many bytes show whether a file may be JSON."""


def is_json(data: bytes) -> bool:
    """Return whether bytes may be JSON, in any encoding."""
    text = data[:_BEGINNING].lstrip(b"\xef\xbb\xbf\xff\xfe\0").replace(b"\0", b"")
    return JSON.match(text.decode("latin-1")) is not None


def _is_csv(beginning: bytes) -> bool:
    return not (beginning.startswith((b"PK", b"PAR1", b"ARROW1")) or is_json(beginning))


def _unpack_beginning(data: bytes) -> bytes:
    import zlib

    try:
        return zlib.decompressobj(wbits=31).decompress(data, _BEGINNING)
    except zlib.error:
        return b""  # read_csv says what is wrong


def is_workbook(data: bytes) -> bool:
    """Return whether bytes are an Excel workbook (xlsx): a zip archive with a folder xl."""
    return data.startswith(b"PK\x03\x04") and b"xl/" in data[:4096] + data[-65536:]


def _import_openpyxl() -> Any:
    return importlib.import_module("openpyxl")


def _import_parquet() -> Any:
    return importlib.import_module("pyarrow.parquet")


def _import_feather() -> Any:
    return importlib.import_module("pyarrow.feather")


def _read(kind: str, read: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call what reads a file; whatever it raises is an error in the file."""
    try:
        return read(*arguments, **options)
    except Exception as error:  # the packages have no common base class for their exceptions
        message = f"{kind} cannot be read: it is damaged or incomplete"
        raise DataError("NNM713", message, hint="fetch it again, or save it again") from error


def _read_by_pyarrow(
    data: bytes, kind: str, load: Callable[[], Any], read: Callable[[Any, io.BytesIO], Any]
) -> Table:
    module = import_package(kind, "pyarrow", load)
    return as_table(_read(kind, read, module, io.BytesIO(data)))


def _read_workbook(data: bytes, sheet: str | int | None) -> Table:
    kind = "an Excel workbook"
    openpyxl = import_package(kind, "openpyxl", _import_openpyxl)
    check_unpacked_size(kind, data)
    book = _read(kind, openpyxl.load_workbook, io.BytesIO(data), read_only=True, data_only=True)
    names: list[str] = [worksheet.title for worksheet in book.worksheets]  # charts are none
    if not names:
        raise DataError("NNM713", "the workbook has no worksheet")
    if sheet is None:
        sheet = 0
    elif isinstance(sheet, str):
        if sheet not in names:
            hint = suggestion(sheet, names) or f"one of {', '.join(names)}"
            raise DataError("NNM713", f'the workbook has no sheet "{sheet}"', hint=hint)
        sheet = names.index(sheet)
    elif not is_integer(sheet):
        hint = "the name of a sheet, or its number from 0"
        raise DataError("NNM704", f"sheet is {sheet!r}", hint=hint)
    elif not 0 <= sheet < len(names):
        raise DataError("NNM713", f"sheet {sheet} of 0 … {len(names) - 1}")
    worksheet = book.worksheets[sheet]
    worksheet.reset_dimensions()  # those that the file declares may be wrong
    iterator = worksheet.iter_rows(values_only=True)
    rows = iter(lambda: _read(kind, next, iterator, None), None)
    return build_table(rows, names[sheet])


def check_unpacked_size(kind: str, data: bytes, limit: int = MAX_BYTES) -> None:
    """Refuse a zip archive whose files would not fit in memory (NNM713)."""
    import zipfile  # which takes a page a while

    with _read(kind, zipfile.ZipFile, io.BytesIO(data)) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > limit:
        raise DataError("NNM713", f"{kind} unpacks to {size:,} bytes, more than {limit:,}")


def build_table(
    rows: Iterable[Iterable[Any]],
    sheet: str,
    max_cells: int = MAX_CELLS,
    max_rows: int = MAX_SHEET_ROWS,
) -> Table:
    """Return the rows of a sheet as a table; empty rows around it and columns beside it go.

    >>> build_table([[None], ["a", None, "b"], [1, "#N/A"]], "flats").columns
    ([1], [None], [None])

    Raises `DataError` NNM713 for an empty sheet, one that is too large, and doubled names.
    """
    lines, full = list[int](), list[list[Any]]()
    width = 0
    for number, row in enumerate(rows, 1):
        if number > max_rows:
            raise DataError("NNM713", f'sheet "{sheet}" has more than {max_rows:,} rows')
        cells = [*row]
        if cells.count(None) == len(cells):
            continue
        while cells[-1] is None:
            cells.pop()
        lines.append(number)
        full.append([None if cell in EXCEL_ERRORS else cell for cell in cells])
        width = max(width, len(cells))
        if width * len(lines) > max_cells:
            message = f'sheet "{sheet}" has {width:,} columns and at least {number:,} rows'
            hint = "delete cells that lie far from the table, or save the table as CSV"
            raise DataError("NNM713", message, hint=hint)
    if not lines:
        raise DataError("NNM713", f'sheet "{sheet}" is empty', hint="sheet= names another one")
    padded = [cells + [None] * (width - len(cells)) for cells in full]
    names = [
        f"column_{index}" if cell is None else str(cell).strip()
        for index, cell in enumerate(padded[0], 1)
    ]
    if twice := find_duplicates(names):
        raise DataError("NNM713", f'two columns of sheet "{sheet}" are called "{twice[0]}"')
    columns = tuple([*column] for column in zip(*padded[1:], strict=True)) or ([],) * width
    return Table(tuple(names), columns, 2, tuple(lines[1:]))


def _read_objects(text: str) -> dict[str, list[Any]] | None:
    """Return the columns of objects in a JSON text, None for any other text.

    Names that an object lacks are missing cells.
    """
    text = text.removeprefix("\ufeff").strip()
    if not JSON.match(text):
        return None
    hint = "a list of objects, or one object on each line"
    try:
        lines = [text] if text.startswith("[") else filter(str.strip, text.split("\n"))
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
