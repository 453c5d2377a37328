"""Data frames of other libraries, read through the protocols by which libraries exchange them."""

from __future__ import annotations

import sys
from datetime import date
from typing import Any

import pytest

from webnnm import BackendError, DataError, Dataset, NNModel, SeriesDataset, TableDataset, suggest
from webnnm.data.tables.columns import as_table
from webnnm.data.tables.exchange import is_foreign_frame

ALL: dict[str, Any] = {"split": (1, 0, 0)}
ROWS: dict[str, list[Any]] = {
    "day": [date(2024, 1, 1 + number) for number in range(12)],
    "area": [None, *(float(number) for number in range(1, 12))],
    "city": ["Köln", None, "Bonn"] * 4,
    "dear": [True, False] * 6,
}


class Stream:
    """A result of a query, as DuckDB and Ibis have them: its columns hold no lists."""

    columns = tuple(ROWS)

    def __init__(self, rows: dict[str, list[Any]] = ROWS) -> None:
        self._table = pytest.importorskip("pyarrow").table(rows)

    def __getitem__(self, name: str) -> Any:
        raise AssertionError(f"{name} is an expression")

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class Frame:
    """A data frame with the dataframe interchange protocol alone."""

    def __init__(self, rows: dict[str, list[Any]] = ROWS) -> None:
        self._table = pytest.importorskip("pyarrow").table(rows)

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> object:
        return self._table.__dataframe__(nan_as_null, allow_copy)


KINDS = pytest.mark.parametrize("kind", [Stream, Frame])


@KINDS
def test_frames_have_the_cells_of_their_columns(kind: Any) -> None:
    rows = {name: ROWS[name] for name in ("area", "city")}
    table = as_table(kind(rows))
    assert table.names == ("area", "city")
    assert [list(cells) for cells in table.columns] == [rows["area"], rows["city"]]


@KINDS
async def test_frames_are_taken_where_tables_are(kind: Any) -> None:
    rows = {"area": [*range(20)], "price": [3.5 * n for n in range(20)]}
    data = TableDataset(kind(rows), standardize=True, task="regression", **ALL)
    text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
    async with await NNModel.create(source=text, dataset=data, log=lambda line: None) as model:
        expected = (await model.predict([[3], [4]])).tolist()
        assert (await model.predict(kind({"area": [3, 4]}))).tolist() == expected
    assert (await suggest(kind(rows), target="price")).dataset.size("full") == 20
    arrays = Dataset(kind({"area": [1.0, 2]}), kind({"price": [3.0, 4]}), **ALL)
    assert arrays.arrays("full")[1]["model"].tolist() == [[3], [4]]
    series = SeriesDataset(kind(rows), "price", window=4, horizon=2)
    assert series.size("full") == SeriesDataset(rows, "price", window=4, horizon=2).size("full")


def test_dates_and_answers_are_read_as_from_files() -> None:
    data = TableDataset(Stream(), label="dear", missing="indicator", **ALL)
    kinds = {column.name: column.kind for column in data.report.columns}
    assert kinds == {"day": "dates", "area": "numbers", "city": "categories", "dear": "classes"}


def test_arrays_with_a_stream_are_no_frames() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    assert not is_foreign_frame(pyarrow.chunked_array([[1, 2]]))
    assert not is_foreign_frame(pyarrow.table({"a": [1]}))
    assert is_foreign_frame(pyarrow.table({"a": [1]}).to_reader())


def test_a_frame_that_cannot_be_read_is_told() -> None:
    pytest.importorskip("pyarrow")

    class Broken:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise RuntimeError("the connection is closed")

    with pytest.raises(DataError, match="a Broken cannot be read: the connection is closed") as e:
        as_table(Broken())
    assert e.value.code == "NNM702"


def test_the_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(BackendError, match="a Stream needs the package pyarrow") as caught:
        as_table(stream)
    assert caught.value.code == "NNM709"
