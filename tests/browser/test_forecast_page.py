"""The page of forecasts: a series, a test beside simple ones, a moving window, files to take."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.first_look import open_and_look
from tests.browser.site_pages import fill, result_of
from tests.browser.test_table_page import download, workbook
from webnnm import NNModel

in_one_browser = pytest.mark.projects("webnn")


def sales() -> str:
    """Return sales of weeks that are written with decimal commas, one of them missing."""
    lines = ["week;sold"]
    for week in range(150):
        sold = f"{80 + 20 * math.sin(week * math.pi / 5) + week % 3:.1f}".replace(".", ",")
        lines += [f"{week};{sold}"] if week != 70 else []
    return "\n".join(lines)


@in_one_browser
async def test_a_series_is_continued_and_taken_away(
    page: Any, site_url: str, tmp_path: Path
) -> None:
    page.set_default_timeout(60_000)
    await open_and_look(page, site_url, "forecast.html")
    await page.get_by_role("button", name="Try it with visitors").click()
    sources = page.locator("#sources")
    await sources.filter(has_text="repeats about every 12 months").wait_for()
    text = (
        "looks back 24 months and forecasts the next 6 months, from visitors and the time of year."
    )
    assert text in await sources.inner_text()
    await page.locator("#series canvas").wait_for()
    text = "All values of visitors, from 2005-01-01 to 2024-12-01."
    assert await page.locator("#series-text").inner_text() == text
    assert (await page.locator("#series").get_attribute("aria-label")).startswith("240 values of")
    await fill(page, epochs="60")
    await page.locator("#train").click()
    await result_of(page)
    rows = [row.split("\t") for row in await page.locator("#errors tbody tr").all_inner_texts()]
    assert [name for name, *_ in rows] == ["model", "last value", "last season (12)", "linear"]
    assert float(rows[0][1]) < float(rows[1][1])
    assert "lie in the interval of 80%" in await page.locator("#baseline").inner_text()

    # The window moves, and the chart with it.
    await page.locator("#moving canvas, #moving svg").first.wait_for()
    before = await page.locator("#moving-text").inner_text()
    await page.get_by_label("Window").focus()
    await page.keyboard.press("ArrowRight")
    await page.locator("#moving-text").filter(has_text="Window 2 of").wait_for()
    assert before.startswith("Window 1 of")
    await page.get_by_label("Steps", exact=True).fill("3")
    await page.get_by_label("Steps", exact=True).press("Tab")
    await page.get_by_text("As a table").click()
    assert await page.locator("#values tbody tr").count() == 3
    assert await violations(page) == []

    file = await download(page, "Save the model", tmp_path)
    model = await NNModel.load(file.read_bytes(), backend="numpy", log=lambda line: None)
    ahead = await model.predict(3)
    assert ahead.times == ["2025-01-01", "2025-02-01", "2025-03-01"]
    shown = [row.split("\t") for row in await page.locator("#values tbody tr").all_inner_texts()]
    assert [time for time, *_ in shown] == ahead.times
    for (_, *cells), values in zip(shown, zip(*ahead.quantiles.values(), strict=True), strict=True):
        assert [float(cell) for cell in cells] == pytest.approx(list(values), rel=1e-3)
    model.close()
    await download(page, "Save a page", tmp_path)


@in_one_browser
async def test_columns_and_times_are_chosen_and_mistakes_told(page: Any, site_url: str) -> None:
    page.set_default_timeout(60_000)
    await open_and_look(page, site_url, "forecast.html")
    file = {"name": "sales.csv", "mimeType": "text/csv", "buffer": sales().encode()}
    await page.get_by_label("CSV file").set_input_files(file)
    sources = page.locator("#sources")
    await page.get_by_label("Times").select_option("week")
    await sources.filter(has_text="1 missing step or cell is filled").wait_for()
    assert await page.get_by_label("Column").input_value() == "sold"
    await fill(page, window="200")
    await page.get_by_label("Steps back").press("Tab")
    text = "too few for a window of 200 and 6 ahead: choose fewer steps ahead, or fewer steps back"
    await sources.filter(has_text=text).wait_for()
    await fill(page, horizon="99999")
    await sources.filter(has_text="Steps ahead: ").wait_for()
    assert await page.locator("#train").is_disabled()
    assert await page.locator("#past").is_hidden()
    await fill(page, window="", horizon="6.0")
    await page.get_by_label("Steps back").press("Tab")
    await sources.filter(has_text="repeats about every 10 steps").wait_for()
    await page.locator("#past").wait_for()
    assert await page.locator("#train").is_enabled()


@in_one_browser
async def test_workbooks_and_json_are_read_where_csv_is(page: Any, site_url: str) -> None:
    page.set_default_timeout(60_000)
    await open_and_look(page, site_url, "forecast.html")
    lines = b"\n".join(b'{"sold": %d}' % (week % 7) for week in range(80))
    for name, content, rows in (("sold.jsonl", lines, 80), ("visitors.xlsx", workbook(), 60)):
        file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        await page.get_by_label("CSV file").set_input_files(file)
        await page.locator("#about", has_text=f"{name}: {rows} rows").wait_for()
    await page.locator("#sources").filter(has_text=" days train it").wait_for()
    assert await page.get_by_label("Column").input_value() == "visitors"
