"""The editor of the pages, as a person uses it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.site_pages import WATCH_POLICY, colour_schemes, open_site_page
from tools.common import ROOT

in_one_browser = pytest.mark.projects("webnn")
GUIDE = ROOT / "docs" / "editor.md"
FENCED = re.compile(r"^`(own\.\w+)`:\n\n```\w+\n(.*?)^```$", re.M | re.S)
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; base-uri 'none'"
RICH = ".frame[data-rich]"


class Writer:
    """Someone who writes in the editor of a page."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.field = page.locator("#source")
        self.content = page.locator(".cm-content")

    async def text(self) -> str:
        return await self.field.input_value()

    async def has(self, words: str) -> None:
        """Wait until the text has some words."""
        await self.page.wait_for_function(
            "words => document.querySelector('#source').value.includes(words)", arg=words
        )

    async def lacks(self, words: str) -> None:
        await self.page.wait_for_function(
            "words => !document.querySelector('#source').value.includes(words)", arg=words
        )

    def word(self, word: str) -> Any:
        return self.page.locator(".cm-line").get_by_text(word, exact=True).first

    async def go_to(self, word: str) -> None:
        """Click into a word."""
        await self.word(word).click()

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.page.keyboard.press(key)


@in_one_browser
async def test_a_model_is_written_with_help(
    page: Any, site_url: str, project: Any, page_log: Any
) -> None:
    await page.add_init_script(WATCH_POLICY)
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await open_site_page(page, site_url, "iris.html")
    await page.locator(RICH).wait_for()
    writer = Writer(page)
    good = await writer.text()
    label = page.locator("label[for=source]")
    await label.click()
    assert await page.evaluate("document.activeElement.shadowRoot.activeElement.ariaLabel") == (
        (await label.text_content() or "").strip()
    )

    # Completion inserts an operator, with its help beside it.
    await writer.go_to("add")
    await writer.press("Home")
    await page.keyboard.type("tanh")
    option = page.get_by_role("option").filter(has_text="hyperbolic tangent")
    await option.wait_for()
    await page.locator(".cm-completionInfo", has_text="tanh()").wait_for()
    await option.click()
    await writer.has("  tanh()add(b)")
    await page.keyboard.type(", ")
    await writer.has("  tanh(), add(b)")

    # The brackets say what is called, F1 explains the shapes.
    await writer.go_to("add")
    await writer.press("End", "ArrowLeft", "ArrowLeft")
    signature = page.locator(".cm-help mark", has_text="y")
    await signature.wait_for()
    # That stays when the pointer, which rests there, brings its own help.
    await page.locator(".cm-tooltip-hover").wait_for()
    assert await signature.is_visible()
    await writer.go_to("matmul")
    await writer.press("F1")
    shapes = page.locator(".cm-help li", has_text="matmul1: [4] → [3] float32")
    await shapes.wait_for()
    await writer.press("Escape")
    await shapes.wait_for(state="detached")
    # The pointer asks for the same once it moves, and Escape closes that too.
    await writer.word("matmul").hover(position={"x": 4, "y": 4})
    await shapes.wait_for()
    await writer.press("Escape")
    await shapes.wait_for(state="detached")

    # A wrong line is marked, and mended by its fix, in the text as beside it.
    await writer.go_to("tanh")
    await page.keyboard.type("h")
    mark = page.locator(".cm-lintRange-error")
    await mark.wait_for()
    await page.locator(".cm-wrongLine", has_text="add(b)").wait_for()
    assert await writer.content.get_attribute("aria-invalid") == "true"
    await writer.press("Control+.")
    await writer.has("  tanh(), add(b)")
    await mark.wait_for(state="detached")
    await writer.go_to("tanh")
    await page.keyboard.type("h")
    await page.locator("#diagnostics").get_by_role("button", name='Change to "tanh"').click()
    await writer.has("  tanh(), add(b)")
    await page.locator("#diagnostics .fine").wait_for()

    # Names, layout, and the way back.
    await writer.go_to("dense")
    await writer.press("F2")
    await page.locator(".cm-dialog input").fill("unit")
    assert await violations(page) == []
    await writer.press("Enter")
    await writer.lacks("dense")
    assert (await writer.text()).count("unit") == 3
    await page.get_by_role("button", name="Format").click()
    await writer.has("  tanh(),\n  add(b),")
    for _ in range(12):
        await writer.content.focus()
        await writer.press("Control+z")
    await writer.has("dense")
    assert await writer.text() == good

    # The keyboard goes in and out.
    await writer.content.focus()
    await writer.press("Tab")
    assert await page.evaluate("document.activeElement.id") == "format"
    await writer.press("Shift+Tab")
    assert await page.evaluate("document.activeElement.className") == "rich-editor"
    async for _ in colour_schemes(page):
        assert await violations(page) == []
    assert await page.evaluate("refused") == []

    # A link has the text and the settings.
    await page.locator("#epochs").fill("77")
    await page.locator("#standardize").uncheck()
    await writer.content.focus()
    await writer.press("Control+Home")
    await page.keyboard.type("# 😀\n")
    await writer.has("# 😀")
    await page.get_by_role("button", name="Copy link").click()
    await page.get_by_text("Copied: the link has the model and its settings.").wait_for()
    link = await page.evaluate("navigator.clipboard.readText()")
    assert link == page.url
    await page.evaluate("location.hash = ''")
    await page.locator("#epochs").fill("5")
    await page.evaluate("link => { location.hash = new URL(link).hash; }", link)
    await page.wait_for_function("document.querySelector('#epochs').value === '77'")
    assert await writer.text() == f"# 😀\n{good}"
    assert not await page.locator("#standardize").is_checked()
    await page.evaluate("link => { location.hash = link; }", link.partition("#")[2][:-9])
    await page.locator("#alert", has_text="is not complete").wait_for()


@in_one_browser
async def test_the_plain_field_stays_where_the_editor_is_missing(
    page: Any, site_url: str, project: Any, page_log: Any
) -> None:
    await page.route("**/components/editor.js", lambda route: route.abort())
    shared = "#model=eJyrVipJrSixUrJSykstVyjPyC_KTlWyiq5WSstMzUlRsqpWKkhNT1WyUjIyMFSqrQUAUl8OLg"
    await open_site_page(page, site_url, f"hello.html{shared}")
    await page.wait_for_function("document.querySelector('#alert').textContent !== ''")
    field, diagnostics = page.locator("#source"), page.locator("#diagnostics")
    good = await field.input_value()
    await field.fill(good.replace("add(", "ad("))
    await diagnostics.get_by_role("button", name='Change to "add"').click()
    await page.locator("#diagnostics .fine").wait_for()
    assert await field.input_value() == good
    await field.fill(good.replace(";", " ; "))
    await page.get_by_role("button", name="Format").click()
    assert await field.input_value() == f"{good}\n"
    await field.focus()
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.id") == "format"
    page_log.errors.clear()


@in_one_browser
async def test_the_example_of_the_guide_runs(page: Any, site_url: str, project: Any) -> None:
    texts = dict(FENCED.findall(Path(GUIDE).read_text(encoding="utf-8")))
    assert {*texts} == {"own.html", "own.js"}
    kinds = {"own.html": "text/html", "own.js": "text/javascript"}

    async def answer(route: Any) -> None:
        name = route.request.url.rpartition("/")[2]
        headers = {"Content-Security-Policy": POLICY, "Content-Type": kinds[name]}
        await route.fulfill(body=texts[name], headers=headers)

    await page.add_init_script(WATCH_POLICY)
    await page.route("**/own.*", answer)
    await page.goto(f"{site_url}/own.html")
    await page.locator(".cm-content").click()
    await page.keyboard.press("Control+End")
    await page.keyboard.type(" gre")
    await page.get_by_role("option", name="green").click()
    field = page.locator("textarea")
    assert await field.input_value() == "red blue green"
    await page.keyboard.type(" bleu")
    await page.locator(".cm-lintRange-warning").wait_for()
    await page.keyboard.press("Control+.")
    await page.wait_for_function("document.querySelector('textarea').value.endsWith('blue')")
    assert await violations(page) == []
    assert await page.evaluate("refused") == []
