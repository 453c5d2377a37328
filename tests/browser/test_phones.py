"""Pages on a phone: 360 × 740 pixels, a thumb instead of a mouse, a processor a quarter as fast."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, CDPSession

from tests.browser.harness import PageLog
from tests.browser.site_pages import open_site_page, train_on
from tools.common import ROOT

PAGES = sorted(path.name for path in (ROOT / "site").glob("*.html"))
SLOWER = 4
"""How many times slower than this machine's the processor of a phone is."""
THUMB = 43
"""CSS pixels, one less than the 44 of WCAG 2.2, success criterion 2.5.5, for rounding."""
ZOOM = 16
"""CSS pixels of text below which a phone enlarges the page around a focused field."""

# Links within sentences need no such size, nor does a field that its label stands for.
PROBLEMS = """
([thumb, zoom]) => {
  const problems = [];
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) problems.push(`${wide} pixels wide`);
  for (const control of document.querySelectorAll("button, input, select, summary, nav a")) {
    let { width, height } = control.getBoundingClientRect();
    if (width === 0 || getComputedStyle(control).visibility === "hidden") continue;
    if (control.matches("[type=checkbox], [type=radio]")) {
      const label = control.labels[0].getBoundingClientRect();
      height = Math.max(height, label.height);
      width += label.width;
    }
    if (width < thumb || height < thumb) {
      problems.push(`${control.outerHTML.slice(0, 80)}: ${width} × ${height}`);
    }
  }
  // Phones do not zoom into what is only pressed.
  const FIELDS = "input:not([type=checkbox], [type=radio]), select, textarea, .cm-content";
  for (const field of document.querySelectorAll(FIELDS)) {
    const size = parseFloat(getComputedStyle(field).fontSize);
    if (size < zoom) problems.push(`${field.outerHTML.slice(0, 80)}: text of ${size} pixels`);
  }
  return problems;
}
"""
# Where the page is in each frame that the browser draws, and since how many it rests.
FOLLOW = """
globalThis.positions = new Set();
globalThis.still = 0;
let last = scrollY;
(function follow() {
  positions.add(Math.round(scrollY));
  still = scrollY === last ? still + 1 : 0;
  last = scrollY;
  requestAnimationFrame(follow);
})();
"""


@pytest.fixture
async def phone(browser: Browser) -> AsyncIterator[BrowserContext]:
    """A context with the screen and the touch of a phone."""
    context = await browser.new_context(
        viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True
    )
    yield context
    await context.close()


@pytest.mark.projects("webnn")
async def test_every_page_is_usable_with_a_thumb(
    phone: BrowserContext, page_log: PageLog, site_url: str
) -> None:
    problems = {}
    for name in PAGES:
        page = await phone.new_page()
        page_log.watch(page)
        await open_site_page(page, site_url, name)
        problems[name] = await page.evaluate(PROBLEMS, [THUMB, ZOOM])
        await page.close()
    assert {name: lines for name, lines in problems.items() if lines} == {}


async def swipe(session: CDPSession, *points: tuple[float, float], moves: int = 20) -> None:
    """Move a finger from point to point."""

    async def touch(type: str, *positions: tuple[float, float]) -> None:
        touch_points = [{"x": x, "y": y} for x, y in positions]
        await session.send("Input.dispatchTouchEvent", {"type": type, "touchPoints": touch_points})

    await touch("touchStart", points[0])
    for (x, y), (next_x, next_y) in pairwise(points):
        for move in range(1, moves + 1):
            share = move / moves
            await touch("touchMove", (x + share * (next_x - x), y + share * (next_y - y)))
    await touch("touchEnd")


async def swipe_across(page: Any, name: str, *shares: tuple[float, float]) -> None:
    """Move a finger across an element, from point to point in shares of its size."""
    element = page.locator(name)
    await element.scroll_into_view_if_needed()
    box = await element.bounding_box()
    points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in shares]
    scrolled = await page.evaluate("scrollY")
    await swipe(await page.context.new_cdp_session(page), *points)
    assert await page.evaluate("scrollY") == scrolled, "the page stays where a finger draws"


@pytest.mark.projects("webnn")
async def test_a_finger_draws_a_digit_and_points(
    phone: BrowserContext, page_log: PageLog, site_url: str
) -> None:
    page = await phone.new_page()
    page_log.watch(page)
    await open_site_page(page, site_url, "digits.html")
    await train_on(page, epochs=4)
    await swipe_across(page, "#pad", (0.25, 0.2), (0.75, 0.2), (0.45, 0.85))
    await page.locator("#answer", has_text="7 (").wait_for()
    await open_site_page(page, site_url, "playground.html")
    await page.locator("#plane canvas").wait_for()
    await page.locator("#data").select_option("drawn")
    await page.locator("#clear-points").tap()
    await swipe_across(page, "#plane canvas", (0.3, 0.3), (0.7, 0.3), (0.7, 0.6))
    points = await page.evaluate("new URLSearchParams(location.hash.slice(1)).get('points')")
    assert len(points.split(";")) > 10


@pytest.mark.projects("webnn", "no-webnn")
async def test_a_training_on_a_slow_processor_does_not_freeze_scrolling(
    phone: BrowserContext, page_log: PageLog, site_url: str, project: Any
) -> None:
    page = await phone.new_page()
    page_log.watch(page)
    await open_site_page(page, site_url, "iris.html")
    session = await phone.new_cdp_session(page)
    await session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    await page.locator("#epochs").fill("100000")
    await page.locator("#train").tap()
    await page.wait_for_function("document.querySelector('#progress').value > 5")
    await page.evaluate(FOLLOW)
    await swipe(session, (8, 700), (8, 100), (8, 700))
    # Had the page stood still meanwhile, it would have been in two or three places.
    assert await page.evaluate("positions.size") > 10
    # While the page still moves from the swipe, a touch halts it and is no tap.
    await page.wait_for_function("still > 10")
    await page.locator("#stop").tap()
    await page.locator("#train:not(:disabled)").wait_for()
    assert any("ended by stop" in line for line in page_log.console)
