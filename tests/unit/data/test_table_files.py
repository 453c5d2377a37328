"""Tables of Excel workbooks, Parquet, Arrow and JSON files."""

from __future__ import annotations

import gzip
import io
import json
import sys
import zipfile
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from webnnm import BackendError, CSVDataset, DataError, TableDataset, read_table
from webnnm.data.tables.table_files import build_table, check_unpacked_size

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


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_json_has_the_encodings_of_other_tables(encoding: str) -> None:
    text = '[{"town": "Köln", "size": 12345}, {"town": "Bonn", "size": 67890}]'
    assert read_table(text.encode(encoding)).columns[0] == ["Köln", "Bonn"]
    options = {} if encoding.endswith("sig") else {"encoding": encoding}
    assert read_table(text.encode(encoding), **options).columns[0] == ["Köln", "Bonn"]


@pytest.mark.parametrize("mark", ["\u2028", "\u0085", "\u2029"])
def test_lines_of_json_end_only_where_json_lets_them(mark: str) -> None:
    table = read_table(f'{{"a": "x{mark}y"}}\r\n{{"a": "z"}}')
    assert table.columns[0] == [f"x{mark}y", "z"]


@pytest.mark.parametrize("text", ["[[1, 2], [3, 4]]", b" [[1, 2]]"])
def test_lists_of_lists_are_told_as_such(text: Any) -> None:
    with pytest.raises(DataError, match=r"row 1 of the JSON is \[1, 2\]") as caught:
        read_table(text)
    assert "list of objects" in caught.value.hint


def test_packed_tables_are_unpacked_whatever_they_are() -> None:
    for text in ('[{"a": 1}]', '{"a": 1}\n', "a\n1\n"):
        table = read_table(gzip.compress(text.encode()))
        assert table.names == ("a",)
        assert list(map(int, table.columns[0])) == [1]
        assert table.dialect is None or table.dialect.compressed
    with pytest.raises(DataError, match="gzip cannot unpack"):
        read_table(gzip.compress(b'[{"a": 1}]')[:-9])


@pytest.mark.parametrize("name", ["hawks.csv", "flats.xlsx"])
def test_the_name_of_a_file_is_no_table(name: str) -> None:
    with pytest.raises(DataError, match="is the name of a file") as caught:
        read_table(name)
    assert caught.value.hint == f"read_table(Path({name!r}))"


# Workbooks.


def rewrite_sheet(book: bytes, old: str, new: str) -> bytes:
    """Return a workbook with another text in its first sheet."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(book)) as source, zipfile.ZipFile(result, "w") as target:
        for name in source.namelist():
            content = source.read(name).decode()
            if name.endswith("sheet1.xml"):
                assert old in content
                content = content.replace(old, new)
            target.writestr(name, content)
    return result.getvalue()


@desktop
def test_the_declared_size_of_a_sheet_may_be_wrong() -> None:
    book = workbook(("s", [["a", "b"], [1, 2], [3, 4]]))
    table = read_table(rewrite_sheet(book, 'ref="A1:B3"', 'ref="A1"'))
    assert table.columns == ([1, 3], [2, 4])
    assert read_table(gzip.compress(book)).columns == table.columns


@desktop
def test_rows_of_a_sheet_may_be_shorter_than_others() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("s")
    for row in (["a", "b"], [1], [None, 2], [3, 4, 5]):
        sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    table = read_table(file.getvalue())
    assert table.names == ("a", "b", "column_3")
    assert table.columns == ([1, None, 3], [None, 2, 4], [None, None, 5])


@desktop
def test_errors_of_excel_are_missing_cells() -> None:
    table = read_table(workbook(("s", [["a", "b"], [1, "#N/A"], ["#DIV/0!", "x"]])))
    assert table.columns == ([1, None], [None, "x"])


@desktop
def test_sheets_of_charts_do_not_count() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    chart = book.create_chartsheet("picture")
    chart.add_chart(__import__("openpyxl.chart").chart.BarChart())
    for row in (["a"], [1]):
        (book["rows"] if "rows" in book.sheetnames else book.create_sheet("rows")).append(row)
    file = io.BytesIO()
    book.save(file)
    for options in ({}, {"sheet": 0}, {"sheet": "rows"}):
        assert read_table(file.getvalue(), **options).columns == ([1],)
    with pytest.raises(DataError, match='no sheet "picture"'):
        read_table(file.getvalue(), sheet="picture")


@desktop
@pytest.mark.parametrize("sheet", [[1], 1.0, True])
def test_sheets_are_a_name_or_a_number(sheet: Any) -> None:
    with pytest.raises(DataError, match="sheet is") as caught:
        read_table(workbook(("s", [["a"], [1]])), sheet=sheet)
    assert caught.value.code == "NNM704"


@desktop
def test_a_lost_cell_far_away_is_read() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["a"], [1], [2]):
        book.active.append(row)
    book.active["XFD60000"] = 1
    file = io.BytesIO()
    book.save(file)
    table = read_table(file.getvalue())
    assert (table.row_count, len(table.names), table.lines[-1]) == (3, 16384, 60000)


def test_a_sheet_with_too_many_cells_is_refused() -> None:
    rows = [["a", "b"], [1], [], [2, 3]]
    with pytest.raises(DataError, match="has 2 columns and at least 4 rows") as caught:
        build_table(rows, "s", max_cells=5)
    assert "far from the table" in caught.value.hint
    with pytest.raises(DataError, match="has more than 3 rows"):
        build_table(rows, "s", max_rows=3)
    assert build_table(rows, "s", 6, 4).columns == ([1, 2], [None, 3])


@desktop
def test_a_workbook_has_names_dates_and_gaps() -> None:
    table = read_table(workbook(("flats", rows_of(COLUMNS)), ("other", [["x"], [1]])))
    assert table.names == ("day", "area", "city")
    assert [list(column) for column in table.columns] == list(COLUMNS.values())
    assert table.place(1, 1) == "row 3, column area"
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
        assert (
            caught.value.message == "an Excel workbook cannot be read: it is damaged or incomplete"
        )


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


@desktop
@pytest.mark.parametrize("format", ["parquet", "feather"])
def test_doubled_names_of_columns_are_named(format: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    __import__("pyarrow.parquet")
    __import__("pyarrow.feather")
    table = pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], ["age", "age"])
    file = io.BytesIO()
    write = pyarrow.parquet.write_table if format == "parquet" else pyarrow.feather.write_feather
    write(table, file)
    with pytest.raises(DataError, match='two columns are called "age"'):
        read_table(file.getvalue())


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
