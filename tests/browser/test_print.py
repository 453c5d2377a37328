"""Pages and documents on paper: what they say and have found out, whole, and nothing to press."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.layout_checks import BOXES
from tests.browser.site_pages import CONTRAST, PAGES, open_site_page
from tests.browser.test_accessibility import ACTIONS, DOCUMENTS, act

pytestmark = pytest.mark.projects("webnn")

PAPER = {"width": 680, "height": 1000}
"""Pixels of an A4 page within margins of 15 mm."""
TO_PRESS = """() => {
  // Cells of tables, tokens and pictures are printed as the texts and the pictures that they are.
  const SHOWN = "button:is(.place, .tokens *, .next *, :has(canvas))";
  const PRESSED = `button, .button, nav, input:is([type=file], [type=range]), progress,
    details:not([open])`;
  return [...document.querySelectorAll(PRESSED)]
    .filter((element) => element.checkVisibility() && !element.matches(SHOWN))
    .map((element) => element.outerHTML.slice(0, 100));
}"""
# Notes what is on the screen of the elements that a selector fits, and says what of it paper lacks.
NOTE = """(selector) => {
  globalThis.onScreen = [...document.querySelectorAll(selector)]
    .filter((element) => element.textContent.trim() && element.checkVisibility());
  return onScreen.length;
}"""
LACKING = """(leftOut) => onScreen
  .filter((element) => !element.closest(leftOut) && !element.checkVisibility())
  .map((element) => element.outerHTML.slice(0, 100))"""
LEFT_OUT = ".recorded, .feedback, .example-solution, #boot, [aria-hidden]"
"""What paper lacks: examples of what somebody else ran, questions to the reader, and solutions."""
# What a scroll bar would reach on a screen, or the edge of the paper cuts.
CUT = f"""() => {{
  {BOXES}
  const problems = [];
  const {{ clientWidth, scrollWidth }} = document.documentElement;
  if (scrollWidth > clientWidth) problems.push(`${{scrollWidth}} pixels wide`);
  for (const element of document.querySelectorAll("body *")) {{
    if (!seen(element)) continue;
    const {{ overflowX, overflowY }} = getComputedStyle(element);
    const across = overflowX !== "visible" && element.scrollWidth > element.clientWidth + 1;
    const down = overflowY !== "visible" && element.scrollHeight > element.clientHeight + 2;
    if (across || down) problems.push(`cut: ${{show(element)}}`);
    if (lines(element).some(({{ left, right }}) => right > clientWidth + 1 || left < -1)) {{
      problems.push(`beyond the paper: ${{show(element)}}`);
    }}
  }}
  return problems;
}}"""
# Browsers print backgrounds only where a page insists.
LEAVE_BACKGROUNDS_OUT = """() => {
  for (const element of document.querySelectorAll("*")) {
    if (getComputedStyle(element).printColorAdjust === "exact") continue;
    element.style.setProperty("background-color", "transparent", "important");
  }
  document.documentElement.style.setProperty("background-color", "white", "important");
}"""


async def check_paper(page: Any, content: str) -> None:
    """Check what is printed of a page that is open on a dark screen."""
    assert await page.evaluate(NOTE, content) > 0
    await page.evaluate("dispatchEvent(new Event('beforeprint'))")
    await page.emulate_media(media="print", color_scheme="dark", reduced_motion="reduce")
    await page.set_viewport_size(PAPER)
    assert await page.evaluate(TO_PRESS) == []
    assert await page.evaluate(LACKING, LEFT_OUT) == []
    assert await page.evaluate(CUT) == []
    await page.evaluate(LEAVE_BACKGROUNDS_OUT)
    assert await page.evaluate(CONTRAST) == []


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_is_printed_with_its_results_and_nothing_to_press(
    page: Any, site_url: str, project: Any, name: str
) -> None:
    await page.emulate_media(color_scheme="dark")
    await open_site_page(page, site_url, name)
    if name in ACTIONS:
        await act(page, name)
    await check_paper(page, "main :is(h1, .lead, table, pre, dl, .figure, .statement)")


@pytest.mark.parametrize("name", DOCUMENTS)
async def test_a_document_is_printed_without_what_is_pressed(
    page: Any, site_url: str, project: Any, name: str
) -> None:
    await page.goto(f"{site_url}/docs/{name}")
    await check_paper(page, "article :is(h1, h2, p, table, pre)")
