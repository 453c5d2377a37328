"""What visitors set in a page's fields survives a reload, and is what the page's program takes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.site_pages import fill, open_site_page, train_on, write_model

pytestmark = pytest.mark.projects("webnn")

MODEL = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"


async def reload(page: Any) -> None:
    await page.reload()
    await page.locator("html[data-ready]").wait_for(state="attached")


async def test_a_reload_keeps_settings_and_another_visit_begins_with_the_defaults(
    page: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, "iris.html")
    await fill(page, epochs="7", optimizer="adam", lr="0.01", seed="3")
    await page.locator("#standardize").uncheck()
    await write_model(page, MODEL)
    await reload(page)
    for name, value in {"optimizer": "adam", "lr": "0.01", "seed": "3"}.items():
        assert await page.locator(f"#{name}").input_value() == value
    assert not await page.locator("#standardize").is_checked()
    assert await page.locator("#source").input_value() == MODEL
    await train_on(page, epochs=7)
    assert "Epoch 7 of 7" in await page.locator("#progress-text").text_content()
    assert await page.locator("#progress").evaluate("bar => bar.max") == 7

    await page.get_by_role("link", name="Iris flowers", exact=True).click()
    await page.locator("html[data-ready]").wait_for(state="attached")
    assert await page.locator("#epochs").input_value() == "200"
    assert await page.locator("#standardize").is_checked()
    assert await page.locator("#source").input_value() != MODEL


async def test_a_program_that_was_chosen_is_the_one_that_a_reload_shows(
    page: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, "arrays.html")
    await page.locator("#program").select_option("life")
    source = page.locator("#source")
    chosen = await source.input_value()
    await reload(page)
    assert await page.locator("#program").input_value() == "life"
    assert await source.input_value() == chosen


async def test_the_playground_keeps_what_its_address_does_not_hold_too(
    page: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, "playground.html")
    await fill(page, data="drawn", brush="1")
    await reload(page)
    assert await page.locator("#data").input_value() == "drawn"
    assert await page.locator("#brush").input_value() == "1"
    assert await page.locator("#drawing-tools").is_visible()


async def test_files_are_not_shown_as_chosen_that_no_program_has_read(
    page: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, "table.html")
    table = {"name": "t.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n2,3\n3,5\n"}
    await page.locator("#file").set_input_files(table)
    await page.locator("#form").wait_for()
    await reload(page)
    assert await page.locator("#file").evaluate("field => field.files.length") == 0
    assert await page.locator("#form").is_hidden()
