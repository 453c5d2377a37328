"""The documentation site as readers use it: examples run in the page, and words are found."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.site_pages import WATCH_POLICY
from tools.common import DOCUMENTS

pytestmark = pytest.mark.projects("webnn")


async def open_document(page: Any, site_url: str, name: str) -> None:
    await page.add_init_script(WATCH_POLICY)
    answer = await page.goto(f"{site_url}/docs/{name}")
    assert "script-src 'self' 'wasm-unsafe-eval';" in answer.headers["content-security-policy"]


def test_no_page_asks_browsers_to_fetch_another_one_in_advance() -> None:
    pages = sorted(DOCUMENTS.glob("*.html"))
    assert len(pages) > 30
    for page in pages:
        assert not re.search(r'<link rel="(next|prev|prefetch|preload)"', page.read_text()), page


def example(page: Any, number: int) -> Any:
    """Return the buttons of an example."""
    return page.locator(".example-bar").nth(number - 1)


async def run(page: Any, number: int, ending: str = "Done") -> str:
    """Press Run, wait until the example has ended, and return what it shows."""
    bar = example(page, number)
    await bar.get_by_role("button", name="Run").click()
    await bar.get_by_text(ending, exact=True).wait_for()
    return await page.get_by_label(f"Output of example {number}", exact=True).text_content()


async def test_examples_run_in_their_order_and_can_be_changed(
    page: Any, site_url: str, project: Any
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await open_document(page, site_url, "tutorial.html")
    assert not any("/vendor/pyodide/" in url for url in asked), "Python loads on the first click"
    # The fourth needs the model of the third and the text of the first.
    log = await run(page, 4)
    assert "on WebNN" in log
    assert "training ended: 100 epochs" in log
    assert await run(page, 5) == "1.31 → 0.05\n"

    await example(page, 2).get_by_role("button", name="Edit").click()
    editor = page.get_by_label("Program of example 2; Ctrl and Enter run it")
    await editor.fill("1 + 1\nfor error in check('m:input shape=[2'):\n    print(error.code)\nnone")
    await editor.press("Control+Enter")
    await example(page, 2).get_by_text("Ended with an error").wait_for()
    shown = await page.get_by_label("Output of example 2", exact=True).text_content()
    assert shown.startswith("2\nNNM1")
    assert "line 4" in shown
    assert "NameError: name 'none' is not defined" in shown

    await editor.fill("while True: pass")
    bar = example(page, 2)
    await bar.get_by_role("button", name="Run").click()
    await bar.get_by_role("button", name="Stop").click()
    await bar.get_by_text("Stopped", exact=True).wait_for()
    await bar.get_by_role("button", name="Restore").click()
    assert 'did you mean "relu"?' in await run(page, 2)
    assert await page.evaluate("refused") == []


async def test_a_training_is_kept_by_an_example(page: Any, site_url: str, project: Any) -> None:
    """The block of docs/keeping-models.md that no desktop can run; sessions show their answers."""
    await open_document(page, site_url, "keeping-models.html")
    last = await page.locator(".example-bar").count()
    assert "training ended: 20 epochs" in await run(page, last)


async def test_set_ups_count_as_no_examples_and_long_values_only_begin(
    page: Any, site_url: str, project: Any
) -> None:
    await open_document(page, site_url, "training.html")
    shown = await run(page, 1)
    assert shown.count("\n") == 202, "200 epochs, the file with the history, and its plot"
    assert re.search(r"^'epoch,.* … \(\d\d,\d{3} in all\)$", shown, re.MULTILINE)
    assert re.search(r"^<Plot: [\d,]+ characters of SVG>$", shown, re.MULTILINE)
    assert "<svg" not in shown
    bars = await page.locator(".example-bar").count()
    assert await page.get_by_role("button", name=f"Run example {bars}", exact=True).count() == 1


async def test_examples_of_docstrings_know_the_names_of_their_module(
    page: Any, site_url: str, project: Any
) -> None:
    await open_document(page, site_url, "api.html")
    await page.locator("#check ~ .example-bar").first.get_by_role("button", name="Run").click()
    output = page.locator("#check ~ .example-output").first
    await output.get_by_text("NNM").wait_for()
    assert "Error" not in await output.text_content()


async def test_the_search_finds_words_without_another_host(
    page: Any, site_url: str, project: Any
) -> None:
    await open_document(page, site_url, "specification/index.html")
    field = page.get_by_role("textbox", name="Search")
    await field.click()
    await field.press_sequentially("convTranspose2d")
    found = page.locator(".md-search-result__link:visible", has_text="convTranspose2d").first
    await found.click()
    await page.wait_for_url("**/operators.html**")
    assert await page.evaluate("refused") == []


@pytest.mark.parametrize("name", ["index.html", "tutorial.html", "expert.html"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_pages_are_accessible(
    page: Any, site_url: str, project: Any, name: str, scheme: str
) -> None:
    await page.emulate_media(color_scheme=scheme)
    await open_document(page, site_url, name)
    assert await violations(page) == []
    for width in (1280, 390):
        await page.set_viewport_size({"width": width, "height": 800})
        fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        assert await page.evaluate(fits), f"{name} is wider than {width} pixels"


BROKEN = """[...document.querySelectorAll("td code, th code")]
  .filter((name) => /^[\\w./"]+$/.test(name.textContent) && name.getClientRects().length > 1)
  .map((name) => name.textContent)"""


@pytest.mark.parametrize("name", ["backends.html", "deploying.html", "operators.html"])
async def test_names_in_tables_are_not_broken(
    page: Any, site_url: str, project: Any, name: str
) -> None:
    await open_document(page, site_url, name)
    for width in (1280, 390):
        await page.set_viewport_size({"width": width, "height": 800})
        assert await page.evaluate(BROKEN) == []
        assert await page.evaluate("document.documentElement.scrollWidth") <= width


async def test_the_cheat_sheet_prints_on_one_sheet(page: Any, site_url: str, project: Any) -> None:
    await open_document(page, site_url, "cheat-sheet.html")
    paper = await page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) == 1


async def test_readers_can_say_what_was_not_clear(page: Any, site_url: str, project: Any) -> None:
    await open_document(page, site_url, "arrays.html")
    report = await page.get_by_role("link", name="Say what was not").get_attribute("href")
    assert report.endswith("/issues/new?template=documentation.yml&title=docs%2Farrays.md")
    edit = await page.get_by_role("link", name="Edit this page").get_attribute("href")
    assert edit.endswith("/edit/main/docs/arrays.md")
    await open_document(page, site_url, "api.html")
    assert await page.get_by_role("link", name="Edit this page").count() == 0
