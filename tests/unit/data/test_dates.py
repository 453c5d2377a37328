"""Dates of tables: how they are written, and what models are given of them."""

from __future__ import annotations

import asyncio
import json
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webnnm import CSVDataset, DataError, NNModel, TableDataset, describe_table, review
from webnnm.data.tables.date_encoding import DateEncoder
from webnnm.data.tables.date_format import EPOCH, ORDERS, DateFormat, Order, detect_format
from webnnm.data.tables.encoding import from_dict, to_dict
from webnnm.model import serving

ALL: dict[str, Any] = {"split": (1, 0, 0)}
DAY = date(2024, 3, 5)
NAMED = ["5 Mar 2024", "5. März 2024", "05-MAR-24", "March 5, 2024", "Mar 5 2024"]
WRITTEN = {
    "ymd": ["2024-03-05", "2024/3/5", "2024.03.05", *NAMED],
    "dmy": ["5.3.2024", "05/03/2024", "5-3-2024", "05.03.24", "5/3/24"],
    "mdy": ["3/5/2024", "03-05-2024", "3/5/24"],
}
NO_DATES = [
    "",
    "5",
    "5.3",
    "2024",
    "2024-13-01",
    "2024-02-30",
    "31/31/2024",
    "5.3.2024x",
    "maybe 1",
]
NO_DATES += ["2024-W00", "2021-W53", "2024Q5", "Q12024", "W05"]
NO_DATES += ["decor 1999", "octopus 2000", "mayor 1 2000"]
NO_DATES += [
    "9999-12-31 24:00",
    "2024-03-05 25:00",
    "2024-03-05 13:00 pm",
    "0000-01-01",
    "1,5",
    "2024-3/5",
    "Mars",
]
SOURCE = """m:input shape=[{width}]; m:output shape=[1];
m:layers matmul(w), add(b); m:loss meanSquaredError;"""


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024-W05", date(2024, 1, 29)),
        ("1991 W06", date(1991, 2, 4)),
        ("2020w53", date(2020, 12, 28)),
        ("2024Q3", date(2024, 7, 1)),
        ("2024-q1", date(2024, 1, 1)),
        ("Q4 1999", date(1999, 10, 1)),
    ],
)
def test_weeks_and_quarters_are_the_days_on_which_they_begin(text: str, day: date) -> None:
    assert DateFormat().parse(text) == day.toordinal() - EPOCH


@pytest.mark.parametrize(
    ("order", "text"), [(order, text) for order in ORDERS for text in WRITTEN[order]]
)
def test_dates_are_read_in_their_order(order: Order, text: str) -> None:
    assert DateFormat(order).parse(text) == DAY.toordinal() - EPOCH
    assert DateFormat(order).parse(f"{text} 6:30 pm") == DAY.toordinal() - EPOCH + 18.5 / 24


def test_letters_that_look_like_others_name_the_month() -> None:
    assert DateFormat().parse("5 \u017fep 1970") == DateFormat().parse("5 Sep 1970") == 247.0


@pytest.mark.parametrize("month", range(1, 13))
def test_months_have_long_and_short_names(month: int) -> None:
    day = date(2023, month, 1)
    months = ("%B %Y", "%b %Y", "%Y %b", "%Y-%B", "%b-%y", "%b '%y", "%YM%m", "%Y-%b-%d")
    for text in (f"{day:{each}}" for each in (*months, "%d-%b-%y", "%B 1, %Y", "%B, %Y")):
        assert DateFormat().parse(text) == day.toordinal() - EPOCH


@pytest.mark.parametrize("text", NO_DATES)
def test_other_texts_are_no_dates(text: str) -> None:
    assert [DateFormat(order).parse(text) for order in ORDERS] == [None, None, None]


@given(st.datetimes(datetime(1000, 1, 1), datetime(2999, 12, 31)), st.sampled_from(["T", " "]))
def test_what_python_writes_is_read(moment: datetime, mark: str) -> None:
    days = DateFormat("mdy").parse(moment.isoformat(mark))
    assert days is not None
    assert abs(timedelta(days) - (moment - datetime(1970, 1, 1))) < timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("cells", "options", "order"),
    [
        (["1/2/2024", "13/2/2024"], {}, "dmy"),
        (["1/2/2024", "2/13/2024"], {}, "mdy"),
        (["1.2.2024", "2.3.2024"], {}, "dmy"),
        (["1/2/2024"], {"order": "mdy"}, "mdy"),
        (["1/2/2024", "13/2/2024"], {"order": "mdy"}, "dmy"),
        (["1/2/2024"], {"decimal": ","}, "dmy"),
        (["1/1/2024", "2/2/2024"], {}, "dmy"),
        (["2024-01-02", "3 Feb 2024"], {"order": "dmy"}, "ymd"),
    ],
)
def test_all_cells_decide_the_order(cells: list[str], options: Any, order: str) -> None:
    assert detect_format("column day", cells, **options) == DateFormat(order)  # pyrefly: ignore


def test_dates_that_may_be_read_in_two_ways_are_asked_about() -> None:
    table = {"day": ["3/3/2024", "3/4/2024"], "y": [1.5, 2.5]}
    with pytest.raises(DataError, match='column day: is "3/4/2024" day/month or month/day') as told:
        TableDataset(table, label="y", **ALL)
    assert 'dates="dmy"' in str(told.value.hint)
    first, second = (
        TableDataset(table, label="y", dates="mdy", **ALL).arrays("full")[0]["model"].tolist()
    )
    assert second[0] - first[0] == 1
    with pytest.raises(DataError, match='dates="ydm"'):
        TableDataset(table, label="y", dates="ydm", **ALL)  # pyrefly: ignore[bad-argument-type]


def test_dates_of_a_column_have_one_order() -> None:
    table = {"day": ["13/1/2024", "1/14/2024", "2/2/2024"], "y": [1.5, 2.5, 3.5]}
    with pytest.raises(DataError, match=r'"13/1/2024" has the day first, "1/14/2024" the month'):
        TableDataset(table, label="y", dates="dmy", **ALL)
    as_words = TableDataset(table, label="y", categorical=["day"], **ALL)
    assert as_words.inputs["model"].shape == (3,)
    assert "1/14/2024" in describe_table(table)[0].problem


def series(days: int, step: float = 1.0) -> dict[str, Any]:
    moments = [datetime(2023, 1, 1) + timedelta(days=step * n) for n in range(days)]
    return {"when": [moment.isoformat(" ") for moment in moments], "y": [*map(float, range(days))]}


@pytest.mark.parametrize(
    ("table", "features"),
    [
        (series(20), ("when days",)),
        (
            series(30),
            (
                "when days",
                *(f"when={d}" for d in ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]),
            ),
        ),
        (series(60, 7.0), ("when days", "when season sin", "when season cos")),
        (series(20, 0.5), ("when days", "when time sin", "when time cos")),
    ],
)
def test_what_recurs_becomes_features(table: Any, features: Any) -> None:
    assert TableDataset(table, label="y", **ALL).inputs["model"].features == features


def test_numbers_of_a_date() -> None:
    encoder = DateEncoder.fit("when", [0.0, 366.25, *range(0, 600, 2), 0.25])
    assert encoder.parts == ("days", "season", "weekday", "time")
    dataset = TableDataset(series(500, 1.25), label="y", **ALL)
    [row] = dataset.encode([["2023-01-01 06:00"]]).tolist()
    days, sine, cosine, *weekdays, time_sine, time_cosine = row
    assert days == pytest.approx(0.25)
    assert (sine, cosine) == pytest.approx((0.0, 1.0), abs=0.02)  # New Year
    assert weekdays == [0, 0, 0, 0, 0, 0, 1]  # a Sunday
    assert (time_sine, time_cosine) == pytest.approx((1.0, 0.0), abs=1e-6)


@pytest.mark.parametrize("standardize", [True, "when", ["when"], ["when days"]])
def test_only_days_are_scaled_and_missing_dates_have_the_means(standardize: Any) -> None:
    table = series(400)
    table["when"][7] = ""
    dataset = TableDataset(table, label="y", standardize=standardize, missing="mean", **ALL)
    rows = dataset.arrays("full")[0]["model"].tolist()
    assert sum(row[0] for row in rows) == pytest.approx(0, abs=1e-3)
    assert {row[3] for n, row in enumerate(rows) if n != 7} == {0.0, 1.0}
    assert 0.1 < rows[7][3] < 0.2
    assert "when: dates, 1 missing, 2023-01-01 … 2024-02-04" in str(dataset.report)


@pytest.mark.parametrize("parts", [("days",), ("days", "weekday", "time")])
def test_an_encoder_is_kept(parts: Any) -> None:
    encoder = DateEncoder("day", parts, 5.0, date_format=DateFormat("mdy"))
    encoder = encoder.with_fill([0.5] * len(encoder.features))
    assert from_dict(to_dict(encoder)) == encoder
    for wrong in ({"dates": "ydm"}, {"parts": ["moon"]}, {"fill": [1.0, 2.0]}):
        with pytest.raises(ValueError, match=r"order|numbers"):
            from_dict(to_dict(encoder) | wrong)


def test_a_saved_model_takes_a_date_as_it_was_written() -> None:
    text = "day,y\n" + "".join(f"{n % 28 + 1}/{n // 28 + 1}/2024,{n}.5\n" for n in range(60))

    async def run() -> tuple[Any, Any]:
        dataset = await CSVDataset.create(text=text, label="y", standardize=True, **ALL)
        source = SOURCE.format(width=dataset.inputs["model"].shape[0])
        options: Any = {"backend": "numpy", "log": lambda line: None}
        model = await NNModel.create(source=source, dataset=dataset, **options)
        loaded = await NNModel.load(await model.save(), **options)
        (field,) = json.loads(serving.signature(loaded))["m"]["columns"]
        assert field == {"name": "day", "dates": "date", "usual": "2024-02-01"}
        assert serving.show_date(loaded, "day", "27/2/2024") == "2024-02-27"
        assert serving.show_date(loaded, "day", "27/2") == ""
        row = {"day": "27/2/2024"}
        encoded = dataset.encode([["27/2/2024"]])
        assert (await loaded.predict(encoded)).tolist() == (await loaded.predict(row)).tolist()
        return await model.predict(row), await loaded.predict(row)

    one, other = asyncio.run(run())
    assert one.tolist()[0] == pytest.approx(other.tolist()[0], rel=1e-5)


def test_days_are_no_row_numbers() -> None:
    table = series(200)
    table["temperature"] = [n * 37 % 19 / 2 for n in range(200)]
    table["y"] = table.pop("y")
    dataset = TableDataset(table, label="y", standardize=True, standardize_targets=True)
    source = SOURCE.format(width=dataset.inputs["model"].shape[0])
    assert "E616" not in {finding.id for finding in review(source, dataset).findings}


def test_a_label_of_dates_is_refused() -> None:
    table = {"x": [*range(30)], "due": [f"2024-01-{n + 1:02}" for n in range(30)]}
    with pytest.raises(DataError, match='label, column "due", holds dates, such as 2024-01'):
        TableDataset(table, **ALL)
