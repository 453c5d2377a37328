"""The diagram beside the text of a model, as a person uses it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.site_pages import WATCH_POLICY, open_site_page, write_model

CHOSEN = "[...document.querySelectorAll('#diagram .chosen')].map((box) => box.dataset.id)"
SELECTED = """(() => {
  const { value, selectionStart, selectionEnd } = document.querySelector("#source");
  return value.slice(selectionStart, selectionEnd);
})()"""
PLACES = """[...document.querySelectorAll("#diagram [data-id]")].map((box) => {
  const { x, y } = box.getBoundingClientRect();
  return [box.dataset.id, x, y];
})"""
MODEL = """model:input shape=[4]; model:output shape=[3];
model:layers
  hidden(repeat=3), # \N{BEER MUG} counts twice in JavaScript
  matmul(w), softmax();
hidden:layers
  matmul(w, shape=[4]), tanh();"""


@pytest.mark.projects("webnn")
async def test_a_network_is_seen_beside_its_text(page: Any, site_url: str, page_log: Any) -> None:
    page.set_default_timeout(9000)
    await page.add_init_script(WATCH_POLICY)
    await open_site_page(page, site_url, "iris.html")
    diagram = page.locator("#diagram")
    box = diagram.locator("[data-id=relu1]")
    await box.wait_for()

    # A layer leads to its text, and the cursor in a text marks its layers.
    await box.click()
    assert await page.evaluate(SELECTED) == "activation"
    await page.wait_for_function(f"{CHOSEN}.join() === 'relu1,softmax1'")

    # A text that means another network is drawn; one that is wrong leaves the last one.
    await write_model(page, MODEL)
    block = diagram.get_by_role("button", name="hidden × 3")
    await block.wait_for()
    await diagram.locator("[data-id=matmul4] > .head").click()
    assert await page.evaluate(SELECTED) == "matmul"
    await write_model(page, MODEL.replace("tanh", "tahn"))
    await page.locator("#diagnostics").get_by_text("tahn").first.wait_for()
    assert await block.count() == 1
    await write_model(page, MODEL)

    # A block closes by the keyboard and stays in focus.
    assert await block.get_attribute("aria-expanded") == "true"
    await block.focus()
    await page.keyboard.press("Enter")
    await diagram.locator("[aria-expanded=false]:focus").wait_for()
    assert await diagram.locator("[data-id=tanh1]").count() == 0

    # Values flow to the right where there is room, else down.
    places = await page.evaluate(PLACES)
    assert sorted(places, key=lambda place: place[1]) == places
    await page.set_viewport_size({"width": 390, "height": 800})
    await page.wait_for_function(
        f"(([first, ...rest]) => rest.every(([, , y]) => y > first[2]))({PLACES})"
    )

    # What has run it is told, and which layers were changed for that.
    await page.locator("#train").click()
    told = page.locator("#diagram-caption").get_by_text("run on WebNN")
    await told.wait_for()
    assert await violations(page) == []
    assert page_log.errors == []


# Where the line of an edge, four pixels above the baseline, shows through its label.
HOLES = """[...document.querySelectorAll("#diagram .label")].map((label) => {
  const { font, strokeLinejoin, strokeWidth } = getComputedStyle(label);
  const canvas = new OffscreenCanvas(300, 60).getContext("2d");
  Object.assign(canvas, { font, lineJoin: strokeLinejoin, lineWidth: parseFloat(strokeWidth) });
  canvas.strokeText(label.textContent, 20, 40);
  const { data } = canvas.getImageData(0, 36, 300, 1);
  const painted = [...Array(300).keys()].filter((x) => data[4 * x + 3] > 127);
  return [label.textContent, painted.at(-1) - painted[0] + 1 - painted.length];
})"""
SCALE = """(() => {
  const shown = document.querySelector("#diagram svg");
  return shown.getBoundingClientRect().width / shown.width.baseVal.value;
})()"""


@pytest.mark.projects("webnn")
async def test_a_wide_network_can_be_read(page: Any, site_url: str, project: Any) -> None:
    await open_site_page(page, site_url, "digits.html")
    await page.locator("#diagram svg").wait_for()
    labels = await page.evaluate(HOLES)
    assert "[16, 4, 4]" in dict(labels)
    assert [label for label, holes in labels if holes] == [], "a line would look like a minus"
    for width in (1280, 390):
        await page.set_viewport_size({"width": width, "height": 800})
        assert 0.79 <= await page.evaluate(SCALE) <= 1
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
