"""The page of tables: columns, a review before training, a test, sliders, files to take away."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, time, timedelta
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import pyarrow
import pytest
from openpyxl import Workbook
from pyarrow.parquet import write_table as write_parquet

from tests.browser.accessibility import violations
from tests.browser.first_look import check_policy, open_and_look
from tests.browser.saved_pages import ask, open_saved_page
from tests.browser.site_pages import (
    colour_schemes,
    fill,
    look_closer,
    open_site_page,
    result_of,
    skip_where_nothing_runs,
    write_model,
)
from webnnm import NNModel, describe_table, load_onnx, read_table

MAX_PAGE_BYTES = 50_000
"""The most that the archive of a page that runs a small model may have."""

in_one_browser = pytest.mark.projects("webnn")
in_both_browsers = pytest.mark.projects("webnn", "no-webnn")

ROWS = 240
# No policy forbids waiting inside this page.
FITTING = """() => [...document.querySelectorAll("#closer-charts .chart")].every(
  (chart) => chart.querySelector("canvas").offsetWidth <= chart.clientWidth)"""
SIDE_BY_SIDE = """[...document.querySelectorAll("#closer-charts .chart canvas")]
  .some((canvas) => canvas.offsetWidth > 500 && canvas.offsetWidth < 800)"""


def loans() -> str:
    """Return a table with an id, a column that is known only after the answer, and remarks."""
    draw = Random(5)
    lines = ["id;income;region;fees;remark;defaulted"]
    for number in range(ROWS):
        income, region = draw.uniform(1, 9), draw.choice(["north", "south", "port"])
        defaulted = income + 2 * (region == "port") + draw.gauss(0, 0.7) < 5
        fees = draw.gauss(300 if defaulted else 0, 8)
        shown = "" if number % 20 == 7 else f"{income:.2f}"
        answer = "yes" if defaulted else "no"
        lines.append(f"{number + 1};{shown};{region};{fees:.1f};note {number};{answer}")
    return "\n".join(lines)


async def read(page: Any, text: str, name: str = "loans.csv") -> None:
    """Give the page a file."""
    file = {"name": name, "mimeType": "text/csv", "buffer": text.encode()}
    await page.get_by_label("CSV file").set_input_files(file)


async def download(page: Any, button: str, folder: Path) -> Path:
    """Click a button that saves a file, and return where that is now."""
    async with page.expect_download() as download:
        await page.get_by_role("button", name=button).click()
    file = await download.value
    await file.save_as(folder / file.suggested_filename)
    return folder / file.suggested_filename


@in_one_browser
async def test_a_table_is_reviewed_learnt_and_taken_away(
    page: Any, site_url: str, project: Any, tmp_path: Path
) -> None:
    page.set_default_timeout(30_000)
    await open_and_look(page, site_url, "table.html")
    await read(page, loans())
    await page.get_by_text("loans.csv: 240 rows, 6 columns.").wait_for()
    rows = await page.locator("#columns tbody tr").all()
    kinds = [await row.locator("td").nth(1).inner_text() for row in rows]
    assert kinds == ["number", "number", "category", "number", "text", "category"]
    uses = [await row.locator("select").input_value() for row in rows]
    assert uses == ["numbers", "numbers", "numbers", "numbers", "out", "target"]
    sources = page.locator("#sources")
    assert "defaulted has 2 classes, predicted from 4 columns" in await sources.inner_text()

    # Before any training the review names what must not be learnt, each on its own.
    findings = page.locator("#findings")
    await findings.get_by_text("id numbers the rows, from 1 to 240").wait_for()
    assert await findings.get_by_text("fees alone predicts the class of").count() == 1
    assert await page.locator("#settings").is_hidden()
    for name in ("id", "fees"):
        await page.get_by_label(f"Use of {name}", exact=True).select_option("out")
    await sources.filter(has_text="predicted from 2 columns").wait_for()
    await findings.get_by_text("alone predicts").wait_for(state="detached")
    assert "shape=[5]" in await page.locator("#source").input_value(), "the model follows"

    # A custom model stays as it is written.
    own = (await page.locator("#source").input_value()).replace("relu", "tanh")
    await write_model(page, own)
    await page.get_by_label("Use of region").select_option("out")
    await sources.filter(has_text="predicted from 1 columns").wait_for()
    assert await page.locator("#source").input_value() == own
    await page.get_by_label("Use of region").select_option("numbers")
    await sources.filter(has_text="predicted from 2 columns").wait_for()

    await page.locator("#train").click()
    await result_of(page)
    score = float((await page.locator("#score").inner_text()).rstrip("%"))
    guess = re.search(r"right for ([\d.]+)%", await page.locator("#baseline").inner_text())
    assert guess and score >= 80 > float(guess[1])
    worth = await page.locator("#importances tbody tr").all_inner_texts()
    assert [text.split("\t")[0] for text in worth] == ["income", "region"]
    assert float(worth[0].split("\t")[1]) > 0.1
    await page.locator("#importance canvas, #importance svg").first.wait_for()
    assert await page.locator("#settings").is_visible() is False
    await page.get_by_text("All settings").click()
    assert await page.locator("#settings").is_visible()

    course = ("Metrics", "Learning rate", "Gradient norm")
    layers = ("Weights", "Activations", "Gradients")
    found = await look_closer(page, *course, "ROC", "Calibration", *layers)
    assert re.fullmatch(r"ROC curves\. yes: area (0\.[89]\d\d|1\.000)\.", found["ROC"])
    rows = re.search(r"on (\d+) rows", await page.locator("#samples").inner_text())
    assert rows and found["Calibration"].startswith(f"Calibration of {rows[1]} rows:")
    for width in (390, 1280):  # small charts stand in as many columns as fit
        await page.set_viewport_size({"width": width, "height": 800})
        await page.wait_for_function(FITTING)
    await page.wait_for_function(SIDE_BY_SIDE)

    # On paper there is no place to drop a file, nothing to take away, and no title without a model.
    await page.emulate_media(media="print")
    for name in ("#drop", "#take"):
        assert await page.locator(name).is_hidden(), name
    for name in ("#result", "#ask", "#columns"):
        assert await page.locator(name).is_visible(), name
    kept = "node => getComputedStyle(node).breakInside"
    assert await page.locator(".editor").evaluate(kept) == "avoid"
    await page.emulate_media(media="screen")

    # A row of the test, and what would be if its income were other.
    assert "defaulted" in await page.locator("#actual").inner_text()
    answer = page.locator("#answer")
    await page.get_by_label("region", exact=True).select_option("south")
    income = page.locator("#what-if input[type=range]")
    await income.fill("1.2")
    await answer.filter(has_text="yes").wait_for()
    await income.fill("8.8")
    await answer.filter(has_text="no").wait_for()
    await page.get_by_label("income missing").check()
    stands = page.locator("#what-if output")
    await stands.filter(has_text="missing").wait_for()
    await income.fill("8.8")
    await stands.filter(has_text="8.8").wait_for()
    assert not await page.get_by_label("income missing").is_checked()
    assert await page.locator("#actual").inner_text() == ""

    await page.set_viewport_size({"width": 390, "height": 800})
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390
    async for _ in colour_schemes(page):
        assert await violations(page) == []
    await check_policy(page)

    given = {"income": [8.8], "region": ["south"]}
    saved = await download(page, "Save the model", tmp_path)
    model = await NNModel.load(saved, log=str)
    assert (await model.predict(given)).classes == ["no"]
    graph = await load_onnx(await download(page, "Save it as ONNX", tmp_path), log=str)
    assert len(graph.inputs) == len(graph.outputs) == 1
    async with open_saved_page(page, tmp_path) as tab:
        await tab.get_by_label("region").select_option("south")
        assert next(iter(await ask(tab, income=8.8))) == "no"
    (archive,) = tmp_path.glob("*.zip")
    assert archive.stat().st_size < MAX_PAGE_BYTES


@in_both_browsers
@pytest.mark.usual("no-webnn")
async def test_a_quantity_is_learnt_and_what_is_wrong_is_told(
    page: Any, site_url: str, project: Any
) -> None:
    skip_where_nothing_runs(project)
    page.set_default_timeout(30_000)
    await open_site_page(page, site_url, "table.html")
    await read(page, "a,b\n1,2\n3\n", "short.csv")
    await page.locator("#alert", has_text="NNM713").wait_for()
    assert "row 3" in await page.locator("#alert pre").inner_text()
    await read(page, "a,b\n" + "1,2\n" * 20_000 + "3\n", "long.csv")
    await page.locator("#alert", has_text="row 20002").wait_for()
    assert await page.locator("#about").inner_text() == ""
    await page.locator("#example").click()
    await page.get_by_text("penguins.csv: 344 rows, 8 columns.").wait_for()
    assert await page.locator("#alert").inner_text() == ""
    assert await page.get_by_label("Use of species").input_value() == "target"
    await page.get_by_label("Use of species").select_option("numbers")
    await page.get_by_text("No column is the target").wait_for()
    assert await page.locator("#train").is_disabled()
    await page.get_by_label("Use of body_mass_g").select_option("target")
    await page.get_by_text("body_mass_g is a quantity, predicted from 7 columns").wait_for()
    assert "; 2 are left out" in await page.locator("#sources").inner_text()
    await page.locator("#epochs").fill("40")
    await fill(page, test="100")
    await page.locator("#sources", has_text="15% of the rows for validation").wait_for()
    assert await page.locator("#train").is_disabled()
    await fill(page, test="20")
    await page.locator("#sources", has_text="51 for validation, 69 for the test").wait_for()
    await page.locator("#train").click()
    await result_of(page)
    score = (await page.locator("#score").inner_text()).removeprefix("R² ")
    assert float(score) >= 0.7
    assert await page.locator("#classes").is_hidden()
    caption = await page.locator("#diagram-caption").inner_text()
    assert re.match(r"\d+ layers, [\d,]+ parameters, run on ", caption)
    await page.locator("#predicted canvas").wait_for()
    words = await page.locator("#predicted").get_attribute("aria-label")
    assert words.startswith("Predicted over actual body_mass_g of 69 rows: off by ")
    names = ("Metrics", "Learning rate", "Gradient norm", "Weights", "Activations", "Gradients")
    found = await look_closer(page, *names)
    assert found["Learning rate"].startswith("Learning rate over ")
    assert 2500 < float(await page.locator("#answer").inner_text()) < 6500
    assert "body_mass_g" in await page.locator("#actual").inner_text()

    # Another target is another model; the result of the old one is gone.
    await page.get_by_label("Use of sex").select_option("target")
    await page.get_by_text("sex has 2 classes").wait_for()
    assert await page.locator("#result").is_hidden()
    await page.locator("#epochs").fill("100000")
    await page.locator("#train").click()
    await page.get_by_text(re.compile(r"Epoch \d+ of 100000 · loss")).wait_for()
    await page.locator("#stop").click()
    await result_of(page)
    await page.locator("#tables .confusion button").first.click()
    await page.locator("#mistakes dt", has_text="bill_length_mm").first.wait_for()


@in_one_browser
async def test_a_table_of_another_country_is_read_as_it_is_written(
    page: Any, site_url: str, project: Any
) -> None:
    page.set_default_timeout(30_000)
    await open_and_look(page, site_url, "table.html")
    lines = [f"{1 + k}.{k + 100},5 €;Köln {k % 2}" for k in range(60)]
    text = "sep=;\r\nMiete;Stadt\r\n" + "\r\n".join(lines)
    file = {"name": "mieten.csv", "mimeType": "text/csv", "buffer": text.encode("cp1252")}
    await page.get_by_label("CSV file").set_input_files(file)
    about = page.locator("#about", has_text="mieten.csv: 60 rows, 2 columns.")
    await about.wait_for()
    assert 'cp1252, cells separated by ";", decimal commas' in await about.inner_text()
    kinds = [
        await row.locator("td").nth(1).inner_text()
        for row in await page.locator("#columns tbody tr").all()
    ]
    assert kinds == ["number", "category"]
    assert "Köln 0 (30)" in await page.locator("#columns").inner_text()


def workbook() -> bytes:
    """Return a workbook with numbers, words, dates, yes or no, and cells without a value."""
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["day", "weather", "open", "visitors"])
    for number in range(60):
        weather = ["sun", "rain", None][number % 3]
        day = datetime(2024, 1, 1) + timedelta(days=number)
        sheet.append([day, weather, number % 7 > 1, 200.5 + 10 * (number % 7)])
    book.create_sheet("notes").append(["nothing"])
    content = BytesIO()
    book.save(content)
    return content.getvalue()


def parquet(compression: str) -> bytes:
    """Return a Parquet file with columns of many types, some of them without a value."""
    days = [date(2024, 1, 1) + timedelta(days=number) for number in range(60)]
    columns = {
        "day": pyarrow.array(days, pyarrow.date32()),
        "weather": pyarrow.array([["sun", "rain", None][number % 3] for number in range(60)]),
        "open": pyarrow.array([number % 7 > 1 for number in range(60)]),
        "number": pyarrow.array([10**12 + number for number in range(60)], pyarrow.int64()),
        "noon": pyarrow.array([datetime.combine(day, time(12, 30)) for day in days]),
        "visitors": pyarrow.array([200.5 + 10 * (number % 7) for number in range(60)]),
    }
    content = BytesIO()
    write_parquet(pyarrow.table(columns), content, compression=compression)
    return content.getvalue()


@in_one_browser
@pytest.mark.parametrize("compression", ["snappy", "zstd", "gzip", "none"])
async def test_a_parquet_file_is_read_as_on_the_desktop(
    page: Any, site_url: str, project: Any, compression: str
) -> None:
    page.set_default_timeout(30_000)
    await open_site_page(page, site_url, "table.html")
    content = parquet(compression)
    field = page.get_by_label("CSV file")
    file = {"name": "visitors.parquet", "mimeType": "application/x", "buffer": content}
    await field.set_input_files(file)
    await page.locator("#about", has_text="visitors.parquet: 60 rows, 6 columns.").wait_for()
    listed = await page.locator("#columns tbody tr").all()
    for row, column in zip(listed, describe_table(read_table(content)), strict=True):
        text = await row.inner_text()
        assert [column.name in text, column.content in text] == [True, True], (text, column)
    if compression == "none":
        await field.set_input_files({**file, "buffer": content[:900] + content[-8:]})
        await page.get_by_text("visitors.parquet is no complete Parquet file").first.wait_for()


@in_one_browser
async def test_a_workbook_is_read_as_on_the_desktop(page: Any, site_url: str, project: Any) -> None:
    page.set_default_timeout(30_000)
    await open_and_look(page, site_url, "table.html")
    content = workbook()
    file = {"name": "visitors.xlsx", "mimeType": "application/zip", "buffer": content}
    await page.get_by_label("CSV file").set_input_files(file)
    await page.locator("#about", has_text="visitors.xlsx: 60 rows, 4 columns.").wait_for()
    table = read_table(content)
    assert (table.names, table.columns[3][1]) == (("day", "weather", "open", "visitors"), 210.5)
    listed = await page.locator("#columns tbody tr").all()
    for row, column in zip(listed, describe_table(table), strict=True):
        text = await row.inner_text()
        assert [column.name in text, column.content in text] == [True, True], text
    contents = await page.locator("#columns").inner_text()
    for shown in ("2024-01-01 … 2024-02-29", "sun (20), rain (20)", "0 … 1", "200.5 … 260.5"):
        assert shown in contents


@in_one_browser
async def test_a_damaged_workbook_is_told(page: Any, site_url: str, project: Any) -> None:
    page.set_default_timeout(30_000)
    await open_and_look(page, site_url, "table.html")
    damaged = workbook()
    damaged = damaged[:400] + damaged[500:]
    file = {"name": "visitors.xlsx", "mimeType": "application/zip", "buffer": damaged}
    await page.get_by_label("CSV file").set_input_files(file)
    await page.locator("#alert", has_text="an Excel workbook cannot be read").wait_for()


@in_one_browser
async def test_very_many_columns_are_listed_a_hundred_at_a_time(
    page: Any, site_url: str, project: Any
) -> None:
    page.set_default_timeout(60_000)
    await open_and_look(page, site_url, "table.html")
    width = 600
    rows = [",".join(f"gene {k}" for k in range(width)) + ",y"]
    rows += [",".join(str(k + row) for k in range(width)) + f",{row}.5" for row in range(9)]
    await read(page, "\n".join(rows), "genes.csv")
    await page.locator("#about", has_text="genes.csv: 9 rows, 601 columns.").wait_for()
    listed = page.locator("#columns tbody tr")
    assert await listed.count() == 101, "and the target"
    assert await page.get_by_label("Use of y", exact=True).input_value() == "target"
    await page.locator("#column-filter").fill("gene 59")
    await page.get_by_label("Use of gene 599", exact=True).select_option("out")
    assert await listed.count() == 11
    assert "from 599 columns" in await page.locator("#sources").filter(has_text="599").inner_text()


def visits() -> str:
    """Return the visitors of each day of a year and a half: more in summer and at weekends."""
    draw, first = Random(6), date(2023, 1, 1)
    days = [first + timedelta(days=number) for number in range(500)]
    lines = ["day,weather,visitors"]
    for day in days:
        weather = draw.choice(["sun", "rain"])
        summer = math.cos(2 * math.pi * (day.timetuple().tm_yday - 196) / 365.25)
        mean = 200 + 90 * summer + 70 * (day.weekday() > 4) + 40 * (weather == "sun")
        lines.append(f"{day:%d/%m/%Y},{weather},{mean + draw.gauss(0, 10):.0f}")
    return "\n".join(lines)


@in_one_browser
async def test_dates_become_season_and_weekday(page: Any, site_url: str, project: Any) -> None:
    await open_site_page(page, site_url, "table.html")
    await read(page, visits(), "visits.csv")
    await page.get_by_text("2023-01-01 … 2024-05-14").wait_for()
    await page.locator("#train:enabled").click()
    await result_of(page)
    field = page.get_by_label("day", exact=True)
    assert re.fullmatch(r"202[34]-\d\d-\d\d", await field.input_value())
    await page.get_by_label("weather", exact=True).select_option("sun")
    answer = page.locator("#answer")
    await field.fill("2023-07-15")  # a Saturday in summer
    await answer.filter(has_text=re.compile(r"^(3[5-9]\d|4[0-4]\d)")).wait_for()
    await field.fill("")  # as while somebody types a date
    await field.fill("2023-01-18")  # a Wednesday in winter
    await answer.filter(has_text=re.compile(r"^(1\d\d|20\d)")).wait_for()
    assert await page.locator("#alert").inner_text() == ""
