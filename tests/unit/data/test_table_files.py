"""Tables of Excel workbooks, Parquet, Arrow and JSON files."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from webnnm import BackendError, CSVDataset, DataError, TableDataset, read_table
from webnnm.data.tables.table_files import check_unpacked_size

COLUMNS: dict[str, list[Any]] = {
    "day": [datetime(2024, 1, 31), datetime(2024, 2, 29), datetime(2024, 5, 1)],
    "area": [30.5, None, 61],
    "city": ["Köln", "Bonn", "Köln"],
}
desktop = pytest.mark.desktop


def workbook(*sheets: tuple[str, list[list[Any]]]) -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets:
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def rows_of(columns: dict[str, list[Any]]) -> list[list[Any]]:
    return [list(columns), *map(list, zip(*columns.values(), strict=True))]


# JSON.


@pytest.mark.parametrize(
    "text",
    [
        '[{"a": 1, "b": "x"}, {"b": "y"}, {"a": 2.5, "b": null}]',
        ' [\n{"a": 1, "b": "x"},\n{"b": "y"}, {"a": 2.5}]\n',
        '{"a": 1, "b": "x"}\n{"b": "y"}\n\n{"a": 2.5, "b": null}\n',
    ],
)
def test_objects_are_rows_and_what_they_lack_is_missing(text: str) -> None:
    for source in (text, text.encode(), "\ufeff" + text, ("\ufeff" + text).encode()):
        table = read_table(source)
        assert table.names == ("a", "b")
        assert [list(column) for column in table.columns] == [[1, None, 2.5], ["x", "y", None]]


def test_cells_that_begin_like_json_are_csv() -> None:
    assert read_table("[m];{s}\n1;2\n").names == ("[m]", "{s}")
    assert read_table("[µ];b\n1;2\n".encode("cp1252")).names == ("[µ]", "b")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"a": 1}, 2]', "row 2 of the JSON is 2"),
        ('[{"a": 1}, {"a": [1]}]', 'row 2 of the JSON, column "a" is a list or an object'),
        ('[{"a": 1}', "the JSON is no table"),
        ('{"a": 1}\n{"a": }', "the JSON is no table"),
        ('[{"a": ' + "[" * 99 + "]" * 99 + "}]", "it is nested too deeply"),
    ],
)
def test_json_that_is_no_table_is_refused(text: str, words: str) -> None:
    with pytest.raises(DataError) as caught:
        read_table(text)
    assert caught.value.code == "NNM713"
    assert words in caught.value.message


def test_json_has_to_be_utf_8() -> None:
    with pytest.raises(DataError, match="is not UTF-8"):
        read_table('[{"a": "Köln"}]'.encode("cp1252"))


# Workbooks.


@desktop
def test_a_workbook_has_names_dates_and_gaps() -> None:
    table = read_table(workbook(("flats", rows_of(COLUMNS)), ("other", [["x"], [1]])))
    assert table.names == ("day", "area", "city")
    assert [list(column) for column in table.columns] == list(COLUMNS.values())
    assert table.place(1, 1) == "row 2 (line 3), column area"
    data = TableDataset(table, label="city", missing="mean", split=(1, 0, 0))
    assert data.inputs["model"].features[0] == "day days"


@desktop
def test_empty_rows_and_columns_around_a_sheet_go() -> None:
    rows = [[None, None], ["a", None, "b"], [None], [1, None, 2], [3, "c", None], [None, None]]
    table = read_table(workbook(("s", rows)))
    assert table.names == ("a", "column_2", "b")
    assert [list(column) for column in table.columns] == [[1, 3], [None, "c"], [2, None]]
    assert list(table.lines) == [4, 5]


@desktop
def test_sheets_are_named_or_numbered() -> None:
    book = workbook(("first", [["a"], [1]]), ("second", [["b"], [2]]), ("empty", []))
    assert read_table(book).names == ("a",)
    assert read_table(book, sheet="second").names == read_table(book, sheet=1).names == ("b",)
    for sheet, words in (("secnd", 'no sheet "secnd"'), (3, "sheet 3 of"), ("empty", "is empty")):
        with pytest.raises(DataError) as caught:
            read_table(book, sheet=sheet)
        assert words in caught.value.message
    with pytest.raises(DataError) as caught:
        read_table(b"a,b\n1,2\n", sheet=1)
    assert caught.value.code == "NNM704"


@desktop
def test_damaged_workbooks_are_named() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook")
    for broken in (workbook(("s", [["a"], [1]]))[:-200], file.getvalue()):
        with pytest.raises(DataError) as caught:
            read_table(broken)
        assert caught.value.code == "NNM713"
        assert "workbook" in caught.value.message or "zip" in caught.value.message


def test_a_workbook_that_unpacks_to_too_much_is_not_unpacked() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", bytes(3000))
    check_unpacked_size("a workbook", file.getvalue(), 3000)
    with pytest.raises(DataError, match="a workbook unpacks to 3,000 bytes, more than 2,000"):
        check_unpacked_size("a workbook", file.getvalue(), 2000)


# Parquet and Arrow.


@desktop
@pytest.mark.parametrize("format", ["parquet", "feather"])
async def test_files_of_pyarrow(format: str, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    __import__("pyarrow.parquet")
    __import__("pyarrow.feather")
    path = tmp_path / f"flats.{format}"
    write = pyarrow.parquet.write_table if format == "parquet" else pyarrow.feather.write_feather
    write(pyarrow.table(COLUMNS | {"sold": [date(2024, 6, day) for day in (1, 2, 3)]}), path)
    table = read_table(path)
    assert table.names == ("day", "area", "city", "sold")
    assert list(table.columns[1]) == COLUMNS["area"]
    data = await CSVDataset.create(path, label="city", missing="mean", split=(1, 0, 0))
    assert data.report.columns[0].kind == data.report.columns[2].kind == "dates"
    for broken in (path.read_bytes()[:-30], path.read_bytes()[:8]):
        with pytest.raises(DataError) as caught:
            read_table(broken)
        assert caught.value.code == "NNM713"


@pytest.mark.parametrize("module", ["openpyxl", "pyarrow.parquet"])
def test_what_is_missing_to_read_a_format_is_named(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    data = b"PAR1" if "parquet" in module else b"PK\x03\x04 xl/"
    with pytest.raises(BackendError) as caught:
        read_table(data)
    assert caught.value.code == "NNM709"
    assert "webnnm[tables]" in caught.value.hint


async def test_all_of_them_are_read_where_csv_is(tmp_path: Path) -> None:
    rows = [{"a": number, "y": number % 2} for number in range(20)]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    data = await CSVDataset.create(path, label="y", split=(1, 0, 0))
    assert data.size("training") == 20
