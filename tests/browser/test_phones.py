"""Pages on a phone: 360 × 740 pixels, a thumb instead of a mouse, a processor a quarter as fast."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, CDPSession

from tests.browser.harness import PageLog
from tools.common import ROOT

PAGES = sorted(path.name for path in (ROOT / "site").glob("*.html"))
READY = "html[data-ready]"
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
  for (const field of document.querySelectorAll("input, select, textarea, .cm-content")) {
    const size = parseFloat(getComputedStyle(field).fontSize);
    if (size < zoom) problems.push(`${field.outerHTML.slice(0, 80)}: text of ${size} pixels`);
  }
  return problems;
}
"""
# Where the page is in each frame that the browser draws.
FOLLOW = """
globalThis.positions = new Set();
(function follow() {
  positions.add(Math.round(scrollY));
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
        await page.goto(f"{site_url}/{name}")
        if await page.locator("#boot").count():
            await page.locator(READY).wait_for(state="attached")
        problems[name] = await page.evaluate(PROBLEMS, [THUMB, ZOOM])
        await page.close()
    assert {name: lines for name, lines in problems.items() if lines} == {}


async def swipe(session: CDPSession, start: float, end: float, moves: int = 20) -> None:
    """Move a finger upwards or downwards in the margin of the page."""

    async def touch(type: str, *points: float) -> None:
        touch_points = [{"x": 8, "y": y} for y in points]
        await session.send("Input.dispatchTouchEvent", {"type": type, "touchPoints": touch_points})

    await touch("touchStart", start)
    for move in range(1, moves + 1):
        await touch("touchMove", start + (end - start) * move / moves)
    await touch("touchEnd")


@pytest.mark.projects("webnn", "no-webnn")
async def test_a_training_on_a_slow_processor_does_not_freeze_scrolling(
    phone: BrowserContext, page_log: PageLog, site_url: str, project: Any
) -> None:
    page = await phone.new_page()
    page_log.watch(page)
    await page.goto(f"{site_url}/iris.html")
    await page.locator(READY).wait_for(state="attached")
    session = await phone.new_cdp_session(page)
    await session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    await page.locator("#epochs").fill("100000")
    await page.locator("#train").tap()
    await page.wait_for_function("document.querySelector('#progress').value > 5")
    await page.evaluate(FOLLOW)
    await swipe(session, 700, 100)
    await swipe(session, 100, 700)
    # Had the page stood still meanwhile, it would have been in two or three places.
    assert await page.evaluate("positions.size") > 10
    await page.locator("#stop").tap()
    await page.locator("#train:not(:disabled)").wait_for()
