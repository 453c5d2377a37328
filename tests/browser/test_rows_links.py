"""Links of pages that train a model of rows: they have the rows, the form and the model."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.browser.site_pages import open_site_page

CHANGED = "before => document.querySelector('#source').textContent !== before"
in_one_browser = pytest.mark.projects("webnn")


@in_one_browser
async def test_a_link_has_the_sentences_the_form_and_the_model(page: Any, site_url: str) -> None:
    page.set_default_timeout(30_000)
    await open_site_page(page, site_url, "sentences.html")
    await page.locator("#example").click()
    sources = page.locator("#sources")
    await sources.filter(has_text="3 classes").wait_for()
    before = await page.locator("#source").input_value()
    await page.get_by_label("Read them by").select_option("ngrams")
    await page.locator(".teaching summary", has_text="More").click()
    await page.locator("#epochs").fill("7")
    await page.wait_for_function(
        "before => document.querySelector('#source').value !== before", arg=before
    )
    await page.locator(".cm-content").focus()
    await page.keyboard.press("Control+Home")
    await page.keyboard.type("# mine\n")
    await page.wait_for_function("document.querySelector('#source').value.startsWith('# mine')")
    source = await page.locator("#source").input_value()
    await page.get_by_role("button", name="Copy link").click()
    await page.locator("#shared").filter(has_text="the rows, the model and its settings").wait_for()
    address = page.url
    assert "#model=" in address and len(address) < 2**16
    await page.goto("about:blank")
    await page.goto(address)
    await page.get_by_text("messages.csv: 168 rows.").wait_for()
    await page.wait_for_function("document.querySelector('#source').value.startsWith('# mine')")
    assert await page.locator("#tokens").input_value() == "ngrams"
    assert await page.locator("#epochs").input_value() == "7"
    assert await page.locator("#source").input_value() == source


@in_one_browser
async def test_a_link_that_would_be_too_long_is_refused(page: Any, site_url: str) -> None:
    page.set_default_timeout(30_000)
    await open_site_page(page, site_url, "sentences.html")
    draw = random.Random(1)
    rows = [f"{draw.randbytes(40).hex()}\t{'ab'[number % 2]}" for number in range(2000)]
    await page.get_by_text("Paste rows").click()
    await page.locator("#pasted").fill("\n".join(["text\tlabel", *rows]))
    await page.locator("#read").click()
    await page.get_by_text("2,000 rows.").wait_for()
    before = page.url
    await page.get_by_role("button", name="Copy link").click()
    shared = page.locator("#shared")
    await shared.filter(has_text="too many rows for a link").wait_for()
    assert "65,536" in await shared.inner_text() and page.url == before


@in_one_browser
async def test_a_link_has_the_series(page: Any, site_url: str) -> None:
    page.set_default_timeout(30_000)
    await open_site_page(page, site_url, "forecast.html")
    await page.locator("#example").click()
    sources = page.locator("#sources")
    await sources.filter(has_text="train it").wait_for()
    source = await page.locator("#source").text_content()
    await page.locator("#horizon").fill("5")
    await page.locator("#horizon").press("Tab")
    await page.wait_for_function(CHANGED, arg=source)
    source = await page.locator("#source").text_content()
    await page.get_by_role("button", name="Copy link").click()
    await page.locator("#shared").filter(has_text="the rows, the model and its settings").wait_for()
    address = page.url
    await page.goto("about:blank")
    await page.goto(address)
    await page.wait_for_function(
        "text => document.querySelector('#source').textContent === text", arg=source
    )
    assert await page.locator("#horizon").input_value() == "5"
    assert await page.locator("#train").is_enabled()
